"""Helpers of tests and benchmarks. The benchmarks import nothing else of the tests.

`tests/processes.py`, `tests/in_loop.py` and `tests/disk.py` run servers and disks for tests.
"""
