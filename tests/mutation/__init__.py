"""Mutation testing: wrong changes are made, one at a time, and a test should fail; docs/testing.md describes its
use.
"""
