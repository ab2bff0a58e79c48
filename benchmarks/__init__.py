"""Benchmarks: one file a stage, and what an operation costs from end to end."""
