"""A reader of the tags of a bucket through a cache: for queries."""

from typing import TYPE_CHECKING, cast

from sonicpy._native.bucket_cache import BucketCache
from sonicpy.store.rows.tag_counts import OF_TAGS, Beside, TagCounts
from sonicpy.store.views.bucket_reader import TagReader, tags_state
from sonicpy.store.views.cached_reader import CachedReader

if TYPE_CHECKING:
    from sonicpy._native.bucket_cache import CacheSource
    from sonicpy.store.views.beside_words import Owner
    from sonicpy.store.views.bucket_rows import BucketRows


class CachedTagReader(TagReader, CachedReader):
    """Reads the tags of a bucket through a cache. Their postings can be combined with those of the owner's words.

    Args:
        cache: the cache of the rows under the number of the tags.
        source: a reader of the rows that the cache lacks.
    """

    def __init__(
        self,
        view: "BucketRows",
        owner: "Owner",
        counts: TagCounts,
        cache: BucketCache,
        source: "CacheSource",
        beside: Beside = OF_TAGS,
    ) -> None:
        CachedReader.__init__(self, view, tags_state(owner.state, counts, beside), cache, source)
        self._beside = beside
        self._owner = owner
        self.live = counts.live
        cache.note_objects(len(owner.lengths()))

    def lengths(self) -> bytearray:
        """Return the packed lengths of all objects of the bucket, by IID."""
        return cast(bytearray, self._owner.lengths())
