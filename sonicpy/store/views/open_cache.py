"""The cache of rows read from the open write transaction, which makes queries between changes fast.

This cache takes over that of the last commit, and after each change keeps all rows that the change did not touch, like
the cache of a commit. The next commit takes it over in turn. A recovery drops it, because its content may never be
committed.
"""

from typing import TYPE_CHECKING

from sonicpy._native.bucket_cache import BucketCache
from sonicpy._native.keys import word_keys
from sonicpy._native.term_rows import TermInfo, infos_found
from sonicpy.rules import counts_letters
from sonicpy.store.disk.table_numbers import StoredRow
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.changes import Touched
from sonicpy.store.rows.keys import VALUES_MARK
from sonicpy.store.rows.known_pending import KnownPending
from sonicpy.store.rows.tag_counts import OF_TAGS, Beside
from sonicpy.store.rows.word_rows import stored_words
from sonicpy.store.views.bucket_reader import TagReader, tag_counts, tags_state
from sonicpy.store.views.cached_reader import CachedReader
from sonicpy.store.views.cached_tags import CachedTagReader
from sonicpy.store.views.column_reader import ColumnReader, stored_columns
from sonicpy.store.views.read_cache import (
    CACHED_NAMES_BYTES,
    ROWS_MAX_BYTES,
    Changes,
    Snapshot,
    SnapshotCache,
    SnapshotSource,
    read_pending,
)
from sonicpy.store.views.view import View
from sonicpy.store.views.write_view import WriteView

if TYPE_CHECKING:
    from sonicpy.store.views.beside_words import Owner

NOTHING = Touched.nothing()
"""No changes: read, and never changed."""
ReadableView = Snapshot | WriteView
"""The views that a store hands out for reading."""


