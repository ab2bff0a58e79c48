"""sonicpy.open: an index in a folder, in memory, or in a folder that another process writes."""

import os
import shutil
import tempfile
from pathlib import Path

from sonicpy.api.arguments import path_of, switch_of
from sonicpy.errors import StoreError
from sonicpy.index.index import Index
from sonicpy.index.read_only import ReadOnlyIndex
from sonicpy.index.settings import Settings
from sonicpy.store.folder import LOCK_FILE, WriterLock, is_there

MEMORY = ":memory:"
SHARED_MEMORY = Path("/dev/shm")
SHARED_MEMORY_FREE = 256 << 20
"""Bytes that must be free there, room for about a million short texts; else a temporary folder on the disk is used."""
PREFIX = "sonicpy-memory-"
"""The names of temporary folders begin with it; the process id follows."""


def open_index(path: str | os.PathLike[str], config: Settings = None, *, read_only: bool = False) -> Index:
    """Open an index. Any thread of this process may use it; close it at the end, best by `with`.

    Args:
        path: a folder, created if it is missing; or ":memory:", a temporary index that `close` deletes.
        config: the settings, as a Config or a mapping such as `{"search": {"ranking": "newest"}}`; None: the defaults.
        read_only: read a folder that another process writes; every call shows the last commit.

    Raises:
        StoreLocked: another process has the folder open for writing, or this process has it open already.
        StoreError: the folder cannot be opened as an index with these settings; the message says why.
        ConfigError: the settings are wrong.
        InvalidArgument: another argument is.
    """
    folder = path_of("path", path)
    read_only = switch_of("read_only", read_only)
    if folder != MEMORY:
        return (ReadOnlyIndex if read_only else Index)(Path(folder), config)
    if read_only:
        raise StoreError("an index in memory begins empty: open it without read_only")
    temporary = _temporary_folder()
    try:
        return Index(temporary, config, temporary=True)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _temporary_folder() -> Path:
    home = _memory_home()
    _sweep(home)
    try:
        return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=home))
    except OSError as error:
        raise StoreError(f"no temporary folder can be made in {home}: {error.strerror}") from error


def _memory_home() -> Path:
    """Return the folder for temporary indexes: shared memory if that has room."""
    if os.access(SHARED_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(SHARED_MEMORY).free >= SHARED_MEMORY_FREE:
        return SHARED_MEMORY
    return Path(tempfile.gettempdir())


def _sweep(home: Path) -> None:
    """Delete the temporary indexes that killed processes have left behind."""
    for folder in home.glob(f"{PREFIX}*"):
        try:
            if not is_there(folder / LOCK_FILE) or _is_alive(folder.name):
                continue  # its process may be about to lock it
            with WriterLock(folder):  # its owner may live in another namespace of process ids
                shutil.rmtree(folder, ignore_errors=True)
        except StoreError:  # a process has it open, or another user owns it
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
