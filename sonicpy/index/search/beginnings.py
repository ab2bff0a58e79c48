"""Words that begin as a typed word does, but for typing errors."""

from collections.abc import Container

from sonicpy._native.nearest import likeliest_first
from sonicpy._native.term_rows import TermInfo
from sonicpy.index.search.statistics import CORRECTIONS_COMPARED, LETTER_WORTH, Statistics

Beginning = tuple[bytes, TermInfo, int]
"""A word, its row, and how many errors its beginning has."""


def edits_of_beginning(length: int) -> int:
    """Return how many typing errors a beginning with `length` letters may have."""
    return 0 if length < 4 else 1 if length < 8 else 2


def likeliest_beginnings(statistics: Statistics, typed: bytes, edits: int, taken: Container[bytes]) -> list[Beginning]:
    """Return the words whose beginnings have errors, by rising number; the likeliest first of each number.

    Args:
        edits: the most errors that a beginning may have.
        taken: words to leave out.
    """
    by_distance: dict[int, list[Beginning]] = {}
    for each in statistics.beginnings(typed, edits) if edits else ():
        if each[2] and each[0] not in taken:
            by_distance.setdefault(each[2], []).append(each)
    ordered: list[Beginning] = []
    for _, near in sorted(by_distance.items()):
        near.sort(key=lambda each: each[0])
        words, holders = [word for word, _, _ in near], [row.df for _, row, _ in near]
        places = likeliest_first(typed, words, holders, CORRECTIONS_COMPARED, LETTER_WORTH)
        ordered += [near[place] for place in places]
    return ordered
