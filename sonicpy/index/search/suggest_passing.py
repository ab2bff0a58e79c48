"""SUGGEST with a filter: only words that some object holds which passes, so that no suggestion leads to nothing."""

from collections.abc import Iterable, Sequence

from sonicpy._native.mask import settled
from sonicpy._native.term_mask import count_each, lists_of
from sonicpy.filters.conditions import Condition
from sonicpy.index.search.masks import everybody
from sonicpy.store.views.bucket_reader import BucketReader

SUGGESTIONS_EXAMINED = 256
"""Maximum of words that are compared with a filter."""


def passing_words(
    readers: Iterable[BucketReader], typed: bytes, words: Sequence[bytes], condition: Condition
) -> list[bytes]:
    """Return those of some words that objects hold which meet a condition: first those that begin as typed, those of
    most such objects.

    Args:
        readers: of the buckets.
        words: the likely ones first.
    """
    sums = dict.fromkeys(words, 0)
    for reader in readers:
        rows = [(word, row) for word, row in zip(words, reader.words(list(words)), strict=True) if row is not None]
        postings = reader.postings_of([row for _, row in rows])
        lists = lists_of(reader, [[each] for each in postings], reader.length_masks())
        counts = count_each(lists, settled(everybody(reader, condition)))
        for (word, _), count in zip(rows, counts, strict=True):
            sums[word] += count
    found = [(not word.startswith(typed), -count, word) for word, count in sums.items() if count]
    return [word for _, _, word in sorted(found, key=lambda one: one[:2])]
