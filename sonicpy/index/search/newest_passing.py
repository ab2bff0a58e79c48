"""The newest objects that meet a filter, found without a mask of the whole bucket where the row of one tag, or the
newest windows of values, suffice.
"""

from functools import partial
from typing import TYPE_CHECKING

from sonicpy._native.mask import Mask
from sonicpy._native.newest_pages import NewestPages
from sonicpy.filters.conditions import All, Condition, HasTag, Range
from sonicpy.filters.grammar import parse
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.masks import everybody, mask_of
from sonicpy.index.search.refine import check_ranking
from sonicpy.search import Search
from sonicpy.store.views.bucket_reader import BucketReader, window_count

if TYPE_CHECKING:
    from sonicpy.config import Config


def newest_names(lexicon: Lexicon, config: "Config", search: Search) -> list[str]:
    """Return the names of the objects on the page of a search with a filter, which `asks_newest`. Raises as
    `check_ranking`."""
    pages = lexicon.newest_pages
    if pages is None:
        check_ranking(config)
        pages = lexicon.newest_pages = _pages_of(lexicon.reader)
    condition = parse(search.filter or "")
    found = pages.names(condition, search.offset, search.limit)
    if found is None:
        reader, end = lexicon.reader, search.offset + search.limit
        return reader.oids(everybody(reader, condition).newest(end)[search.offset :])
    return found


def _pages_of(reader: BucketReader) -> NewestPages:
    mask = partial(_mask_of_all, reader)
    return NewestPages(reader, reader.tags, reader.columns, window_count(reader), HasTag, Range, All, mask)


def _mask_of_all(reader: BucketReader, conditions: list[Condition]) -> Mask:
    return mask_of(reader, conditions[0] if len(conditions) == 1 else All(tuple(conditions)))
