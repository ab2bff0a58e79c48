"""What one transaction shows: buckets by name, and the lengths of their objects.

`View` reads through a read transaction. `WriteView` reads and writes through a write transaction and holds back the
rows that nearly every change touches (counters of buckets, rows of lengths) until `flush`.
"""

from collections.abc import Iterable
from enum import IntEnum

from sonicpy._native.postings import bucket_key, pack_varints, unpack_varints
from sonicpy._native.ranking import OBJECTS_PER_ROW
from sonicpy.ids import Scope
from sonicpy.store.environment import (
    BUCKETS,
    DOOMED,
    LENGTHS,
    META,
    PENDING,
    SCOPES,
    Transaction,
)
from sonicpy.store.keys import collection_prefix, length_key, scope_key, scope_of
from sonicpy.store.scopes import BucketState

NEXT_BUCKET = b"next bucket"
CACHED_LENGTH_ROWS = 1024  # 4 MB at the most


class Why(IntEnum):
    """What happened to a pending word last: the last byte of its row, behind the number of the edit."""

    APPEARED = 0
    POPPED = 1
    """It vanished by a POP that left its object other words."""
    ORPHANED = 2
    """It vanished with its object."""


class PendingIndex:
    """What is in `pending`, kept in memory for the one writer: which buckets, and the words of those asked for."""

    def __init__(self) -> None:
        self.buckets: set[int] = set()
        self.words: dict[int, list[bytes]] = {}
        self.flushed: dict[int, int] = {}
        """Buckets that went since the owner last asked, with the versions of their graphs."""

    def forget(self, bucket: int) -> None:
        """Drop what is known of a bucket."""
        self.buckets.discard(bucket)
        self.words.pop(bucket, None)


class View:
    """A consistent picture of the store, for reading.

    Attributes:
        transaction: for reading the other tables.
    """

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction

    def bucket(self, collection: str, bucket: str) -> BucketState | None:
        """Return the state of a bucket, or None if it does not exist."""
        row = self.transaction.get(SCOPES, scope_key(collection, bucket))
        return None if row is None else BucketState.unpack(row)

    def scope(self, number: int) -> Scope | None:
        """Return which collection and bucket a bucket's number stands for, or None if it was flushed."""
        key = self.transaction.get(BUCKETS, bucket_key(number))
        return None if key is None else scope_of(key)

    def bucket_numbered(self, number: int) -> BucketState | None:
        """Return the state of the bucket with this number, or None if it was flushed."""
        scope = self.scope(number)
        return None if scope is None else self.bucket(*scope)

    def buckets(self, collection: str) -> list[BucketState]:
        """Return the states of all buckets of a collection, by name."""
        return [BucketState.unpack(row) for _, row in self.transaction.rows(SCOPES, collection_prefix(collection))]

    def length_rows(self, state: BucketState, numbers: list[int]) -> dict[int, bytes | bytearray]:
        """Return the rows of lengths with the given numbers; missing ones are left out."""
        keys = {length_key(state.bucket, number): number for number in numbers}
        return {keys[key]: row for key, row in self.transaction.get_many(LENGTHS, list(keys))}

    def pending_words(self, state: BucketState) -> list[bytes]:
        """Return the words of a bucket that appeared or vanished since its graph was built, perhaps more than once."""
        return [key[4:] for key, _ in self.transaction.rows(PENDING, bucket_key(state.bucket))]


