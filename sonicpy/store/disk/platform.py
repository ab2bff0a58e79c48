"""Makes folders, files and holes that are on the disk when the call returns, and identifies a boot of the machine."""

import contextlib
import errno
import os
import stat
import sys
from functools import cache
from pathlib import Path
from typing import Any

from sonicpy.disk import sync_file, sync_folder
from sonicpy.files import PRIVATE, Access, make_all, new_bytes, open_new

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""The file with a random id of this boot, which only Linux has."""
SYSCTL = "/usr/sbin/sysctl"
BOOT_NAMES = ("kern.bootsessionuuid", "kern.boottime")
"""The names of a boot's id on other systems: macOS has a random id; the boot time also changes when the clock is
set."""
SYSCTL_TIMEOUT_S = 5

KEEP_SIZE, PUNCH_HOLE = 0x01, 0x02
"""The modes of fallocate(2) that make a hole."""


def punch_hole(descriptor: int, start: int, size: int) -> None:
    """Give the blocks of a part of a file back to the file system; the part reads as zeros from then on.

    Raises:
        OSError: with EOPNOTSUPP, the file system or the operating system cannot make holes; else the disk failed.
    """
    import ctypes  # noqa: PLC0415  loaded when it is needed

    fallocate = _fallocate()
    if fallocate is None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    while fallocate(descriptor, PUNCH_HOLE | KEEP_SIZE, start, size):
        code = ctypes.get_errno()
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code))


def has_data(descriptor: int, start: int, end: int) -> bool:
    """Return whether a part of a file may take space on the disk. The position of the descriptor is changed.

    Raises:
        OSError: the disk failed.
    """
    if not hasattr(os, "SEEK_DATA"):
        return True
    try:
        return os.lseek(descriptor, start, os.SEEK_DATA) < end
    except OSError as error:
        if error.errno == errno.ENXIO:  # there is none up to the end of the file
            return False
        if error.errno == errno.EINVAL:  # the file system has no answer
            return True
        raise


@cache
def _fallocate() -> Any:
    """Return fallocate of the C library; Python only has posix_fallocate, which cannot make holes."""
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415  loaded when it is needed

    library = ctypes.CDLL(None, use_errno=True)
    fallocate = getattr(library, "fallocate64", None)
    if fallocate is not None:
        fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return fallocate


def make_folder(folder: Path, access: Access = PRIVATE) -> None:
    """Create a folder and its missing parents, on the disk, with the modes of `access`. Raises OSError."""
    for made in make_all(folder, access):
        sync_folder(made.parent)


def reserve_file(path: Path, size: int, access: Access = PRIVATE) -> None:
    """Reserve the blocks of the first `size` bytes of a file, made with the modes of `access` if it is missing, where
    the system can. Raises OSError."""
    descriptor = open_new(path, os.O_RDWR, access, follows=True, shared=True)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes, access: Access = PRIVATE) -> None:
    """Replace the content of a file on the disk atomically; it keeps its mode, and a new file has that of `access`.
    Raises OSError."""
    fresh = path.with_name(f"{path.name}.new")
    with new_bytes(fresh, access) as file:
        with contextlib.suppress(FileNotFoundError):
            before = path.lstat().st_mode
            if stat.S_ISREG(before):
                os.fchmod(file.fileno(), stat.S_IMODE(before))
        file.write(content)
        file.flush()
        sync_file(file.fileno())
    os.replace(fresh, path)
    sync_folder(path.parent)


def boot_id() -> str:
    """Return an id of this boot of the machine; empty if the system has none.

    Call this only when a store is opened or closed: outside of Linux it starts a process.
    """
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return next(filter(None, map(_sysctl, BOOT_NAMES)), "")


def _sysctl(name: str) -> str:
    """Return a value of the kernel, or "" if it has none of this name."""
    import subprocess  # noqa: PLC0415  loaded when it is needed

    command = (SYSCTL, "-n", name)
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=SYSCTL_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return run.stdout.strip()
