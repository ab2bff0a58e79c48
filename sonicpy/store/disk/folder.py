"""The folder of a store, and the locks of the processes that read or write it.

    sonicpy.lock         locked (flock) by the one process that writes; contains its process id, and the URL of a server
    sonicpy.boot         whether the store was closed cleanly: see boot_mark.py
    sonicpy.checkpoint   the commit to go back to after a loss of power: see checkpoint.py
    data.mdb, lock.mdb   LMDB        log/   the log        graph/   word graphs

The writing process locks data.mdb, too, so that a deleted lock file lets no second writer in. Files of other programs
in the folder are never touched.
"""

import fcntl
import os
import time
from functools import partial
from itertools import chain, islice
from pathlib import Path
from types import TracebackType

from sonicpy._native.held import Descriptor, insist
from sonicpy.disk import write_whole
from sonicpy.errors import StoreError, StoreFull, StoreLocked
from sonicpy.files import PRIVATE, Access, open_new, wider
from sonicpy.late_logger import LateLogger
from sonicpy.store.disk import environment
from sonicpy.store.disk.boot_mark import read_mark
from sonicpy.store.disk.environment import DATA_FILE
from sonicpy.store.disk.platform import boot_id, make_folder

logger = LateLogger(__name__)

LOCK_FILE = "sonicpy.lock"
LMDB_LOCK_FILE = environment.LOCK_FILE
HOLDER_MAX_BYTES = 4096
"""A number of bytes above that of a process id and the URL of a server."""
TRIES = 100
"""The most attempts to lock a file that another process may replace meanwhile."""
LOOKED_AT = 100
"""The most files in a folder whose modes are compared at a start."""
LOOK_S = 0.2
"""The interval in seconds between checks that the names still refer to the open files."""
LOCKS = Path("/proc/locks")
"""The file in which Linux lists locks, one a line: kind, process and inode."""

Identity = tuple[int, int]
"""The device and inode of a file."""


def holds_store(folder: Path) -> bool:
    """Return whether a folder holds a store, even an unfinished one. Raises StoreError if this process may not read the
    folder."""
    return is_there(folder / DATA_FILE) and (folder / DATA_FILE).stat().st_size > 0  # a writer makes it empty, first


def is_there(path: Path) -> bool:
    """Return whether a file exists. Raises StoreError if this process may not read its folder."""
    try:
        path.stat()  # not exists(): from Python 3.14 on it returns False for a hidden file
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: NUL, which no path has in it
        return False
    except OSError as error:
        raise StoreError(f"cannot look into {path.parent}: {error.strerror}") from error
    return True


