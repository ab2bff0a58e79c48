"""Mutation testing: wrong changes, one at a time, and whether a test fails; docs/testing.md says how to run it."""
