"""What the one writer remembers from commit to commit: the store as its open transaction shows it.

Nothing is lost with it: what is held back (rows of words, the newest row of records, counters, lengths) is written
before every commit, and the log tells it again.
"""

from sonicpy._native import objects
from sonicpy._native.term_cache import TermCache
from sonicpy.store.bucket_state import BucketState
from sonicpy.store.environment import OBJECTS, Transaction
from sonicpy.store.keys import object_key
from sonicpy.store.lengths import Lengths
from sonicpy.store.names import NewNames

TERMS_KEPT = 20_000  # about 4 MB
BUCKETS_KEPT = 1_000


class NewestRow(objects.NewestRow):
    """The row of records that new objects of a bucket go to; it may be newer than what the table holds.

    It is written once it is full, or at a commit: then the rows of the table are filled to the brim.
    """

    __slots__ = ("_is_stored",)

    def __init__(self, number: int, packed: bytes | None) -> None:
        super().__init__(packed or b"")
        self.number = number
        self._is_stored = packed is not None

    def write(self, transaction: Transaction, bucket: int) -> None:
        """Put the row behind all others of the table, if it changed since the last time."""
        if not self.is_changed:
            return
        key = object_key(bucket, self.number)
        if self._is_stored:
            transaction.delete(OBJECTS, key)
        packed = self.packed
        if packed:
            transaction.append(OBJECTS, key, packed)
        self._is_stored = bool(packed)
        self.is_changed = False

    def begin(self, number: int) -> None:
        """Go on with the next row; this one was written."""
        super().__init__(b"")
        self.number = number
        self._is_stored = False


class BucketWriteCache:
    """What is remembered of one bucket; None: it was not asked for yet.

    Attributes:
        pending_words: those that appeared or vanished since its graph was built.
    """

    __slots__ = ("lengths", "names", "newest", "pending_words")

    def __init__(self) -> None:
        self.lengths: Lengths | None = None
        self.newest: NewestRow | None = None
        self.names: NewNames | None = None
        self.pending_words: list[bytes] | None = None


class WriteCache:
    """What is remembered of all buckets."""

    def __init__(self) -> None:
        self.pending_buckets: set[int] = set()
        self.flushed: dict[int, int] = {}
        """Buckets that went since the owner last asked, with the versions of their graphs."""
        self.terms = TermCache()
        self.states: dict[tuple[str, str], BucketState] = {}
        self.has_dropped = True
        """Rows of flushed buckets may wait for the sweeper; the first sweep finds out."""
        self._buckets: dict[int, BucketWriteCache] = {}

    def of(self, bucket: int) -> BucketWriteCache:
        """Return what is remembered of a bucket, by its number."""
        held = self._buckets.get(bucket)
        if held is None:
            held = self._buckets[bucket] = BucketWriteCache()
        return held

    def undo(self) -> None:
        """Forget what may hold changes of a transaction that was lost; `pending_buckets` is the caller's."""
        self.flushed.clear()
        self.terms.clear()
        self.states.clear()
        self._buckets.clear()

    def forget(self, bucket: int) -> None:
        """Drop what is known of a bucket that was flushed; its rows of words were written."""
        self.pending_buckets.discard(bucket)
        self._buckets.pop(bucket, None)
        self.terms.clear()

    def forget_pending(self, bucket: int) -> None:
        """Drop what is known of the pending words of a bucket."""
        self.pending_buckets.discard(bucket)
        self.of(bucket).pending_words = None

    def shrink(self) -> None:
        """Keep to a few MB; everything was written."""
        if len(self.terms) > TERMS_KEPT:
            self.terms.clear()
        if len(self.states) > BUCKETS_KEPT:
            self.states.clear()
        if len(self._buckets) > BUCKETS_KEPT:
            self._buckets.clear()
