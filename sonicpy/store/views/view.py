"""The view of one transaction: buckets by name, and the rows of their words and objects."""

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

from sonicpy._native.keys import bucket_key
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, record_at, row_keys
from sonicpy._native.word_range import WordRange
from sonicpy.ids import Scope
from sonicpy.store.disk.pages import ROWS_MAX, pages
from sonicpy.store.disk.transaction import BUCKETS, DROPPED, META, OBJECTS, PENDING, SCOPES, WORDS, Row, Transaction
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import STAGING, after_collection, collection_prefix, scope_key, scope_of
from sonicpy.store.rows.known_pending import KnownPending
from sonicpy.store.rows.lengths import read_lengths
from sonicpy.store.rows.meta import ANALYZER, BY_ASSOCIATION, EMPTIED, ORDER
from sonicpy.store.rows.names import find_new, stored_names
from sonicpy.store.rows.word_rows import stored_word_keys_from, stored_word_range, stored_words, stored_words_from

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_reader import BucketReader


class ViewCache:
    """Objects made for buckets, for reuse while the view lasts, by scope.

    Args:
        entries_max: if there are more, all are dropped; 0: nothing is cached.
    """

    def __init__(self, entries_max: int) -> None:
        self._entries_max = entries_max
        self._entries: dict[tuple[str, str], object] = {}

    def get(self, scope: tuple[str, str]) -> object | None:
        """Return the cached object of a bucket, or None."""
        return self._entries.get(scope)

    def put(self, scope: tuple[str, str], made: object) -> None:
        """Cache an object made for a bucket, if `entries_max` allows it."""
        if not self._entries_max:
            return
        if len(self._entries) >= self._entries_max:
            self._entries.clear()
        self._entries[scope] = made

    def clear(self) -> None:
        """Drop everything."""
        self._entries.clear()


