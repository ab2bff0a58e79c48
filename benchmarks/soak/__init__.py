"""A long run of a server under mixed load and faults, with a checker that verifies every answer."""
