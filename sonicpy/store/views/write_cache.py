"""The writer's cache, kept over commits: the store as its open transaction shows it.

A loss of the cache is harmless: its changes (rows of words, the newest row of records, counters, lengths) are written
before every commit, and a replay of the log restores later ones.
"""

from collections.abc import Callable

from sonicpy._native.dense_changes import changed_row
from sonicpy._native.dense_records import dense_row
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, NewestRow, RecordRow
from sonicpy._native.term_cache import TermCache
from sonicpy.store.disk.table_numbers import LENGTHS, OBJECTS, ORDERS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.changes import RecentChanges
from sonicpy.store.rows.keys import bucket_key, length_key, object_key
from sonicpy.store.rows.lengths import Lengths, lengths_in_rows, read_lengths
from sonicpy.store.rows.names import NewNames, names_in_rows, new_names
from sonicpy.store.rows.removals import Removals
from sonicpy.store.views.vector_rows import VectorRows

TERMS_MAX = 20_000  # about 4 MB
BUCKETS_MAX = 1_000
STATES_MAX = 32_000  # about 12 MB
RECENT_MAX = 512
"""The most rows of records of a bucket that wait to be written: about 1 MB."""


class RecentRow:
    """A row of records that changed since the last write, and is not the newest one.

    It is kept because several changes may concern one row, and because rows in the order of their keys are written in
    less time.

    Args:
        number: the number of the row.
        packed: the row in the table; None: the table does not have it.
        dense: whether to write the row in the dense form.

    Attributes:
        packed: the row with all changes, dense or not.
    """

    __slots__ = ("_dense", "_plain", "is_changed", "number", "packed")

    def __init__(self, number: int, packed: bytes | None, dense: bool) -> None:
        self.number = number
        self.packed = packed or b""
        self.is_changed = False
        self._dense = dense
        self._plain: RecordRow | None = None  # of `packed`, if that is not dense

    def put(self, place: int, record: bytes) -> None:
        """Put a record at `place`, instead of an earlier one."""
        self.is_changed = True
        row = changed_row(self.packed, place, record)
        self.packed = self._as_plain().put(place, record) if row is None else row

    def drop(self, place: int) -> None:
        """Take the record at `place` out of the row."""
        self.is_changed = True
        row = changed_row(self.packed, place, None)
        self.packed = self._as_plain().drop(place) if row is None else row

    def write(self, transaction: Transaction, bucket: int) -> None:
        """Write the row, if it changed since the last write; delete it if no record is left."""
        if not self.is_changed:
            return
        key = object_key(bucket, self.number)
        if self.packed:
            transaction.put(OBJECTS, key, dense_row(self.packed) if self._dense else self.packed)
        else:
            transaction.delete(OBJECTS, key)
        self.is_changed = False

    def _as_plain(self) -> RecordRow:
        if self._plain is None:
            self._plain = RecordRow(self.packed)
        return self._plain


class BucketWriteCache:
    """The cache of one bucket; a field is None until it is read.

    Attributes:
        facts: the facts that wait for the commit, by kind; None: the fact will be deleted.
        vectors: the changed rows of vectors.
        orders: the changed rows of orders.
        recent: the changed rows of records, by number, without the newest one.
        languages: `Terms.languages` -> the number of texts that the fact of the languages does not count yet.
    """

    __slots__ = ("_orders", "_vectors", "facts", "languages", "lengths", "names", "newest", "recent")

    def __init__(self) -> None:
        self.facts: dict[int, bytes | None] = {}
        self._vectors: VectorRows | None = None
        self._orders: VectorRows | None = None
        self.languages: dict[bytes, int] = {}
        self.lengths: Lengths | None = None
        self.newest: NewestRow | None = None
        self.recent: dict[int, RecentRow] = {}
        self.names: NewNames | None = None

    @property
    def vectors(self) -> VectorRows:
        """The rows of vectors, read and changed in this transaction; made at the first use."""
        if self._vectors is None:
            self._vectors = VectorRows()
        return self._vectors

    @property
    def orders(self) -> VectorRows:
        """The rows of orders, read and changed in this transaction; made at the first use."""
        if self._orders is None:
            self._orders = VectorRows(ORDERS)
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

    def write_recent(self, transaction: Transaction, bucket: int) -> None:
        """Write the changed rows of records, without the newest one."""
        for number in sorted(self.recent):
            self.recent[number].write(transaction, bucket)
        self.recent.clear()

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
        self._buckets.clear()

    def forget(self, bucket: int) -> None:
        """Drop the cache of a flushed bucket; its rows of words must have been written."""
        self.pending_buckets.discard(bucket)
        self._buckets.pop(bucket, None)
        self.rules.pop(bucket, None)
        self.terms.clear()

    def shrink(self) -> None:
        """Shrink the cache to a few MB; everything must have been written."""
        if len(self.terms) > TERMS_MAX:
            self.terms.clear()
        if len(self.states) > STATES_MAX:
            self.states.clear()
            self.rules.clear()
        if len(self._buckets) > BUCKETS_MAX:
            self._buckets.clear()
