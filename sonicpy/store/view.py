"""What one transaction shows: buckets by name, and the lengths of their objects.

`View` reads through a read transaction. `WriteView` reads and writes through a write transaction and holds back the
rows that nearly every change touches (counters of buckets, rows of lengths) until `flush`.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import partial
from itertools import chain
from typing import Any

from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, record_at, row_keys
from sonicpy._native.postings import DamagedBytes, bucket_key, pack_varints, unpack_varints
from sonicpy.errors import StoreDamaged
from sonicpy.ids import Scope
from sonicpy.store.bucket_state import BucketState
from sonicpy.store.environment import (
    BUCKETS,
    COMMON,
    DROPPED,
    LENGTHS,
    META,
    OBJECTS,
    PENDING,
    SCOPES,
    TERMS,
    WORDS,
    Row,
    Transaction,
)
from sonicpy.store.keys import collection_prefix, length_key, object_key, scope_key, scope_of
from sonicpy.store.lengths import Lengths, read_lengths
from sonicpy.store.names import NewNames, find_new, new_names, stored_names
from sonicpy.store.pages import ROWS_MAX, pages
from sonicpy.store.word_rows import stored_words, stored_words_from
from sonicpy.store.write_cache import BUCKETS_KEPT, NewestRow, WriteCache

NEXT_BUCKET = b"next bucket"


class Why(IntEnum):
    """What happened to a pending word last: the last byte of its row, behind the number of the edit."""

    APPEARED = 0
    POPPED = 1
    """It vanished by a POP that left its object other words."""
    ORPHANED = 2
    """It vanished with its object."""


class View:
    """A consistent picture of the store, for reading.

    Args:
        read_lengths: of buckets, each with the number of the snapshot that showed them; views share it.

    Attributes:
        transaction: for reading the other tables.
        kept: what others made of buckets and may use again, by scope; empty where rows may still change.
    """

    def __init__(self, transaction: Transaction, read_lengths: dict[int, tuple[int, bytearray]] | None = None) -> None:
        self.transaction = transaction
        self.kept: dict[tuple[str, str], object] = {}
        self._read_lengths = {} if read_lengths is None else read_lengths

    def keep(self, scope: tuple[str, str], made: object) -> None:
        """Keep what was made of a bucket for those that read it next, if nothing changes until then."""

    def flush_records(self, bucket: int) -> None:
        """Make sure that `objects` holds every record of a bucket."""

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

    def lengths(self, state: BucketState) -> bytearray:
        """Return the packed lengths of all objects of a bucket, by IID; not to be changed."""
        held = self._read_lengths.get(state.bucket)
        if held is not None and held[0] == self.transaction.number:
            return held[1]
        lengths = read_lengths(self.transaction, state.bucket)
        if len(self._read_lengths) >= BUCKETS_KEPT:
            self._read_lengths.clear()
        self._read_lengths[state.bucket] = (self.transaction.number, lengths)
        return lengths

    def word_rows(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return the rows of those of some words that have one, by their keys."""
        return dict(stored_words(self.transaction, keys))

    def word_rows_from(self, start: bytes, limit: int) -> list[Row]:
        """Return the first `limit` rows of words whose keys are not before `start`, in key order."""
        return stored_words_from(self.transaction, start, limit)

    def record_rows(self, bucket: int, iids: list[int]) -> dict[bytes, bytes]:
        """Return the rows that hold some objects of a bucket, by their keys."""
        return dict(self.transaction.get_many(OBJECTS, row_keys(bucket, iids)))

    def record(self, bucket: int, iid: int) -> bytes | None:
        """Return the record of an object, or None. Raises DamagedBytes if its row cannot be read."""
        for row in self.record_rows(bucket, [iid]).values():
            return record_at(row, iid % OBJECTS_PER_RECORD_ROW)
        return None

    def named(self, state: BucketState, oid: bytes, hash: int) -> Iterable[int]:
        """Return the IIDs of the objects that may have an OID, by its `name_hash`."""
        return chain(stored_names(self.transaction, state, hash), find_new(self.transaction, state, oid))

    def pending_words(self, state: BucketState) -> list[bytes]:
        """Return the words of a bucket that appeared or vanished since its graph was built, perhaps more than once."""
        return [key[4:] for key, _ in self.transaction.rows(PENDING, bucket_key(state.bucket))]

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
        """Return how many terms all buckets hold, flushed ones that are not swept yet included."""
        return self.transaction.count(TERMS)

    def count_pending(self) -> int:
        """Return how many pending words all buckets have, flushed ones that are not swept yet included."""
        return self.transaction.count(PENDING)

    def has_dropped(self) -> bool:
        """Return whether rows of flushed buckets wait for the sweeper."""
        return self.transaction.count(DROPPED) > 0

    def term_rows(self, bucket: int) -> Iterator[Row]:
        """Yield the rows of a bucket's terms."""
        return self.transaction.rows(TERMS, bucket_key(bucket))

    def pending_rows(self, bucket: int, start: bytes = b"") -> Iterator[Row]:
        """Yield the rows of a bucket's pending words in key order, from key `start` on."""
        prefix = bucket_key(bucket)
        return self.transaction.rows(PENDING, prefix, start or prefix)

    def pending_changes(self, bucket: int) -> dict[bytes, int]:
        """Return each pending word of a bucket with what happened to it last, a `Why`."""
        prefix = bucket_key(bucket)
        return {
            key[4:]: row[6]
            for rows in pages(partial(self.transaction.some_rows, PENDING), prefix, ROWS_MAX)
            for key, row in rows
            if key.startswith(prefix)
        }

    def is_pending(self, bucket: int, word: bytes) -> bool:
        """Return whether a word of a bucket is pending."""
        return self.transaction.get(PENDING, bucket_key(bucket) + word) is not None


