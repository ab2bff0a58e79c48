"""Rewrites neighbouring rows so that each page of LMDB is full before the next one begins.

If a page is less than a quarter full, LMDB moves rows from the page before it, or joins the two pages if the page
before holds a single row. So while rows are deleted, the first one stays, with a long value: no page in front of it
changes, and the pages behind it are joined with its page.

When a row does not fit on the last page, LMDB also moves the last row of that page to the new page. So a marker, a row
without a value, becomes the last row of a full page and is moved.

The sizes of rows show when a page is full. If no new page begins as expected, it begins with a later row; the count of
pages then shows which.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from sonicpy.store.disk.data_file import NODE, NUMBER, PAGE_HEADER
from sonicpy.store.disk.page_tree import PLACE_BYTES
from sonicpy.store.disk.table_numbers import StoredRow
from sonicpy.store.disk.table_rows import KEY_BYTES_MAX
from sonicpy.store.disk.transaction import Transaction

LEAST_SHARE: Final = 0.26
"""The share of a page that has to be in use so that LMDB leaves the page alone."""


class PageFiller:
    """Rewrites neighbouring rows of one table.

    Args:
        rows: the rows in order; the first one is the first of its page.
    """

    def __init__(self, transaction: Transaction, table: int, rows: Sequence[StoredRow]) -> None:
        self._transaction = transaction
        self._table = table
        self._rows = rows
        self._room = transaction.page_bytes - PAGE_HEADER.size
        self._least = int(LEAST_SHARE * self._room)
        self._pages = 0
        self._used: int | None = self._bytes(rows[0])  # of the last page; None: unknown
        self._start = rows[0][0]  # the first key of the last page
        self._long: StoredRow | None = rows[0]  # until the first page holds enough
        self._marker: bytes | None = None
        self._full_to = b""  # the key in front of the marker: the last one of the page before

    def rewrite(self) -> bytes:
        """Delete the rows and put them again; return the first key of the last page, which may not be full.

        Raises:
            StoreError: the transaction failed.
        """
        transaction, table, rows = self._transaction, self._table, self._rows
        transaction.put(table, rows[0][0], bytes(self._least))
        for key, _ in reversed(rows[1:]):
            transaction.delete(table, key)
        self._pages = transaction.leaf_pages(table)
        for before, row in pairwise(rows):
            size = self._bytes(row)
            if self._used is not None and self._used + size > self._room:
                self._begin_page(before, row)
                continue
            transaction.put(table, *row)
            if self._used is None:
                self._note_page(before, row)
            else:
                self._used += size
                if self._used > self._least:
                    self._end_beginning()
        if self._marker is not None and self._used is not None and self._used < self._room // 4:
            self._start = self._full_to  # which goes to the last page as the marker goes
        self._end_beginning()
        return self._start

    def _begin_page(self, before: StoredRow, row: StoredRow) -> None:
        """Put a row that does not fit on the last page on a new page; if a marker fits on the last page, put it before
        the row."""
        self._end_beginning()
        moved: StoredRow | None = before
        marker = before[0] + b"\0"
        has_room = self._used is not None and self._used + self._bytes((marker, b"")) <= self._room
        if has_room and len(marker) <= KEY_BYTES_MAX and marker != row[0]:
            self._transaction.put(self._table, marker, b"")
            self._marker, self._full_to, moved = marker, before[0], None
        self._transaction.put(self._table, *row)
        self._note_page(moved, row)

    def _note_page(self, moved: StoredRow | None, row: StoredRow) -> None:
        """Note the content of the last page, which begins with the row that LMDB moved, if any, and `row`."""
        before, self._pages = self._pages, self._transaction.leaf_pages(self._table)
        if self._pages == before:
            self._used = None
        else:
            self._start = row[0] if moved is None else moved[0]
            self._used = self._bytes(row) + (0 if moved is None else self._bytes(moved))

    def _end_beginning(self) -> None:
        """Give the first row its own value again, and delete the marker, if that has not happened yet."""
        if self._long is not None:
            self._transaction.put(self._table, *self._long)
            self._long = None
        if self._marker is not None:
            self._transaction.delete(self._table, self._marker)
            self._marker = None

    def _bytes(self, row: StoredRow) -> int:
        """Return the number of bytes that a row takes in a page."""
        key, value = row
        size = NODE.size + len(key) + len(value)
        if size > (self._room // 2 & ~1) - PLACE_BYTES:  # the value has pages of its own, whose number stays
            size = NODE.size + len(key) + NUMBER.size
        return size + PLACE_BYTES + 1 & ~1
