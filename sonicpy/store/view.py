"""What one transaction shows: buckets by name, and the lengths of their objects.

`View` reads through a read transaction. `WriteView` reads and writes through a write transaction and holds back the
rows that nearly every change touches (counters of buckets, rows of lengths) until `flush`.
"""

from enum import IntEnum

from sonicpy._native.postings import TermCache, bucket_key, pack_varints, unpack_varints
from sonicpy.ids import Scope
from sonicpy.store.environment import (
    BUCKETS,
    DOOMED,
    LENGTHS,
    META,
    PENDING,
    SCOPES,
    WORDS,
    Transaction,
)
from sonicpy.store.keys import collection_prefix, length_key, scope_key, scope_of
from sonicpy.store.lengths import Lengths, read_lengths
from sonicpy.store.scopes import BucketState

NEXT_BUCKET = b"next bucket"
TERMS_KEPT = 20_000  # about 4 MB
BUCKETS_KEPT = 1_000


class Why(IntEnum):
    """What happened to a pending word last: the last byte of its row, behind the number of the edit."""

    APPEARED = 0
    POPPED = 1
    """It vanished by a POP that left its object other words."""
    ORPHANED = 2
    """It vanished with its object."""


class Memory:
    """What the one writer remembers from commit to commit: the store as its open transaction shows it."""

    def __init__(self) -> None:
        self.pending_buckets: set[int] = set()
        self.pending_words: dict[int, list[bytes]] = {}
        """Of the buckets that were asked for."""
        self.flushed: dict[int, int] = {}
        """Buckets that went since the owner last asked, with the versions of their graphs."""
        self.terms = TermCache()
        self.states: dict[tuple[str, str], BucketState] = {}
        self.lengths: dict[int, Lengths] = {}
        self.has_doomed = True
        """Rows of flushed buckets may wait for the sweeper; the first sweep finds out."""

    def undo(self) -> None:
        """Forget what may hold changes of a transaction that was lost; `pending_buckets` is the caller's."""
        self.pending_words.clear()
        self.flushed.clear()
        self.terms.clear()
        self.states.clear()
        self.lengths.clear()

    def forget(self, bucket: int) -> None:
        """Drop what is known of a bucket that was flushed; its rows of words were written."""
        self.forget_pending(bucket)
        self.lengths.pop(bucket, None)
        self.terms.clear()

    def forget_pending(self, bucket: int) -> None:
        """Drop what is known of the pending words of a bucket."""
        self.pending_buckets.discard(bucket)
        self.pending_words.pop(bucket, None)

    def shrink(self) -> None:
        """Keep to a few MB; everything was written."""
        if len(self.terms) > TERMS_KEPT:
            self.terms.clear()
        if len(self.states) > BUCKETS_KEPT:
            self.states.clear()
        if len(self.lengths) > BUCKETS_KEPT:
            self.lengths.clear()


class View:
    """A consistent picture of the store, for reading.

    Args:
        read_lengths: of buckets, each with the number of the snapshot that showed them; views share it.

    Attributes:
        transaction: for reading the other tables.
    """

    def __init__(self, transaction: Transaction, read_lengths: dict[int, tuple[int, bytearray]] | None = None) -> None:
        self.transaction = transaction
        self._read_lengths = {} if read_lengths is None else read_lengths

    def settle(self) -> None:
        """Make sure that the tables hold everything there is to read."""

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

    def pending_words(self, state: BucketState) -> list[bytes]:
        """Return the words of a bucket that appeared or vanished since its graph was built, perhaps more than once."""
        return [key[4:] for key, _ in self.transaction.rows(PENDING, bucket_key(state.bucket))]


class WriteView(View):
    """The picture inside an open write transaction, its own changes included."""

    def __init__(self, transaction: Transaction, memory: Memory, owner: int) -> None:
        super().__init__(transaction)
        self.owner = owner
        """The only thread that may use it."""
        self.terms = memory.terms
        """Rows of words that PUSH changes; whoever reads or changes them otherwise calls `settle` first."""
        self._memory = memory
        self._states = memory.states
        self._changed_states: set[tuple[str, str]] = set()
        self._changed_lengths: set[int] = set()

    def settle(self) -> None:
        """Write the rows of words that PUSH changed."""
        if self.terms.changed:
            self.transaction.put_many(WORDS, self.terms.rows())

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
        self.settle()
        self._memory.forget(state.bucket)
        self._memory.flushed[state.bucket] = state.lexicon_version
        self._memory.has_doomed = True
        self._changed_lengths.discard(state.bucket)
        key = bucket_key(state.bucket)
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

    def lengths(self, state: BucketState) -> bytearray:
        """Return the packed lengths of all objects of a bucket, by IID; not to be changed."""
        return self._lengths(state.bucket).packed

    def set_length(self, state: BucketState, iid: int, packed: int) -> None:
        """Note the length of an object (one byte, see `pack_length`; 0: there is no such object)."""
        self._lengths(state.bucket)[iid] = packed
        self._changed_lengths.add(state.bucket)

    def pending_words(self, state: BucketState) -> list[bytes]:
        """Return the words of a bucket that appeared or vanished since its graph was built, perhaps more than once.

        The same list as long as it only grows.
        """
        words = self._memory.pending_words.get(state.bucket)
        if words is None:
            words = self._memory.pending_words[state.bucket] = super().pending_words(state)
        return words

    def note_pending(self, state: BucketState, keys: list[bytes], why: Why) -> None:
        """Note words, by their keys, that appeared or vanished."""
        self._memory.pending_buckets.add(state.bucket)
        known = self._memory.pending_words.get(state.bucket)
        for key in keys:
            state.edits += 1
            self.transaction.put(PENDING, key, state.edits.to_bytes(6, "big") + bytes((why,)))
            if known is not None:
                known.append(key[4:])

    def forget_pending(self, bucket: int, keys: list[bytes]) -> None:
        """Forget words, by their keys, that the bucket's graph holds by now."""
        for key in keys:
            self.transaction.delete(PENDING, key)
        self._memory.forget_pending(bucket)
        prefix = bucket_key(bucket)
        left = self.transaction.first(PENDING, prefix)
        if left is not None and left[0].startswith(prefix):
            self._memory.pending_buckets.add(bucket)

    def flush(self) -> None:
        """Write what was held back; nothing may be missing in the tables after it."""
        self.settle()
        self._flush_states()
        for bucket in sorted(self._changed_lengths):
            rows = [(length_key(bucket, row), packed) for row, packed in self._memory.lengths[bucket].take_changed()]
            self.transaction.put_many(LENGTHS, rows)
        self._changed_lengths.clear()
        self._memory.shrink()

    def _flush_states(self) -> None:
        self.transaction.put_many(
            SCOPES, [(scope_key(*scope), self._states[scope].pack()) for scope in sorted(self._changed_states)]
        )
        self._changed_states.clear()

    def _lengths(self, bucket: int) -> Lengths:
        lengths = self._memory.lengths.get(bucket)
        if lengths is None:
            lengths = self._memory.lengths[bucket] = Lengths(read_lengths(self.transaction, bucket))
        return lengths

    def _take_bucket_id(self) -> int:
        row = self.transaction.get(META, NEXT_BUCKET)
        number = unpack_varints(row)[0] if row else 0
        self.transaction.put(META, NEXT_BUCKET, pack_varints((number + 1,)))
        return number
