"""Checks the pages of a data file: the trees of LMDB and its list of free pages, read without LMDB.

    page      number u64 | unused u16 | flags u16 | end of the places u16 | begin of the nodes u16 | places of nodes ...
    node      size or child u16 u16 u16 | size of the key u16 | key | data
    tree      unused u32 | flags u16 | depth u16 | branch, leaf and overflow pages, entries, root page: u64 each
    meta      magic u32 | version u32 | address u64 | map size u64 | free pages, tables: a tree each |
              last page u64 | commit u64

All numbers have the byte order of the writing machine. LMDB checks few of them: it derives the kind of a page from its
place, and overwrites pages in the list of free pages. Only this check finds a page that is in no tree or in two, or
free and in a tree.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sonicpy.errors import StoreError
from sonicpy.store.disk.data_file import (
    BIG_DATA,
    BRANCH_PAGE,
    DATABASE,
    LEAF_PAGE,
    META_HEAD,
    META_PAGES,
    NO_PAGE,
    NODE,
    NUMBER,
    PAGE_HEADER,
    SUB_TREE,
    MetaPage,
    meta_pages,
)  # fmt: skip

OVERFLOW_PAGE: Final = 0x04
KIND: Final = 0x6F
"""The bits of a page's flags that give its kind; the other bits are used only in memory."""
FREE_PAGES, TABLES = "the list of free pages", "the list of tables"
FAULTS_MAX: Final = 20
"""The most faults that are listed one by one: a damaged page near a root makes thousands of others unreachable."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The root of a tree, and its counts of pages and rows."""

    name: str
    depth: int
    branch_pages: int
    leaf_pages: int
    overflow_pages: int
    entries: int
    root: int

    @classmethod
    def read(cls, name: str, packed: bytes) -> "Tree":
        """Return the tree that packed bytes describe."""
        _, _, *numbers = DATABASE.unpack_from(packed)
        return cls(name, *numbers)


