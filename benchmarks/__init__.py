"""Benchmarks: one file for each stage of a command, and programs that measure whole commands, libraries and servers."""
