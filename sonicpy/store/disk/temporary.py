"""Temporary folders for ":memory:"; they are in shared memory if that has room."""

import os
import stat
from pathlib import Path

from sonicpy.errors import StoreError
from sonicpy.store.disk.folder import LOCK_FILE, WriterLock, is_there

MEMORY = ":memory:"
SHARED_MEMORY = Path("/dev/shm")
SHARED_MEMORY_FREE = 256 << 20
"""The number of bytes that must be free in shared memory, enough for about a million short texts; if not, a folder on
the disk is used."""
PREFIX = "sonicpy-memory-"
"""The prefix of the names of temporary folders; the process id follows."""


def temporary_folder() -> Path:
    """Return a new empty folder, after deleting the temporary folders of killed processes.

    Raises:
        StoreError: no folder can be made.
    """
    home = memory_home()
    _sweep(home)
    import tempfile  # noqa: PLC0415  loaded when it is needed

    try:
        return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=home))
    except OSError as error:
        raise StoreError(f"no temporary folder can be made in {home}: {error.strerror}") from error


def memory_home() -> Path:
    """Return the folder for temporary folders: shared memory if that has room."""
    import shutil  # noqa: PLC0415  loaded when it is needed
    import tempfile  # noqa: PLC0415  loaded when it is needed

    if os.access(SHARED_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(SHARED_MEMORY).free >= SHARED_MEMORY_FREE:
        return SHARED_MEMORY
    return Path(tempfile.gettempdir())


def _sweep(home: Path) -> None:
    """Delete the temporary folders of killed processes."""
    import shutil  # noqa: PLC0415  loaded when it is needed

    for folder in home.glob(f"{PREFIX}*"):
        try:
            if not _is_own(folder) or not is_there(folder / LOCK_FILE) or _is_alive(folder.name):
                continue  # its process may be about to lock it
            with WriterLock(folder):  # its owner may live in another namespace of process ids
                shutil.rmtree(folder, ignore_errors=True)
        except StoreError:  # a process has it open
            continue


def _is_own(folder: Path) -> bool:
    """Return whether this user made a folder: a lock file of another user may be a link to any file of this one."""
    try:
        found = folder.lstat()
    except OSError:  # its owner deletes it
        return False
    return stat.S_ISDIR(found.st_mode) and (not hasattr(os, "geteuid") or found.st_uid == os.geteuid())


def _is_alive(name: str) -> bool:
    """Return whether the process of a temporary folder may still run."""
    number = name.removeprefix(PREFIX).partition("-")[0]
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OverflowError, OSError):
        return True
    return True
