"""A snapshot that many readers use one after the other, until the next commit, with a cache of the rows read.

The cache holds states of buckets, rows and postings of words, lengths and OIDs. The cache of the next commit takes over
all rows that the commit did not touch (`changes.py`), and so does the cache of the open transaction (`open_cache.py`).
OIDs always stay, because an IID always means the same object. Queries repeat the same words, common words most of all.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from sonicpy._native.bucket_cache import BucketCache
from sonicpy._native.keys import word_key, word_keys
from sonicpy._native.objects import row_keys
from sonicpy._native.stored_postings import StoredPostings
from sonicpy._native.table_access import words_found
from sonicpy._native.term_rows import TermInfo, infos_of
from sonicpy._native.word_range import WordRange
from sonicpy.rules import counts_letters
from sonicpy.store.disk.table_numbers import COMMON, IMPACTS, LENGTHS, OBJECTS, WORDS, StoredRow
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketCounts, BucketState
from sonicpy.store.rows.changes import ChangesBetween, RecentChanges, Touched, changes_since
from sonicpy.store.rows.keys import (
    BESIDE_MARKS,
    TERM_KEY_BYTES,
    VALUES_MARK,
    block_key,
    length_key,
    length_row_of,
    term_key,
)
from sonicpy.store.rows.known_pending import PENDING_READ_MAX, KnownPending
from sonicpy.store.rows.lengths import read_lengths
from sonicpy.store.rows.meta import CHANGES
from sonicpy.store.rows.names import KnownNames, find_new, oids_from
from sonicpy.store.rows.tag_counts import OF_TAGS, Beside
from sonicpy.store.rows.word_rows import stored_words
from sonicpy.store.views.all_words import compared_words
from sonicpy.store.views.bucket_reader import BucketReader, TagReader, tag_counts, tags_state
from sonicpy.store.views.cached_reader import CachedReader
from sonicpy.store.views.cached_tags import CachedTagReader
from sonicpy.store.views.column_reader import ColumnReader, stored_columns
from sonicpy.store.views.view import View

if TYPE_CHECKING:
    from sonicpy.store.views.beside_words import Owner

Changes = ChangesBetween | dict[int, Touched]

BUCKETS_MAX = 1_000
WORDS_MAX = 16_384
"""The most cached rows of words of a bucket, and the most older rows besides: about 8 MB."""
NAME_ROWS_MAX = 12_500
"""The most cached rows of sixteen OIDs of a bucket: about 5 MB for short OIDs."""
IDLE_COMMITS = 1_024
"""The cached rows of a bucket are dropped after one to two times this number of commits without a read: the bucket may
have been flushed, and the row of changes gets shorter."""
POSTINGS_MAX_BYTES = 448 << 20
"""The most bytes of cached postings, packed blocks and windows of common words over all buckets."""
PARTS = 8
"""After each such part of POSTINGS_MAX_BYTES that is read, the cached postings are counted, and unused ones dropped."""
ROWS_MAX_BYTES = 32 << 20
"""The most bytes of cached rows of words and OIDs in all buckets, and the most bytes of older rows of words besides.
This limits the memory that many active buckets take."""
CACHED_WORD_BYTES, CACHED_NAMES_BYTES = 250, 400
"""The approximate bytes of a cached row of a word, and of a row of OIDs."""
CACHED_RANGE_BYTES, CACHED_COMPLETION_BYTES = 200, 25
"""The approximate bytes of a cached range of words, and of each word in it."""


class SnapshotCache:
    """The cache of rows read from one commit. Threads can share it, because each step is one call of a method of a
    dict.

    Args:
        commit: the number of the commit.
        before: the cache of an older commit, from which this one takes over valid rows.
        recent: the changes of the last commits, in the committing process.
        postings_max_bytes: see POSTINGS_MAX_BYTES; if `before` is given, its limit is used instead.
    """

    def __init__(
        self,
        commit: int,
        before: "SnapshotCache | None" = None,
        recent: RecentChanges | None = None,
        *,
        postings_max_bytes: int = POSTINGS_MAX_BYTES,
    ) -> None:
        self.commit = commit
        self.postings_max_bytes: int = postings_max_bytes if before is None else before.postings_max_bytes
        self.recent: RecentChanges | None = recent if before is None else before.recent
        self.names: dict[int, dict[int, bytes]] = {} if before is None else before.names
        """Bucket -> the cached rows of its OIDs, which never become invalid."""
        self.states: dict[tuple[str, str], BucketState | None] = {}
        self.facts: dict[tuple[int, int], bytes | None] = {}
        """The facts of this commit alone, by bucket and kind."""
        self.buckets: dict[int, tuple[int, BucketCache]] = {}
        """Bucket -> the number of the commit for which its cache is valid, and the cache."""
        self.pending: dict[int, KnownPending] = {} if before is None else before.pending
        self.new_names: dict[int, KnownNames] = {} if before is None else before.new_names
        self.read_bytes = 0
        """The bytes of postings read since the cached ones were counted."""
        self.row_bytes = 0
        self._since: dict[int, Changes | None] = {}
        if before is not None:
            self.buckets, before.buckets = before.buckets, {}
            self.read_bytes, self.row_bytes = before.read_bytes, before.row_bytes
            if commit // IDLE_COMMITS > before.commit // IDLE_COMMITS:
                self._drop_idle()

    @cached_property
    def bucket_counts(self) -> BucketCounts:
        """Results of `View.count_buckets` at this commit."""
        return {} if self.recent is None else self.recent.bucket_counts_at(self.commit)

    def _drop_idle(self) -> None:
        """Drop the rows of buckets without reads in the last commits."""
        oldest = self.commit - IDLE_COMMITS
        self.buckets = {number: (commit, cache) for number, (commit, cache) in self.buckets.items() if commit >= oldest}
        for rows in (self.names, self.pending, self.new_names):
            for bucket in [number for number in tuple(rows) if number not in self.buckets]:
                rows.pop(bucket, None)

    def forget(self, bucket: int) -> None:
        """Drop the rows of a flushed bucket, which would stay for IDLE_COMMITS commits."""
        if bucket in self.names or bucket in self.pending:
            for number in (bucket, *(bucket | mark for mark in BESIDE_MARKS)):
                for rows in (self.buckets, self.names, self.pending, self.new_names):
                    rows.pop(number, None)

    def of(self, bucket: int, view: View) -> BucketCache:
        """Return the cache of a bucket.

        Args:
            view: the view of this cache's commit.
        """
        commit, cache = self.buckets.get(bucket, (-1, None))
        if cache is None:
            if len(self.buckets) >= BUCKETS_MAX:
                self.buckets.clear()
                self.names.clear()
                self.pending.clear()
                self.new_names.clear()
            cache = self.buckets.setdefault(bucket, (self.commit, self._empty(bucket)))[1]
        elif commit != self.commit:
            changes = self.changes_since(commit, view.transaction)
            if changes is None:
                cache = self._empty(bucket)
            else:
                cache = self._taken_over(bucket, cache, changes.get(bucket), view)
            self.buckets[bucket] = self.commit, cache
        return cache

    def _empty(self, bucket: int) -> BucketCache:
        return BucketCache(WORDS_MAX, NAME_ROWS_MAX, self.names.setdefault(bucket, {}))

    def _taken_over(
        self, bucket: int, before: BucketCache, touched: Touched | None, view: View, words: list[bytes] | None = None
    ) -> BucketCache:
        """Return a cache with the rows that changes did not touch.

        Args:
            touched: the changes; None: there were none.
            words: the words whose rows changed; None: any word.
        """
        if touched is None:
            return before
        cache = self._empty(bucket)
        # Lists by association gain postings anywhere.
        cache.take_over(before, None if view.by_association else touched.rewritten, touched.length_rows, words)
        return cache

    def changes_since(self, commit: int, transaction: Transaction) -> Changes | None:
        """Return the changes of the commits after `commit`, by bucket; None: not all of them are known."""
        if commit not in self._since:
            self._since[commit] = self._changes_between(commit, transaction.number, transaction)
        return self._since[commit]

    def _changes_between(self, commit: int, number: int, transaction: Transaction) -> Changes | None:
        kept = None if self.recent is None else self.recent.since(commit, number)
        return changes_since(commit, number, CHANGES.read(transaction)) if kept is None else kept

    def known_pending(self, state: BucketState) -> KnownPending:
        """Return the list of the known pending words of a bucket, which may be empty at first."""
        known = self.pending.get(state.bucket)
        if known is None or known.graph_seq != state.graph_seq:
            known = self.pending[state.bucket] = KnownPending(state.graph_seq, -1, state.graph_seq)
        return known

    def note_read(self, size_bytes: int, reader: BucketCache) -> None:
        """Note that the cached postings grew by `size_bytes`; once in a while, make room for more.

        Args:
            reader: the cache in use by a reader, which may no longer be in `buckets`.
        """
        self.read_bytes += size_bytes
        if PARTS * self.read_bytes > self.postings_max_bytes:
            self.read_bytes = 0
            self._make_room(self._caches(reader), self.postings_max_bytes // PARTS)

    def _make_room(self, caches: set[BucketCache], part: int) -> None:
        """Drop postings that queries did not use lately, as far as another `part` bytes would not fit."""
        counted = {cache: cache.posting_bytes() for cache in caches}
        excess = sum(held for held, _ in counted.values()) + part - self.postings_max_bytes
        older = sum(unused for _, unused in counted.values())
        if older < excess:  # queries used nearly all of them
            counted = {cache: (held, held) for cache, (held, _) in counted.items()}
            older = sum(held for held, _ in counted.values())
            age_all(caches)
        if excess > 0:
            older -= sum(cache.drop_unused(excess * unused // older + 1) for cache, (_, unused) in counted.items())
        if older < part:
            age_all(caches)

    def note_rows(self, size_bytes: int, reader: BucketCache) -> None:
        """Count `size_bytes` bytes of cached rows; if there are too many, age the rows of words and drop those of OIDs.

        Args:
            reader: the cache in use by a reader, which may no longer be in `buckets`.
        """
        self.row_bytes += size_bytes
        if self.row_bytes > ROWS_MAX_BYTES:
            for cache in self._caches(reader):
                cache.age_words()
            for rows in tuple(self.names.values()):
                rows.clear()
            self.row_bytes = 0

    def _caches(self, reader: BucketCache) -> set[BucketCache]:
        return {reader, *(cache for _, cache in tuple(self.buckets.values()))}  # other threads may add some


def age_all(caches: Iterable[BucketCache]) -> None:
    for cache in caches:
        cache.age_postings()


class Snapshot(View):
    """The view of one commit, which many readers share."""

    def __init__(self, transaction: Transaction, snapshot_cache: SnapshotCache) -> None:
        super().__init__(transaction, cached=BUCKETS_MAX)
        self.snapshot_cache = snapshot_cache
        self.bucket_counts = snapshot_cache.bucket_counts

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

    def fact(self, bucket: int, kind: int) -> bytes | None:
        """Return the fact `kind` of the bucket with the number `bucket`; None: the bucket has no such fact."""
        facts, key = self.snapshot_cache.facts, (bucket, kind)
        try:
            return facts[key]
        except KeyError:
            pass
        if len(facts) >= BUCKETS_MAX:
            facts.clear()
        value = facts[key] = super().fact(bucket, kind)
        return value

    def lengths(self, state: BucketState) -> bytes | bytearray:
        """Return the packed lengths of all objects of a bucket, by IID. The caller must not change them."""
        return self.reader(state).lengths()

    def reader(self, state: BucketState) -> CachedReader:
        """Return a reader of a bucket that takes words, postings, OIDs and lengths from the cache."""
        cache = self.snapshot_cache.of(state.bucket, self)
        return CachedReader(self, state, cache, SnapshotSource(self, state, cache, self.snapshot_cache))

    def tag_reader(self, owner: "Owner", beside: Beside = OF_TAGS) -> TagReader | None:
        """Return a reader of the tags of a bucket through the cache; see `View`."""
        number = (owner.state.bucket, beside.mark)
        known = self.cache.get(number)
        if isinstance(known, CachedTagReader):
            return known
        counts, snapshots = tag_counts(owner, beside), self.snapshot_cache
        if counts is None:
            return None
        state = tags_state(owner.state, counts, beside)
        cache = snapshots.of(state.bucket, self)
        made = CachedTagReader(self, owner, counts, cache, SnapshotSource(self, state, cache, snapshots), beside)
        self.cache.put(number, made)
        return made

    def column_reader(self, owner: "Owner") -> ColumnReader | None:
        """Return a reader of the values of a bucket through the cache; see `View`."""
        number = (owner.state.bucket, VALUES_MARK)
        known = self.cache.get(number)
        if isinstance(known, ColumnReader):
            return known
        columns, snapshots = stored_columns(owner), self.snapshot_cache
        if columns is None:
            return None
        cache = snapshots.of(owner.state.bucket | VALUES_MARK, self)
        made = ColumnReader(
            self.transaction,
            owner.state,
            columns,
            cache,
            lambda size_bytes: snapshots.note_read(size_bytes, cache),
            snapshots.commit,
        )
        self.cache.put(number, made)
        return made

    def new_named(self, state: BucketState, oid: bytes) -> Iterator[int]:
        """Yield the IID of the object with an OID, if the rows of names may lack it."""
        names = self.snapshot_cache.new_names
        known = names.get(state.bucket)
        if known is None or known.named < state.named:
            known = names[state.bucket] = KnownNames(state.named, state.named)
        while (before := known.until) < state.next_iid:
            new = {other: iid for iid, other in oids_from(self.transaction, state.bucket, before)}
            known.take(new, before, state.next_iid)
        iid, until = known.find(oid)
        if known.named > state.named or until > state.next_iid:  # another thread has read a later commit
            yield from find_new(self.transaction, state, oid)
        elif iid is not None and self.record(state.bucket, iid) is not None:
            yield iid

    def pending_words(self, state: BucketState) -> list[bytes]:
        """Return the words of a bucket that appeared or vanished since its graph was built, perhaps more than once.

        Later commits add to the list. It may hold words of a later commit, or of an open transaction, read by another
        thread.
        """
        return self._all_pending(state, self._known_pending(state)).words

    def growing_pending_words(self, state: BucketState) -> KnownPending | None:
        """Return the list of `pending_words` as the object that later commits extend; None: reading it would take too
        long."""
        known = self._known_pending(state)
        if known.seq < state.pending_seq and state.pending_seq - state.graph_seq > PENDING_READ_MAX:
            return None
        return self._all_pending(state, known)

    def _all_pending(self, state: BucketState, known: KnownPending) -> KnownPending:
        read_pending(known, self, state, self.snapshot_cache.commit)
        return known

    def _known_pending(self, state: BucketState) -> KnownPending:
        """Return the list of known pending words, extended by the words of later commits."""
        cache = self.snapshot_cache
        known = cache.known_pending(state)
        if known.commit < cache.commit:
            changes = cache.changes_since(known.commit, self.transaction)
            touched = None if changes is None else changes.get(state.bucket)
            known.take_last([] if touched is None else touched.words, state.pending_seq, cache.commit)
        return known

    def end(self) -> None:
        """Drop the caches, which refer to this snapshot, because it has no readers any more."""
        self.cache.clear()


class SnapshotSource(BucketReader):
    """Reads one bucket through a snapshot, for a `CachingReader` whose cache lacks a row.

    Args:
        cache: the cache of the bucket.
        snapshot_cache: the cache that counts the bytes read.
    """

    is_committed = True
    """Whether all rows belong to one commit, so that they never change."""

    def __init__(self, view: View, state: BucketState, cache: BucketCache, snapshot_cache: SnapshotCache) -> None:
        super().__init__(view, state)
        self._snapshot_cache = snapshot_cache
        self._bucket_cache = cache
        self._letters: bool | None = None  # whether words are shown by their letters; None: the rules were not read

    def words(self, terms: list[bytes]) -> list[TermInfo | None]:
        """Return the row of each term; None: no object holds the term."""
        bucket, cache, letters = self.state.bucket, self._snapshot_cache, self._letters
        cache.row_bytes += CACHED_WORD_BYTES * len(terms)
        if cache.row_bytes > ROWS_MAX_BYTES:
            cache.note_rows(0, self._bucket_cache)
        if letters is None:
            letters = self._letters = counts_letters(self.rules)
        rows = words_found(self._transaction, WORDS, COMMON, word_keys(bucket, terms))
        return infos_of(bucket, terms, rows, letters=letters)

    def read_words(self, keys: list[bytes]) -> list[StoredRow]:
        """Return the (key, row) of each word that exists, in the order of `keys`. The words may be of several
        buckets."""
        self.note_words(len(keys))
        return stored_words(self._transaction, keys)

    def note_words(self, count: int) -> None:
        """Count `count` new cached rows of words; if the cache is then too large, drop the older half of its rows."""
        cache = self._snapshot_cache
        cache.row_bytes += CACHED_WORD_BYTES * count
        if cache.row_bytes > ROWS_MAX_BYTES:
            cache.note_rows(0, self._bucket_cache)

    def word_range(self, prefix: bytes, most: int) -> WordRange:
        """Return the first `most` words that begin with `prefix`."""
        letters = counts_letters(self.rules)
        found = self._view.word_range(word_key(self.state.bucket, prefix), most, letters=letters)
        size_bytes = CACHED_RANGE_BYTES + CACHED_COMPLETION_BYTES * len(found)
        self._snapshot_cache.note_rows(size_bytes, self._bucket_cache)
        return found

    def record_rows(self, iids: list[int]) -> list[StoredRow]:
        """Return the (key, row) of the rows with the records of some objects."""
        rows, cache = self._transaction.get_many(OBJECTS, row_keys(self.state.bucket, iids)), self._snapshot_cache
        cache.row_bytes += CACHED_NAMES_BYTES * len(rows)
        if cache.row_bytes > ROWS_MAX_BYTES:
            cache.note_rows(0, self._bucket_cache)
        return rows

    def read_postings(self, word: TermInfo, lengths: bytes | bytearray) -> StoredPostings:
        """Return a word's postings, of which the row and the impacts are read, but no blocks yet."""
        found = self.postings_with(word, lengths)
        self.note_read(found.size_bytes)
        return found

    def new_impacts(self, postings: StoredPostings, word: TermInfo) -> list[bytes]:
        """Return the rows of `impacts` for the blocks that a word gained since the commit of older postings, in which
        its `position` was another one."""
        start = block_key(self.state.bucket, word.term_id, postings.tail_lower)
        (first,) = self._transaction.floor_many(IMPACTS, [start], TERM_KEY_BYTES)
        prefix = term_key(self.state.bucket, word.term_id)
        return self._transaction.rows_of(IMPACTS, prefix, None if first is None else first[0])

    def read_lengths(self) -> bytearray:
        """Return the packed lengths of all objects."""
        return read_lengths(self._transaction, self.state.bucket, self.state.next_iid)

    def lengths_now(self) -> bytearray | None:
        """Return the packed lengths of all objects, valid until the next change; None: use `length_rows`."""
        return None

    def length_rows(self, numbers: list[int]) -> list[tuple[int, bytes]]:
        """Return (number, row) of the existing rows of lengths with these numbers."""
        keys = [length_key(self.state.bucket, number) for number in numbers]
        return [(length_row_of(key), row) for key, row in self._transaction.get_many(LENGTHS, keys)]

    def note_read(self, size_bytes: int) -> None:
        """Note that the cached postings grew by `size_bytes`; see `SnapshotCache`."""
        self._snapshot_cache.note_read(size_bytes, self._bucket_cache)


def read_pending(
    known: KnownPending, view: View, state: BucketState, commit: int, vanished: Iterable[bytes] = ()
) -> None:
    """Read the pending words of a bucket that are not in `known` yet.

    Args:
        commit: the last commit that the view shows completely.
        vanished: words that the view may lack, and readers of that commit see.
    """
    while (seq := known.seq) < state.pending_seq:
        if state.is_graphless:
            held = set(known.words)
            new = [word for word in chain(compared_words(view, state), vanished) if word not in held]
        else:
            new = view.pending_since(state.bucket, seq)
        known.take(new, seq, state.pending_seq, commit)
