"""A snapshot that many readers use one after the other, until the next commit, with a cache of what they read.

The cache holds states of buckets, and rows and postings of words, while the commit is the last one. OIDs stay for
longer, since an IID always means the same object. People ask for the same words again and again, and for common words
more often.
"""

from sonicpy._native.bucket_cache import BucketCache, CachingReader
from sonicpy._native.stored_postings import StoredPostings
from sonicpy._native.term_rows import TermInfo
from sonicpy.store.bucket_reader import BucketReader
from sonicpy.store.bucket_state import BucketState
from sonicpy.store.environment import Row, Transaction
from sonicpy.store.lengths import LengthsCache
from sonicpy.store.view import View

BUCKETS_MAX = 1_000
WORDS_MAX = 4_096
"""Words of a bucket whose rows are cached, and as many older ones: about 2 MB."""
NAMES_MAX = 50_000
"""OIDs of a bucket: about 5 MB."""
POSTINGS_MAX_BYTES = 64 << 20
"""Of postings, packed blocks and windows of common words, over all buckets, and as much of older ones: what queries
of a million chat messages use again and again."""
CACHED_BLOCK_BYTES = 210
"""About what a block takes in the cache."""


class SnapshotCache:
    """What was read of one commit; threads share it, since each step is one call of a dict.

    Args:
        commit: its number.
        before: the cache of the commit before, whose OIDs this one takes over.
    """

    def __init__(self, commit: int, before: "SnapshotCache | None" = None) -> None:
        self.commit = commit
        names = {} if before is None else before.names
        self.names: dict[int, dict[int, str]] = names if sum(map(len, names.values())) <= NAMES_MAX else {}
        self.states: dict[tuple[str, str], BucketState | None] = {}
        self.buckets: dict[int, BucketCache] = {}
        self.posting_bytes = 0

    def of(self, bucket: int) -> BucketCache:
        """Return the cache of a bucket."""
        cache = self.buckets.get(bucket)
        if cache is None:
            if len(self.buckets) >= BUCKETS_MAX:
                self.buckets.clear()
                self.names.clear()
            cache = self.buckets[bucket] = BucketCache(WORDS_MAX, NAMES_MAX, self.names.setdefault(bucket, {}))
        return cache

    def note_read(self, size_bytes: int, reader: BucketCache) -> None:
        """Count bytes of cached postings; when they are too many, age the cached ones.

        Args:
            reader: the cache that a reader uses, which may not be among `buckets` any more.
        """
        self.posting_bytes += size_bytes
        if self.posting_bytes > POSTINGS_MAX_BYTES:
            for cache in {*self.buckets.values(), reader}:
                cache.age_postings()
            self.posting_bytes = 0


class Snapshot(View):
    """The picture of one commit."""

    def __init__(self, transaction: Transaction, lengths: LengthsCache, snapshot_cache: SnapshotCache) -> None:
        super().__init__(transaction, lengths, cached=BUCKETS_MAX)
        self.snapshot_cache = snapshot_cache

    def bucket(self, collection: str, bucket: str) -> BucketState | None:
        """Return the state of a bucket, or None if it does not exist. The caller must not change it."""
        states, scope = self.snapshot_cache.states, (collection, bucket)
        try:
            return states[scope]
        except KeyError:
            pass
        if len(states) >= BUCKETS_MAX:
            states.clear()
        state = states[scope] = super().bucket(collection, bucket)
        return state

    def end(self) -> None:
        """Drop what was cached, which refers to this snapshot: nobody reads it any more."""
        self.cache.clear()


class SnapshotSource(BucketReader):
    """Reads one bucket through a snapshot; what `CachingReader` asks for when its cache lacks something."""

    def __init__(self, snapshot: Snapshot, state: BucketState, cache: BucketCache) -> None:
        super().__init__(snapshot, state)
        self._snapshot_cache = snapshot.snapshot_cache
        self._bucket_cache = cache

    def read_postings(self, word: TermInfo) -> StoredPostings:
        """Return a word's postings, read as far as its row and its impacts go."""
        found = super().postings(word)
        self.note_read(found.size_bytes)
        return found

    def note_read(self, size_bytes: int) -> None:
        """Count bytes of cached postings; drop the older half of them when there are too many."""
        self._snapshot_cache.note_read(size_bytes, self._bucket_cache)


class SnapshotReader(CachingReader, BucketReader):
    """Reads one bucket through a snapshot, its words, postings, OIDs and lengths through the cache."""

    def __init__(self, snapshot: Snapshot, state: BucketState) -> None:
        cache = snapshot.snapshot_cache.of(state.bucket)
        self._source = SnapshotSource(snapshot, state, cache)
        CachingReader.__init__(self, cache, self._source)
        BucketReader.__init__(self, snapshot, state)

    def read_blocks(self, keys: list[bytes]) -> list[Row]:
        """Return (key, block) of the blocks of postings with these keys, in their order; those that exist.

        The cached postings keep what was read.
        """
        rows = super().read_blocks(keys)
        self._source.note_read(CACHED_BLOCK_BYTES * len(rows))
        return rows

    def note_made(self, size_bytes: int) -> None:
        """Take note that a query made so many bytes of windows of postings, which the cached ones keep."""
        self._source.note_read(size_bytes)


def reader_of(view: View, state: BucketState) -> BucketReader:
    """Return a reader of a bucket through a view."""
    return SnapshotReader(view, state) if isinstance(view, Snapshot) else BucketReader(view, state)