class WriteView(View):
    """The picture inside an open write transaction, its own changes included."""

    def __init__(self, transaction: Transaction, pending: PendingIndex, owner: int) -> None:
        super().__init__(transaction)
        self.owner = owner
        """The only thread that may use it."""
        self._pending = pending
        self._states: dict[tuple[str, str], BucketState] = {}
        self._changed_states: set[tuple[str, str]] = set()
        self._length_rows: dict[bytes, bytearray] = {}
        self._changed_length_rows: set[bytes] = set()

    def bucket(self, collection: str, bucket: str) -> BucketState | None:
        """Return the state of a bucket, or None if it does not exist."""
        scope = (collection, bucket)
        state = self._states.get(scope)
        if state is None:
            state = super().bucket(collection, bucket)
            if state is not None:
                self._states[scope] = state
        return state

    def bucket_to_change(self, collection: str, bucket: str) -> BucketState:
        """Return the state of a bucket that is about to change; it is created where it is missing."""
        state = self.bucket(collection, bucket)
        scope = (collection, bucket)
        if state is None:
            state = self._states[scope] = BucketState(self._take_bucket_id())
            self.transaction.put(BUCKETS, bucket_key(state.bucket), scope_key(collection, bucket))
            self.transaction.put(SCOPES, scope_key(collection, bucket), state.pack())
        self._changed_states.add(scope)
        return state

    def buckets(self, collection: str) -> list[BucketState]:
        """Return the states of all buckets of a collection, by name."""
        self._flush_states()
        return super().buckets(collection)

    def forget_bucket(self, collection: str, bucket: str) -> bool:
        """Unmap a bucket and leave its rows to the sweeper; return whether it existed."""
        state = self.bucket(collection, bucket)
        if state is None:
            return False
        self._states.pop((collection, bucket), None)
        self._changed_states.discard((collection, bucket))
        key = bucket_key(state.bucket)
        for row in [held for held in self._length_rows if held.startswith(key)]:
            del self._length_rows[row]
            self._changed_length_rows.discard(row)
        self._pending.forget(state.bucket)
        self._pending.flushed[state.bucket] = state.lexicon_version
        self.transaction.delete(SCOPES, scope_key(collection, bucket))
        self.transaction.delete(BUCKETS, key)
        self.transaction.put(DOOMED, key, b"")
        return True

    def set_bucket(self, scope: Scope, state: BucketState) -> None:
        """Give a bucket that exists other counters; its number must be the same."""
        self._states[scope] = state
        self._changed_states.add(scope)

    def rename_bucket(self, old: Scope, new: Scope) -> None:
        """Let a bucket be found under another name, which no bucket has."""
        state = self.bucket_to_change(*old)
        del self._states[old]
        self._changed_states.discard(old)
        self._states[new] = state
        self._changed_states.add(new)
        self.transaction.delete(SCOPES, scope_key(*old))
        self.transaction.put(SCOPES, scope_key(*new), state.pack())
        self.transaction.put(BUCKETS, bucket_key(state.bucket), scope_key(*new))

    def length_rows(self, state: BucketState, numbers: list[int]) -> dict[int, bytes | bytearray]:
        """Return the rows of lengths with the given numbers."""
        return {number: self._length_row(length_key(state.bucket, number)) for number in numbers}

    def set_length(self, state: BucketState, iid: int, packed: int) -> None:
        """Note the length of an object (one byte, see `pack_length`; 0: there is no such object)."""
        key = length_key(state.bucket, iid // OBJECTS_PER_ROW)
        row = self._length_row(key)
        place = iid % OBJECTS_PER_ROW
        if place >= len(row):
            row.extend(bytes(place + 1 - len(row)))
        row[place] = packed
        self._changed_length_rows.add(key)

    def pending_words(self, state: BucketState) -> list[bytes]:
        """Return the words of a bucket that appeared or vanished since its graph was built, perhaps more than once.

        The same list as long as it only grows.
        """
        words = self._pending.words.get(state.bucket)
        if words is None:
            words = self._pending.words[state.bucket] = super().pending_words(state)
        return words

    def note_pending(self, state: BucketState, keys: list[bytes], why: Why) -> None:
        """Note words, by their keys, that appeared or vanished."""
        self._pending.buckets.add(state.bucket)
        known = self._pending.words.get(state.bucket)
        for key in keys:
            state.edits += 1
            self.transaction.put(PENDING, key, state.edits.to_bytes(6, "big") + bytes((why,)))
            if known is not None:
                known.append(key[4:])

    def forget_pending(self, bucket: int, keys: list[bytes]) -> None:
        """Forget words, by their keys, that the bucket's graph holds by now."""
        for key in keys:
            self.transaction.delete(PENDING, key)
        self._pending.forget(bucket)
        prefix = bucket_key(bucket)
        left = self.transaction.first(PENDING, prefix)
        if left is not None and left[0].startswith(prefix):
            self._pending.buckets.add(bucket)

    def flush(self) -> None:
        """Write what was held back; nothing may be missing in the tables after it."""
        self._flush_states()
        self.transaction.put_many(LENGTHS, self._length_rows_to_write())
        self._changed_length_rows.clear()

    def _flush_states(self) -> None:
        self.transaction.put_many(
            SCOPES, [(scope_key(*scope), self._states[scope].pack()) for scope in sorted(self._changed_states)]
        )
        self._changed_states.clear()

    def _length_rows_to_write(self) -> Iterable[tuple[bytes, bytes]]:
        return [(key, bytes(self._length_rows[key])) for key in sorted(self._changed_length_rows)]

    def _length_row(self, key: bytes) -> bytearray:
        row = self._length_rows.get(key)
        if row is None:
            if len(self._length_rows) >= CACHED_LENGTH_ROWS:
                self._drop_length_rows()
            row = self._length_rows[key] = bytearray(self.transaction.get(LENGTHS, key) or b"")
        return row

    def _drop_length_rows(self) -> None:
        self.transaction.put_many(LENGTHS, self._length_rows_to_write())
        self._changed_length_rows.clear()
        self._length_rows.clear()

    def _take_bucket_id(self) -> int:
        row = self.transaction.get(META, NEXT_BUCKET)
        number = unpack_varints(row)[0] if row else 0
        self.transaction.put(META, NEXT_BUCKET, pack_varints((number + 1,)))
        return number
