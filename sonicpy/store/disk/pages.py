"""Reads a table in pages that grow, for callers that stop early."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonicpy.store.disk.table_numbers import StoredRow

ROWS_FIRST = 32
ROWS_MAX = 4_096
"""The most rows that one call reads: about half a megabyte of words."""


def pages(
    read: "Callable[[bytes, int], list[StoredRow]]", prefix: bytes, size: int = ROWS_FIRST, start: bytes = b""
) -> "Iterator[list[StoredRow]]":
    """Yield the rows whose keys begin with `prefix`, in key order.

    Args:
        read: a function that returns the first rows from a given key on, up to a given number of rows.
        size: the number of rows of the first call; each further call reads four times as many.
        start: only rows whose keys are not before this key.

    Yields:
        The rows of one call; the last ones may lack the prefix.
    """
    start = max(prefix, start)
    while True:
        rows = read(start, size)
        yield rows
        if len(rows) < size or not rows[-1][0].startswith(prefix):
            return
        start = rows[-1][0] + b"\0"
        size = min(4 * size, ROWS_MAX)
