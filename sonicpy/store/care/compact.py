"""Compacting: the data file of a closed store is replaced by a copy of its last commit without free pages.

    1  the store is locked against writers and readers, and was closed in order
    2  the copy, data.mdb.compact, with the number of its commit, is written, checked and on the disk
    3  it is renamed to the data file, and the folder is synced

A kill or a loss of power before 3 leaves the store as it was, and the next compacting deletes the unfinished copy. Both
files hold the same commit, so it does not matter which one is there after a loss of power during 3. The copy has no
stamp: the checkpoint beside it belongs to the file before, and a start does not go back to it.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sonicpy.disk import sync_file, sync_folder
from sonicpy.errors import StoreDamaged, StoreError, StoreLocked
from sonicpy.files import PRIVATE, Access, make_new, open_new
from sonicpy.store.disk.boot_mark import read_mark
from sonicpy.store.disk.data_file import META_BYTES, META_TAIL, newest_meta_page, write_meta_pages
from sonicpy.store.disk.environment import DATA_FILE, LOCK_FILE, Environment
from sonicpy.store.disk.folder import WriterLock
from sonicpy.store.disk.page_check import page_faults

COPY_FILE = f"{DATA_FILE}.compact"
PROGRESS_S = 0.5

OnCopied = Callable[[int], object]
"""A function that is called twice a second with the number of bytes written so far."""


class CompactedSizes(NamedTuple):
    """The sizes of the data file before and after compacting, in bytes, as `ls -l` shows them."""

    before: int
    after: int


def compact(folder: Path, access: Access = PRIVATE, progress: OnCopied | None = None) -> CompactedSizes:
    """Replace the data file of a store, which no process has open, by a compact copy; return its sizes before and
    after.

    Args:
        access: modes of new files.
        progress: see OnCopied.

    Raises:
        StoreLocked: a process has the store open.
        StoreError: the store was not closed in order, or the copy could not be written; the store is as before.
    """
    data, fresh = folder / DATA_FILE, folder / COPY_FILE
    lock = WriterLock(folder, access)
    try:
        with _without_readers(folder, access):
            mark = read_mark(folder)
            if mark is None or not mark.is_clean:
                raise StoreError(
                    f"the store {folder} was not closed in order: open it for writing once, then compact it"
                )
            before = data.stat().st_size
            fresh.unlink(missing_ok=True)
            try:
                after = _write_copy(data, fresh, before, access, progress)
                os.replace(fresh, data)
            finally:
                fresh.unlink(missing_ok=True)
            sync_folder(folder)
    except OSError as error:
        raise StoreError(f"cannot compact {folder}: {error.strerror}") from error
    finally:
        lock.release()
    return CompactedSizes(before, after)


@contextmanager
def _without_readers(folder: Path, access: Access) -> Iterator[None]:
    """Lock a store against LMDB of every process during a `with` block. Raises StoreLocked if a process has it open."""
    descriptor = open_new(folder / LOCK_FILE, os.O_RDWR, access, follows=True, shared=True)
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # LMDB takes a shared lock of the first byte
        except OSError as error:
            raise StoreLocked(f"a process reads the store {folder}: end it, then compact the store") from error
        yield
    finally:
        os.close(descriptor)


def _write_copy(data: Path, fresh: Path, size: int, access: Access, progress: OnCopied | None) -> int:
    """Write the compact copy of a data file, check it and sync it; return its size. Raises StoreDamaged if the copy is
    damaged.
    """
    descriptor = make_new(fresh, os.O_RDWR, access)
    try:
        environment = Environment(data, size, copied=True)
        try:
            _copy(environment, descriptor, progress)
        finally:
            environment.close()
        _keep_number(data, descriptor)
        sync_file(descriptor)
        fault = next(page_faults(fresh), None)
        if fault is not None:
            raise StoreDamaged(f"the compact copy of {data} is damaged ({fault}): verify the store")
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def _copy(environment: Environment, descriptor: int, progress: OnCopied | None) -> None:
    with ThreadPoolExecutor(1) as threads:
        copying = threads.submit(environment.copy, descriptor)
        while wait_for([copying], PROGRESS_S).not_done:
            if progress is not None:
                progress(os.fstat(descriptor).st_size)
        copying.result()


def _keep_number(data: Path, descriptor: int) -> None:
    """Set the number of a copy's commit, which LMDB has numbered 1, to the number of the original: rows refer to it."""
    with data.open("rb") as file:
        number = newest_meta_page(file.fileno()).number
    meta = newest_meta_page(descriptor)
    tail = META_TAIL.pack(meta.pages - 1, number)
    content = meta.content[: META_BYTES - META_TAIL.size] + tail + meta.content[META_BYTES:]
    write_meta_pages(descriptor, meta._replace(content=content))
