"""The lengths of a bucket's objects: one byte each (`pack_length`), at the place of their IID; 0: no such object.

The table `lengths` holds them in rows of OBJECTS_PER_ROW; ranking needs all of them in one piece.
"""

from collections.abc import Callable

from sonicpy._native.lengths import OBJECTS_PER_ROW, Lengths
from sonicpy.store.environment import LENGTHS, Transaction
from sonicpy.store.keys import bucket_key

__all__ = ["OBJECTS_PER_ROW", "Lengths", "LengthsCache", "read_lengths"]

BUCKETS_MAX = 1_000


def read_lengths(transaction: Transaction, bucket: int) -> bytearray:
    """Return the lengths of all objects of a bucket."""
    packed = bytearray()
    for key, row in transaction.rows(LENGTHS, bucket_key(bucket)):
        start = int.from_bytes(key[4:], "big") * OBJECTS_PER_ROW
        packed.extend(bytes(start - len(packed)))
        packed += row
    return packed


class LengthsCache:
    """The lengths of buckets, each as one commit showed them. The snapshots of a store share it, on any thread."""

    def __init__(self) -> None:
        self._lengths: dict[int, tuple[int, bytearray]] = {}  # by bucket, with the number of the commit

    def of(self, transaction: Transaction, bucket: int) -> bytearray:
        """Return the lengths of a bucket, which the caller must not change."""
        cached = self._lengths.get(bucket)
        if cached is not None and cached[0] == transaction.number:
            return cached[1]
        lengths = read_lengths(transaction, bucket)
        if len(self._lengths) >= BUCKETS_MAX:
            self._lengths.clear()
        self._lengths[bucket] = (transaction.number, lengths)
        return lengths

    def move_to(self, number: int, lengths_of: Callable[[int], Lengths | None]) -> None:
        """Give the readers of a new commit the lengths that were read of the one before.

        Reading them from their rows takes long.

        Args:
            number: of the commit.
            lengths_of: returns what the writer knows of a bucket, or None.
        """
        for bucket, (read, _) in list(self._lengths.items()):
            lengths = lengths_of(bucket) if read == number - 1 else None
            if lengths is not None:
                self._lengths[bucket] = (number, lengths.packed.copy())
            else:
                self._lengths.pop(bucket, None)
