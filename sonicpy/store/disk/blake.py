"""BLAKE2b without OpenSSL, which Python's hashlib loads at import: that takes longer than opening a small store."""

try:
    from _blake2 import blake2b
except ImportError:  # a Python that is built with the hashes of OpenSSL alone
    from hashlib import blake2b

__all__ = ["blake2b"]
