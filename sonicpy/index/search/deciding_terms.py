"""The terms by which a text decides whether an object holds it."""

from collections import defaultdict

from sonicpy._native.terms import PART, STOP, Terms
from sonicpy._native.word_break import is_unspaced_letter


class Pairs:
    """The pairs of letters of a text without blanks, by which other terms of the text are known as parts of the same
    run.

    Args:
        terms: the terms of the text.
    """

    def __init__(self, terms: Terms) -> None:
        self._pairs: set[str] = set()
        if any(flags & PART for flags in terms.flags):  # of few texts
            found = zip(terms.words, terms.flags, strict=True)
            self._pairs = {word.decode() for word, flags in found if flags & PART}
        self._sizes: defaultdict[str, set[int]] = defaultdict(set)
        for pair in self._pairs:
            self._sizes[pair[:1]].add(len(pair))
        self._letters = {letter for pair in self._pairs for letter in _letters(pair)}

    def __bool__(self) -> bool:
        return bool(self._pairs)

    def are_in(self, word: bytes) -> bool:
        """Return whether a word contains a pair."""
        text = word.decode()
        return any(
            text[place : place + size] in self._pairs
            for place, letter in enumerate(text)
            for size in self._sizes.get(letter, ())
        )

    def hold(self, word: bytes) -> bool:
        """Return whether a word is a letter of a pair."""
        return word.decode() in self._letters


def _letters(pair: str) -> tuple[str, ...]:
    """Return the letters of a pair, each with its marks."""
    if len(pair) <= 2:
        return tuple(pair)
    ends = (end for end in range(1, len(pair)) if is_unspaced_letter(pair[end:].encode()))
    end = next(ends, len(pair))
    return pair[:end], pair[end:]


def deciding(terms: Terms) -> list[tuple[bytes, int]]:
    """Return the terms of a text that an object must hold to contain the text, with their flags. Of a run without
    blanks, these are the pairs of letters: within another text, the run may be cut into other words.
    """
    found = list(zip(terms.words, terms.flags, strict=True))
    pairs = Pairs(terms)
    if not pairs:
        return found
    return [
        (word, flags)
        for word, flags in found
        if flags & PART or not (flags & STOP or pairs.are_in(word) or pairs.hold(word))
    ]


def needed(terms: Terms) -> set[int]:
    """Return the numbers of the `deciding` terms of a text."""
    words = {word for word, _ in deciding(terms)}
    return {number for number, word in enumerate(terms.words) if word in words}
