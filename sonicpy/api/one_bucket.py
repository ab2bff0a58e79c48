"""RowsOfBucket: rows that a Bucket passes on to the `push_many` of its index or client."""

from typing import Any


class RowsOfBucket:
    """Rows for one bucket: those by position that name another bucket are refused, because they are not its own.

    Args:
        rows: the rows, of any kind that `push_many` takes.
    """

    __slots__ = ("rows",)

    def __init__(self, rows: Any) -> None:
        self.rows = rows
