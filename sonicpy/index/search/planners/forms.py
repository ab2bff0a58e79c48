"""The families of a query's terms, with the rows of their words."""

from collections.abc import Sequence
from itertools import islice

from sonicpy._native.plan import REQUIRED, Clause
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy.index.search.matching import Matching
from sonicpy.index.search.numbers import same_numbers
from sonicpy.index.search.statistics import Statistics

EXPANDED_WORDS = 16
"""Maximum of words of a query that are expanded: each is compared with all pending words, and a line holds
thousands."""


def families_of(
    statistics: Statistics, terms: Terms, matching: Matching | None
) -> dict[int, list[tuple[bytes, TermInfo]]]:
    """Return number of a term -> the other words of its family, each with its row.

    Special words, and parts of runs without blanks, have no family, but for numbers that are written otherwise; stop
    words have one if a query holds nothing else.

    Args:
        matching: the matching of families; None: no word has one.
    """
    without = without_family(terms)
    families = {
        number: words
        for number, (term, flags) in enumerate(zip(terms.words, terms.flags, strict=True))
        if (words := _others(statistics, term, None if flags & without else matching))
    }
    if not families:
        return {}
    rows = iter(statistics.rows([word for words in families.values() for word in words]))
    held = {
        number: [(word, row) for word, row in zip(words, islice(rows, len(words)), strict=True) if row and row.df]
        for number, words in families.items()
    }
    return {number: family for number, family in held.items() if family}


def _others(statistics: Statistics, term: bytes, matching: Matching | None) -> Sequence[bytes]:
    """Return the family of a term, or the other ways to write it, if it is a number."""
    if 0x30 <= term[0] <= 0x39:
        return same_numbers(term)
    return () if matching is None else statistics.family(term, matching)


def require_held(clauses: list[Clause]) -> None:
    """Let objects answer that lack a term which no object holds, such as an identifier."""
    for clause in clauses:
        if clause.role & REQUIRED and not clause.holders:
            clause.role &= ~REQUIRED


def without_family(terms: Terms) -> int:
    """Return the flags of the terms of a query that have no family."""
    return SPECIAL | PART if all(flags & (STOP | PART) for flags in terms.flags) else SPECIAL | PART | STOP
