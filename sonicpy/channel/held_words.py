"""The words by which an object answers, in items of an answer: percent-encoded, without blanks and colons."""

from collections.abc import Iterable
from urllib.parse import quote, unquote

NOTHING = "-"
"""The item for no words, or for no text."""

AnsweringWord = tuple[str, str, str]
"""(relation of an object's word to a word of the query, the word of the query, the object's word)."""


def pack_held(words: Iterable[AnsweringWord]) -> str:
    """Return words as `how=typed=word`, or `how=typed` where both are the same, with commas between them."""
    return ",".join("=".join(map(_quoted, one if one[2] != one[1] else one[:2])) for one in words) or NOTHING


def unpack_held(packed: str) -> list[AnsweringWord]:
    """Return the words that `pack_held` packed."""
    if packed == NOTHING:
        return []
    found = ([unquote(part) for part in one.split("=")] for one in packed.split(","))
    return [(one[0], one[1], one[-1]) for one in found]


def pack_text(text: str | None) -> str:
    """Return a text as one item; None becomes NOTHING."""
    return NOTHING if text is None else _quoted(text)


def unpack_text(packed: str) -> str | None:
    """Return the text that `pack_text` packed, or None."""
    return None if packed == NOTHING else unquote(packed)


def _quoted(text: str) -> str:
    return quote(text, safe="")
