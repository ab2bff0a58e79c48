"""A reader of one bucket whose words, postings, OIDs and lengths come from a cache: for queries."""

from typing import TYPE_CHECKING

from sonicpy._native.bucket_cache import BucketCache, CachingReader
from sonicpy.store.disk.table_numbers import StoredRow
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.views.bucket_reader import BucketReader

if TYPE_CHECKING:
    from sonicpy._native.bucket_cache import CacheSource
    from sonicpy.store.views.bucket_rows import BucketRows

CACHED_BLOCK_BYTES = 210
"""The approximate number of bytes of a block in the cache."""


class CachedReader(CachingReader, BucketReader):
    """Reads one bucket through a view; words, postings, OIDs and lengths come from a cache.

    Args:
        source: a reader, through the same view, of the rows that the cache lacks.
    """

    def __init__(self, view: "BucketRows", state: BucketState, cache: BucketCache, source: "CacheSource") -> None:
        self._source = source
        self._wordless: list[int] | None = None
        CachingReader.__init__(self, cache, source, in_order=not view.by_association)
        BucketReader.__init__(self, view, state)

    def wordless(self) -> list[int]:
        """Return the IIDs of the objects without words. For the rows of a commit, they are computed once."""
        if not self._source.is_committed:
            return super().wordless()
        found = self._wordless
        if found is None:
            found = self._wordless = super().wordless()
        return found

    def read_blocks(self, keys: list[bytes]) -> list[StoredRow]:
        """Return the (key, block) of each existing block of postings with one of these keys, in order.

        The cached postings keep the blocks that were read.
        """
        rows = super().read_blocks(keys)
        self._source.note_read(CACHED_BLOCK_BYTES * len(rows))
        return rows

    def note_made(self, size_bytes: int) -> None:
        """Note that a query made windows of postings of `size_bytes`, which the cached postings keep."""
        self._source.note_read(size_bytes)
