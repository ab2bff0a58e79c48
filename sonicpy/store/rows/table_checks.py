"""Functions for every table: the true count of rows, and the buckets with rows in it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sonicpy.errors import StoreDamaged
from sonicpy.store.disk.table_numbers import TABLE_NAMES
from sonicpy.store.rows.keys import bucket_key, bucket_of

if TYPE_CHECKING:
    from sonicpy.store.disk.transaction import Transaction


NUMBER_MAX = 0xFFFFFFFF
"""The largest number of a bucket, or of its tags, in a key."""


def miscounted_tables(transaction: "Transaction") -> Iterator[str]:
    """Read every row of every table; yield a sentence for each table whose count of rows is wrong."""
    for table in range(len(TABLE_NAMES)):
        yield from miscounted_table(transaction, table)


def miscounted_table(transaction: "Transaction", table: int) -> Iterator[str]:
    """Read every row of a table; yield a sentence if its count of rows is wrong, or a small bucket is damaged."""
    try:
        rows = sum(1 for _ in transaction.rows(table, b""))
    except StoreDamaged as error:
        yield f"table {TABLE_NAMES[table].decode()}: {error}"
        return
    if rows != transaction.count(table):
        yield f"table {TABLE_NAMES[table].decode()} has {rows} rows but counts {transaction.count(table)}"


def buckets_in(transaction: "Transaction", table: int) -> Iterator[int]:
    """Yield the ids of the buckets with rows in a table. Raises StoreDamaged for a key without such an id."""
    row = transaction.first(table, b"")
    while row is not None:
        if len(row[0]) < len(bucket_key(0)):  # its row would be the first one of each further bucket
            raise StoreDamaged(f"table {TABLE_NAMES[table].decode()} has the key {row[0]!r}, which names no bucket")
        bucket = bucket_of(row[0])
        yield bucket
        row = transaction.first(table, bucket_key(bucket + 1)) if bucket < NUMBER_MAX else None
