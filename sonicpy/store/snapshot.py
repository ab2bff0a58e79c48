"""A snapshot that many reads share one after the other, until the next commit.

What was read once is remembered, for as long as the commit is the last one: states of buckets, rows and postings of
words, names of objects. People ask for the same words again and again, and for common words more often.
"""

from sonicpy._native.postings import WordRow
from sonicpy.store.bucket import BucketReader
from sonicpy.store.environment import Transaction
from sonicpy.store.scopes import BucketState
from sonicpy.store.view import BUCKETS_KEPT, View

WORDS_KEPT = 4_096
"""Words whose rows are remembered: about 1 MB."""
POSTINGS_KEPT_BYTES = 4 << 20
NAMES_KEPT = 20_000
"""Names of objects: about 2 MB."""


class Remembered:
    """What was read of one commit; threads share it, since each step is one call of a dict.

    Args:
        commit: its number.
    """

    def __init__(self, commit: int) -> None:
        self.commit = commit
        self.states: dict[tuple[str, str], BucketState | None] = {}
        self.words: dict[tuple[int, bytes], WordRow | None] = {}
        self.blocks: dict[tuple[int, int], list[bytes]] = {}
        self.block_bytes = 0
        self.names: dict[tuple[int, int], str] = {}


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


class SnapshotReader(BucketReader):
    """Reads one bucket through a snapshot."""

    def __init__(self, snapshot: Snapshot, state: BucketState) -> None:
        self.state = state
        self._view = snapshot
        self._transaction = snapshot.transaction
        self._remembered = snapshot.remembered

    def words(self, terms: list[bytes]) -> list[WordRow | None]:
        """Return the row of each term, None for those that no object holds."""
        bucket, held = self.state.bucket, self._remembered.words
        try:
            return [held[bucket, term] for term in terms]
        except KeyError:
            pass
        found = super().words(terms)
        if len(held) >= WORDS_KEPT:
            held.clear()
        held.update(zip([(bucket, term) for term in terms], found, strict=True))
        return found

    def blocks(self, word: WordRow) -> list[bytes]:
        """Return the blocks of a word's postings, oldest first; not to be changed."""
        remembered, key = self._remembered, (self.state.bucket, word.term_id)
        blocks = remembered.blocks.get(key)
        if blocks is None:
            blocks = super().blocks(word)
            size = sum(map(len, blocks))
            if remembered.block_bytes + size > POSTINGS_KEPT_BYTES:
                remembered.blocks.clear()
                remembered.block_bytes = 0
            if size <= POSTINGS_KEPT_BYTES // 16:
                remembered.block_bytes += size
                remembered.blocks[key] = blocks
        return blocks

    def oids(self, iids: list[int]) -> list[str]:
        """Return the names of objects, in the order of their numbers."""
        bucket, held = self.state.bucket, self._remembered.names
        try:
            return [held[bucket, iid] for iid in iids]
        except KeyError:
            pass
        names = super().oids(iids)
        if len(held) >= NAMES_KEPT:
            held.clear()
        held.update(zip([(bucket, iid) for iid in iids], names, strict=True))
        return names


def reader_of(view: View, state: BucketState) -> BucketReader:
    """Return what reads a bucket through a view."""
    return SnapshotReader(view, state) if isinstance(view, Snapshot) else BucketReader(view, state)
