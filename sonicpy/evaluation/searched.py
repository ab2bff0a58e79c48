"""The judged system, which is an object with the methods of an index, and functions that push texts to it."""

from collections.abc import Iterable, Iterator
from typing import Protocol

SPLIT_AT = " \n\t"


class Searched(Protocol):
    """An index, or a client of a server."""

    def push(self, collection: str, bucket: str, object: str, text: str, lang: str | None = None) -> None:
        """Add a text to an object; `lang` as in `Index.push`."""

    def query(
        self, collection: str, bucket: str, text: str, *, limit: int = 10, offset: int = 0, lang: str | None = None
    ) -> Iterable[str]:
        """Return at most `limit` objects that answer, best first, behind the first `offset`; `lang` as in
        `Index.query`."""

    def suggest(self, collection: str, bucket: str, word: str, *, limit: int = 5) -> Iterable[str]:
        """Return at most `limit` words that complete or correct `word`."""

    def consolidate(self) -> None:
        """Build the word graphs, so that every word can be suggested."""

    def flush_collection(self, collection: str) -> int:
        """Erase a collection; return the number that the index returns."""


def pieces(text: str, most_bytes: int | None) -> Iterator[str]:
    """Yield a text in pieces of at most `most_bytes` bytes, split at blanks if possible; None: in one piece."""
    if most_bytes is None or len(text.encode()) <= most_bytes:
        yield text
        return
    while text:
        end = min(len(text), most_bytes)
        while len(text[:end].encode()) > most_bytes:
            end -= max(1, (len(text[:end].encode()) - most_bytes) // 4)
        blank = max(text.rfind(char, 0, end) for char in SPLIT_AT) if end < len(text) else end
        end = blank if blank > 0 else end
        yield text[:end]
        text = text[end:].lstrip(SPLIT_AT)


def fill(
    searched: Searched,
    collection: str,
    bucket: str,
    texts: Iterable[tuple[str, str]],
    *,
    lang: str | None = None,
    most_bytes: int | None = None,
) -> None:
    """Push (object, text) pairs, then consolidate.

    Args:
        lang: the language of the texts, as in `push`.
        most_bytes: the most bytes of one PUSH; longer texts are pushed in pieces. None: texts are pushed whole.
    """
    for name, text in texts:
        for piece in pieces(text, most_bytes):
            searched.push(collection, bucket, name, piece, lang)
    searched.consolidate()
