"""Consolidation: what was pushed or popped since the last one becomes what the lexicon shows.

Runs in steps, so that other work goes on in between; a word that changes again meanwhile is simply looked at again.
"""

from sonicpy._native.postings import WordRow, bucket_key
from sonicpy.store.environment import BUCKETS, PENDING, TERMS, WORDS
from sonicpy.store.keys import bucket_of, scope_of, term_key
from sonicpy.store.scopes import BucketState
from sonicpy.store.store import Store
from sonicpy.store.view import View, WriteView

STEP_WORDS = 100


class Consolidation:
    """One run over all pending words, in byte order of bucket id and word."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next = b""
        self._bucket = -1

    def step(self) -> bool:
        """Fold in about a hundred words; return whether any are left of those that were pending at the start."""
        return self._store.maintain(self._fold_some)

    def _fold_some(self, view: WriteView) -> bool:
        for _ in range(STEP_WORDS):
            row = view.transaction.first(PENDING, self._next)
            if row is None:
                return False
            self._fold(view, row[0])
            self._next = row[0] + b"\0"
        return True

    def _fold(self, view: WriteView, key: bytes) -> None:
        transaction = view.transaction
        transaction.delete(PENDING, key)
        state = self._state_of(view, bucket_of(key))
        row = transaction.get(WORDS, key)
        if state is None or row is None:
            return
        word = WordRow(row, len(key) - 4)
        if word.visible != word.live:
            state.visible_words += 1 if word.live else -1
        if word.holders == 0:
            transaction.delete(WORDS, key)
            transaction.delete(TERMS, term_key(state.bucket, word.term_id))
        elif word.visible != word.live:
            transaction.put(WORDS, key, word.with_visible(word.live))

    def _state_of(self, view: WriteView, bucket: int) -> BucketState | None:
        """Return the state of a bucket, to be changed; None: it was flushed, and the sweeper has its rows."""
        row = view.transaction.get(BUCKETS, bucket_key(bucket))
        if row is None:
            return None
        state = view.bucket_to_change(*scope_of(row))
        if bucket != self._bucket:
            self._bucket = bucket
            state.lexicon_version += 1
        return state


def pending_buckets(view: View) -> int:
    """Return how many buckets have words waiting for consolidation."""
    count = 0
    row = view.transaction.first(PENDING, b"")
    while row is not None:
        count += 1
        bucket = bucket_of(row[0])
        row = view.transaction.first(PENDING, bucket_key(bucket + 1)) if bucket < 0xFFFFFFFF else None
    return count
