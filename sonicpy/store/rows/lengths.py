"""The lengths of a bucket's objects: one byte each (`pack_length`), at the place of its IID; 0: no such object.

The table `lengths` holds them in rows of OBJECTS_PER_ROW; ranking needs all of them in one piece.
"""

from sonicpy._native.lengths import OBJECTS_PER_ROW, Lengths
from sonicpy.store.disk.transaction import LENGTHS, Transaction
from sonicpy.store.rows.keys import bucket_key, length_row_of

__all__ = ["OBJECTS_PER_ROW", "Lengths", "read_lengths"]


def read_lengths(transaction: Transaction, bucket: int) -> bytearray:
    """Return the lengths of all objects of a bucket."""
    packed = bytearray()
    for key, row in transaction.rows(LENGTHS, bucket_key(bucket)):
        start = length_row_of(key) * OBJECTS_PER_ROW
        packed.extend(bytes(start - len(packed)))
        packed += row
    return packed
