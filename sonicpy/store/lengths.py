"""The lengths of a bucket's objects: one byte each (`pack_length`), at the place of their IID; 0: there is no such one.

In `lengths` they stand in rows of OBJECTS_PER_ROW; ranking wants all of them in one piece.
"""

from sonicpy._native.lengths import OBJECTS_PER_ROW, Lengths
from sonicpy.store.environment import LENGTHS, Transaction
from sonicpy.store.keys import bucket_key

__all__ = ["OBJECTS_PER_ROW", "Lengths", "read_lengths"]


def read_lengths(transaction: Transaction, bucket: int) -> bytearray:
    """Return the lengths of all objects of a bucket."""
    packed = bytearray()
    for key, row in transaction.rows(LENGTHS, bucket_key(bucket)):
        start = int.from_bytes(key[4:], "big") * OBJECTS_PER_ROW
        packed.extend(bytes(start - len(packed)))
        packed += row
    return packed
