"""The interface of the cache that queries in an open write transaction read through."""

from typing import TYPE_CHECKING, Protocol

from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.known_pending import KnownPending
from sonicpy.store.views.bucket_reader import TagReader
from sonicpy.store.views.cached_reader import CachedReader
from sonicpy.store.views.column_reader import ColumnReader

if TYPE_CHECKING:
    from sonicpy.store.rows.tag_counts import Beside
    from sonicpy.store.views.beside_words import Owner


class ReadRows(Protocol):
    """The cache for queries in an open write transaction; `OpenCache` documents the methods."""

    def reader(self, state: BucketState) -> CachedReader: ...
    def growing_pending_words(self, state: BucketState) -> KnownPending: ...
    def tag_reader(self, owner: "Owner", beside: "Beside" = ...) -> TagReader | None: ...
    def column_reader(self, owner: "Owner") -> ColumnReader | None: ...
