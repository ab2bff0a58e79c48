"""Deletes the rows of flushed buckets, a few at a time; the flush itself has freed their names."""

from sonicpy.store.disk.table_numbers import BUCKET_TABLES, DROPPED
from sonicpy.store.rows.keys import BESIDE_MARKS, bucket_key, bucket_of
from sonicpy.store.views.write_view import WriteView

ROWS_PER_BUCKET = 10
"""The number of rows that take as long to delete as the search for the rows of one bucket."""


def sweep(view: WriteView, rows: int) -> bool:
    """Delete about `rows` rows of flushed buckets; return whether any rows are left.

    A sweep needs no log record: no reader uses these rows, and after a restart it continues from the last commit.
    """
    transaction = view.transaction
    tables = [table for table in BUCKET_TABLES if not transaction.is_empty(table)]
    while rows > 0:
        dropped = transaction.first(DROPPED, b"")
        if dropped is None:
            return False
        rows -= transaction.drop_small(dropped[0])
        for prefix in (dropped[0], *(bucket_key(bucket_of(dropped[0]) | mark) for mark in BESIDE_MARKS)):
            for table in tables:
                rows -= transaction.delete_rows(table, prefix, max(rows, 0))
                if rows <= 0:
                    return True
        transaction.delete(DROPPED, dropped[0])
        rows -= ROWS_PER_BUCKET
    return transaction.first(DROPPED, b"") is not None
