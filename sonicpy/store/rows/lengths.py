"""The lengths of a bucket's objects: one byte each (`pack_length`), at the place of the object's IID; 0: no such
object.

The table `lengths` holds them in rows of OBJECTS_PER_ROW; ranking needs all of them in one piece.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sonicpy._native.lengths import OBJECTS_PER_ROW, Lengths
from sonicpy._native.varint import DamagedBytes
from sonicpy.store.disk.table_numbers import LENGTHS, StoredRow
from sonicpy.store.rows.keys import bucket_key, length_row_of

if TYPE_CHECKING:
    from sonicpy.store.disk.transaction import Transaction


__all__ = ["OBJECTS_PER_ROW", "Lengths", "lengths_in_rows", "read_lengths", "take_lengths"]


def read_lengths(transaction: "Transaction", bucket: int, next_iid: int) -> bytearray:
    """Return the lengths of all objects of a bucket.

    Args:
        next_iid: the IID of the next new object of the bucket; all others are smaller.

    Raises:
        DamagedBytes: a row is of objects that do not exist yet.
    """
    prefix = bucket_key(bucket)
    few = transaction.some_rows(LENGTHS, prefix, 2, prefix)  # of most buckets, all of them
    return lengths_in_rows(few if len(few) < 2 else transaction.rows(LENGTHS, prefix), next_iid)


def lengths_in_rows(rows: Iterable[StoredRow], next_iid: int) -> bytearray:
    """Return the lengths of all objects of a bucket, given the rows of `lengths`; see `read_lengths`."""
    packed = bytearray()
    for key, row in rows:
        start = length_row_of(key) * OBJECTS_PER_ROW
        if start >= next_iid:  # before memory is taken for the lengths between
            raise DamagedBytes(f"a row of lengths begins with object {start}, the next new object is {next_iid}")
        if len(row) > OBJECTS_PER_ROW:
            raise DamagedBytes(f"a row of lengths has {len(row)} objects; there is room for {OBJECTS_PER_ROW}")
        packed.extend(bytes(start - len(packed)))
        packed += row
    return packed


def take_lengths(
    transaction: "Transaction", bucket: int, lengths: Lengths, numbers: set[int], rows: list[StoredRow]
) -> None:
    """Add the numbers of changed rows of lengths to `numbers`, and the rows to write to `rows`; delete those whose
    objects are all gone."""
    emptied: list[bytes] = []
    lengths.take_changed(bucket, numbers, rows, emptied)
    for key in emptied:
        transaction.delete(LENGTHS, key)
