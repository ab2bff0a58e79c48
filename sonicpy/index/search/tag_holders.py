"""The number of objects that hold each of many tags."""

from collections.abc import Sequence
from typing import cast

from sonicpy._native.length_masks import LengthMasks
from sonicpy._native.mask import Bits
from sonicpy._native.term_mask import count_each, count_in_tails, lists_of
from sonicpy._native.term_rows import TermInfo
from sonicpy.store.views.beside_words import TagRows

TAGS_AT_ONCE = 1_000
"""The most common tags whose holders are read together."""


def count_holders(tags: TagRows, rows: Sequence[TermInfo], lengths: LengthMasks, among: Bits) -> list[int]:
    """Return how many objects of a mask hold each tag.

    Args:
        tags: the reader of the tags of the bucket.
        rows: the rows of the tags to count.
        lengths: the masks of lengths of the bucket.
    """
    counts = count_in_tails(list(rows), among)
    common = [number for number, count in enumerate(counts) if count is None]
    for start in range(0, len(common), TAGS_AT_ONCE):
        some = common[start : start + TAGS_AT_ONCE]
        postings = tags.postings_of([rows[number] for number in some])
        lists = lists_of(tags, [[each] for each in postings], lengths)
        for number, count in zip(some, count_each(lists, among), strict=True):
            counts[number] = count
    return cast(list[int], counts)
