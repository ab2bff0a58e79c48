"""Rows of a table, some at a time: few at first, for those who soon have enough."""

from collections.abc import Callable, Iterator

from sonicpy.store.environment import Row

ROWS_FIRST = 32
ROWS_MAX = 4_096
"""About half a megabyte of words."""


def pages(read: Callable[[bytes, int], list[Row]], prefix: bytes, size: int = ROWS_FIRST) -> Iterator[list[Row]]:
    """Yield the rows whose keys begin with `prefix`, in key order.

    Args:
        read: returns the first rows whose keys are not before a given one, and how many at the most.
        size: so many rows are read with the first call, then four times as many each time.

    Yields:
        Rows read with one call; behind the last ones there may be some without the prefix.
    """
    start = prefix
    while True:
        rows = read(start, size)
        yield rows
        if len(rows) < size or not rows[-1][0].startswith(prefix):
            return
        start = rows[-1][0] + b"\0"
        size = min(4 * size, ROWS_MAX)
