"""Versions of the rules by which texts become terms in the default mode. A bucket keeps its version for good.

FIRST   the rules of version 1.0; also those of compat mode, and of a bucket for which no rules are noted
NEWEST  some characters are replaced before words are cut, emoji are words, words have up to 50 letters

A bucket gets the newest rules with its first text. PUSH and QUERY cut the text by the rules of the bucket.
"""

from typing import Final

FIRST: Final = 1
NEWEST: Final = 8
KNOWN: Final = frozenset((FIRST, NEWEST))

ADVICE: Final = "for the newest, FLUSHB it and push its texts again"
"""The advice for a bucket of older rules. An export would not help: it contains the terms that were cut by them."""


def counts_letters(rules: int) -> bool:
    """Return whether words of up to 50 letters are in the lexicon; if not, words of up to 40 bytes."""
    return rules >= NEWEST
