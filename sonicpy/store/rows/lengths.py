"""The lengths of a bucket's objects: one byte each (`pack_length`), at the place of the object's IID; 0: no such
object.

The table `lengths` holds them in rows of OBJECTS_PER_ROW; ranking needs all of them in one piece.
"""

from sonicpy._native.lengths import OBJECTS_PER_ROW, Lengths
from sonicpy.store.disk.tables import LENGTHS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.keys import bucket_key, length_key, length_row_of

__all__ = ["OBJECTS_PER_ROW", "Lengths", "put_lengths", "read_lengths"]


def read_lengths(transaction: Transaction, bucket: int) -> bytearray:
    """Return the lengths of all objects of a bucket."""
    packed, prefix = bytearray(), bucket_key(bucket)
    few = transaction.some_rows(LENGTHS, prefix, 2, prefix)  # of most buckets, all of them
    for key, row in few if len(few) < 2 else transaction.rows(LENGTHS, prefix):
        start = length_row_of(key) * OBJECTS_PER_ROW
        packed.extend(bytes(start - len(packed)))
        packed += row
    return packed


def put_lengths(transaction: Transaction, bucket: int, lengths: Lengths) -> set[int]:
    """Write the rows of lengths that changed, and delete those whose objects are all gone; return their numbers."""
    numbers, rows = set(), []
    for number, packed in lengths.take_changed():
        numbers.add(number)
        key = length_key(bucket, number)
        if packed.count(0) == len(packed):
            transaction.delete(LENGTHS, key)
        else:
            rows.append((key, packed))
    transaction.put_many(LENGTHS, rows)
    return numbers
