"""Gives free pages of the data file back to the file system, as holes: LMDB never shrinks its file.

A page is unused if it is free in the last commit, in the commit of the checkpoint and in every commit that is being
read. The list of free pages contains the commit that freed a page, which must not be newer than any of these. (LMDB
waits for one more commit, because its last meta page may be lost; here it is on the disk, in the checkpoint.) Such a
page is not written either, unless an open transaction has taken it from the list; so changes wait while holes are made.
"""

import errno
import os
import threading
import time
from collections.abc import Iterator
from itertools import repeat
from typing import Final

from sonicpy._native.held import Descriptor, Held
from sonicpy.errors import StoreError
from sonicpy.store.disk.data_file import MetaPage, newest_meta_page
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.page_tree import PageTrees
from sonicpy.store.disk.platform import has_data, punch_hole

WORTH_BYTES: Final = 1 << 16
"""Free pages that take fewer bytes than this are kept for the next commits."""
MUCH_BYTES: Final = 1 << 23
MUCH_SHARE: Final = 0.25
"""Free pages that take at least MUCH_BYTES, and this share of the file, are given back before the store is at rest."""
SORTED_PAGES: Final = 100_000
"""The least number of pages that are sorted together, so that neighbouring pages freed by several commits make one
hole."""
TRIES: Final = 10
TRY_PAUSE_S: Final = 0.005
"""The pause in seconds between the TRIES to find the store unchanged; a shorter change does not end the work."""
BLOCK_BYTES: Final = 512
"""The unit of st_blocks in bytes, which is not the block size of the file system."""
UNSUPPORTED: Final = {errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


class FreeSpace:
    """The free pages of an environment that this process writes."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._turn = threading.Lock()
        self._file: Descriptor | None = None
        self._page_bytes = 0
        self._found = (-1, -1)
        self._runs: Iterator[tuple[int, int]] = iter(())
        self._is_supported = True

    def give_back(self, seconds: float) -> bool:
        """Give free pages back to the file system if they take much space, and the store is not being changed.

        Any thread may call it; reads go on meanwhile, and a change waits for the end of the call.

        Args:
            seconds: the time limit; a hole takes 10 us to 2 ms.

        Returns:
            Whether there may be more free pages; False also if the store is being changed.

        Raises:
            StoreError: the file cannot be read, or the disk failed.
        """
        with Held(self._turn):
            if not self._is_supported:
                return False
            try:
                for pause_s in (*repeat(TRY_PAUSE_S, TRIES - 1), 0.0):
                    with self._environment.reading() as shown:
                        commit = shown.number
                        self._find(commit, self._environment.oldest_commit())
                    with self._environment.unchanged() as is_unchanged:
                        if is_unchanged and self._environment.last_commit() == commit:
                            return self._make_holes(time.monotonic() + seconds)
                    time.sleep(pause_s)
                return False
            except OSError as error:
                self._runs = iter(())
                self._is_supported = error.errno not in UNSUPPORTED
                if self._is_supported:
                    raise StoreError(f"free pages cannot be given back to the disk: {error.strerror}") from error
                return False

    def is_much(self) -> bool:
        """Return whether the free pages of the last commit take much of the disk; some may still be read.

        Raises:
            StoreError: the file cannot be read.
        """
        with Held(self._turn):
            if not self._is_supported:
                return False
            try:
                with self._environment.reading() as shown:
                    taken, size = self._taken(self._opened(), shown.number, shown.number)
            except OSError as error:
                raise StoreError(f"the data file of the store cannot be read: {error.strerror}") from error
            return taken >= max(MUCH_BYTES, MUCH_SHARE * size)

    def close(self) -> None:
        """Close the data file."""
        with Held(self._turn):
            if self._file is not None:
                self._file.close()
            self._is_supported = False

    def _find(self, commit: int, oldest: int) -> None:
        """Find unused pages, if they take enough disk; a second call with the same arguments does nothing.

        Args:
            commit: the last commit, kept by a reader of the caller.
            oldest: the oldest commit that is being read, or to which the store may go back.
        """
        if (commit, oldest) == self._found:
            return
        self._runs = self._look(self._opened(), commit, oldest)
        self._found = (commit, oldest)

    def _opened(self) -> int:
        """Return the descriptor of the data file."""
        if self._file is None:
            self._file = Descriptor(os.open, self._environment.data_file, os.O_RDWR | os.O_CLOEXEC)
        return self._file.number

    def _taken(self, descriptor: int, commit: int, oldest: int) -> tuple[int, int]:
        """Return the bytes on the disk of the free pages, and of the whole file; 0, 0 if there was another commit.

        Args:
            commit, oldest: as in `_find`.
        """
        meta = newest_meta_page(descriptor)
        if meta.number != commit:
            return 0, 0
        free = sum(len(pages) for pages in PageTrees(descriptor, meta).free_pages(oldest))
        size = os.fstat(descriptor).st_blocks * BLOCK_BYTES
        return size - (meta.pages - free) * meta.page_bytes, size

    def _make_holes(self, deadline: float) -> bool:
        """Turn found pages into holes, at least one; return whether there may be more."""
        assert self._file is not None
        for start, end in self._runs:
            first, behind = start * self._page_bytes, end * self._page_bytes
            if has_data(self._file.number, first, behind):  # most are holes already, and making them anew takes long
                punch_hole(self._file.number, first, behind - first)
            if time.monotonic() >= deadline:
                return True
        return False

    def _look(self, descriptor: int, commit: int, oldest: int) -> Iterator[tuple[int, int]]:
        taken, _ = self._taken(descriptor, commit, oldest)
        meta = newest_meta_page(descriptor)
        if taken < WORTH_BYTES or meta.number != commit:
            return iter(())
        self._page_bytes = meta.page_bytes
        return _all_runs(PageTrees(descriptor, meta), meta, oldest, os.fstat(descriptor).st_size)


def _all_runs(trees: PageTrees, meta: MetaPage, oldest: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the first page and the end of each run of unused pages.

    Args:
        oldest: pages freed by a later commit are not listed.
        size: the size of the file in bytes.
    """
    some: list[int] = []
    for pages in trees.free_pages(oldest):
        some += pages
        if len(some) >= SORTED_PAGES:
            yield from _runs_of(some)
            some = []
    yield from _runs_of(some)
    end = size // meta.page_bytes
    if end > meta.pages:  # written by commits that a loss of power undid
        yield meta.pages, end


def _runs_of(pages: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the first page and the end of each run of neighbouring pages."""
    start = end = -1
    for page in sorted(pages):
        if page != end:
            if end > start:
                yield start, end
            start = page
        end = page + 1
    if end > start:
        yield start, end