def page_faults(path: Path, commit: int | None = None) -> Iterator[str]:
    """Yield the faults of the pages of a commit. No process may reuse the pages meanwhile.

    Args:
        path: the path of the data file.
        commit: the number of the commit; a reader keeps its pages. If the file holds only newer commits, nothing is
            checked. None: the last commit of a store that no process writes; nothing is checked if no meta page is
            readable, because LMDB refuses such a file.

    Raises:
        StoreError: the file cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = meta_pages(descriptor)
            number = max((meta.number for meta in found), default=None) if commit is None else commit
            for meta in found:
                if meta.number == number:
                    yield from _PageCheck(descriptor, meta).faults()
                    return
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


class _PageCheck:
    """One check of all pages of one commit."""

    def __init__(self, descriptor: int, meta: MetaPage) -> None:
        self._descriptor = descriptor
        self._page_bytes = meta.page_bytes
        self._last = meta.pages - 1
        self._pages = os.fstat(descriptor).st_size // meta.page_bytes
        self._last_in_use = 0
        place = PAGE_HEADER.size + META_HEAD.size
        self._trees = [
            Tree.read(FREE_PAGES, meta.content[place:]),
            Tree.read(TABLES, meta.content[place + DATABASE.size :]),
        ]
        self._used = bytearray(min(meta.pages, self._pages))  # by page; 0: not in use
        self._found: list[str] = []

    def faults(self) -> Iterator[str]:
        """Yield the faults of all pages. This may be called only once."""
        for tree in self._trees:  # grows: the tables are found on the way
            self._check_tree(tree)
        if self._last_in_use >= self._pages:
            yield f"the file has {self._pages} pages, the last one in use is {self._last_in_use}"
            return
        lost = self._used.count(0, META_PAGES)
        if lost and not self._found:
            first = self._used.index(0, META_PAGES)
            self._found.append(f"{lost} pages are neither in use nor free, page {first} first")
        yield from self._found[:FAULTS_MAX]
        if len(self._found) > FAULTS_MAX:
            yield f"and {len(self._found) - FAULTS_MAX} pages more are damaged"

    def _check_tree(self, tree: Tree) -> None:
        if tree.root == NO_PAGE:
            return
        before = len(self._found)
        counted = [0, 0, 0, 0]  # branch, leaf and overflow pages, entries
        self._check_page(tree, tree.root, 1, counted)
        expected = [tree.branch_pages, tree.leaf_pages, tree.overflow_pages, tree.entries]
        if counted != expected and len(self._found) == before:
            self._found.append(f"{tree.name} has {counted} branch, leaf, overflow pages and entries, not {expected}")

    def _check_page(self, tree: Tree, number: int, level: int, counted: list[int]) -> None:
        """Check a page and all pages below it.

        Args:
            number: the number of the page.
            level: its level; the root has level 1.
            counted: the numbers of branch, leaf and overflow pages and of entries, which this call raises.
        """
        if not self._use(tree.name, number, 1):
            return
        content = os.pread(self._descriptor, self._page_bytes, number * self._page_bytes)
        held, _, flags, lower, upper = PAGE_HEADER.unpack_from(content)
        kind = LEAF_PAGE if level == tree.depth else BRANCH_PAGE
        is_filled = PAGE_HEADER.size <= lower <= upper <= self._page_bytes and not lower & 1
        if held != number or flags & KIND != kind or not is_filled:
            self._found.append(f"page {number} is not the page of {tree.name} that it should be")
            return
        counted[0 if kind == BRANCH_PAGE else 1] += 1
        before: bytes | int | None = None
        nodes = struct.unpack_from(f"={(lower - PAGE_HEADER.size) // 2}H", content, PAGE_HEADER.size)
        for place, at in enumerate(nodes):
            if not upper <= at <= self._page_bytes - NODE.size:
                self._found.append(f"page {number} of {tree.name} names a node outside of itself")
                return
            low, high, node_flags, key_bytes = NODE.unpack_from(content, at)
            begin = at + NODE.size
            packed = content[begin : begin + key_bytes]
            key: bytes | int = packed
            if tree.name == FREE_PAGES and len(packed) == NUMBER.size:
                key = NUMBER.unpack(packed)[0]
            is_first_branch = kind == BRANCH_PAGE and place == 0  # its key means "below all others"
            if before is not None and type(key) is type(before) and key <= before:  # type: ignore[operator]
                self._found.append(f"the keys of page {number} of {tree.name} do not rise")
                return
            before = None if is_first_branch else key
            if kind == BRANCH_PAGE:
                self._check_page(tree, low | high << 16 | node_flags << 32, level + 1, counted)
                continue
            counted[3] += 1
            size = low | high << 16
            data = content[begin + key_bytes :]
            if node_flags & BIG_DATA:
                data = self._big_data(tree, number, data, size, counted)
            elif len(data) < size:
                self._found.append(f"a row of page {number} of {tree.name} ends behind its page")
                return
            self._take_row(tree, packed, data[:size], node_flags, key)

    def _take_row(self, tree: Tree, key: bytes, data: bytes, flags: int, commit: bytes | int) -> None:
        """Note the content of a row of one of the two main trees: a table, or a list of free pages.

        Args:
            key, data, flags: the key, the value and the flags of the node.
            commit: the key, decoded as the number of a commit in the list of free pages.
        """
        if tree.name == TABLES and flags & SUB_TREE and len(data) >= DATABASE.size:
            self._trees.append(Tree.read(f"the table {key.decode('ascii', 'replace')}", data))
        elif tree.name == FREE_PAGES and len(data) >= NUMBER.size:
            numbers = struct.unpack_from(f"={len(data) // NUMBER.size}Q", data)
            if numbers[0] >= len(numbers):
                self._found.append(f"the pages that commit {commit!r} freed are cut off")
                return
            for number in numbers[1 : numbers[0] + 1]:
                self._take(FREE_PAGES, number, 1)

    def _big_data(self, tree: Tree, page: int, node: bytes, size: int, counted: list[int]) -> bytes:
        """Return the value of a row whose value is on overflow pages.

        Args:
            page: the page of the row.
            node: the content of the node, which begins with the number of the first overflow page.
            size: the size of the value in bytes.
            counted: as in `_check_page`.
        """
        number = NUMBER.unpack_from(node)[0] if len(node) >= NUMBER.size else NO_PAGE
        least = (PAGE_HEADER.size + size + self._page_bytes - 1) // self._page_bytes
        pages = self._overflow_pages(number)
        if not self._use(tree.name, number, max(least, pages)):
            return b""
        if pages < least:
            self._found.append(f"page {number}, to which page {page} refers, is no long row of {tree.name}")
            return b""
        counted[2] += pages
        return os.pread(self._descriptor, size, number * self._page_bytes + PAGE_HEADER.size)

    def _overflow_pages(self, number: int) -> int:
        """Return the number of pages that the head of an overflow page names; 0: it is the head of no such page.

        A value that is replaced by a shorter one in the commit that wrote it keeps its pages.
        """
        if not META_PAGES <= number < self._pages:
            return 0
        content = os.pread(self._descriptor, PAGE_HEADER.size, number * self._page_bytes)
        held, _, flags, low, high = PAGE_HEADER.unpack_from(content)
        return low | high << 16 if held == number and flags & KIND == OVERFLOW_PAGE else 0

    def _use(self, name: str, first: int, pages: int) -> bool:
        """Note that pages are in use; return whether they are valid and readable.

        Args:
            name: the name of the tree.
            first, pages: the first page, and the number of pages.
        """
        if not self._take(name, first, pages):
            return False
        self._last_in_use = max(self._last_in_use, first + pages - 1)
        return first + pages <= self._pages

    def _take(self, name: str, first: int, pages: int) -> bool:
        """Note pages as in use or free; return whether they are valid. Free pages may be beyond the end of the file.

        Args:
            name, first, pages: as in `_use`.
        """
        if not META_PAGES <= first <= self._last - pages + 1:
            self._found.append(f"{name} refers to page {first}, which there is not")
            return False
        held = self._used[first : first + pages]
        if any(held):
            self._found.append(f"page {first} is used twice, by {name} and before")
            return False
        self._used[first : first + pages] = b"\1" * len(held)
        return True
