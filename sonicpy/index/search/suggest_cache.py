"""A cache of suggestions, each until its bucket changes: search-as-you-type sends the same few letters many times."""

from collections.abc import Hashable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")
Moment = tuple[int, int] | None
"""Of a bucket: the serial of what its reader has cached, and the version of its word graph. None: there was none."""
Kept = tuple[int, Moment, Answer]
"""The stamp of the store (`Store.readable_stamp`), the moment of the bucket, the answer."""

ANSWERS_MAX = 10_000
"""Answers of about 400 bytes each."""


class SuggestCache(Generic[Answer]):
    """Answers by question. An answer holds for the stamp at which it was given, and for the moment of its bucket.

    The stamp changes with the store and can be asked without reading it; the moment only changes with the bucket.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Kept[Answer]] = {}  # threads share it: each step is one call of a dict

    def get(self, question: Hashable) -> Kept[Answer] | None:
        """Return the answer that was given last, perhaps to what has changed since, or None."""
        return self._kept.get(question)

    def put(self, question: Hashable, kept: Kept[Answer]) -> None:
        """Store an answer."""
        if len(self._kept) >= ANSWERS_MAX:
            self._kept = {}
        self._kept[question] = kept
