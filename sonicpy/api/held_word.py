"""The words by which an object answers."""

from collections.abc import Iterable
from typing import Any, NamedTuple


class HeldWord(NamedTuple):
    """A word by which an object answers.

    Attributes:
        how: "word": it is the word of the query; "form": another form or spelling of it; "part": the word of the query
            is a part of it, or its letters are in it; "completion": it begins with the word of the query; "correction":
            it is some edits away; "synonym": it is a synonym in the rules of the collection.
        typed: the word of the query, in its normal form.
        word: the word that the object holds.
    """

    how: str
    typed: str
    word: str


def held_json(words: Iterable[HeldWord]) -> list[dict[str, Any]]:
    """Return words for JSON."""
    return [word._asdict() for word in words]
