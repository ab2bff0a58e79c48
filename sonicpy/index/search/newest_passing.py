"""The newest objects that meet a filter, found without a mask of the whole bucket where the row of one tag, or the
newest windows of values, suffice.
"""

from functools import partial

from sonicpy._native.mask import Mask
from sonicpy._native.newest_pages import NewestPages
from sonicpy.filters.conditions import All, Condition, HasTag, Range
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.masks import everybody, mask_of
from sonicpy.store.views.bucket_reader import BucketReader, window_count


def newest_page(lexicon: Lexicon, condition: Condition, offset: int, limit: int) -> list[str]:
    """Return the names of a page of the objects that meet a condition, newest first."""
    pages = lexicon.newest_pages
    if pages is None:
        pages = lexicon.newest_pages = _pages_of(lexicon.reader)
    found = pages.names(condition, offset, limit)
    if found is None:
        reader = lexicon.reader
        return reader.oids(everybody(reader, condition).newest(offset + limit)[offset:])
    return found


def _pages_of(reader: BucketReader) -> NewestPages:
    mask = partial(_mask_of_all, reader)
    return NewestPages(reader, reader.tags, reader.columns, window_count(reader), HasTag, Range, All, mask)


def _mask_of_all(reader: BucketReader, conditions: list[Condition]) -> Mask:
    return mask_of(reader, conditions[0] if len(conditions) == 1 else All(tuple(conditions)))
