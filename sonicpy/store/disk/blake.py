"""BLAKE2b, without OpenSSL: Python's hashlib loads it at import, which takes longer than to open a small store."""

try:
    from _blake2 import blake2b
except ImportError:  # a Python that is built with the hashes of OpenSSL alone
    from hashlib import blake2b

__all__ = ["blake2b"]
