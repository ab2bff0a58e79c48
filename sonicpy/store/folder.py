"""The folder of a store: which process may read or write it.

    sonicpy.lock         held (flock) by the one process that writes; holds its process id, and the URL of a server
    sonicpy.boot         whether the store was closed in order: see boot_mark.py
    sonicpy.checkpoint   the commit to go back to after a loss of power: see checkpoint.py
    data.mdb, lock.mdb   LMDB        log/   the log        graph/   word graphs

Files of other programs in the folder are never touched.
"""

import fcntl
import os
from pathlib import Path
from types import TracebackType

from sonicpy._native.held import Descriptor
from sonicpy.errors import StoreError, StoreFull, StoreLocked
from sonicpy.store.environment import DATA_FILE
from sonicpy.store.platform import make_folder

LOCK_FILE = "sonicpy.lock"
LMDB_LOCK_FILE = "lock.mdb"
HOLDER_MAX_BYTES = 4096
"""More than a process id and the URL of a server need."""


def holds_store(folder: Path) -> bool:
    """Return whether a store was ever made in a folder. Raises StoreError if this process may not look into it."""
    return is_there(folder / DATA_FILE)


def is_there(path: Path) -> bool:
    """Return whether a file exists. Raises StoreError if this process may not look into its folder."""
    try:
        path.stat()  # not exists(): from Python 3.14 on it says that a hidden file is missing
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: NUL, which no path has in it
        return False
    except OSError as error:
        raise StoreError(f"cannot look into {path.parent}: {error.strerror}") from error
    return True


class WriterLock:
    """The right to write a store; held until `release` or the end of the process.

    Raises:
        StoreLocked: another process, or this one, has it.
        StoreError: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK_FILE
        try:
            make_folder(folder)
            self._file = Descriptor(os.open, path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        except OSError as error:
            raise StoreError(f"cannot write the store folder {folder}: {error.strerror}") from error
        self._folder = folder
        try:
            self._lock()
            self._write(f"{os.getpid()}\n")
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StoreLocked(f"the store {self._folder} is {_holder(self._file.number)}") from error

    def note_server(self, url: str) -> None:
        """Note where this process serves the store, for the error of others that want to open it.

        Raises:
            StoreFull: it cannot be noted.
        """
        self._write(f"{os.getpid()}\n{url}\n")

    def _write(self, content: str) -> None:
        try:
            os.ftruncate(self._file.number, 0)
            os.pwrite(self._file.number, content.encode("utf-8", "surrogateescape"), 0)
        except OSError as error:
            raise StoreFull(f"cannot write the store folder {self._folder}: {error.strerror}") from error

    def release(self) -> None:
        """Give the right back; do nothing if it was. In a forked process, the parent keeps it."""
        self._file.close()

    def __enter__(self) -> "WriterLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class ReaderLock:
    """Keeps writers away from a store while it is read without LMDB's own locks; held until `release`.

    Raises:
        StoreLocked: a process writes the store.
    """

    def __init__(self, folder: Path) -> None:
        self._file: Descriptor | None = None
        try:
            self._file = Descriptor(os.open, folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # a copy that no process has written yet
        except OSError as error:
            raise StoreError(f"cannot read {folder / LOCK_FILE}: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            holder, _ = _held_by(self._file.number)
            self.release()
            raise StoreLocked(
                f"the store {folder} is written by process {holder} and cannot be read meanwhile, because this user "
                f"may not write {LMDB_LOCK_FILE} in it: grant that, or read a backup"
            ) from error

    def release(self) -> None:
        """Let processes write the store again."""
        if self._file is not None:
            self._file.close()


def is_written(folder: Path) -> bool:
    """Return whether a process has the store open for writing. Raises StoreError if its lock cannot be read."""
    try:
        descriptor = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"cannot read {folder / LOCK_FILE}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _holder(descriptor: int) -> str:
    """Return which process keeps a writer away, and what to do about it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        process, url = _held_by(descriptor)
        way = "stop that process" if url is None else f"connect to it at {url} (in a shell: --server {url})"
        return (
            f"already open for writing by process {process}{'' if url is None else ', a server'}: {way}, open the "
            "folder with read_only=True, or use another folder (store.kv.path, in a shell --data)"
        )
    return f"read by a process that may not write {LMDB_LOCK_FILE} in it: stop that one, or grant it that"


def _held_by(descriptor: int) -> tuple[str, str | None]:
    """Return the id of the process that writes, and its URL if it is a server."""
    process, _, url = os.pread(descriptor, HOLDER_MAX_BYTES, 0).decode("utf-8", "replace").partition("\n")
    return process.strip() or "unknown", url.strip() or None
