"""A snapshot that many reads share one after the other, until the next commit.

What was read once is remembered, for as long as the commit is the last one: states of buckets, rows and postings of
words. Names of objects are for longer, since they never change. People ask for the same words again and again, and for
common words more often.
"""

from sonicpy._native.bucket_cache import BucketCache, CachingReader
from sonicpy._native.postings import PostingList
from sonicpy._native.term_rows import TermInfo
from sonicpy.store.bucket_reader import BucketReader
from sonicpy.store.bucket_state import BucketState
from sonicpy.store.environment import Transaction
from sonicpy.store.view import View
from sonicpy.store.write_cache import BUCKETS_KEPT

WORDS_KEPT = 4_096
"""Words of a bucket whose rows are remembered, and as many older ones: about 2 MB."""
NAMES_KEPT = 50_000
"""Names of objects of a bucket: about 5 MB."""
POSTINGS_KEPT_BYTES = 4 << 20
"""Of decoded postings, over all buckets, and as much of older ones."""
LARGEST_SHARE = 8
"""Postings of one word that take more than this part of it are not remembered."""


class SnapshotCache:
    """What was read of one commit; threads share it, since each step is one call of a dict.

    Args:
        commit: its number.
        before: what was read of the commit before, whose names of objects are taken over.
    """

    def __init__(self, commit: int, before: "SnapshotCache | None" = None) -> None:
        self.commit = commit
        names = {} if before is None else before.names
        self.names: dict[int, dict[int, str]] = names if sum(map(len, names.values())) <= NAMES_KEPT else {}
        self.states: dict[tuple[str, str], BucketState | None] = {}
        self.buckets: dict[int, BucketCache] = {}
        self.posting_bytes = 0

    def of(self, bucket: int) -> BucketCache:
        """Return what was read of a bucket."""
        memory = self.buckets.get(bucket)
        if memory is None:
            if len(self.buckets) >= BUCKETS_KEPT:
                self.buckets.clear()
                self.names.clear()
            memory = self.buckets[bucket] = BucketCache(WORDS_KEPT, NAMES_KEPT, self.names.setdefault(bucket, {}))
        return memory


class Snapshot(View):
    """The picture of one commit."""

    def __init__(
        self, transaction: Transaction, read_lengths: dict[int, tuple[int, bytearray]], remembered: SnapshotCache
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


class SnapshotReader(CachingReader, BucketReader):
    """Reads one bucket through a snapshot."""

    def __init__(self, snapshot: Snapshot, state: BucketState) -> None:
        memory = snapshot.remembered.of(state.bucket)
        CachingReader.__init__(self, memory)
        BucketReader.__init__(self, snapshot, state)
        self._remembered = snapshot.remembered
        self._bucket_memory = memory

    def _read_words(self, terms: list[bytes]) -> list[TermInfo | None]:
        return BucketReader.words(self, terms)

    def _read_postings(self, word: TermInfo) -> tuple[PostingList | list[bytes], bool]:
        blocks = self.blocks(word)
        decoded = PostingList.of(blocks)
        if decoded is None:
            return blocks, False
        return decoded, self._has_room(decoded.size_bytes)

    def _read_oids(self, iids: list[int]) -> list[str]:
        return BucketReader.oids(self, iids)

    def _read_lengths(self) -> bytes | bytearray:
        return BucketReader.lengths(self)

    def _has_room(self, size: int) -> bool:
        """Return whether postings of so many bytes are to be remembered, having forgotten older ones where needed."""
        remembered = self._remembered
        if size > POSTINGS_KEPT_BYTES // LARGEST_SHARE:
            return False
        if remembered.posting_bytes + size > POSTINGS_KEPT_BYTES:
            for memory in {*remembered.buckets.values(), self._bucket_memory}:
                memory.age_postings()
            remembered.posting_bytes = 0
        remembered.posting_bytes += size
        return True


def reader_of(view: View, state: BucketState) -> BucketReader:
    """Return what reads a bucket through a view."""
    return SnapshotReader(view, state) if isinstance(view, Snapshot) else BucketReader(view, state)
