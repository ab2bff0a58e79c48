"""Compares the columns of a bucket with its objects and with their counters."""

from collections import Counter
from collections.abc import Iterator

from sonicpy._native.column_window import OBJECTS_PER_COLUMN_ROW, ColumnRow
from sonicpy._native.keys import bucket_key
from sonicpy.store.disk.table_numbers import COLUMNS, FACTS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.column_names import COLUMN_NAMES, Column, unpack_columns
from sonicpy.store.rows.keys import column_row_of, fact_key, fact_kind
from sonicpy.store.rows.meta import uses_of
from sonicpy.store.rows.objects_there import ObjectsThere

KEY_BYTES = 10
"""The number of bytes in a key for the numbers of the bucket, the column and the row together."""


def column_faults(transaction: Transaction, state: BucketState) -> Iterator[str]:
    """Yield the faults of the columns of a bucket, one sentence each."""
    fact = transaction.get(FACTS, fact_key(state.bucket, COLUMN_NAMES))
    columns = unpack_columns(fact)
    if fact is not None and uses.VALUES not in uses_of(transaction):
        yield "it has values, and the row 'uses' of meta does not name them"
    there = ObjectsThere(transaction, state.bucket)
    counted: Counter[int] = Counter()
    for key, packed in transaction.rows(COLUMNS, bucket_key(state.bucket)):
        if len(key) != KEY_BYTES:
            yield f"columns has a row with the key {key[4:].hex()}"
            continue
        number, first, row = fact_kind(key), column_row_of(key) * OBJECTS_PER_COLUMN_ROW, ColumnRow(packed)
        counted[number] += len(row.values())
        if row.pack() != packed:
            yield f"column {number}: the row of the objects from {first} on is not written as it is read"
        for place, _ in row.values():
            if first + place not in there:
                yield f"column {number}: object {first + place} has a value, but does not exist"
    for number in counted.keys() | set(range(len(columns))):
        column = columns[number] if number < len(columns) else Column("")
        if column.held != counted[number] or bool(column.name) != bool(column.held):
            yield f"column {number}, {column.name!r}, counts {column.held} values instead of {counted[number]}"
