"""The lengths of a bucket's objects: one byte each (`pack_length`), at the place of their IID; 0: there is no such one.

In `lengths` they stand in rows of OBJECTS_PER_ROW; ranking wants all of them in one piece.
"""

from collections.abc import Iterable

from sonicpy.store.environment import LENGTHS, Transaction
from sonicpy.store.keys import bucket_key

OBJECTS_PER_ROW = 4_000
"""With the header of its page, one row fills one page of LMDB."""


class Lengths:
    """Lengths that change.

    Args:
        packed: the lengths of the first objects.
    """

    __slots__ = ("_changed", "packed")

    def __init__(self, packed: bytearray) -> None:
        self.packed = packed
        self._changed: set[int] = set()  # numbers of rows

    def __setitem__(self, iid: int, length: int) -> None:
        """Note the packed length of an object."""
        missing = iid + 1 - len(self.packed)
        if missing > 0:
            self.packed.extend(bytes(missing))
        self.packed[iid] = length
        self._changed.add(iid // OBJECTS_PER_ROW)

    def take_changed(self) -> Iterable[tuple[int, bytes]]:
        """Return the rows that changed since the last call, with their numbers."""
        changed = sorted(self._changed)
        self._changed.clear()
        return [(row, bytes(self.packed[row * OBJECTS_PER_ROW : (row + 1) * OBJECTS_PER_ROW])) for row in changed]


def read_lengths(transaction: Transaction, bucket: int) -> bytearray:
    """Return the lengths of all objects of a bucket."""
    packed = bytearray()
    for key, row in transaction.rows(LENGTHS, bucket_key(bucket)):
        start = int.from_bytes(key[4:], "big") * OBJECTS_PER_ROW
        packed.extend(bytes(start - len(packed)))
        packed += row
    return packed
