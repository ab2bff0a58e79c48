"""sonicpy.open: an index in a folder, in memory, or in a folder that another process writes."""

import os
import shutil
import tempfile
from pathlib import Path

from sonicpy.config import Config
from sonicpy.errors import StoreError
from sonicpy.index.index import Index
from sonicpy.index.read_only import ReadOnlyIndex
from sonicpy.store.folder import LOCK_FILE, WriterLock, is_there

MEMORY = ":memory:"
SHARED_MEMORY = Path("/dev/shm")
SHARED_MEMORY_FREE = 256 << 20
"""Bytes that have to be free there: some million short texts. With less, a temporary folder on the disk is taken."""
PREFIX = "sonicpy-memory-"
"""Of temporary folders; the number of the process follows."""


def open_index(path: str | os.PathLike[str], config: Config | None = None, *, read_only: bool = False) -> Index:
    """Open an index, to be used from any thread of this process and closed at the end, best by `with`.

    Args:
        path: a folder, created where it is missing; or ":memory:": a temporary index that is gone on close.
        config: the settings; None: the defaults.
        read_only: of a folder that this or another process writes: every call shows the last commit.

    Raises:
        StoreLocked: another process has the folder open for writing, or this process has it open already.
        StoreError: the folder cannot be opened as an index with these settings; the sentence says why.
    """
    if os.fspath(path) != MEMORY:
        return (ReadOnlyIndex if read_only else Index)(Path(path), config)
    if read_only:
        raise StoreError("an index in memory begins empty: open it without read_only")
    folder = _temporary_folder()
    try:
        return Index(folder, config, temporary=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _temporary_folder() -> Path:
    home = _memory_home()
    _sweep(home)
    try:
        return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=home))
    except OSError as error:
        raise StoreError(f"no temporary folder can be made in {home}: {error.strerror}") from error


def _memory_home() -> Path:
    """Return where temporary indexes live: in shared memory where that is large enough."""
    if os.access(SHARED_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(SHARED_MEMORY).free >= SHARED_MEMORY_FREE:
        return SHARED_MEMORY
    return Path(tempfile.gettempdir())


def _sweep(home: Path) -> None:
    """Delete what processes that were killed have left behind: temporary indexes that nobody holds."""
    for folder in home.glob(f"{PREFIX}*"):
        try:
            if not is_there(folder / LOCK_FILE) or _is_alive(folder.name):
                continue  # it may be about to be locked
            with WriterLock(folder):  # who has it may also live where process numbers mean other processes
                shutil.rmtree(folder, ignore_errors=True)
        except StoreError:  # somebody has it, or it is another user's
            continue


def _is_alive(name: str) -> bool:
    """Return whether the process that made a temporary folder may still run."""
    number = name.removeprefix(PREFIX).partition("-")[0]
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OverflowError, OSError):
        return True
    return True
