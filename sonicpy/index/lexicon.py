"""SUGGEST, LIST and COUNT of a bucket: what the sorted table of words tells, live or as last consolidated."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from sonicpy._native.postings import WORD_BYTES_MAX
from sonicpy.store.bucket import BucketReader
from sonicpy.store.scopes import BucketState
from sonicpy.store.view import View

COMPLETIONS_EXAMINED = 2000
"""How many completions are compared to find the likely ones: a bound on the time of a one-letter prefix."""


class Completion(NamedTuple):
    """A word and in how many objects it is."""

    word: bytes
    frequency: int


def list_words(view: View, collection: str, bucket: str, limit: int, offset: int, *, live: bool) -> list[str]:
    """Return at most `limit` words of a bucket in byte order, from place `offset` on."""
    state = view.bucket(collection, bucket)
    if state is None or offset >= count_words(state, live=live):
        return []
    shown = _shown(BucketReader(view, state), b"", live=live)
    return [found.word.decode() for found in islice(shown, offset, offset + limit)]


def complete(
    view: View, collection: str, bucket: str, prefix: bytes, limit: int, *, live: bool, likely: bool
) -> list[str]:
    """Return at most `limit` words that begin with `prefix`.

    Args:
        likely: the word itself, then the most frequent ones; else in byte order.
    """
    state = view.bucket(collection, bucket)
    if state is None or len(prefix) > WORD_BYTES_MAX:
        return []
    shown = _shown(BucketReader(view, state), prefix, live=live)
    if not likely:
        return [found.word.decode() for found in islice(shown, limit)]
    examined = sorted(
        islice(shown, COMPLETIONS_EXAMINED),
        key=lambda found: (found.word != prefix, -found.frequency, len(found.word), found.word),
    )
    return [found.word.decode() for found in examined[:limit]]


def count_words(state: BucketState, *, live: bool) -> int:
    """Return how many words the bucket shows."""
    return state.live_words if live else state.visible_words


def _shown(reader: BucketReader, prefix: bytes, *, live: bool) -> Iterator[Completion]:
    for word, row in reader.lexicon(prefix):
        if row.live if live else row.visible:
            yield Completion(word, row.holders)
