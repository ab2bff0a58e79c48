"""The terms of a query for JSON, as nodes of a cluster send them to each other."""

from collections.abc import Sequence
from typing import Any

from sonicpy._native.terms import Terms
from sonicpy.index.search.demands import AskedTerms, demands_of, unpack_demands
from sonicpy.index.search.fitting import Typed
from sonicpy.index.search.matching import Matching

IS_ASCII, IS_GIVEN = 1, 2
"""Flags of a `Matching` in JSON."""
PLAIN_FIELDS = 4
"""The number of fields in the JSON of terms without demands."""
LAST = 1 << 7
"""The flag, in JSON alone, of the last word of a text."""


def pack_terms(terms: Terms) -> list[Any]:
    """Return terms for JSON. The last word has one more flag, which older versions ignore; demands are the last
    field.
    """
    flags = list(terms.flags)
    if terms.last >= 0:
        flags[terms.last] |= LAST
    demands = demands_of(terms)
    packed = [[word.decode() for word in terms.words], list(terms.counts), flags, list(terms.typed)]
    return packed if demands is None else [*packed, demands]


def unpack_terms(packed: Sequence[Any]) -> Terms:
    """Return the terms that `pack_terms` packed."""
    words, counts, flags, typed, *demands = packed
    last = next((place for place, flag in enumerate(flags) if flag & LAST), -1)
    terms = Terms([word.encode() for word in words], bytes(counts), bytes(flag & ~LAST for flag in flags), typed, last)
    return AskedTerms(terms, unpack_demands(demands[0])) if demands else terms


def pack_matching(matching: Matching | None) -> list[Any] | None:
    """Return a Matching, or None, for JSON.

    Version 1.0 reads the number behind the language as a bool, whether the query is ASCII, and no languages.
    """
    if matching is None:
        return None
    flags = matching.is_ascii * IS_ASCII | matching.is_given * IS_GIVEN
    return [matching.code, flags, *([list(matching.languages)] if matching.languages else [])]


def unpack_matching(packed: Sequence[Any] | None) -> Matching | None:
    """Return the Matching, or None, that `pack_matching` packed."""
    if packed is None:
        return None
    code, flags, *languages = packed
    return Matching(code, bool(flags & IS_ASCII), bool(flags & IS_GIVEN), *map(tuple, languages))


def pack_typed(typed: Typed) -> list[Any]:
    """Return the words of a text for SUGGEST, for JSON."""
    before = [[word.decode(), pack_matching(matching)] for word, matching in typed.before]
    return [before, typed.word.decode(), typed.length]


def unpack_typed(packed: Sequence[Any]) -> Typed:
    """Return the words of a text for SUGGEST, from JSON."""
    before, word, typed_bytes = packed
    return Typed([(each.encode(), unpack_matching(matching)) for each, matching in before], word.encode(), typed_bytes)
