"""The errors of rows that cannot be decoded."""

from typing import Final

from sonicpy._native.varint import DamagedBytes

UNDECODED: Final = (DamagedBytes, UnicodeDecodeError)
"""Texts of callers are only encoded: one that cannot be decoded was stored."""
