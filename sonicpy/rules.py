"""The rules by which texts become terms in the default mode. Each bucket has its own, for good.

FIRST   those of version 1.0: also of a bucket of which nothing is noted, and of compat mode
NEWEST  characters become others before words are cut, emoji are words, words are shown up to 50 letters

A bucket gets the newest rules with its first text. PUSH and QUERY cut the text by the rules of the bucket.
"""

from typing import Final

FIRST: Final = 1
NEWEST: Final = 8
KNOWN: Final = frozenset((FIRST, NEWEST))

ADVICE: Final = "for the newest, FLUSHB it and push its texts again"
"""The advice for a bucket of older rules: an export would bring the terms that were cut by these."""


def counts_letters(rules: int) -> bool:
    """Return whether words are shown up to 50 letters, not 40 bytes."""
    return rules >= NEWEST
