"""The view of the open write transaction, its own changes included, and the methods that change buckets in it.

Rows that nearly every change touches change in the `WriteCache`; `flush` writes them before each commit.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sonicpy._native.keys import bucket_key, pending_rows, word_key
from sonicpy._native.varint import DamagedBytes
from sonicpy._native.word_notes import WordNotes
from sonicpy._native.word_range import WordRange
from sonicpy.errors import StoreDamaged
from sonicpy.ids import Scope
from sonicpy.rules import FIRST
from sonicpy.store.disk.table_numbers import (
    BUCKETS,
    COMMON,
    DROPPED,
    LENGTHS,
    META,
    PENDING,
    SCOPES,
    TERMS,
    WORDS,
    StoredRow,
)
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.disk.why import Why
from sonicpy.store.rows import bucket_rules, uses
from sonicpy.store.rows import names as name_rows
from sonicpy.store.rows.bucket_state import BORN_GRAPHLESS, BucketState
from sonicpy.store.rows.changes import Touched
from sonicpy.store.rows.keys import BESIDE_MARKS, BUCKET_MAX, bucket_of, scope_key
from sonicpy.store.rows.known_pending import KnownPending
from sonicpy.store.rows.lengths import Lengths, read_lengths, take_lengths
from sonicpy.store.rows.meta import CHANGES, EMPTIED, require, take_bucket_id
from sonicpy.store.rows.names import NewNames, name_hash, new_names
from sonicpy.store.rows.numbered_terms import few_terms_numbered
from sonicpy.store.rows.removals import read_removals
from sonicpy.store.rows.tag_counts import OF_TAGS, Beside
from sonicpy.store.views import open_words
from sonicpy.store.views.all_words import first_live_word
from sonicpy.store.views.bucket_reader import TagReader
from sonicpy.store.views.cached_reader import CachedReader
from sonicpy.store.views.column_reader import ColumnReader
from sonicpy.store.views.digest_writer import DigestWriter
from sonicpy.store.views.open_orders import OpenFacts, OpenOrders
from sonicpy.store.views.open_records import OpenRecords
from sonicpy.store.views.table_readers import TableReaders
from sonicpy.store.views.vector_rows import VectorRows
from sonicpy.store.views.view import View
from sonicpy.store.views.write_cache import WriteCache

if TYPE_CHECKING:
    from sonicpy.store.views.beside_words import Owner
    from sonicpy.store.views.read_rows import ReadRows

MANY_BUCKETS = 256
"""The number of changed buckets whose rows are written before the commit is due, which would hold up other connections
and threads: about 5 ms."""


class WriteView(OpenRecords, OpenOrders, OpenFacts, View):
    """The view of an open write transaction, its own changes included.

    Args:
        transaction: a write transaction.
        cache: the writer's cache, which outlives the transaction.
        owner: the only thread that may use the view.

    Attributes:
        terms: the cached rows of words that PUSH changes; call `flush_term_rows` before using these rows in the tables.
        removals: the removals under way; see `remove_steps`.
        writer_cache: the writers of the buckets whose states changed; see `bucket_writer.writer_of`.
        touched: the changes by bucket.
        changes: a number that grows with every change.
        readers: the functions that changes call to read rows.
        digests: the digests of the texts that UPSERT gave to objects.
        uses_noted: how many uses the transaction has noted; `is_used` answers the same while it does not change.
        open_cache: the cache of queries in the transaction; None: no query has been made yet.
    """

    def __init__(self, transaction: Transaction, cache: WriteCache, owner: int) -> None:
        super().__init__(transaction)
        self.owner = owner
        self.terms = cache.terms
        self.terms.begin_notes()
        self.writer_cache: dict[tuple[str, str], Any] = {}
        self.touched: defaultdict[int, Touched] = defaultdict(Touched.nothing)
        self.changes = 0
        self.readers = TableReaders(transaction)
        self.open_cache: ReadRows | None = None
        self._word_notes: dict[int, WordNotes] = {}
        self._pending: dict[bytes, bytes] = {}  # rows of `pending` that it does not hold yet
        self._untaken: dict[int, set[int]] = {}  # rewritten lists that `take_touched` has not returned, by bucket
        if cache.removals is None:
            cache.removals = read_removals(transaction)
        self.removals = cache.removals
        self._write_cache = cache
        self._states = cache.states
        self.bucket_counts = cache.bucket_counts
        self._changed_states: set[tuple[str, str]] = set()
        self._changed_buckets: set[int] = set()  # rows of these may still have to be written
        self._required: set[str] = set()  # names that `meta` lists already
        self.uses_noted = 0
        self.digests = DigestWriter(self)
        self._used: frozenset[str] | None = None  # what it listed before; None: not read
        self._facts_read = {}

    def word_notes(self, bucket: int) -> WordNotes:
        """Return the notes about the words of a bucket, which take the terms of new words, and pending words."""
        notes = self._word_notes.get(bucket)
        if notes is None:
            key, cache, touched = bucket_key(bucket), self._write_cache, self.touched[bucket]
            recorded, begins_small = cache.pending_buckets, cache.begins_small
            notes = WordNotes(self.transaction, key, WORDS, self._pending, recorded, touched.words, begins_small)
            self._word_notes[bucket] = notes
        return notes

    def terms_numbered(self, bucket: int, term_ids: Iterable[int]) -> dict[int, bytes]:
        """Return the terms of term ids of a bucket, by id; ids without a term are left out."""
        self.flush_new_terms(bucket)
        return super().terms_numbered(bucket, term_ids)

    def few_terms_numbered(self, bucket: int, term_ids: list[int]) -> dict[int, bytes]:
        """Return the result of `terms_numbered`, in less time for a few term ids."""
        self.flush_new_terms(bucket)
        return few_terms_numbered(self.transaction, bucket, term_ids)

    def flush_new_terms(self, bucket: int) -> None:
        """Write the terms of new words of a bucket."""
        if (notes := self._word_notes.get(bucket)) is not None:
            notes.write_terms(TERMS)

    def _flush_pending(self) -> None:
        if self._pending:
            self.transaction.put_many(PENDING, sorted(self._pending.items()))
            self._pending.clear()

    def flush_term_rows(self) -> None:
        """Write the rows of words that PUSH changed in the cache, the terms of new words, and pending words."""
        for notes in self._word_notes.values():
            notes.write_terms(TERMS)
        self._flush_pending()
        if self.terms.changed:
            open_words.delete_vanished(self.transaction, self.terms)
            words, common = self.terms.rows()
            self.transaction.put_many(WORDS, words)
            self.transaction.put_many(COMMON, common)

    def bucket(self, collection: str, bucket: str) -> BucketState | None:
        """Return the state of a bucket, or None if it does not exist."""
        scope = (collection, bucket)
        state = self._states.get(scope)
        if state is None:
            row = self.transaction.get(SCOPES, scope_key(collection, bucket))
            if row is not None:
                state = self._states[scope] = BucketState.unpack(row)
        return state

    def bucket_to_change(self, collection: str, bucket: str, rules: int = FIRST) -> BucketState:
        """Return the state of a bucket for changes; create the bucket if it is missing.

        Args:
            rules: the rules of a new bucket.

        Raises:
            OverflowError: the numbers of buckets are used up.
        """
        state = self.bucket(collection, bucket)
        scope = (collection, bucket)
        if state is None:
            number = take_bucket_id(self.transaction)
            if number > BUCKET_MAX:
                raise OverflowError(f"the store has used up its {BUCKET_MAX + 1} numbers of buckets")
            state = self._states[scope] = BucketState(number)
            self.transaction.put(BUCKETS, bucket_key(state.bucket), scope_key(collection, bucket))
            self.transaction.put(SCOPES, scope_key(collection, bucket), state.pack())
            if rules != FIRST:
                self.require(uses.RULES_8)
                self.set_fact(state.bucket, bucket_rules.RULES, bucket_rules.pack_rules(rules))
                self.begin_small(state)
        self.note_state(scope, state)
        return state

    def note_state(self, scope: tuple[str, str], state: BucketState) -> None:
        """Note that the state of a bucket changes."""
        self._changed_states.add(scope)
        self.touch(state.bucket)

    def begin_small(self, state: BucketState) -> None:
        """Begin a new bucket as a small one, unless the store has a graph for each bucket."""
        if self._write_cache.begins_small:
            self.require(uses.SMALL)
            state.graph_words = BORN_GRAPHLESS
            self.transaction.begin_small(bucket_key(state.bucket))

    def note_rewritten(self, bucket: int, term_ids: list[int]) -> None:
        """Note that lists of words changed in other ways than by new postings at their end."""
        for noted in (self.touched[bucket].rewritten, self._untaken.get(bucket)):
            if noted is not None:
                noted.update(term_ids)

    def take_touched(self, bucket: int) -> tuple[set[int] | None, set[int]] | None:
        """Return the rewritten lists and the rows of lengths of a bucket, as `Touched` has them, that changed since the
        last call, or since the transaction began; None: nothing changed. The rows of lengths may include some that
        changed before the last call; at a commit they are all that the transaction changed."""
        touched = self.touched.get(bucket)
        if touched is None:
            return None
        rewritten, self._untaken[bucket] = self._untaken.get(bucket, touched.rewritten), set()
        held = self._write_cache.of(bucket).lengths
        changed = touched.length_rows if held is None else touched.length_rows | held.take_unseen()
        return rewritten, changed

    def forget_bucket(self, collection: str, bucket: str) -> bool:
        """Drop a bucket from `scopes` and leave its rows to `sweep`; return whether it existed."""
        state = self.bucket(collection, bucket)
        if state is None:
            return False
        self._forget_state((collection, bucket))
        self.flush_term_rows()
        self._write_cache.forget(state.bucket)
        for mark in BESIDE_MARKS:
            self._write_cache.forget(state.bucket | mark)
        self._write_cache.flushed[state.bucket] = state.lexicon_version
        self._write_cache.has_dropped = True
        self._changed_buckets.discard(state.bucket)
        self.removals.forget_bucket(state.bucket)
        key = bucket_key(state.bucket)
        self._recount(Scope(collection, bucket), None)
        self.transaction.delete(SCOPES, scope_key(collection, bucket))
        self.transaction.delete(BUCKETS, key)
        self.transaction.put(DROPPED, key, b"")
        return True

    def note_emptied(self, collection: str) -> None:
        """Note that a collection exists although it has lost its last bucket; see `has_collection`."""
        self.transaction.put(META, EMPTIED + collection.encode(), b"")

    def forget_emptied(self, collection: str) -> bool:
        """Undo `note_emptied`; return whether it was noted."""
        return self.transaction.delete(META, EMPTIED + collection.encode())

    def set_bucket(self, scope: Scope, state: BucketState) -> None:
        """Replace the counters of an existing bucket; its number must stay the same."""
        self._forget_state(scope)
        self._states[scope] = state
        self._changed_states.add(scope)
        self.touch(state.bucket)

    def read_removals(self) -> None:
        """Read the removals under way again, after rows about them were written."""
        self._write_cache.removals = self.removals = read_removals(self.transaction)

    def rename_bucket(self, old: Scope, new: Scope) -> None:
        """Give a bucket another name, which must be free."""
        state = self.bucket_to_change(*old)
        self._forget_state(old)
        self._states[new] = state
        self._changed_states.add(new)
        self.bucket_counts.clear()
        self.transaction.delete(SCOPES, scope_key(*old))
        self.transaction.put(SCOPES, scope_key(*new), state.pack())
        self.transaction.put(BUCKETS, bucket_key(state.bucket), scope_key(*new))

    def require(self, name: str) -> None:
        """Note that this transaction uses a rule, a field or a table of `uses.KNOWN`; see `meta.require`."""
        if name not in self._required:
            require(self.transaction, name)
            self._required.add(name)
            self.uses_noted = len(self._required)

    def is_used(self, name: str) -> bool:
        """Return whether the store uses a name of `uses.KNOWN`, in this transaction or from before."""
        if self._used is None:
            self._used = self.uses()
        return name in self._required or name in self._used

    def synonym_stamp(self, collection: str) -> bytes | None:
        """Return the stamp of the synonyms of a collection; None: the collection has none."""
        return super().synonym_stamp(collection) if self.is_used(uses.SYNONYMS) else None

    def touch(self, number: int) -> None:
        """Note that rows under a number, of a bucket or of its tags, change, so that readers read them again."""
        _ = self.touched[number]

    def note_to_flush(self, bucket: int) -> None:
        """Note that changed rows of a bucket wait in the cache."""
        self._changed_buckets.add(bucket)

    def digest(self, bucket: int, iid: int) -> bytes:
        """Return the digest of the text of an object; NO_DIGEST: the object has none."""
        return self.digests.get(bucket, iid)

    def have_digests(self, collection: str, bucket: str, asked: Sequence[tuple[str, bytes]]) -> list[bool]:
        """Return, for each (name, digest) of `asked`, whether the object exists and its text has this digest, also one
        of the open transaction."""
        state = self.bucket(collection, bucket)
        if state is None:
            return [False] * len(asked)
        names = [(oid.encode(), digest) for oid, digest in asked]
        id, holds, named = state.bucket, self.digests.holds, self.named
        return [holds(id, named(state, name, name_hash(name)), digest) for name, digest in names]

    def vectors_to_change(self, bucket: int) -> VectorRows:
        """Return the rows of vectors of a bucket for changes, which the commit writes."""
        self._changed_buckets.add(bucket)
        return self._write_cache.of(bucket).vectors

    def lengths(self, state: BucketState) -> bytearray:
        """Return the packed lengths of all objects of a bucket, by IID. The caller must not change them."""
        held = self._write_cache.of(state.bucket).lengths
        return self._lengths(state).packed if held is None else held.packed

    def lengths_to_change(self, state: BucketState) -> Lengths:
        """Return the lengths of all objects of a bucket, which may be changed until the transaction ends."""
        self._changed_buckets.add(state.bucket)
        return self._lengths(state)

    def names(self, state: BucketState) -> NewNames:
        """Return the names that `oids` may lack, which may be changed until the transaction ends."""
        held = self._write_cache.of(state.bucket)
        if held.names is None:
            held.names = new_names(self.transaction, state)
        return held.names

    def reader(self, state: BucketState) -> CachedReader:
        """Return a reader of a bucket through the cache of queries, which must exist."""
        assert self.open_cache is not None
        return self.open_cache.reader(state)

    def tag_reader(self, owner: "Owner", beside: Beside = OF_TAGS) -> TagReader | None:
        """Return a reader of the tags of a bucket, through the cache if there is one; see `View`."""
        cache = self.open_cache
        return super().tag_reader(owner, beside) if cache is None else cache.tag_reader(owner, beside)

    def column_reader(self, owner: "Owner") -> ColumnReader | None:
        """Return a reader of the values of a bucket, through the cache if there is one; see `View`."""
        return super().column_reader(owner) if self.open_cache is None else self.open_cache.column_reader(owner)

    def pending_words(self, state: BucketState) -> list[bytes]:
        """Return the words of a bucket that appeared or vanished since its graph was built, perhaps more than once."""
        cache = self.open_cache
        return super().pending_words(state) if cache is None else cache.growing_pending_words(state).words

    def growing_pending_words(self, state: BucketState) -> KnownPending | None:
        """Return the list of `pending_words`, which later changes extend; None: there is no cache of queries."""
        return None if self.open_cache is None else self.open_cache.growing_pending_words(state)

    def forget_pending(self, bucket: int, keys: list[bytes]) -> None:
        """Delete pending words, given by their keys, that the bucket's graph includes now."""
        self._flush_pending()
        self.transaction.delete_many(PENDING, keys)
        self._write_cache.pending_buckets.discard(bucket)
        prefix = bucket_key(bucket)
        left = self.transaction.first(PENDING, prefix)
        if left is not None and left[0].startswith(prefix):
            self._write_cache.pending_buckets.add(bucket)

    def word_rows(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return the rows of the words with these keys, by key; keys without a row are left out."""
        return open_words.rows(self.terms, super().word_rows, keys)

    def word_rows_from(self, start: bytes, limit: int, prefix: bytes = b"") -> list[StoredRow]:
        """Return the first `limit` rows of words whose keys are not before `start`, in key order; see `View`."""
        return open_words.rows_from(self.terms, super().word_rows_from, start, limit, prefix)

    def word_range(self, prefix: bytes, most: int, *, letters: bool) -> WordRange:
        """Return the first `most` words whose keys begin with `prefix`; see `View`."""
        return WordRange(self.word_rows_from(prefix, most, prefix), prefix, most, letters)

    def word_keys_from(self, start: bytes, limit: int, prefix: bytes = b"") -> list[bytes]:
        """Return the keys of the rows that `word_rows_from` would return, in less time."""
        return open_words.keys_from(self.terms, super().word_keys_from, start, limit, prefix)

    def named(self, state: BucketState, oid: bytes, hash: int) -> tuple[int, ...]:
        """Return the IIDs of the objects that may have the OID whose `name_hash` is `hash`."""
        return self.names(state).find(hash) + self.stored_named(state, hash)

    def new_named(self, state: BucketState, oid: bytes) -> tuple[int, ...]:
        """Return the IID of the object with an OID, if the rows of names may lack it."""
        return self.names(state).find(name_hash(oid))

    @property
    def has_many_buckets(self) -> bool:
        """Whether at least MANY_BUCKETS buckets have unwritten changes."""
        return len(self._changed_buckets) >= MANY_BUCKETS

    def flush(self) -> None:
        """Write every cached change into the tables, for a commit."""
        self.write_changes()
        self._write_cache.shrink()

    def write_changes(self) -> None:
        """Write every cached change into the tables; the cache keeps the rows."""
        self.flush_term_rows()
        transaction, held = self.transaction, self._write_cache.of
        changed = [(bucket, held(bucket)) for bucket in sorted(self._changed_buckets)]
        last = changed[-1][0] if changed else 0
        for bucket, cache in changed:
            cache.write_records(transaction, bucket, is_last=bucket == last)
        for scope in sorted(self._changed_states):
            state = self._states[scope]
            if (names := held(state.bucket).names) is not None and not names.rests(name_rows.WAITING_MIN):
                self._fold_names(names, state)
        self._flush_states()
        lengths: list[StoredRow] = []
        for bucket, cache in changed:
            if cache.lengths is not None:
                take_lengths(transaction, bucket, cache.lengths, self.touched[bucket].length_rows, lengths)
            if cache.facts or cache.languages:
                self._put_facts(bucket)
            cache.write_orders(transaction)
        transaction.put_many(LENGTHS, lengths)
        self.digests.flush(bucket for bucket, _ in changed)
        self._changed_buckets.clear()
        transaction.write_small()
        self._note_moved()

    def _note_moved(self) -> None:
        """Give a pending row to a live word of each bucket that was small: a consolidation then builds its graph."""
        moved, self.transaction.moved = self.transaction.moved, []
        for number in moved:
            state = self.bucket_numbered(bucket_of(number))
            if state is None or not state.pending_seq or state.lexicon_version:
                continue
            if (word := first_live_word(self, state)) is not None:
                self._write_cache.pending_buckets.add(state.bucket)
                self.transaction.put_many(PENDING, pending_rows([word_key(state.bucket, word)], 1, Why.APPEARED))

    def release(self) -> None:
        """Forget all buckets, once the transaction has ended: references in a circle keep the view for long."""
        self.writer_cache.clear()
        self._word_notes.clear()
        self._facts_read.clear()
        self.touched = defaultdict(Touched.nothing)

    def note_changes(self) -> None:
        """Write the row of changes for the readers of this commit, as the last step before the commit."""
        recent, commit = self._write_cache.recent_changes, self.transaction.number
        CHANGES.write(self.transaction, recent.note(commit, self.touched))
        recent.bucket_counts = commit, self.bucket_counts.copy()

    def _flush_states(self) -> None:
        if self.bucket_counts:
            for scope in self._changed_states:
                self._recount(Scope(*scope), self._states[scope])
        self.transaction.put_many(
            SCOPES, [(scope_key(*scope), self._states[scope].pack()) for scope in sorted(self._changed_states)]
        )
        self._changed_states.clear()
        self.writer_cache.clear()

    def _forget_state(self, scope: tuple[str, str]) -> None:
        self._states.pop(scope, None)
        self._changed_states.discard(scope)
        self.writer_cache.pop(scope, None)

    def _fold_names(self, names: NewNames, state: BucketState) -> None:
        try:
            names.fold(self.transaction, state)
        except DamagedBytes as error:
            raise StoreDamaged(f"bucket {state.bucket}: {error}") from error

    def _lengths(self, state: BucketState) -> Lengths:
        held = self._write_cache.of(state.bucket)
        if held.lengths is None:
            held.lengths = Lengths(read_lengths(self.transaction, state.bucket, state.next_iid))
        return held.lengths
