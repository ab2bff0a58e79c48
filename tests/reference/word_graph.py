"""A word graph as a sorted list, corrected by the textbook's table of distances: the reference implementation of
sonicpy.graph.
"""

from collections.abc import Iterable, Sequence
from math import log

from rapidfuzz.distance import LCSseq


class WordList:
    """The words of one bucket."""

    def __init__(self, words: Iterable[bytes]) -> None:
        self._words = sorted(set(words))

    def __len__(self) -> int:
        return len(self._words)

    def contains(self, word: bytes) -> bool:
        return word in self._words

    def complete(self, prefix: bytes, limit: int, after: bytes | None = None) -> list[bytes]:
        found = [word for word in self._words if word.startswith(prefix) and (after is None or word > after)]
        return found if limit < 0 else found[:limit]

    def words(self, offset: int, limit: int) -> list[bytes]:
        return self._words[offset:] if limit < 0 else self._words[offset : offset + limit]

    def correct(self, word: bytes, distance: int, *, transpositions: bool) -> list[tuple[bytes, int]]:
        measured = [(known, edit_distance(word.decode(), known.decode(), transpositions)) for known in self._words]
        return nearest_first((known, edits) for known, edits in measured if edits <= distance)


def nearest_first(matches: Iterable[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    """Return the matches ordered by distance, then by bytes."""
    return sorted(matches, key=lambda match: (match[1], match[0]))


def edit_distance(one: str, other: str, transpositions: bool) -> int:
    """Return the edit distance: the smallest number of characters to insert, delete or replace (Levenshtein).

    With `transpositions`, a swap of two neighbours is one edit, too (optimal string alignment).
    """
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) + 1):
        for j in range(len(other) + 1):
            if i == 0 or j == 0:
                table[i][j] = i + j
                continue
            table[i][j] = min(
                table[i - 1][j] + 1,
                table[i][j - 1] + 1,
                table[i - 1][j - 1] + (one[i - 1] != other[j - 1]),
            )
            if transpositions and i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


def likeliest_first(
    typed: str, words: Sequence[str], holders: Sequence[int], compared: int, letter_worth: float
) -> list[int]:
    """Return the places of words: the most frequent first, except that the first `compared` of them are ordered by
    likelihood.
    """

    def unlikeness(place: int) -> tuple[float, int, bytes]:
        word = words[place]
        kept = LCSseq.similarity(typed, word)
        kept += kept == len(typed) - 1 and sorted(typed) == sorted(word)
        encoded, other = typed.encode(), word.encode()
        apart = 2 * len(set(encoded) ^ set(other)) + (encoded[:1] != other[:1])
        return letter_worth * ((typed[:1] != word[:1]) - kept) - log(max(holders[place], 1)), apart, other

    places = sorted(range(len(words)), key=lambda place: -holders[place])
    return sorted(places[:compared], key=unlikeness) + places[compared:]
