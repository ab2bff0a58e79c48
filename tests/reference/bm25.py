"""BM25 over plain dicts, written from the formula: the reference implementation of `Index.query`.

The term frequency of a word in an object is the largest count in any of its texts; the length of an object is the sum
of its term frequencies. A score is multiplied by the share of the query's weight that the object holds; objects with
all words come first. Among objects with equal scores, the newest comes first.
"""

import math
from collections import Counter

K1 = 1.2
B = 0.75


class Bm25:
    """Objects and the words of their texts."""

    def __init__(self) -> None:
        self._objects: dict[str, Counter[str]] = {}
        self._holders: dict[str, list[str]] = {}

    @property
    def objects(self) -> int:
        """The number of objects."""
        return len(self._objects)

    def holders(self, word: str) -> list[str]:
        """Return the objects that hold a word, newest association first."""
        return self._holders.get(word, [])

    def newest_first(self, oids: set[str]) -> list[str]:
        """Return some objects in reverse order of their first push."""
        return [oid for oid in reversed(self._objects) if oid in oids]

    def push(self, oid: str, words: list[str]) -> None:
        """Add a text to an object."""
        held = self._objects.setdefault(oid, Counter())
        for word, count in Counter(words).items():
            if word not in held:
                self._holders.setdefault(word, []).insert(0, oid)
            held[word] = max(held[word], count)

    def pop(self, oid: str, words: list[str]) -> int:
        """Remove words from an object; return the number of words removed."""
        held = self._objects.get(oid, Counter())
        gone = held.keys() & set(words)
        for word in gone:
            del held[word]
            self._holders[word].remove(oid)
        if not held:
            self._objects.pop(oid, None)
        return len(gone)

    def flush(self, oid: str) -> int:
        """Remove an object; return the number of its words."""
        return self.pop(oid, list(self._objects.get(oid, ())))

    def best(self, words: list[str]) -> list[tuple[str, float]]:
        """Return every object that holds one of the words, with its score, best first."""
        asked = Counter(words)
        candidates = self.newest_first({oid for word in asked for oid in self.holders(word)})
        scores = {oid: self._score(oid, asked) for oid in candidates}
        tiers = len(asked) <= 4  # objects with all words of a short query come first
        return sorted(scores.items(), key=lambda item: (tiers and not self._holds_all(item[0], asked), -item[1]))

    def _holds_all(self, oid: str, words: Counter[str]) -> bool:
        return self._objects[oid].keys() >= set(words)

    def _score(self, oid: str, asked: Counter[str]) -> float:
        held = self._objects[oid]
        average = sum(object.total() for object in self._objects.values()) / self.objects
        norm = K1 * (1 - B + B * held.total() / average)
        weights = {word: math.sqrt(count) * self._idf(word) for word, count in asked.items()}
        score = sum(weight * held[word] * (K1 + 1) / (held[word] + norm) for word, weight in weights.items())
        share = sum(weight for word, weight in weights.items() if word in held) / sum(weights.values())
        return score * share ** min(3.0, 2.5 / len(asked))

    def _idf(self, word: str) -> float:
        df = len(self.holders(word))
        return math.log(1 + (self.objects - df + 0.5) / (df + 0.5))
