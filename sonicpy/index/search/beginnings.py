"""Words that begin as a typed word does, except for typing errors."""

from collections.abc import Container

from sonicpy._native.nearest import likeliest_misspelt
from sonicpy._native.term_rows import TermInfo
from sonicpy.index.search.statistics import CORRECTIONS_COMPARED, LETTER_WORTH, Statistics

Beginning = tuple[bytes, TermInfo, int]
"""A word, its row, and the number of typing errors in its beginning."""


def edits_of_beginning(length: int) -> int:
    """Return how many typing errors a beginning with `length` letters may have."""
    return 0 if length < 4 else 1 if length < 8 else 2


def beginnings_within(statistics: Statistics, typed: bytes, edits: int) -> list[Beginning]:
    """Return the words that begin like a typed one, in no order.

    Args:
        edits: the most errors that a beginning may have; two are searched for only if one error leads to no word that
            is evidently longer than the typed one.
    """
    found = statistics.beginnings(typed, min(edits, 1))
    if edits < 2 or _is_unfinished(typed, found):
        return found  # the parts of a bucket agree: a word that decides so for one of them does for all together
    return statistics.beginnings(typed, edits)


def _is_unfinished(typed: bytes, found: list[Beginning]) -> bool:
    """Return whether one of the found words is too long to be `typed` with one error, so that `typed` is unfinished."""
    longest = len(typed.decode()) + 1
    return any(len(word.decode()) > longest for word, _, _ in found)


def likeliest_beginnings(statistics: Statistics, typed: bytes, edits: int, taken: Container[bytes]) -> list[Beginning]:
    """Return the words that begin like a typed one with errors: those with the fewest errors first, then the likeliest.

    Args:
        edits: see `beginnings_within`.
        taken: words to leave out.
    """
    found = beginnings_within(statistics, typed, edits) if edits > 0 else []
    return likeliest_misspelt(typed, found, taken, CORRECTIONS_COMPARED, LETTER_WORTH)
