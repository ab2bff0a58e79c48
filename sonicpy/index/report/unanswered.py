"""Questions without an answer: the commonest queries that found nothing, and the commonest of their words that no
object holds.

They are counted in memory since the start, as words, without the client. Addresses of mail and of pages are left out.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

_ADDRESS = re.compile(r"@|://|\bwww\.", re.IGNORECASE)

COUNTED_MAX = 1_000
"""The most queries, and the most words, that are counted; for a new one beyond that, the oldest of the rarest ones are
forgotten.
"""
FORGOTTEN = 10
"""For one in how many of the counted ones to forget at a time: looking for the rarest ones takes a while."""
LETTERS_MAX = 200
"""The most letters of a query or of a word that are kept."""
WORDS_MAX = 10
"""The most different words of one query that are counted."""

Unanswered = tuple[str, str, str]
"""A collection, a bucket ("": several), and a query or a word."""
QuestionTally = dict[Unanswered, int]
Tallies = tuple[QuestionTally, QuestionTally, int]
"""Queries, words, and the number of all queries that found nothing."""


class Questions:
    """The questions that one index did not answer; any thread may note them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queries: QuestionTally = {}
        self._words: QuestionTally = {}
        self.total = 0

    def note(self, collection: str, bucket: str, words: Iterable[str], unknown: Iterable[str]) -> None:
        """Count a query that found nothing.

        Args:
            words: the words of the query, in order.
            unknown: those that no object holds; the first WORDS_MAX different ones count.
        """
        query = " ".join(words)[:LETTERS_MAX]
        cut = Counter(word[:LETTERS_MAX] for word in unknown)
        with self._lock:
            self.total += 1
            if query:
                _count(self._queries, (collection, bucket, query), 1)
            for word, times in islice(cut.items(), WORDS_MAX):
                _count(self._words, (collection, bucket, word), times)

    def take(self) -> Tallies:
        """Return the counts so far, and set them to 0."""
        with self._lock:
            found = self._queries, self._words, self.total
            self._queries, self._words, self.total = {}, {}, 0
            return found

    def add(self, tallies: Tallies) -> None:
        """Add the counts of another process."""
        queries, words, total = tallies
        with self._lock:
            self.total += total
            for held, added in ((self._queries, queries), (self._words, words)):
                for question, times in added.items():
                    _count(held, question, times)

    def figures(self, collection: str | None = None, bucket: str | None = None) -> dict[str, Any]:
        """Return the counts by query and by word, the commonest first, of all buckets, a collection or a bucket."""
        with self._lock:
            tallies = {"queries": dict(self._queries), "words": dict(self._words)}
        return {name: _summed(tally, collection, bucket) for name, tally in tallies.items()}


def without_addresses(text: str) -> str:
    """Return a text without the words that are addresses of a mailbox or of a page."""
    return " ".join(piece for piece in text.split() if not _ADDRESS.search(piece))


def _count(tally: QuestionTally, question: Unanswered, times: int) -> None:
    if question not in tally and len(tally) >= COUNTED_MAX:
        for rare in sorted(tally, key=tally.__getitem__)[: max(COUNTED_MAX // FORGOTTEN, 1)]:
            del tally[rare]
    tally[question] = tally.get(question, 0) + times


def _summed(tally: QuestionTally, collection: str | None, bucket: str | None) -> dict[str, int]:
    found: Counter[str] = Counter()
    for (its_collection, its_bucket, text), times in tally.items():
        if collection in (None, its_collection) and bucket in (None, its_bucket):
            found[text] += times
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
