"""The change board: shared memory in which a writing process notes the commit of the newest change of each bucket.

    word 0           the last commit
    word 1           the commit of the newest change of a whole collection
    word 2           the commit of the newest change of all
    words 3 to 4098  the commit of the newest change of the buckets with this hash of their names

A word is an unsigned number of 8 bytes, written and read atomically. A change is noted before it is acknowledged, with
the number of the commit that will hold it. So if the word of a bucket is above word 0, a reader's snapshot may lack an
acknowledged change. Buckets that share a word only make readers wait more than necessary.
"""

import mmap
import os
from functools import lru_cache
from zlib import crc32

COMMITTED, COLLECTIONS, ANY, FIRST_SLOT = range(4)
SLOTS = 4096
SIZE_BYTES = 8 * (FIRST_SLOT + SLOTS)


class ChangeBoard:
    """A board; one process writes it, on one thread.

    Args:
        descriptor: the descriptor of the shared memory; `close` closes it.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        """The descriptor of the shared memory, to be passed to other processes."""
        self._map = mmap.mmap(descriptor, SIZE_BYTES)
        self._words = memoryview(self._map).cast("Q")

    @classmethod
    def create(cls) -> "ChangeBoard":
        """Return a new board. Raises OSError."""
        descriptor = _memory()
        try:
            os.ftruncate(descriptor, SIZE_BYTES)
            return cls(descriptor)
        except OSError:
            os.close(descriptor)
            raise

    # -- of the writing process ------------------------------------------------------------------------------------

    def mark(self, collection: str, bucket: str, commit: int) -> None:
        """Note that a bucket has a change that `commit` will hold."""
        self._words[slot_of(collection, bucket)] = commit
        self._words[ANY] = commit

    def mark_all(self, commit: int) -> None:
        """Note that any bucket may have a change that `commit` will hold."""
        self._words[COLLECTIONS] = commit
        self._words[ANY] = commit

    def note_commit(self, commit: int) -> None:
        """Note the number of the last commit, once readers can see it."""
        self._words[COMMITTED] = commit

    # -- of all processes ------------------------------------------------------------------------------------------

    @property
    def committed(self) -> int:
        """The number of the last commit."""
        return self._words[COMMITTED]

    def newest(self, collection: str, bucket: str | None) -> int:
        """Return the commit of the newest change of a bucket, or a later commit; with None as bucket, the commit of the
        newest change of any bucket."""
        if bucket is None:
            return self._words[ANY]
        return max(self._words[slot_of(collection, bucket)], self._words[COLLECTIONS])

    def is_behind(self, collection: str, bucket: str | None) -> bool:
        """Return whether a bucket may have an uncommitted change; None: any bucket."""
        words = self._words
        if words[ANY] <= words[COMMITTED]:  # the usual case, at a third of the cost
            return False
        return self.newest(collection, bucket) > words[COMMITTED]

    def close(self) -> None:
        """Release the memory. This may be called again."""
        self._words.release()
        self._map.close()
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


@lru_cache(maxsize=SLOTS)
def slot_of(collection: str, bucket: str) -> int:
    """Return the index of the word for a bucket. It is the same in every process, unlike one from `hash`."""
    return FIRST_SLOT + crc32(f"{collection} {bucket}".encode()) % SLOTS


def _memory() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("sonicpy-changes", os.MFD_CLOEXEC)
    import tempfile  # noqa: PLC0415  loaded when it is needed

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
