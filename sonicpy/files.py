"""Makes and opens files and folders with fixed modes, whatever the umask; symbolic links are refused.

open_new, make_new               for writing; open_new also opens an existing file
make_fresh, new_bytes, new_text  for writing; a file with the name is replaced
open_regular, regular_bytes      for reading, in folders where other users may write
make_one, make_all               folders
wider                            files and folders that too many users may read or write

Files and folders that exist keep their modes.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple


class Access(NamedTuple):
    """Modes of new files and folders.

    Attributes:
        file: the mode of a file.
        shared: the mode of a file that readers in other processes have to write: LMDB's lock file.
        folder: the mode of a folder.
        takes_group: whether new files and folders get the group of their parent folder.
    """

    file: int
    shared: int
    folder: int
    takes_group: bool


PRIVATE = Access(0o600, 0o600, 0o700, takes_group=False)
ACCESSES = {
    "none": PRIVATE,
    "read": Access(0o640, 0o660, 0o750, takes_group=True),
    "write": Access(0o660, 0o660, 0o770, takes_group=True),
}
"""The modes of new files for each value of the setting `store.kv.group_access`."""

LINKS = {errno.ELOOP, errno.EMLINK}
"""The errors of open(2) with O_NOFOLLOW for a link: the first on Linux and macOS, the second on FreeBSD."""


def open_new(path: Path, flags: int, access: Access = PRIVATE, *, follows: bool = False, shared: bool = False) -> int:
    """Open a file for writing, made with the modes of `access` if it is missing; return its descriptor.

    Args:
        flags: flags for open(2), such as os.O_RDWR; O_CREAT and O_CLOEXEC are implied.
        follows: whether the name may be a symbolic link.
        shared: whether readers in other processes write the file, too.

    Raises:
        OSError: the file cannot be opened, or is no regular file.
    """
    try:
        return make_new(path, flags, access, shared=shared)
    except FileExistsError:
        flags |= os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follows else os.O_NOFOLLOW)
    with _named_links(path):
        descriptor = os.open(path, flags, access.file)
    try:
        _refuse_irregular(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def make_new(path: Path, flags: int, access: Access = PRIVATE, *, shared: bool = False) -> int:
    """Make a file and open it for writing, as `open_new` does; return its descriptor.

    Raises:
        FileExistsError: the name exists.
        OSError: the file cannot be made.
    """
    mode = access.shared if shared else access.file
    descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        _give(descriptor, mode, path.parent, access)
    except BaseException:
        os.close(descriptor)
        path.unlink(missing_ok=True)
        raise
    return descriptor


def make_fresh(path: Path, flags: int, access: Access = PRIVATE) -> int:
    """Make a file as `make_new` does, in place of any file with its name; return its descriptor. Of a link, only the
    link is replaced.

    Raises:
        OSError: the file cannot be made, or a folder has its name.
    """
    while True:
        try:
            return make_new(path, flags, access)
        except FileExistsError:
            path.unlink(missing_ok=True)


def open_regular(path: Path) -> int:
    """Open a regular file for reading, without following a symbolic link; return its descriptor.

    Raises:
        OSError: the file is not a regular one, or cannot be opened.
    """
    with _named_links(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        _refuse_irregular(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def new_bytes(path: Path, access: Access = PRIVATE) -> IO[bytes]:
    """Open a new file for writing, as `make_fresh` does. Raises OSError."""
    return os.fdopen(make_fresh(path, os.O_WRONLY, access), "wb")


def new_text(path: Path, access: Access = PRIVATE) -> IO[str]:
    """Open a new file for writing UTF-8, as `make_fresh` does. Raises OSError."""
    return os.fdopen(make_fresh(path, os.O_WRONLY, access), "w", encoding="utf-8")


def regular_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading, as `open_regular` does. Raises OSError."""
    return os.fdopen(open_regular(path), "rb")


def make_one(folder: Path, access: Access = PRIVATE, *, exist_ok: bool = False) -> None:
    """Make a folder with the mode of `access`.

    Raises:
        OSError: the folder cannot be made, or exists although `exist_ok` is False.
    """
    try:
        folder.mkdir(access.folder)
    except FileExistsError:
        if exist_ok and folder.is_dir():
            return
        raise
    _give(folder, access.folder, folder.parent, access)


def make_all(folder: Path, access: Access = PRIVATE) -> list[Path]:
    """Make a folder and its missing parents, with the mode of `access`; return the new folders, the outermost first.

    Raises:
        OSError: a folder cannot be made, or a file has its name.
    """
    missing = []
    above = folder
    while not above.is_dir():
        missing.append(above)
        above = above.parent
    for fresh in reversed(missing):
        try:
            make_one(fresh, access, exist_ok=True)
        except FileExistsError as error:  # "File exists" would sound as if nothing were wrong
            raise NotADirectoryError(errno.ENOTDIR, f"{fresh} is a file, not a folder") from error
    return missing[::-1]


def wider(folder: Path, paths: Iterable[Path], access: Access) -> Iterator[tuple[Path, int]]:
    """Yield the folder and the files in it whose modes allow more than `access`, with their modes.

    For the folder itself, only the permission to write counts.
    """
    mode = _mode(folder)
    if stat.S_IMODE(mode) & 0o022 & ~access.folder:
        yield folder, stat.S_IMODE(mode)
    for path in paths if mode & 0o011 else ():  # else no other user gets there
        mode = _mode(path)
        if stat.S_ISREG(mode) and stat.S_IMODE(mode) & 0o077 & ~access.shared:
            yield path, stat.S_IMODE(mode)


def _mode(path: Path) -> int:
    """Return the mode and the type of a file; 0: it does not exist, or cannot be read."""
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _refuse_irregular(descriptor: int, path: Path) -> None:
    """Raise OSError unless a descriptor refers to a regular file."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))


def _give(new: Path | int, mode: int, folder: Path, access: Access) -> None:
    """Set the group and the mode of a new file or folder, from whose mode the umask may have removed bits. Raises
    PermissionError, with a sentence about the group that this user is not in.
    """
    held = os.stat(new)
    if access.takes_group and (group := folder.stat().st_gid) != held.st_gid:
        try:
            os.chown(new, -1, group)
        except PermissionError as error:
            lacking = f"this user is not in group {group}, that of {folder}, which may read or write new files"
            raise PermissionError(error.errno, lacking) from error
    if held.st_mode & 0o777 != mode:
        with contextlib.suppress(PermissionError):  # a file system without modes
            os.chmod(new, held.st_mode & 0o7000 | mode)


@contextlib.contextmanager
def _named_links(path: Path) -> Iterator[None]:
    """Replace the error for a symbolic link, "Too many levels of symbolic links", by a clear one, in a `with` block."""
    try:
        yield
    except OSError as error:
        if error.errno in LINKS:
            raise OSError(error.errno, "it is a symbolic link, which is not followed", str(path)) from error
        raise
