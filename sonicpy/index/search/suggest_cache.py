"""A cache of suggestions, valid until the next change: search-as-you-type sends the same few letters many times."""

from collections.abc import Hashable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")

ANSWERS_MAX = 10_000
"""Answers of about 100 bytes each."""


class SuggestCache(Generic[Answer]):
    """Answers by question; the first change drops all of them."""

    def __init__(self) -> None:
        self._cached: tuple[int, dict[Hashable, Answer]] = (-1, {})  # replaced as one: threads share it

    def get(self, question: Hashable, stamp: int) -> Answer | None:
        """Return the answer that was given at this stamp (see `Store.readable_stamp`), or None."""
        cached_stamp, answers = self._cached
        return answers.get(question) if cached_stamp == stamp else None

    def put(self, question: Hashable, stamp: int, answer: Answer) -> None:
        """Store an answer."""
        cached_stamp, answers = self._cached
        if cached_stamp != stamp or len(answers) >= ANSWERS_MAX:
            answers = {}
            self._cached = (stamp, answers)
        answers[question] = answer
