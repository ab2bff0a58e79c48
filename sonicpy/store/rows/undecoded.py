"""The errors of rows that cannot be decoded."""

from typing import Final

from sonicpy._native.varint import DamagedBytes

UNDECODED: Final = (DamagedBytes, UnicodeDecodeError)
"""Texts of callers are only encoded, so what cannot be decoded was stored."""
