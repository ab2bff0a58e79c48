"""Fills half-empty pages: rows that arrive in random order split pages in two, and most pages then stay half empty.

A range of neighbouring leaf pages is rewritten in one transaction: its rows are deleted, and put again in the order of
their keys. The content of rows does not change, so no log record is needed, and other changes may happen meanwhile;
rows of words get a shorter form on the way.

LMDB joins an empty page with the page before it, or with the page behind it if it is the first of its branch page: then
the rows would be put before others of the same page, which is split in the middle again and again. So the first leaf of
a branch page stays, and a range begins behind it.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final

from sonicpy._native.term_rows import row_at_rest
from sonicpy.errors import StoreError
from sonicpy.store.disk.data_file import PAGE_HEADER, newest_meta_page
from sonicpy.store.disk.environment import DATA_FILE
from sonicpy.store.disk.page_filler import PageFiller
from sonicpy.store.disk.page_tree import Leaf, PageTrees
from sonicpy.store.disk.table_numbers import (
    COLUMNS,
    COMMON,
    IMPACTS,
    OBJECTS,
    OIDS,
    ORDERS,
    POSTINGS,
    SMALL,
    TABLE_NAMES,
    TAGS,
    TERMS,
    WORDS,
    StoredRow,
)
from sonicpy.store.disk.table_rows import TableRows
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.views.view import View

PACKED: Final = (WORDS, COMMON, TERMS, POSTINGS, IMPACTS, OBJECTS, OIDS, TAGS, COLUMNS, ORDERS, SMALL)
"""The tables with many rows that share pages."""
RANGE_LEAVES: Final = 32
"""The number of leaf pages in a range; rewriting them takes about 4 ms."""
WORTH_SHARE: Final = 0.08
"""A range is rewritten if at least this share of its pages becomes free: a gain well above the cost of rewriting."""
WORTH_PAGES: Final = 256
WORTH_STORE_SHARE: Final = 0.05
"""Nothing is rewritten unless WORTH_PAGES pages or more, and this share of all pages or more, become free."""


@dataclass(frozen=True, slots=True)
class SparseRange:
    """A range of rows of a table whose pages are worth filling.

    Attributes:
        start: the first key.
        end: the first key behind the range; None: the range reaches to the end of the table.
        gained: the approximate number of pages that rewriting frees.
    """

    table: int
    start: bytes
    end: bytes | None
    gained: float


def sparse_ranges(snapshot: Transaction, folder: Path) -> list[SparseRange]:
    """Return the ranges that are worth rewriting; none if there was a commit after the snapshot.

    Args:
        snapshot: a read transaction.
        folder: the folder of the store.

    Raises:
        StoreError: the data file cannot be read.
    """
    try:
        descriptor = os.open(folder / DATA_FILE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return _worth_it(descriptor, snapshot.number)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreError(f"cannot read the data file of the store: {error.strerror}") from error


class Packer:
    """Rewrites ranges one after the other. A range begins with the last page of the range before, which is not full."""

    def __init__(self) -> None:
        self._last: tuple[int, bytes | None] | None = None  # table and end of the range before
        self._last_page = b""  # its first key

    def rewrite(self, view: View, sparse: SparseRange) -> None:
        """Rewrite a range through the view of a write transaction. Raises StoreError if the transaction fails."""
        transaction, table, end = view.transaction, sparse.table, sparse.end

        def is_inside(row: StoredRow) -> bool:
            return end is None or row[0] < end

        start = self._last_page if self._last == (table, sparse.start) else sparse.start
        rows = list(takewhile(is_inside, TableRows.rows(transaction, table, b"", start)))
        if not rows:
            return
        if table in (WORDS, COMMON) and not view.by_association:
            rows = [(key, row_at_rest(row)) for key, row in rows]
        self._last_page = PageFiller(transaction, table, rows).rewrite()
        self._last = table, end


def _worth_it(descriptor: int, commit: int) -> list[SparseRange]:
    meta = newest_meta_page(descriptor)
    if meta.number != commit:
        return []
    trees = PageTrees(descriptor, meta)
    found: list[SparseRange] = []
    pages = 0
    for table in PACKED:
        leaves = list(trees.leaves(TABLE_NAMES[table]))
        pages += len(leaves)
        found += _sparse(table, leaves, meta.page_bytes - PAGE_HEADER.size)
    gained = sum(sparse.gained for sparse in found)
    return found if gained >= max(WORTH_PAGES, WORTH_STORE_SHARE * pages) else []


def _sparse(table: int, leaves: list[Leaf], room: int) -> Iterator[SparseRange]:
    """Yield the ranges of a table that are worth rewriting; `room` is the room of a page in bytes."""
    place = 0
    while place < len(leaves):
        if leaves[place].is_first:
            place += 1
            continue
        first = place
        while place < len(leaves) and place - first < RANGE_LEAVES and not leaves[place].is_first:
            place += 1
        group = leaves[first:place]
        gained = len(group) - _packed_pages(group, room)
        if gained >= WORTH_SHARE * len(group):
            end = leaves[place].start if place < len(leaves) else None
            yield SparseRange(table, group[0].start, end, gained)


def _packed_pages(group: list[Leaf], room: int) -> float:
    """Return the approximate number of pages for the rows of a group when put in order; `room` is the number of bytes
    for rows in a page."""
    used, rows = sum(leaf.used_bytes for leaf in group), sum(leaf.rows for leaf in group)
    unused = used / max(rows, 1) / 2  # at the end of a page: half a row in the mean
    return used / (room - unused)
