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


def likeliest_beginnings(statistics: Statistics, typed: bytes, edits: int, taken: Container[bytes]) -> list[Beginning]:
    """Return the words that begin like a typed one with errors: those with the fewest errors first, then the likeliest.

    Args:
        edits: the most errors that a beginning may have.
        taken: words to leave out.
    """
    found = statistics.beginnings(typed, edits) if edits > 0 else []
    return likeliest_misspelt(typed, found, taken, CORRECTIONS_COMPARED, LETTER_WORTH)
