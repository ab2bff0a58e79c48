"""A text that is folded piece by piece, so that places in the folded text can be mapped back to the original."""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable

from sonicpy._native.word_break import word_borders

Span = tuple[int, int]
"""The begin and the end of a part of a text, in characters."""

MARKS = ("Mn", "Me", "Mc", "Cf")
"""General categories of characters that belong to the letter before them."""
VOICED_MARKS = "\uff9e\uff9f"
"""Marks of half-width kana: they belong to the letter before them, but are not combining marks."""


class Borders:
    """Places in a text, in ascending order."""

    def __init__(self, places: list[int]) -> None:
        self._places = places

    def around(self, start: int, end: int) -> Span:
        """Return the last border at or before `start` and the first one at or behind `end`."""
        places = self._places
        return places[bisect_right(places, start) - 1], places[bisect_left(places, end)]


class Folded:
    """A text folded piece by piece, from word border to word border.

    Args:
        fold: a function that folds a piece, or a letter with its marks.

    Attributes:
        text: the folded text.
        borders: the word borders in the original text.
    """

    def __init__(self, text: str, fold: Callable[[str], str]) -> None:
        borders = word_borders(text) or [0]
        pieces = [text[start:end] for start, end in zip(borders, borders[1:], strict=False)]
        folded = [fold(piece) for piece in pieces]
        self.text = "".join(folded)
        self.borders = Borders(borders)
        self._fold = fold
        self._pieces = pieces
        self._folded = folded
        self._starts = borders
        self._folded_starts = [0]
        for piece in folded:
            self._folded_starts.append(self._folded_starts[-1] + len(piece))
        self._letters: dict[int, dict[int, int]] = {}

    def span(self, start: int, end: int) -> Span | None:
        """Return the span of the original text that folds to `text[start:end]`; None: the span would cut through a
        letter."""
        # A piece that folds to nothing has the same place in the folded text as the piece behind it.
        first, last = self._place(start, after=True), self._place(end, after=False)
        return None if first is None or last is None or last <= first else (first, last)

    def _place(self, folded: int, *, after: bool) -> int | None:
        """Return the place in the original for one in the folded text, after or before any pieces that fold to nothing.
        None: the place is between letters that fold together.
        """
        starts = self._folded_starts
        number = (bisect_right(starts, folded) if after else bisect_left(starts, folded)) - 1
        if starts[number] == folded:
            return self._starts[number]
        if not after and starts[number + 1] == folded:
            return self._starts[number + 1]
        inside = self._letters_of(number).get(folded - starts[number])
        return None if inside is None else self._starts[number] + inside

    def _letters_of(self, number: int) -> dict[int, int]:
        """Return, for places in a folded piece, the places in the piece.

        They lie between characters, or between letters with their marks if characters fold together. If even these fold
        together, the result is empty.
        """
        if number not in self._letters:
            piece, folded = self._pieces[number], self._folded[number]
            self._letters[number] = self._matched(list(piece), folded) or self._matched(letters(piece), folded)
        return self._letters[number]

    def _matched(self, parts: list[str], whole: str) -> dict[int, int]:
        """Return end in the folded text -> end in the original, of each part; empty if the folded parts differ from
        `whole`."""
        places: dict[int, int] = {}
        original = folded = 0
        out = []
        for part in parts:
            out.append(self._fold(part))
            original += len(part)
            folded += len(out[-1])
            places[folded] = original
        return places if "".join(out) == whole else {}


def letters(text: str) -> list[str]:
    """Return the letters of a text, each with its marks."""
    starts = [
        place
        for place, char in enumerate(text)
        if place == 0 or not (unicodedata.category(char) in MARKS or char in VOICED_MARKS)
    ]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
