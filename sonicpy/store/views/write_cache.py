"""The writer's cache, kept over commits: the store as its open transaction shows it.

A loss of the cache is harmless: its changes (rows of words, the newest row of records, counters, lengths) are written
before every commit, and a replay of the log restores later ones.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW
from sonicpy._native.term_cache import TermCache
from sonicpy._native.waiting_rows import NewestRow, RecentRow
from sonicpy.store.disk.table_numbers import LENGTHS, OBJECTS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketCounts, BucketState
from sonicpy.store.rows.changes import RecentChanges
from sonicpy.store.rows.keys import bucket_key, length_key, object_key
from sonicpy.store.rows.lengths import Lengths, lengths_in_rows, read_lengths
from sonicpy.store.rows.names import NewNames, names_in_rows, new_names
from sonicpy.store.rows.removals import Removals
from sonicpy.store.views.vector_rows import VectorRows

if TYPE_CHECKING:
    from sonicpy.store.views.growing_orders import OrderRows

TERMS_FEW = 16_000
"""The number of rows of words up to which a commit leaves all of them in the cache: about 3 MB."""
TERMS_MAX = 1 << 17
"""The number of rows of words above which a commit drops all of them. Below it, those in use stay: where texts draw on
many words alike, most rows would have to be read again."""
BUCKETS_MAX = 1_000
STATES_MAX = 32_000  # about 12 MB
RECENT_MAX = 512
"""The most rows of records of a bucket that wait to be written: about 1 MB of small objects."""
RECENT_BYTES_MAX = 16 << 20
"""The size at which the waiting rows of a bucket are written. Large objects to which texts are added take twice as much
memory."""


class BucketWriteCache:
    """The cache of one bucket; a field is None until it is read.

    Attributes:
        facts: the facts that wait for the commit, by kind; None: the fact will be deleted.
        vectors: the changed rows of vectors.
        orders: the changed rows of orders.
        recent: the changed rows of records, by number, without the newest one.
        recent_bytes: the size that these rows had when they were read.
        languages: `Terms.languages` -> the number of texts that the fact of the languages does not count yet.
    """

    __slots__ = ("_orders", "_vectors", "facts", "languages", "lengths", "names", "newest", "recent", "recent_bytes")

    def __init__(self) -> None:
        self.facts: dict[int, bytes | None] = {}
        self._vectors: VectorRows | None = None
        self._orders: OrderRows | None = None
        self.languages: dict[bytes, int] = {}
        self.lengths: Lengths | None = None
        self.newest: NewestRow | None = None
        self.recent: dict[int, RecentRow] = {}
        self.recent_bytes = 0
        self.names: NewNames | None = None

    @property
    def vectors(self) -> VectorRows:
        """The rows of vectors, read and changed in this transaction; made at the first use."""
        if self._vectors is None:
            self._vectors = VectorRows()
        return self._vectors

    @property
    def orders(self) -> "OrderRows":
        """The rows of orders, read and changed in this transaction; made at the first use."""
        if self._orders is None:
            from sonicpy.store.views.growing_orders import OrderRows  # noqa: PLC0415  loaded when it is needed

            self._orders = OrderRows()
        return self._orders

    def read_newest(self, transaction: Transaction, state: BucketState, *, dense: bool) -> NewestRow:
        """Read the newest row of records, and return it; `dense`: see `NewestRow`."""
        number = state.next_iid // OBJECTS_PER_RECORD_ROW
        packed = transaction.get(OBJECTS, object_key(state.bucket, number))
        self.newest = NewestRow(number, packed, dense)
        return self.newest

    def read(self, transaction: Transaction, state: BucketState, *, dense: bool) -> None:
        """Read the rows that PUSH changes and the cache lacks: the newest row of records, the names and the lengths.
        `dense`: see `NewestRow`."""
        bucket = state.bucket
        small = transaction.small_rows(bucket_key(bucket))
        if self.newest is None and small is not None and 0 < state.next_iid < OBJECTS_PER_RECORD_ROW:  # in one row
            newest = self.newest = NewestRow(0, small.get(OBJECTS, object_key(bucket, 0)), dense)
            if self.names is None:
                self.names = NewNames()
                self.names.add_records(newest, 0, state.named)
                self.names.added = 0
            if self.lengths is None:
                self.lengths = Lengths(bytearray(small.get(LENGTHS, length_key(bucket, 0)) or b""))
            return
        if self.newest is None:
            self.read_newest(transaction, state, dense=dense)
        if self.names is None:
            rows = None if small is None else small.rows(OBJECTS)
            self.names = new_names(transaction, state) if rows is None else names_in_rows(rows, state)
        if self.lengths is None:
            rows = None if small is None else small.rows(LENGTHS)
            if rows is None:
                packed = read_lengths(transaction, state.bucket, state.next_iid)
            else:
                packed = lengths_in_rows(rows, state.next_iid)
            self.lengths = Lengths(packed)

    def write_records(self, transaction: Transaction, bucket: int, *, is_last: bool = True) -> None:
        """Write the rows of records that changed; `is_last` is False if rows of other buckets follow in the table."""
        if self.recent:
            self.write_recent(transaction, bucket)
        if self.newest is not None:
            self.newest.write(transaction, OBJECTS, bucket, is_last=is_last)

    def waiting_records(self, number: int) -> "NewestRow | RecentRow | None":
        """Return a row of records that waits to be written; None: the table has it as it is."""
        if self.newest is not None and self.newest.number == number:
            return self.newest
        return self.recent.get(number)

    def has_many_recent(self) -> bool:
        """Return whether the waiting rows of records are to be written before another one is read."""
        return len(self.recent) >= RECENT_MAX or self.recent_bytes >= RECENT_BYTES_MAX

    def write_recent(self, transaction: Transaction, bucket: int) -> None:
        """Write the changed rows of records, without the newest one."""
        for number in sorted(self.recent):
            self.recent[number].write(transaction, OBJECTS, bucket)
        self.recent.clear()
        self.recent_bytes = 0

    def write_orders(self, transaction: Transaction) -> None:
        """Write the rows of vectors and orders that changed."""
        if self._vectors is not None:
            self._vectors.write(transaction)
        if self._orders is not None:
            self._orders.write(transaction)


class _Buckets(dict[int, BucketWriteCache]):
    """The caches of buckets, each made when it is first asked for."""

    def __missing__(self, bucket: int) -> BucketWriteCache:
        cache = self[bucket] = BucketWriteCache()
        return cache


class WriteCache:
    """The caches of all buckets, and other state that the writer keeps over commits.

    Attributes:
        pending_buckets: the ids of buckets that may have pending words.
        flushed: the buckets flushed since the last `Store.take_flushed`, with the versions of their graphs.
        begins_small: whether new buckets begin as small ones.
        has_dropped: whether rows of flushed buckets may wait for `sweep`; true until the first sweep.
        removals: the removals under way; None: they have not been read yet.
        terms: the cached rows of words.
        states: the states of buckets, by scope.
        rules: the versions of the rules of buckets, by number.
        recent_changes: the changes of the last commits.
        bucket_counts: the counts of the buckets of collections, by collection and field; the first that is asked for
            reads all rows, and each change of a row keeps it right.
    """

    begins_small = True

    def __init__(self) -> None:
        self.pending_buckets: set[int] = set()
        self.flushed: dict[int, int] = {}
        self.has_dropped = True
        self.removals: Removals | None = None
        self.terms = TermCache()
        self.states: dict[tuple[str, str], BucketState] = {}
        self.rules: dict[int, int] = {}
        self.recent_changes = RecentChanges()
        self.bucket_counts: BucketCounts = {}
        self._buckets = _Buckets()
        self.of: Callable[[int], BucketWriteCache] = self._buckets.__getitem__
        """Returns the cache of a bucket."""

    def undo(self) -> None:
        """Drop everything that may include changes of a lost transaction; the caller reads `pending_buckets` again."""
        self.flushed.clear()
        self.recent_changes.clear()
        self.removals = None
        self.terms.clear()
        self.states.clear()
        self.rules.clear()
        self.bucket_counts.clear()
        self._buckets.clear()

    def forget(self, bucket: int) -> None:
        """Drop the cache of a flushed bucket; its rows of words must have been written.

        If the cache has many rows of words, they stay until a commit drops unused ones: no other bucket will have the
        number, and to drop them here would take tens of milliseconds.
        """
        self.pending_buckets.discard(bucket)
        self._buckets.pop(bucket, None)
        self.rules.pop(bucket, None)
        if len(self.terms) <= TERMS_FEW:
            self.terms.clear()

    def shrink(self) -> None:
        """Shrink the cache; everything must have been written."""
        self.terms.shrink(TERMS_FEW, TERMS_MAX)
        if len(self.states) > STATES_MAX:
            self.states.clear()
            self.rules.clear()
        if len(self._buckets) > BUCKETS_MAX:
            self._buckets.clear()
        if len(self.bucket_counts) > BUCKETS_MAX:
            self.bucket_counts.clear()
