"""Words added since the graph file was built: few, so a correction compares them one by one."""

import threading
from collections.abc import Sequence

from rapidfuzz.distance import OSA, Levenshtein
from rapidfuzz.process import extract

from sonicpy._native.held import Held


class PendingWords:
    """Words of one bucket that its graph may lack; some may no longer be in any object.

    Args:
        source: a list that only grows; `refresh` adds the words that were appended to it.
    """

    def __init__(self, source: Sequence[bytes]) -> None:
        self.source = source
        self._taken = 0
        self._words: set[str] = set()
        self._by_length: dict[int, list[str]] = {}  # in characters
        self._refreshing = threading.Lock()

    def __len__(self) -> int:
        return len(self._words)

    def refresh(self) -> None:
        """Add the words that were appended to the source. Other threads may append some meanwhile."""
        with Held(self._refreshing):
            end = len(self.source)
            for word in map(bytes.decode, self.source[self._taken : end]):
                if word not in self._words:  # last: what is among them can be found
                    self._by_length.setdefault(len(word), []).append(word)
                    self._words.add(word)
            self._taken = end

    def correct(self, word: bytes, distance: int, *, transpositions: bool) -> list[tuple[bytes, int]]:
        """Return the words within an edit distance of `word`, with their distances, in no order.

        Args:
            word: UTF-8.
            distance: the largest edit distance, in characters.
            transpositions: a swap of two neighbours counts as one error; else as two.
        """
        scorer = OSA.distance if transpositions else Levenshtein.distance
        typed = word.decode()
        found = []
        for length in range(len(typed) - distance, len(typed) + distance + 1):  # others are farther away
            words = self._by_length.get(length)
            if words:
                found += extract(typed, words, scorer=scorer, score_cutoff=distance, limit=None)
        return [(match.encode(), int(edits)) for match, edits, _ in found]
