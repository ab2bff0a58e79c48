"""Places in long lists of words: once a list was read, a page at any offset costs as much as the first one.

The words of a bucket are in the order of their bytes, and no row counts the words before a place. So each list notes
every STEP-th word that it passes, which is valid until a word appears or vanishes.
"""

from collections.abc import Callable, Iterator
from itertools import islice

STEP = 256
"""The distance between noted words: to reach a page, at most this many words are passed."""
LISTS_MAX = 64
"""The most lists whose words are noted; a list of a million words notes 4,000."""

WordsFrom = Callable[[bytes, bytes], Iterator[bytes]]
"""Yields the words that begin with one word and follow another, in byte order; see `Lexicon.completions`."""


class WordPlaces:
    """The noted words of the lists of all buckets. Threads may share it: each note is one step of a dict."""

    def __init__(self) -> None:
        self._lists: dict[tuple[int, bytes], tuple[tuple[int, ...], dict[int, bytes]]] = {}

    def words(
        self, words_from: WordsFrom, bucket: int, moment: tuple[int, ...], prefix: bytes, offset: int, limit: int
    ) -> list[bytes]:
        """Return the words of a bucket that begin with `prefix`, from place `offset` on.

        Args:
            moment: the state of the bucket's words; noted words are used while it is equal.
        """
        noted = self._noted((bucket, prefix), moment) if offset >= STEP else {}
        step = min(offset // STEP, len(noted))
        found = words_from(prefix, noted[step - 1] if step else b"")
        while (step + 1) * STEP <= offset:
            passed = list(islice(found, STEP))
            if len(passed) < STEP:
                return []
            noted[step] = passed[-1]
            step += 1
        return list(islice(found, offset - step * STEP, offset - step * STEP + limit))

    def _noted(self, key: tuple[int, bytes], moment: tuple[int, ...]) -> dict[int, bytes]:
        known = self._lists.get(key)
        if known is not None and known[0] == moment:
            return known[1]
        if len(self._lists) >= LISTS_MAX:
            self._lists.clear()
        noted: dict[int, bytes] = {}
        self._lists[key] = moment, noted
        return noted
