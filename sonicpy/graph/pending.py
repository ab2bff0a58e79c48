"""Words pushed since the graph file was built: few, so they are compared one by one."""

from collections.abc import Sequence

from rapidfuzz.distance import OSA, Levenshtein
from rapidfuzz.process import extract


class PendingWords:
    """Words of one bucket that its graph may not hold; some may be gone again.

    Args:
        source: a list that only grows; what is appended later is taken over by `refresh`.
    """

    def __init__(self, source: Sequence[bytes]) -> None:
        self.source = source
        self._taken = 0
        self._words: dict[str, None] = {}
        self._choices: list[str] = []

    def __len__(self) -> int:
        return len(self._choices)

    def refresh(self) -> None:
        """Take over what was appended to the source."""
        if self._taken == len(self.source):
            return
        for word in self.source[self._taken :]:
            self._words[word.decode()] = None
        self._taken = len(self.source)
        self._choices = list(self._words)

    def correct(self, word: bytes, distance: int, *, transpositions: bool) -> list[tuple[bytes, int]]:
        """Return the words within `distance` edits of `word`, with their distances, in no order.

        Args:
            distance: in characters.
            transpositions: a swap of neighbours is one edit; else two.
        """
        scorer = OSA.distance if transpositions else Levenshtein.distance
        found = extract(word.decode(), self._choices, scorer=scorer, score_cutoff=distance, limit=None)
        return [(match.encode(), int(edits)) for match, edits, _ in found]
