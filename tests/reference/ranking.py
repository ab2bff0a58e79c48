"""Sonic's table of scores with dicts: the reference implementation of `SonicTable`."""

import struct


def single(number: float) -> float:
    """Return `number` rounded to 32 bits."""
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded


EXACT = 1


class SonicTable:
    """Sonic's table: object -> word -> score, in insertion order."""

    def __init__(self, words: int, full: int) -> None:
        self.words = words
        self.full = full
        self.held: dict[int, dict[int, float]] = {}
        self.ranked: list[tuple[float, int]] = []

    def visit(self, word: int, iids: list[int], score: float, budget: int) -> tuple[int, bool]:
        """Set the score of a word for the newest `budget` objects; stop once a new object has filled the table. Return
        the number of visited objects, and whether the table was filled.

        Args:
            iids: the IIDs of the objects, oldest first.
        """
        visits = 0
        for iid in reversed(iids):
            if visits == budget:
                return visits, False
            visits += 1
            is_new = iid not in self.held
            scores = self.held.setdefault(iid, {})
            scores[word] = min(scores.get(word, single(score)), single(score))
            if is_new and self.full and len(self.held) >= self.full:
                return visits, True
        return visits, False

    def finish(self, all_words: bool) -> None:
        """Fill `ranked`: the mean of each object's scores, computed in 32 bits.

        With `all_words`, objects without all words are first removed one by one, each time moving the last entry into
        the gap: this sets the order of equal means.
        """
        table = list(self.held)
        if all_words:
            for iid in list(table):
                if len(self.held[iid]) < self.words:
                    place = table.index(iid)
                    table[place] = table[-1]
                    table.pop()
        for iid in table:
            total = 0.0
            for word in sorted(self.held[iid]):
                total = single(total + self.held[iid][word])
            self.ranked.append((single(total / self.words), iid))

    def best_scored(self) -> list[tuple[int, int, float]]:
        """Return (IID, kind, score) of every object, best first, equal scores in the order of the table; the kind is
        always the same.
        """
        return [(iid, EXACT, score) for score, iid in sorted(self.ranked, key=lambda pair: -pair[0])]
