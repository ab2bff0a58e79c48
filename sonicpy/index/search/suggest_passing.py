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
    """Return the words that are held by objects which meet a condition: first those that begin as typed, then those of
    most such objects.

    Args:
        readers: of the buckets.
        words: the likely ones first.
    """
    return most_passing(typed, words, [count_passing(reader, words, condition) for reader in readers])


def count_passing(reader: BucketReader, words: Sequence[bytes], condition: Condition) -> list[int]:
    """Return how many of the objects that meet a condition hold each of some words."""
    rows = reader.words(list(words))
    postings = reader.postings_of([row for row in rows if row is not None])
    lists = lists_of(reader, [[each] for each in postings], reader.length_masks())
    counts = iter(count_each(lists, settled(everybody(reader, condition))))
    return [0 if row is None else next(counts) for row in rows]


def most_passing(typed: bytes, words: Sequence[bytes], counts: Iterable[Sequence[int]]) -> list[bytes]:
    """Return the words that some object holds which meets a condition, in the order of `passing_words`.

    Args:
        counts: the results of `count_passing`, for each bucket or part.
    """
    sums = [sum(each) for each in zip(*counts, strict=True)]
    found = [(not word.startswith(typed), -count, word) for word, count in zip(words, sums, strict=False) if count]
    return [word for _, _, word in sorted(found, key=lambda one: one[:2])]
