"""Plain BM25 as in textbooks, in memory, for comparisons: words are runs of letters and digits in lower case, without
stemming and stop words; k1 = 1.2, b = 0.75; every object is ranked. It has only the methods that an evaluation calls.

Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), formula 3.15.
"""

import heapq
import math
import re
from collections import Counter, defaultdict

K1 = 1.2
B = 0.75
WORD = re.compile(r"\w+")


class PlainBm25:
    """An index that scores by BM25."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        self._postings: dict[tuple[str, str], dict[str, dict[str, float]]] = {}

    def push(self, collection: str, bucket: str, object: str, text: str, lang: str | None = None) -> None:
        """Add a text to an object."""
        self._texts[collection, bucket][object].update(WORD.findall(text.lower()))

    def consolidate(self) -> None:
        """Compute the part of each word in the score of each object."""
        self._postings = {scope: weighted(objects) for scope, objects in self._texts.items()}

    def query(
        self, collection: str, bucket: str, text: str, *, limit: int = 10, offset: int = 0, lang: str | None = None
    ) -> list[str]:
        """Return the best objects; objects of equal score are ordered by OID."""
        scores: dict[str, float] = defaultdict(float)
        for word in set(WORD.findall(text.lower())):
            for name, score in self._postings[collection, bucket].get(word, {}).items():
                scores[name] += score
        best = heapq.nsmallest(offset + limit, scores.items(), key=lambda found: (-found[1], found[0]))
        return [name for name, _ in best[offset:]]

    def suggest(self, collection: str, bucket: str, word: str, *, limit: int = 5) -> list[str]:
        """Return an empty list: plain BM25 makes no suggestions."""
        return []

    def flush_collection(self, collection: str) -> int:
        """Delete a collection; return 1 if it existed, else 0."""
        gone = [scope for scope in self._texts if scope[0] == collection]
        for scope in gone:
            del self._texts[scope]
            self._postings.pop(scope, None)
        return int(bool(gone))


def weighted(objects: dict[str, Counter[str]]) -> dict[str, dict[str, float]]:
    """Return word -> object -> score."""
    lengths = {name: counts.total() for name, counts in objects.items()}
    average = sum(lengths.values()) / len(lengths)
    frequencies: Counter[str] = Counter(word for counts in objects.values() for word in counts)
    postings: dict[str, dict[str, float]] = defaultdict(dict)
    for name, counts in objects.items():
        norm = K1 * (1 - B + B * lengths[name] / average)
        for word, tf in counts.items():
            idf = math.log(1 + (len(objects) - frequencies[word] + 0.5) / (frequencies[word] + 0.5))
            postings[word][name] = idf * tf * (K1 + 1) / (tf + norm)
    return postings
