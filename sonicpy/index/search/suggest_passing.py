"""SUGGEST with a filter: only words of objects that pass, so that every suggestion leads to a hit."""

from collections.abc import Iterable, Sequence

from sonicpy._native.mask import AllOf, Mask, settled
from sonicpy._native.term_mask import Holders, count_each, lists_of
from sonicpy.filters.conditions import Condition
from sonicpy.index.search.fitting import CountTogether, Typed, counted_by, suggest_fitting
from sonicpy.index.search.masks import everybody
from sonicpy.index.search.statistics import Statistics
from sonicpy.store.views.bucket_reader import BucketReader, window_count

SUGGESTIONS_EXAMINED = 256
"""The most words that are compared with a filter."""


def passing_words(
    readers: Iterable[BucketReader], typed: bytes, words: Sequence[bytes], condition: Condition
) -> list[bytes]:
    """Return the given words that occur in objects which meet a condition: first the words that begin as typed,
    then those of the most such objects.

    Args:
        readers: read the buckets.
        words: the likeliest ones first.
    """
    return most_passing(typed, words, [count_passing(reader, words, condition) for reader in readers])


def passing_together(
    statistics: Statistics, readers: Sequence[BucketReader], typed: Typed, limit: int, condition: Condition
) -> list[bytes]:
    """Return at most `limit` suggestions for a text of several words, counted in objects of some buckets that meet a
    condition; none if no such object holds one of the words before together with a completion.
    """

    def counter(reader: BucketReader) -> CountTogether:
        return lambda groups, words: count_passing(reader, words, condition, groups)

    return counted_by(suggest_fitting(statistics, typed, limit, filtered=True), list(map(counter, readers)))


def count_passing(
    reader: BucketReader, words: Sequence[bytes], condition: Condition, groups: Sequence[Sequence[bytes]] = ()
) -> list[int]:
    """Return how many of the objects that meet a condition hold each of some words, together with one word of each of
    `groups`.
    """
    rows, lengths = reader.words(list(words)), reader.length_masks()
    before = [[row for row in reader.words(list(group)) if row is not None] for group in groups]
    if not all(before):
        return [0] * len(words)
    among: Mask = everybody(reader, condition)
    if before:
        holding = lists_of(reader, [reader.postings_of(group) for group in before], lengths)
        windows = window_count(reader)
        among = AllOf(windows, [among, *(Holders(windows, holding, number) for number in range(len(before)))])
    postings = reader.postings_of([row for row in rows if row is not None])
    counts = iter(count_each(lists_of(reader, [[each] for each in postings], lengths), settled(among)))
    return [0 if row is None else next(counts) for row in rows]


def most_passing(typed: bytes, words: Sequence[bytes], counts: Iterable[Sequence[int]]) -> list[bytes]:
    """Return the words that occur in an object which meets a condition, in the order of `passing_words`.

    Args:
        counts: the results of `count_passing`, for each bucket or part.
    """
    sums = [sum(each) for each in zip(*counts, strict=True)]
    found = [(not word.startswith(typed), -count, word) for word, count in zip(words, sums, strict=False) if count]
    return [word for _, _, word in sorted(found, key=lambda one: one[:2])]
