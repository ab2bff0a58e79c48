"""Gives free pages of the data file back to the file system, as holes: LMDB never makes its file smaller.

Nobody reads a page that is free in the last commit, in that of the checkpoint and in every commit that a reader shows.
The list of free pages tells which commit freed a page: one that is not newer than any of these. (LMDB waits for one commit
more, because its last meta page may be lost; ours is on the disk, in the checkpoint.) Nobody writes to such a page either
while no transaction is open that may have taken it from the list; so the caller keeps changes away while holes are made.
"""

import errno
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sonicpy.errors import StoreError
from sonicpy.store.data_file import MetaPage, newest_meta_page
from sonicpy.store.page_tree import PageTrees
from sonicpy.store.platform import punch_hole

WORTH_BYTES: Final = 1 << 20
"""Free pages that take less than this stay: the next commits use them."""
BLOCK_BYTES: Final = 512
"""The unit of st_blocks, whatever the file system's own."""
UNSUPPORTED: Final = {errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


class FreeSpace:
    """The free pages of a data file.

    Args:
        data_file: of the environment.

    Raises:
        OSError: it cannot be opened.

    Attributes:
        turn: to be held while pages are found and made holes.
    """

    def __init__(self, data_file: Path) -> None:
        self._descriptor = os.open(data_file, os.O_RDWR | os.O_CLOEXEC)
        self.turn = threading.Lock()
        self._page_bytes = 0
        self._found = (-1, -1)
        self._runs: Iterator[tuple[int, int]] = iter(())
        self._is_supported = True

    def find(self, commit: int, oldest: int) -> None:
        """Look for pages that nobody reads, if they take enough disk; nothing is done twice for the same arguments.

        Args:
            commit: the last one, which a reader of the caller shows.
            oldest: the oldest commit that anyone reads, or to which the store may go back.

        Raises:
            StoreError: the file cannot be read.
        """
        if (commit, oldest) == self._found or not self._is_supported:
            return
        try:
            self._runs = self._look(commit, oldest)
        except OSError as error:
            raise StoreError(f"cannot read the data file of the store: {error.strerror}") from error
        self._found = (commit, oldest)

    def make_holes(self, seconds: float) -> bool:
        """Make holes of pages that were found, for that time; return whether there may be more.

        The caller makes sure that the commit is still the last one, and that no write transaction is open.

        Raises:
            StoreError: the disk failed.
        """
        deadline = time.monotonic() + seconds
        try:
            for start, end in self._runs:
                punch_hole(self._descriptor, start * self._page_bytes, (end - start) * self._page_bytes)
                if time.monotonic() >= deadline:
                    return True
        except OSError as error:
            self._runs = iter(())
            self._is_supported = error.errno not in UNSUPPORTED
            if self._is_supported:
                raise StoreError(f"free pages cannot be given back to the file system: {error.strerror}") from error
        return False

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _look(self, commit: int, oldest: int) -> Iterator[tuple[int, int]]:
        meta = newest_meta_page(self._descriptor)
        if meta.number != commit:
            return iter(())
        self._page_bytes = meta.page_bytes
        trees = PageTrees(self._descriptor, meta)
        status = os.fstat(self._descriptor)
        free = sum(len(pages) for pages in trees.free_pages(oldest))
        taken = status.st_blocks * BLOCK_BYTES - (meta.pages - free) * meta.page_bytes
        if taken < WORTH_BYTES:
            return iter(())
        return self._all_runs(trees, meta, oldest, status.st_size)

    def _all_runs(self, trees: PageTrees, meta: MetaPage, oldest: int, size: int) -> Iterator[tuple[int, int]]:
        for pages in trees.free_pages(oldest):
            yield from _runs_of(pages)
        end = size // meta.page_bytes
        if end > meta.pages:  # written by commits that a loss of power undid
            yield meta.pages, end


def _runs_of(pages: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield first page and end of each run of neighbouring pages."""
    start = end = -1
    for page in sorted(pages):
        if page != end:
            if end > start:
                yield start, end
            start = page
        end = page + 1
    if end > start:
        yield start, end
