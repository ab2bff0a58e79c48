"""The blocking client; any number of threads may share it."""