class WriterLock:
    """The right to write a store; held until `release` or the end of the process.

    Args:
        access: modes of new files.

    Attributes:
        made_data: whether the data file was missing and has been made.
        next_look_s: the time of the next check in `replaced`, by the monotonic clock.

    Raises:
        StoreLocked: another process, or this one, has the lock.
        StoreError: the folder cannot be written.
    """

    def __init__(self, folder: Path, access: Access = PRIVATE) -> None:
        self._folder = folder
        self._files: list[Descriptor] = []  # each closes its file when it is freed
        self._watched: dict[str, tuple[str, Identity]] = {}
        self._replaced: str | None = None
        self.next_look_s = 0.0
        self.made_data = False
        try:
            make_folder(folder, access)
            self._take(folder / LOCK_FILE, access)
            self.made_data = not is_there(folder / DATA_FILE)
            self._take(folder / DATA_FILE, access)
            self._write(f"{os.getpid()}\n")
        except OSError as error:
            insist(self.release)
            raise StoreError(f"cannot write the store folder {folder}: {error.strerror}") from error
        except BaseException:
            insist(self.release)
            raise

    def note_server(self, url: str) -> None:
        """Write the URL of this server to the lock file, for the error message of processes that try to open the store.

        Raises:
            StoreFull: the URL cannot be written.
        """
        self._write(f"{os.getpid()}\n{url}\n")

    def watch(self, role: str, path: Path) -> None:
        """Add an open file to the checks of `replaced`, instead of an earlier one with the same role.

        Args:
            role: a name for the purpose of the file.
        """
        identity = _identity(path)
        if identity is not None:
            self._watched[role] = (os.fspath(path), identity)

    def unwatch(self, role: str) -> None:
        """End the checks of the file with a role, before the process itself replaces or deletes it."""
        self._watched.pop(role, None)

    def replaced(self) -> str | None:
        """Return the path of an open file that was deleted or replaced; None: the last check found none."""
        now = time.monotonic()
        if self._replaced is None and now >= self.next_look_s:
            self.next_look_s = now + LOOK_S
            for path, identity in list(self._watched.values()):
                try:
                    found = _identity(path)
                except OSError as error:  # such as after a change of the user: the open file is all that is known
                    logger.debug("%s: %s", path, error.strerror)
                    continue
                if found != identity:
                    self._replaced = path
        return self._replaced

    def refusal(self) -> StoreLocked | None:
        """Return the error that refuses changes because a file was deleted or replaced; None: changes are allowed."""
        path = self.replaced()
        if path is None:
            return None
        return StoreLocked(
            f"the store {self._folder} takes no more changes from this process, because {path} was deleted or replaced "
            "while it was open, so that another process may write the store: restart this one, which then goes on with "
            "the content of the folder"
        )

    def free_blocks(self) -> int:
        """Return the number of blocks that the disk of the folder has free for this user; 0 if it cannot be read."""
        try:
            return os.statvfs(self._folder).f_bavail
        except OSError as error:
            logger.debug("%s: %s", self._folder, error.strerror)
            return 0

    def _take(self, path: Path, access: Access) -> None:
        """Open and lock a file; try again if another process replaced it before it was locked. Raises StoreError if
        that happens again and again, or StoreLocked if another process has the lock.
        """
        for _ in range(TRIES):
            self._files.append(Descriptor(partial(open_new, follows=True), path, os.O_RDWR, access))
            number = self._files[-1].number  # no variable refers to the file: the traceback of an exception keeps those
            self._lock(number, path.name)
            held = os.fstat(number)
            if _identity(path) == (held.st_dev, held.st_ino):
                self.watch(path.name, path)
                return
            self._files.pop().close()
        raise StoreError(f"cannot lock {path}: another process replaces it again and again")

    def _lock(self, descriptor: int, name: str) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreLocked(f"the store {self._folder} is {_holder(descriptor, name)}") from error

    def _write(self, content: str) -> None:
        descriptor = self._files[0].number
        try:
            os.ftruncate(descriptor, 0)
            write_whole(descriptor, content.encode("utf-8", "surrogateescape"), 0)
        except OSError as error:
            raise StoreFull(f"cannot write the store folder {self._folder}: {error.strerror}") from error

    def release(self) -> None:
        """Release the locks; a second call does nothing. In a forked process, the parent keeps them."""
        for file in self._files:
            file.close()

    def __enter__(self) -> "WriterLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class ReaderLock:
    """Excludes writers from a store that is read without LMDB's own locks; held until `release`.

    Raises:
        StoreLocked: a process writes the store.
    """

    def __init__(self, folder: Path) -> None:
        self._files: list[Descriptor] = []
        for name in (LOCK_FILE, DATA_FILE):  # without a lock file, it is a copy that no process has written yet
            try:
                self._files.append(Descriptor(os.open, folder / name, os.O_RDONLY | os.O_CLOEXEC))
                fcntl.flock(self._files[-1], fcntl.LOCK_SH | fcntl.LOCK_NB)
            except FileNotFoundError:
                continue
            except BlockingIOError as error:
                holder, _ = _held_by(self._files[-1].number, name)
                self.release()
                raise StoreLocked(
                    f"the store {folder} is written by process {holder} and cannot be read meanwhile, because this "
                    f"user may not write {LMDB_LOCK_FILE} in it: grant that, or read a backup"
                ) from error
            except OSError as error:
                self.release()
                raise StoreError(f"cannot read {folder / name}: {error.strerror}") from error
            except BaseException:
                insist(self.release)
                raise

    def release(self) -> None:
        """Allow processes to write the store again."""
        for file in self._files:
            file.close()


