"""Waits for the disk on Linux and macOS, for the store and the graphs; whole writes; keeps files off the standard
descriptors.
"""

import errno
import fcntl
import os
from pathlib import Path

NO_FULL_SYNC = {errno.ENOTSUP, errno.EINVAL, errno.ENOTTY}
"""The errors of F_FULLFSYNC on file systems that do not support it."""


def write_whole(descriptor: int, content: bytes, place: int) -> None:
    """Write bytes at a place of a file. Raises OSError if the disk did not take all of them.

    On a full disk, a write over the end of a page may take its first bytes, and raises nothing.
    """
    if os.pwrite(descriptor, content, place) != len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def sync_file(descriptor: int) -> None:
    """Wait until the disk has the content of a file. Raises OSError if the disk failed.

    On macOS only F_FULLFSYNC waits for the disk; fsync only reaches the cache of the drive (see fsync(2) there). File
    systems without F_FULLFSYNC get a plain fsync.
    """
    full_sync: int | None = getattr(fcntl, "F_FULLFSYNC", None)
    if full_sync is None:
        getattr(os, "fdatasync", os.fsync)(descriptor)
        return
    try:
        fcntl.fcntl(descriptor, full_sync)
    except OSError as error:
        if error.errno not in NO_FULL_SYNC:
            raise
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the folder's list of files. Raises OSError if the disk failed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file_system(folder: Path) -> bool:
    """Wait until the disk holds all files of the file system of a folder; return False if the system has no call for
    it. Raises OSError.

    For thousands of small files this takes a hundredth of the time that it takes to sync each file.
    """
    import ctypes  # noqa: PLC0415  loaded when it is needed

    try:
        syncfs = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return False
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if syncfs(descriptor):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(descriptor)
    return True


def fill_standard_descriptors() -> None:
    """Open /dev/null for those of the descriptors 0, 1 and 2 that are closed.

    The system gives the lowest free number to the next file: without this, a message of a library in C to the standard
    error could overwrite the head of the data file.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