class View:
    """A consistent picture of the store, for reading.

    Args:
        transaction: the source of the rows.
        cached: maximum of buckets in `cache`.

    Attributes:
        transaction: for reading the other tables.
        cache: objects made for buckets; it stays empty if rows may change.
    """

    def __init__(self, transaction: Transaction, cached: int = 0) -> None:
        self.transaction = transaction
        self.cache = ViewCache(cached)
        self._lengths_read: dict[int, bytearray] = {}

    @cached_property
    def by_association(self) -> bool:
        """Whether postings lists are in the order in which objects gained their words, as in Sonic; else by IID."""
        return (ANALYZER.read(self.transaction) or {}).get(ORDER) == BY_ASSOCIATION

    def flush_records(self, bucket: int) -> None:
        """Make sure that `objects` holds every record of a bucket; nothing to do here."""

    def flush_new_terms(self, bucket: int) -> None:
        """Make sure that `terms` holds every term of a bucket; nothing to do here."""

    def bucket(self, collection: str, bucket: str) -> BucketState | None:
        """Return the state of a bucket, or None if it does not exist."""
        row = self.transaction.get(SCOPES, scope_key(collection, bucket))
        return None if row is None else BucketState.unpack(row)

    def scope(self, number: int) -> Scope | None:
        """Return the scope of the bucket with a number, or None if it was flushed."""
        key = self.transaction.get(BUCKETS, bucket_key(number))
        return None if key is None else scope_of(key)

    def bucket_numbered(self, number: int) -> BucketState | None:
        """Return the state of the bucket with a number, or None if it was flushed."""
        scope = self.scope(number)
        return None if scope is None else self.bucket(*scope)

    def buckets(self, collection: str) -> list[BucketState]:
        """Return the states of all buckets of a collection, by name."""
        return [BucketState.unpack(row) for _, row in self.transaction.rows(SCOPES, collection_prefix(collection))]

    def has_buckets(self, collection: str) -> bool:
        """Return whether a collection has a bucket."""
        prefix = collection_prefix(collection)
        found = self.transaction.first(SCOPES, prefix)
        return found is not None and found[0].startswith(prefix)

    def has_collection(self, collection: str) -> bool:
        """Return whether a collection exists: from its first PUSH until it is flushed, even without buckets."""
        return self.has_buckets(collection) or self.transaction.get(META, EMPTIED + collection.encode()) is not None

    def count_collections(self) -> int:
        """Return how many collections exist."""
        found = {key.removeprefix(EMPTIED) for key, _ in self.transaction.rows(META, EMPTIED)}
        row = self.transaction.first(SCOPES, after_collection(STAGING))
        while row is not None:
            collection = scope_of(row[0]).collection
            found.add(collection.encode())
            row = self.transaction.first(SCOPES, after_collection(collection))
        return len(found)

    def lengths(self, state: BucketState) -> bytes | bytearray:
        """Return the packed lengths of all objects of a bucket, by IID. The caller must not change them."""
        lengths = self._lengths_read.get(state.bucket)
        if lengths is None:
            lengths = self._lengths_read[state.bucket] = read_lengths(self.transaction, state.bucket)
        return lengths

    def word_rows(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return the rows of words, by their keys, without the keys that have no row."""
        return dict(stored_words(self.transaction, keys))

    def word_rows_from(self, start: bytes, limit: int, prefix: bytes = b"") -> list[Row]:
        """Return the first `limit` rows of words whose keys are not before `start`, in key order.

        Args:
            prefix: of `start`: only rows whose keys begin with it.
        """
        return stored_words_from(self.transaction, start, limit, prefix)

    def word_range(self, prefix: bytes, most: int) -> WordRange:
        """Return the first `most` words whose keys begin with `prefix`."""
        return stored_word_range(self.transaction, prefix, most)

    def word_keys_from(self, start: bytes, limit: int, prefix: bytes = b"") -> list[bytes]:
        """Return the keys of the rows of `word_rows_from`, in less time."""
        return stored_word_keys_from(self.transaction, start, limit, prefix)

    def record_rows(self, bucket: int, iids: list[int]) -> dict[bytes, bytes]:
        """Return the rows with the records of some objects of a bucket, by key."""
        return dict(self.transaction.get_many(OBJECTS, row_keys(bucket, iids)))

    def record(self, bucket: int, iid: int) -> bytes | None:
        """Return the record of an object, or None. Raises DamagedBytes if its row cannot be read."""
        for row in self.record_rows(bucket, [iid]).values():
            return record_at(row, iid % OBJECTS_PER_RECORD_ROW)
        return None

    def named(self, state: BucketState, oid: bytes, hash: int) -> Iterable[int]:
        """Return the IIDs of the objects that may have an OID, by its `name_hash`."""
        return chain(stored_names(self.transaction, state, hash), find_new(self.transaction, state, oid))

    def reader(self, state: BucketState) -> "BucketReader":
        """Return a reader of a bucket with a cache; only for views that a store gives to readers."""
        raise NotImplementedError

    def pending_words(self, state: BucketState) -> list[bytes]:
        """Return the words of a bucket that appeared or vanished since its graph was built, perhaps more than once."""
        return [key[4:] for key, _ in self.transaction.rows(PENDING, bucket_key(state.bucket))]

    def growing_pending_words(self, state: BucketState) -> KnownPending | None:
        """Return the words of `pending_words` as a growing list; None, because a view without a cache has none."""
        return None

    # -- for maintenance and reports: what committed tables hold ---------------------------------------------------

    def all_states(self, collection: str | None = None) -> Iterator[tuple[Scope, BucketState]]:
        """Yield every bucket of the store, or of a collection, with its state, by name."""
        prefix = b"" if collection is None else collection_prefix(collection)
        for key, row in self.transaction.rows(SCOPES, prefix):
            yield scope_of(key), BucketState.unpack(row)

    def count_scopes(self) -> int:
        """Return how many buckets there are."""
        return self.transaction.count(SCOPES)

    def count_terms(self) -> int:
        """Return the number of terms in all buckets, including flushed ones that are not swept yet."""
        return self.transaction.count(WORDS)

    def count_pending(self) -> int:
        """Return the number of pending words in all buckets, including flushed ones that are not swept yet."""
        return self.transaction.count(PENDING)

    def has_dropped(self) -> bool:
        """Return whether rows of flushed buckets wait for the sweeper."""
        return self.transaction.count(DROPPED) > 0

    def all_word_rows(self, bucket: int) -> Iterator[Row]:
        """Yield the rows of a bucket's words; for common words, the references to their rows."""
        return self.transaction.rows(WORDS, bucket_key(bucket))

    def pending_rows(self, bucket: int) -> Iterator[Row]:
        """Yield the rows of a bucket's pending words in key order."""
        return self.transaction.rows(PENDING, bucket_key(bucket))

    def some_pending_rows(self, bucket: int, start: bytes, limit: int) -> list[Row]:
        """Return the first `limit` rows of a bucket's pending words in key order, from key `start` on."""
        prefix = bucket_key(bucket)
        rows = self.transaction.some_rows(PENDING, start or prefix, limit)
        return rows if rows and rows[-1][0].startswith(prefix) else [row for row in rows if row[0].startswith(prefix)]

    def pending_changes(self, bucket: int) -> dict[bytes, int]:
        """Return each pending word of a bucket with its last change, a `Why`."""
        prefix = bucket_key(bucket)
        state = self.bucket_numbered(bucket)
        # A small bucket is read at once, and not those behind it.
        size = ROWS_MAX if state is None else min(state.pending_seq - state.graph_seq + 1, ROWS_MAX)
        return {
            key[4:]: row[6]
            for rows in pages(partial(self.transaction.some_rows, PENDING), prefix, max(size, 1))
            for key, row in rows
            if key.startswith(prefix)
        }

    def pending_in_order(self, bucket: int) -> list[bytes]:
        """Return the pending words of a bucket in the order of their last changes."""
        return [
            key[4:] for key, _ in sorted(self.transaction.rows(PENDING, bucket_key(bucket)), key=lambda row: row[1])
        ]

    def is_pending(self, bucket: int, word: bytes) -> bool:
        """Return whether a word of a bucket is pending."""
        return self.transaction.get(PENDING, bucket_key(bucket) + word) is not None
