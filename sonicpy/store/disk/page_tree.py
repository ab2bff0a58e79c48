"""The trees of a commit, read page by page without LMDB, which hides its free pages and the ends of pages.

The pages must not be written meanwhile: the commit is the last one of a store that is not being changed, or a reader
shows it.
"""

import os
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from sonicpy.errors import StoreDamaged
from sonicpy.store.disk.data_file import (
    BIG_DATA,
    BRANCH_PAGE,
    DATABASE,
    DEPTH_MAX,
    LEAF_PAGE,
    NO_PAGE,
    NODE,
    NUMBER,
    PAGE_HEADER,
    SUB_TREE,
    MetaPage,
)

PLACE_BYTES: Final = 2
"""The number of bytes of an entry in the list of places of a page."""


class Leaf(NamedTuple):
    """A leaf page of a table.

    Attributes:
        start: the smallest key that a row of the leaf can have; empty for the first leaf.
        rows: the number of rows.
        used_bytes: the bytes in use of the page, without its head.
        is_first: whether it is the first leaf of its branch page, or the only one of the table.
    """

    start: bytes
    rows: int
    used_bytes: int
    is_first: bool


class PageTrees:
    """The trees of one commit.

    Args:
        descriptor: the descriptor of the data file.
        meta: the meta page of the commit.
    """

    def __init__(self, descriptor: int, meta: MetaPage) -> None:
        self._descriptor = descriptor
        self._page_bytes = meta.page_bytes
        self._meta = meta

    def free_pages(self, last: int) -> Iterator[tuple[int, ...]]:
        """Yield, for each commit up to number `last`, the numbers of the pages that it freed.

        Raises:
            OSError, StoreDamaged: the file cannot be read.
        """
        for key, data, _ in self._rows(self._meta.roots[0]):
            if NUMBER.unpack(key)[0] <= last:
                (count,) = NUMBER.unpack_from(data)
                yield struct.unpack_from(f"={count}Q", data, NUMBER.size)

    def leaves(self, table: bytes) -> Iterator[Leaf]:
        """Yield the leaf pages of a table in the order of their keys; none if there is no such table.

        Raises:
            OSError, StoreDamaged: the file cannot be read.
        """
        for key, data, flags in self._rows(self._meta.roots[1]):
            if key == table and flags & SUB_TREE:
                root: int = DATABASE.unpack_from(data)[-1]
                if root != NO_PAGE:
                    yield from self._leaves(root, b"", 0, is_first=True)

    def _leaves(self, number: int, start: bytes, depth: int, *, is_first: bool) -> Iterator[Leaf]:
        _, _, flags, lower, upper = PAGE_HEADER.unpack(self._read(number, 0, PAGE_HEADER.size))
        if flags & LEAF_PAGE:
            rows = (lower - PAGE_HEADER.size) // PLACE_BYTES
            yield Leaf(start, rows, self._page_bytes - PAGE_HEADER.size - (upper - lower), is_first)
            return
        for place, (key, child) in enumerate(self._children(self._page(number, depth))):
            yield from self._leaves(child, key if place else start, depth + 1, is_first=not place)

    def _rows(self, root: int, depth: int = 0) -> Iterator[tuple[bytes, bytes, int]]:
        """Yield key, value and flags of all rows of a small tree, below a page `root` at a depth."""
        if root == NO_PAGE:
            return
        content = self._page(root, depth)
        if PAGE_HEADER.unpack_from(content)[2] & BRANCH_PAGE:
            for _, child in self._children(content):
                yield from self._rows(child, depth + 1)
            return
        for at in _places(content):
            low, high, flags, key_bytes = NODE.unpack_from(content, at)
            size = low | high << 16
            data = at + NODE.size + key_bytes
            if flags & BIG_DATA:
                value = self._read(NUMBER.unpack_from(content, data)[0], PAGE_HEADER.size, size)
            else:
                value = content[data : data + size]
            yield content[at + NODE.size : data], value, flags

    def _children(self, content: bytes) -> Iterator[tuple[bytes, int]]:
        for at in _places(content):
            low, high, top, key_bytes = NODE.unpack_from(content, at)
            yield content[at + NODE.size : at + NODE.size + key_bytes], low | high << 16 | top << 32

    def _page(self, number: int, depth: int) -> bytes:
        content = self._read(number, 0, self._page_bytes)
        held, _, flags, lower, upper = PAGE_HEADER.unpack_from(content)
        is_page = held == number and flags & (BRANCH_PAGE | LEAF_PAGE)
        if not is_page or depth > DEPTH_MAX or not PAGE_HEADER.size <= lower <= upper <= self._page_bytes:
            raise StoreDamaged(f"page {number} of the data file is not what it should be")
        return content

    def _read(self, number: int, place: int, size: int) -> bytes:
        content = os.pread(self._descriptor, size, number * self._page_bytes + place)
        if len(content) < size:
            raise StoreDamaged(f"page {number} of the data file is behind its end")
        return content


def _places(content: bytes) -> tuple[int, ...]:
    """Return the offsets of the nodes of a page, in the order of their keys."""
    lower: int = PAGE_HEADER.unpack_from(content)[3]
    return struct.unpack_from(f"={(lower - PAGE_HEADER.size) // PLACE_BYTES}H", content, PAGE_HEADER.size)