class WriteView(View):
    """The picture inside an open write transaction, its own changes included."""

    def __init__(self, transaction: Transaction, memory: WriteCache, owner: int) -> None:
        super().__init__(transaction)
        self.owner = owner
        """The only thread that may use it."""
        self.terms = memory.terms
        """Rows of words that PUSH changes; whoever reads or changes them otherwise calls `settle` first."""
        self._memory = memory
        self._states = memory.states
        self._changed_states: set[tuple[str, str]] = set()
        self._written: set[int] = set()  # buckets of which rows may be held back
        self.writers: dict[tuple[str, str], Any] = {}
        """What changes the buckets whose states are noted as changed; kept by `bucket_writer.writer_of`."""

    def flush_term_rows(self) -> None:
        """Write the rows of words that PUSH changed."""
        if self.terms.changed:
            words, common = self.terms.rows()
            self.transaction.put_many(WORDS, words)
            self.transaction.put_many(COMMON, common)

    def flush_records(self, bucket: int) -> None:
        """Write the row that new objects of a bucket go to."""
        newest = self._memory.of(bucket).newest
        if newest is not None:
            newest.write(self.transaction, bucket)

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
        self._forget_state((collection, bucket))
        self.flush_term_rows()
        self._memory.forget(state.bucket)
        self._memory.flushed[state.bucket] = state.lexicon_version
        self._memory.has_dropped = True
        self._written.discard(state.bucket)
        key = bucket_key(state.bucket)
        self.transaction.delete(SCOPES, scope_key(collection, bucket))
        self.transaction.delete(BUCKETS, key)
        self.transaction.put(DROPPED, key, b"")
        return True

    def set_bucket(self, scope: Scope, state: BucketState) -> None:
        """Give a bucket that exists other counters; its number must be the same."""
        self._forget_state(scope)
        self._states[scope] = state
        self._changed_states.add(scope)

    def rename_bucket(self, old: Scope, new: Scope) -> None:
        """Let a bucket be found under another name, which no bucket has."""
        state = self.bucket_to_change(*old)
        self._forget_state(old)
        self._states[new] = state
        self._changed_states.add(new)
        self.transaction.delete(SCOPES, scope_key(*old))
        self.transaction.put(SCOPES, scope_key(*new), state.pack())
        self.transaction.put(BUCKETS, bucket_key(state.bucket), scope_key(*new))

    def lengths(self, state: BucketState) -> bytearray:
        """Return the packed lengths of all objects of a bucket, by IID; not to be changed."""
        return self._lengths(state.bucket).packed

    def lengths_to_change(self, bucket: int) -> Lengths:
        """Return the lengths of all objects of a bucket, to be changed until the transaction ends."""
        self._written.add(bucket)
        return self._lengths(bucket)

    def newest(self, state: BucketState) -> NewestRow:
        """Return the row that new objects of a bucket go to, to be changed until the transaction ends."""
        self._written.add(state.bucket)
        held = self._memory.of(state.bucket)
        if held.newest is None:
            number = state.next_iid // OBJECTS_PER_RECORD_ROW
            held.newest = NewestRow(number, self.transaction.get(OBJECTS, object_key(state.bucket, number)))
        return held.newest

    def names(self, state: BucketState) -> NewNames:
        """Return the names that `oids` may not hold yet, to be changed until the transaction ends."""
        held = self._memory.of(state.bucket)
        if held.names is None:
            held.names = new_names(self.transaction, state)
        return held.names

    def pending_words(self, state: BucketState) -> list[bytes]:
        """Return the words of a bucket that appeared or vanished since its graph was built, perhaps more than once.

        The same list as long as it only grows.
        """
        held = self._memory.of(state.bucket)
        if held.pending_words is None:
            held.pending_words = super().pending_words(state)
        return held.pending_words

    def note_pending(self, state: BucketState, keys: list[bytes], why: Why) -> None:
        """Note words, by their keys, that appeared or vanished."""
        self._memory.pending_buckets.add(state.bucket)
        known = self._memory.of(state.bucket).pending_words
        last = bytes((why,))
        rows = [(key, number.to_bytes(6, "big") + last) for number, key in enumerate(keys, state.pending_seq + 1)]
        self.transaction.put_many(PENDING, rows)
        state.pending_seq += len(keys)
        if known is not None:
            known += [key[4:] for key in keys]

    def forget_pending(self, bucket: int, keys: list[bytes]) -> None:
        """Forget words, by their keys, that the bucket's graph holds by now."""
        for key in keys:
            self.transaction.delete(PENDING, key)
        self._memory.forget_pending(bucket)
        prefix = bucket_key(bucket)
        left = self.transaction.first(PENDING, prefix)
        if left is not None and left[0].startswith(prefix):
            self._memory.pending_buckets.add(bucket)

    def word_rows(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return the rows of those of some words that have one, by their keys."""
        waiting = self.terms.waiting(keys)
        stored = super().word_rows([key for key in keys if key not in waiting])
        return {**stored, **waiting}

    def word_rows_from(self, start: bytes, limit: int) -> list[Row]:
        """Return the first `limit` rows of words whose keys are not before `start`, in key order."""
        stored = super().word_rows_from(start, limit)
        waiting = self.terms.waiting_between(start, stored[-1][0] if len(stored) == limit else None)
        return sorted({**dict(stored), **waiting}.items())[:limit] if waiting else stored

    def record_rows(self, bucket: int, iids: list[int]) -> dict[bytes, bytes]:
        """Return the rows that hold some objects of a bucket, by their keys; perhaps also the newest one."""
        rows = super().record_rows(bucket, iids)
        newest = self._memory.of(bucket).newest
        if newest is not None:
            rows[object_key(bucket, newest.number)] = newest.packed
        return rows

    def record(self, bucket: int, iid: int) -> bytes | None:
        """Return the record of an object, or None. Raises DamagedBytes if its row cannot be read."""
        newest = self._memory.of(bucket).newest
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        if newest is not None and newest.number == number:
            return record_at(newest.packed, place)
        return super().record(bucket, iid)

    def named(self, state: BucketState, oid: bytes, hash: int) -> tuple[int, ...]:
        """Return the IIDs of the objects that may have an OID, by its `name_hash`."""
        return self.names(state).find(hash) + stored_names(self.transaction, state, hash)

    def flush(self) -> None:
        """Write what was held back; nothing may be missing in the tables after it."""
        self.flush_term_rows()
        written = sorted(self._written)
        for bucket in written:
            self.flush_records(bucket)
        for scope in sorted(self._changed_states):
            self._fold_names(self._states[scope])
        self._flush_states()
        for bucket in written:
            self._put_lengths(bucket)
        self._written.clear()
        self._memory.shrink()

    def _put_lengths(self, bucket: int) -> None:
        """Write the rows of lengths that changed; one whose objects are all gone goes too."""
        rows = []
        for number, packed in self._lengths(bucket).take_changed():
            key = length_key(bucket, number)
            if packed.count(0) == len(packed):
                self.transaction.delete(LENGTHS, key)
            else:
                rows.append((key, packed))
        self.transaction.put_many(LENGTHS, rows)

    def _flush_states(self) -> None:
        self.transaction.put_many(
            SCOPES, [(scope_key(*scope), self._states[scope].pack()) for scope in sorted(self._changed_states)]
        )
        self._changed_states.clear()
        self.writers.clear()

    def _forget_state(self, scope: tuple[str, str]) -> None:
        self._states.pop(scope, None)
        self._changed_states.discard(scope)
        self.writers.pop(scope, None)

    def _fold_names(self, state: BucketState) -> None:
        names = self._memory.of(state.bucket).names
        if names is None:
            return
        try:
            names.fold(self.transaction, state)
        except DamagedBytes as error:
            raise StoreDamaged(f"bucket {state.bucket}: {error}") from error

    def _lengths(self, bucket: int) -> Lengths:
        held = self._memory.of(bucket)
        if held.lengths is None:
            held.lengths = Lengths(read_lengths(self.transaction, bucket))
        return held.lengths

    def _take_bucket_id(self) -> int:
        row = self.transaction.get(META, NEXT_BUCKET)
        number = unpack_varints(row)[0] if row else 0
        self.transaction.put(META, NEXT_BUCKET, pack_varints((number + 1,)))
        return number
