"""The families of a query's terms, with the rows of their words."""

from itertools import islice

from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy.index.search.families import Matching
from sonicpy.index.search.statistics import Statistics

EXPANDED_WORDS = 16
"""Maximum of words of a query that are expanded: each is compared with all pending words, and a line holds
thousands."""


def families_of(
    statistics: Statistics, terms: Terms, matching: Matching | None
) -> dict[int, list[tuple[bytes, TermInfo]]]:
    """Return number of a term -> the other words of its family, each with its row.

    Special words, and parts of runs without blanks, have no family; stop words have one if a query holds nothing else.

    Args:
        matching: the matching of families; None: no word has one.
    """
    if matching is None:
        return {}
    without = without_family(terms)
    families = {
        number: words
        for number, (term, flags) in enumerate(zip(terms.words, terms.flags, strict=True))
        if not flags & without and (words := statistics.family(term, matching))
    }
    if not families:
        return {}
    rows = iter(statistics.rows([word for words in families.values() for word in words]))
    held = {
        number: [(word, row) for word, row in zip(words, islice(rows, len(words)), strict=True) if row and row.df]
        for number, words in families.items()
    }
    return {number: family for number, family in held.items() if family}


def without_family(terms: Terms) -> int:
    """Return the flags of the terms of a query that have no family."""
    return SPECIAL | PART if all(flags & (STOP | PART) for flags in terms.flags) else SPECIAL | PART | STOP