def wide_files(folder: Path, access: Access) -> str | None:
    """Return a sentence about files of a store whose modes allow more than `access`; None: there are none.

    If there are many files of the log and of the graphs, only some are checked.
    """
    paths = chain(folder.glob("*"), *(islice((folder / inside).glob("*"), LOOKED_AT) for inside in ("log", "graph")))
    found = list(wider(folder, paths, access))
    if not found:
        return None
    path, mode = found[0]
    modes = "u=rwX,g=,o=" if access is PRIVATE else "o="
    return (
        f"more users than store.kv.group_access allows may use {len(found)} files of the store {folder}, such as "
        f"{path} with mode {mode:o}; they keep their modes, chmod -R {modes} {folder} sets them"
    )


def is_written(folder: Path) -> bool:
    """Return whether a process has the store open for writing. Raises StoreError if its lock cannot be read."""
    return _is_locked(folder / LOCK_FILE) or _is_locked(folder / DATA_FILE)


def refuse_unrecovered(folder: Path) -> None:
    """Raise StoreError if a loss of power or of writes may have damaged a store that no process has opened for writing
    since."""
    mark = read_mark(folder)
    if mark is None or not mark.may_have_lost_power:
        return
    is_known = mark.boot and boot_id()
    if is_known or not is_written(folder):  # without ids of boots, a process that writes it has recovered it
        raise StoreError(
            f"the machine stopped while the store {folder} was open for writing, or its disk failed: open it for "
            "writing once, which recovers it, then read it"
        )


def _is_locked(path: Path) -> bool:
    """Return whether a process has locked a file exclusively. Raises StoreError if the file cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _identity(path: Path | str) -> Identity | None:
    """Return the device and the inode of a path; None: there is no file."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def _holder(descriptor: int, name: str) -> str:
    """Return a sentence about the process that has locked a file, with advice."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        process, url = _held_by(descriptor, name)
        way = "stop that process" if url is None else f"connect to it at {url} (in a shell: --server {url})"
        return (
            f"already open for writing by process {process}{'' if url is None else ', a server'}: {way}, open the "
            "folder with read_only=True, or use another folder (store.kv.path, in a shell --data)"
        )
    return f"read by a process that may not write {LMDB_LOCK_FILE} in it: stop that one, or grant it that"


def _held_by(descriptor: int, name: str) -> tuple[str, str | None]:
    """Return the id of the writing process, and its URL if it is a server, from its lock file `name`."""
    if name != LOCK_FILE:  # its lock file was deleted
        return _locker(os.fstat(descriptor).st_ino), None
    process, _, url = os.pread(descriptor, HOLDER_MAX_BYTES, 0).decode("utf-8", "replace").partition("\n")
    return process.strip() or "unknown", url.strip() or None


def _locker(inode: int) -> str:
    """Return the process that has locked a file by flock: its id, with a note; "unknown" if it is not listed."""
    try:
        rows = [line.split() for line in LOCKS.read_text().splitlines()]
    except OSError:
        rows = []
    held = {row[4] for row in rows if len(row) > 5 and row[1] == "FLOCK" and row[5].rpartition(":")[2] == str(inode)}
    return f"{held.pop()}, whose {LOCK_FILE} was deleted or replaced" if len(held) == 1 else "unknown"


def may_write(folder: Path, access: Access = PRIVATE) -> bool:
    """Return whether LMDB can write its table of readers in a folder; a missing table is made with the modes of
    `access`."""
    try:
        os.close(open_new(folder / LMDB_LOCK_FILE, os.O_RDWR, access, follows=True, shared=True))
    except OSError:
        return False
    return True
