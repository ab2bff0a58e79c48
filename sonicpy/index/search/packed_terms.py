"""The terms of a query for JSON, as nodes of a cluster send them to each other."""

from collections.abc import Sequence
from typing import Any

from sonicpy._native.terms import Terms
from sonicpy.index.search.matching import Matching

LAST = 1 << 7
"""The flag, in JSON alone, of the last word of a text."""


def pack_terms(terms: Terms) -> list[Any]:
    """Return terms for JSON; the last word has a flag more, which older versions pass over."""
    flags = list(terms.flags)
    if terms.last >= 0:
        flags[terms.last] |= LAST
    return [[word.decode() for word in terms.words], list(terms.counts), flags, list(terms.typed)]


def unpack_terms(packed: Sequence[Any]) -> Terms:
    """Return the terms that `pack_terms` packed."""
    words, counts, flags, typed = packed
    last = next((place for place, flag in enumerate(flags) if flag & LAST), -1)
    return Terms([word.encode() for word in words], bytes(counts), bytes(flag & ~LAST for flag in flags), typed, last)


def unpack_matching(packed: Sequence[Any] | None) -> Matching | None:
    """Return how words lead to families, from JSON."""
    return None if packed is None else Matching(*packed)
