"""The terms of a query for JSON, as nodes of a cluster send them to each other."""

from collections.abc import Sequence
from typing import Any

from sonicpy._native.terms import Terms
from sonicpy.index.search.families import Matching


def pack_terms(terms: Terms) -> list[Any]:
    """Return terms for JSON."""
    return [[word.decode() for word in terms.words], list(terms.counts), list(terms.flags), list(terms.typed)]


def unpack_terms(packed: Sequence[Any]) -> Terms:
    """Return the terms that `pack_terms` packed."""
    words, counts, flags, typed = packed
    return Terms([word.encode() for word in words], bytes(counts), bytes(flags), list(typed))


def unpack_matching(packed: Sequence[Any] | None) -> Matching | None:
    """Return how words lead to families, from JSON."""
    return None if packed is None else Matching(*packed)
