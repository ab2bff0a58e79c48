"""Answers that hold until something changes: who types ahead sends the same few letters again and again."""

from collections.abc import Hashable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")

KEPT = 10_000
"""Of some 100 bytes each."""


class Answers(Generic[Answer]):
    """Answers by question; all of them are forgotten at the first change."""

    def __init__(self) -> None:
        self._held: tuple[int, dict[Hashable, Answer]] = (-1, {})  # replaced as one: threads share it

    def get(self, question: Hashable, stamp: int) -> Answer | None:
        """Return the answer that was given at this stamp (see `Store.stamp`), or None."""
        held_stamp, answers = self._held
        return answers.get(question) if held_stamp == stamp else None

    def put(self, question: Hashable, stamp: int, answer: Answer) -> None:
        """Keep an answer."""
        held_stamp, answers = self._held
        if held_stamp != stamp or len(answers) >= KEPT:
            answers = {}
            self._held = (stamp, answers)
        answers[question] = answer
