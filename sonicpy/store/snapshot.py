"""A snapshot that many reads share one after the other, until the next commit.

What was read once is remembered, for as long as the commit is the last one: states of buckets, rows and postings of
words, names of objects. People ask for the same words again and again, and for common words more often.
"""

from typing import cast

from sonicpy._native.postings import PostingList, WordRow
from sonicpy.store.bucket import BucketReader
from sonicpy.store.environment import Transaction
from sonicpy.store.memory import BUCKETS_KEPT
from sonicpy.store.scopes import BucketState
from sonicpy.store.view import View

WORDS_KEPT = 4_096
"""Words of a bucket whose rows are remembered: about 1 MB."""
POSTINGS_KEPT_BYTES = 8 << 20
"""Of decoded postings, over all buckets."""
NAMES_KEPT = 50_000
"""Names of objects of a bucket: about 5 MB."""


class BucketMemory:
    """What was read of a bucket."""

    __slots__ = ("lengths", "names", "postings", "words")

    def __init__(self) -> None:
        self.words: dict[bytes, WordRow | None] = {}
        self.postings: dict[int, PostingList] = {}
        self.names: dict[int, str] = {}
        self.lengths: bytes | bytearray | None = None


class Remembered:
    """What was read of one commit; threads share it, since each step is one call of a dict.

    Args:
        commit: its number.
    """

    def __init__(self, commit: int) -> None:
        self.commit = commit
        self.states: dict[tuple[str, str], BucketState | None] = {}
        self.buckets: dict[int, BucketMemory] = {}
        self.posting_bytes = 0

    def of(self, bucket: int) -> BucketMemory:
        """Return what was read of a bucket."""
        memory = self.buckets.get(bucket)
        if memory is None:
            if len(self.buckets) >= BUCKETS_KEPT:
                self.buckets.clear()
            memory = self.buckets[bucket] = BucketMemory()
        return memory


class Snapshot(View):
    """The picture of one commit."""

    def __init__(
        self, transaction: Transaction, read_lengths: dict[int, tuple[int, bytearray]], remembered: Remembered
    ) -> None:
        super().__init__(transaction, read_lengths)
        self.remembered = remembered

    def bucket(self, collection: str, bucket: str) -> BucketState | None:
        """Return the state of a bucket, not to be changed, or None if it does not exist."""
        states, scope = self.remembered.states, (collection, bucket)
        try:
            return states[scope]
        except KeyError:
            pass
        if len(states) >= BUCKETS_KEPT:
            states.clear()
        state = states[scope] = super().bucket(collection, bucket)
        return state

    def keep(self, scope: tuple[str, str], made: object) -> None:
        """Keep what was made of a bucket for those that read it through this snapshot next."""
        if len(self.kept) >= BUCKETS_KEPT:
            self.kept.clear()
        self.kept[scope] = made

    def end(self) -> None:
        """Let go of what was kept, which knows this snapshot: nobody reads it any more."""
        self.kept.clear()


class SnapshotReader(BucketReader):
    """Reads one bucket through a snapshot."""

    def __init__(self, snapshot: Snapshot, state: BucketState) -> None:
        self.state = state
        self._view = snapshot
        self._transaction = snapshot.transaction
        self._remembered = snapshot.remembered
        self._memory = snapshot.remembered.of(state.bucket)

    def lengths(self) -> bytes | bytearray:
        """Return the packed lengths of all objects, by IID; not to be changed."""
        lengths = self._memory.lengths
        if lengths is None:
            lengths = self._memory.lengths = super().lengths()
        return lengths

    def words(self, terms: list[bytes]) -> list[WordRow | None]:
        """Return the row of each term, None for those that no object holds."""
        held = self._memory.words
        try:
            return [held[term] for term in terms]
        except KeyError:
            pass
        found = super().words(terms)
        if len(held) >= WORDS_KEPT:
            held.clear()
        held.update(zip(terms, found, strict=True))
        return found

    def postings(self, word: WordRow) -> PostingList | list[bytes]:
        """Return a word's postings as ranking takes them."""
        postings = self._memory.postings.get(word.term_id)
        if postings is not None:
            return postings
        blocks = self.blocks(word)
        decoded = PostingList.of(blocks)
        if decoded is None:
            return blocks
        self._keep(word.term_id, decoded)
        return decoded

    def oids(self, iids: list[int]) -> list[str]:
        """Return the names of objects, in the order of their numbers."""
        held = self._memory.names
        names = list(map(held.get, iids))
        if None not in names:
            return cast(list[str], names)
        missing = [iid for iid, name in zip(iids, names, strict=True) if name is None]
        found = dict(zip(missing, super().oids(missing), strict=True))
        if len(held) >= NAMES_KEPT:
            held.clear()
        held.update(found)
        return [found[iid] if name is None else name for iid, name in zip(iids, names, strict=True)]

    def _keep(self, term_id: int, postings: PostingList) -> None:
        remembered, size = self._remembered, postings.size_bytes
        if remembered.posting_bytes + size > POSTINGS_KEPT_BYTES:
            for memory in (*remembered.buckets.values(), self._memory):
                memory.postings = {}
            remembered.posting_bytes = 0
        if size <= POSTINGS_KEPT_BYTES // 16:
            remembered.posting_bytes += size
            self._memory.postings[term_id] = postings


def reader_of(view: View, state: BucketState) -> BucketReader:
    """Return what reads a bucket through a view."""
    return SnapshotReader(view, state) if isinstance(view, Snapshot) else BucketReader(view, state)