class OpenCache(SnapshotCache):
    """The cache of an open write transaction.

    Args:
        view: the view of the transaction.
        before: the cache of the commit before the transaction.
    """

    def __init__(self, view: WriteView, before: SnapshotCache) -> None:
        super().__init__(view.transaction.number, before)
        self._view = view
        self._seen: dict[int, int] = {}
        """Bucket -> the value of `view.changes` for which its cache is valid."""
        self._lost: dict[int, int] = {}
        """Bucket -> the value of `TermCache.lost_notes` for which its cache is valid, if it is not 0."""
        self._own: set[int] = set()
        """The buckets whose caches were made here, so that no reader of a commit uses them."""
        self._readers: dict[int, tuple[BucketCache, CachedReader]] = {}
        """Bucket -> its cache, and a reader that takes rows from it."""

    def of(self, bucket: int, view: View) -> BucketCache:
        """Return the cache of a bucket, valid until the next change."""
        now = self._view.changes
        commit, cache = self.buckets.get(bucket, (-1, None))
        if cache is None or commit != self.commit:
            cache = super().of(bucket, view)
            # What the transaction had changed by now is not among the changes of the commits before it.
            self._seen[bucket] = -1
            self._own.discard(bucket)
        if self._seen[bucket] != now:
            del self.buckets[bucket]  # if an exception comes, the changes are not reported again
            terms = self._view.terms
            lost = terms.lost_notes
            words: list[bytes] | None = terms.take_noted(bucket)
            if lost != self._lost.get(bucket, 0):
                self._lost[bucket] = lost
                words = None  # not all changed words are noted
            touched = self._view.take_touched(bucket)
            if touched is not None and bucket in self._own:
                cache.renew(None if view.by_association else touched[0], touched[1], words)
            elif touched is not None:
                cache = self._taken_over(bucket, cache, Touched(*touched, None), view, words)
                self._own.add(bucket)
            self.buckets[bucket] = self.commit, cache
            self._seen[bucket] = now
        return cache

    def changes_since(self, commit: int, transaction: Transaction) -> Changes | None:
        """Return the changes of the commits after `commit`, without those of the open transaction; None: they are not
        known. See `SnapshotCache`.
        """
        if commit not in self._since:
            self._since[commit] = self._changes_between(commit, transaction.number - 1, transaction)
        return self._since[commit]

    def reader(self, state: BucketState) -> CachedReader:
        """Return a reader of a bucket."""
        cache = self.of(state.bucket, self._view)
        known = self._readers.get(state.bucket)
        if known is not None and known[0] is cache and known[1].state is state:
            return known[1]
        reader = CachedReader(self._view, state, cache, OpenSource(self._view, state, cache, self))
        self._readers[state.bucket] = cache, reader
        return reader

    def tag_reader(self, owner: "Owner", beside: Beside = OF_TAGS) -> TagReader | None:
        """Return a reader of the tags of a bucket; None: no object has a tag."""
        counts = tag_counts(owner, beside)
        if counts is None:
            return None
        state = tags_state(owner.state, counts, beside)
        cache = self.of(state.bucket, self._view)
        return CachedTagReader(self._view, owner, counts, cache, OpenSource(self._view, state, cache, self), beside)

    def column_reader(self, owner: "Owner") -> ColumnReader | None:
        """Return a reader of the values of a bucket; None: no object has a value."""
        columns = stored_columns(owner)
        if columns is None:
            return None
        cache = self.of(owner.state.bucket | VALUES_MARK, self._view)
        return ColumnReader(
            self._view.transaction, owner.state, columns, cache, lambda size_bytes: self.note_read(size_bytes, cache)
        )

    def growing_pending_words(self, state: BucketState) -> KnownPending:
        """Return the words of a bucket that appeared or vanished since its graph was built, perhaps more than once, as
        the object that later changes extend. Earlier and later snapshots share it.
        """
        known = self.pending.get(state.bucket)
        if known is None or known.graph_seq != state.graph_seq:
            known = self.known_pending(state)
        touched = self._view.touched.get(state.bucket, NOTHING)
        if not known.take_last(touched.words, state.pending_seq, self.commit - 1):
            self._add_earlier(known, state, touched.words)
        if known.seq < state.pending_seq:
            read_pending(known, self._view, state, self.commit - 1, touched.words or ())
        return known

    def _add_earlier(self, known: KnownPending, state: BucketState, words: list[bytes] | None) -> None:
        """Add the pending words of earlier commits and `words`, those of this transaction, to the known ones, if they
        were recorded."""
        changes = self.changes_since(known.commit, self._view.transaction)
        if changes is not None:
            earlier = (changes.get(state.bucket) or NOTHING).words
            if earlier is not None and words is not None:
                known.take_last(earlier + words, state.pending_seq, self.commit - 1)

    def left_to_commit(self) -> SnapshotCache:
        """Return the cache of the commit that the transaction is about to become, and leave this one empty."""
        for bucket, (commit, _) in tuple(self.buckets.items()):
            if commit == self.commit:
                self.of(bucket, self._view)
        return SnapshotCache(self.commit, self)


class OpenSource(SnapshotSource):
    """Reads one bucket through the open write transaction."""

    is_committed = False
    _view: WriteView

    def words(self, terms: list[bytes]) -> list[TermInfo | None]:
        """Return the row of each term; None: no object holds the term."""
        self.note_words(len(terms))
        if self._letters is None:
            self._letters = counts_letters(self.rules)
        keys = word_keys(self.state.bucket, terms)
        rows, others = self._view.terms.held(keys)
        if others:
            rows.update(stored_words(self._transaction, others))
        return infos_found(terms, keys, rows, letters=self._letters)

    def record_rows(self, iids: list[int]) -> list[StoredRow]:
        """Return the (key, row) of the rows with the OIDs of some objects."""
        rows, cache = self._view.record_rows(self.state.bucket, iids, names=True), self._snapshot_cache
        cache.row_bytes += CACHED_NAMES_BYTES * len(rows)
        if cache.row_bytes > ROWS_MAX_BYTES:
            cache.note_rows(0, self._bucket_cache)
        return list(rows.items())

    def read_lengths(self) -> bytearray:
        """Return the packed lengths of all objects: a copy, which does not change with the transaction."""
        return self._view.lengths(self.state)[:]

    def lengths_now(self) -> bytearray:
        """Return the packed lengths of all objects, valid until the next change."""
        return self._view.lengths(self.state)
