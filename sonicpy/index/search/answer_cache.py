"""A cache of answers, each until its bucket changes.

Search-as-you-type sends the same few letters many times, and most queries repeat earlier ones.
"""

from collections.abc import Hashable
from typing import Final

Moment = tuple[object, ...] | None
"""The state of a bucket: the serial of its reader's cache, and the version of its word graph; of several, the state of
each. None: there was no bucket."""
Kept = tuple[int, Moment, list[str]]
"""The stamp of the store (`Store.readable_stamp`), the moment of the bucket, the answer."""

ROOM: Final = 60_000
"""Entries of all answers together: about 6 MB."""
OVERHEAD: Final = 4
"""The size of a question and a list, in entries."""
LONGEST: Final = 100
"""Longer answers are not kept."""


class AnswerCache:
    """Answers by question. An answer is valid for the stamp at which it was computed, and for the moment of its bucket.

    The stamp changes with the store and is available without reading it; the moment only changes with the bucket.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Kept] = {}  # threads share it: each step is one call of a dict
        self._entries = 0  # may count an answer twice

    def get(self, question: Hashable) -> Kept | None:
        """Return the last answer to a question, which may be outdated, or None.

        Raises:
            TypeError: the question cannot be hashed.
        """
        return self._kept.get(question)

    def put(self, question: Hashable, kept: Kept) -> None:
        """Store an answer, and forget all others if there are too many."""
        entries = len(kept[2])
        if entries > LONGEST:
            return
        self._entries += entries + OVERHEAD
        if self._entries > ROOM:
            self._kept = {}
            self._entries = entries + OVERHEAD
        self._kept[question] = kept
