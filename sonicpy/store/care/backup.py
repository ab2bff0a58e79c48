"""A backup: the tables of a store at one moment, in one file that exists completely or not at all.

    <folder>/sonicpy.backup     the output of `Environment.copy`, then the seal
    seal                        "SONICBAK" | format version u16 (little-endian) | BLAKE2b-256 of everything before it

A backup is written as `sonicpy.backup.new` and renamed, so that an earlier backup stays until the new one is complete.
It holds neither log nor graphs: it is a copy of a commit, and graphs can be built again from the words.
"""

import errno
import fcntl
import os
import struct
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from sonicpy._native.held import Opened
from sonicpy.disk import sync_file, sync_folder
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.files import PRIVATE, Access, make_new, open_regular, regular_bytes
from sonicpy.store.disk.blake import blake2b
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.platform import make_folder
from sonicpy.store.disk.table_numbers import TABLE_NAMES

BACKUP_FILE = "sonicpy.backup"
MAGIC = b"SONICBAK"
FORMAT_VERSION = 1
SEAL = struct.Struct("<8sH32s")
READ_BYTES = 1 << 20


def write_backup(environment: Environment, folder: Path, access: Access = PRIVATE) -> Path:
    """Copy the last commit into a folder; return the file. Any thread may call it.

    Args:
        folder: created if it is missing; a backup in it is replaced once the new one is complete.
        access: modes of new files.

    Raises:
        StoreError: the backup could not be written; an earlier one is kept.
    """
    path = folder / BACKUP_FILE
    fresh = path.with_name(f"{BACKUP_FILE}.new")
    try:
        make_folder(folder, access)
        descriptor = _begin(fresh, access)
        try:
            _fill(environment, descriptor)
            os.replace(fresh, path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)
        sync_folder(folder)
    except OSError as error:
        raise StoreError(f"cannot write the backup {path}: {error.strerror}") from error
    return path


def _begin(fresh: Path, access: Access) -> int:
    """Return the descriptor of a new locked file; the leftover of a killed process is deleted.

    Raises:
        OSError: the file cannot be made, or its name is in use.
        StoreError: another process has locked it.
    """
    while True:
        try:
            descriptor = make_new(fresh, os.O_RDWR, access)
        except FileExistsError:
            _remove_left(fresh)
            continue
        try:
            _lock(descriptor, fresh.parent)
            if _is_file(descriptor, fresh):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # before it was locked, another process took it for a leftover


def _remove_left(fresh: Path) -> None:
    """Delete an unfinished backup that no process writes any more. Raises the errors of `_begin`."""
    try:
        descriptor = open_regular(fresh)
    except FileNotFoundError:
        return
    try:
        _lock(descriptor, fresh.parent)
        if _is_file(descriptor, fresh):  # else its process has just finished it
            fresh.unlink()
    finally:
        os.close(descriptor)


def _is_file(descriptor: int, path: Path) -> bool:
    """Return whether the name `path` is still that of an open file. Raises OSError."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise StoreError(f"another backup is being written to {folder}: wait for its end") from error


def open_backup(
    folder: Path, tables: Sequence[bytes] = TABLE_NAMES, size: int | None = None
) -> AbstractContextManager[Environment]:
    """Return a context manager that opens the backup in a folder for reading: `with ... as environment`.

    Args:
        folder: the folder that `write_backup` wrote to.
        tables: the names of the tables that the backup holds.
        size: the result of `check_seal`; None: the whole backup is read and checked first.

    Raises (the block):
        StoreDamaged: the backup is damaged.
        StoreError: there is no backup, or it cannot be read.
    """
    return Opened(_backup_in, folder, tables, size)


def _backup_in(folder: Path, tables: Sequence[bytes], size: int | None) -> Environment:
    path = folder / BACKUP_FILE
    return Environment(path, check_seal(path) if size is None else size, copied=True, tables=tables)


def check_seal(path: Path) -> int:
    """Read a whole backup, check its checksum, and return the number of bytes in the file, with the seal at its end.

    Raises:
        StoreDamaged: the backup is cut off or damaged.
        StoreError: there is no backup, it cannot be read, or its format version is not that of this sonicpy.
    """
    try:
        with regular_bytes(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size < SEAL.size:
                raise StoreDamaged(f"the backup {path} is cut off: it has {size} bytes")
            file.seek(size - SEAL.size)
            magic, version, digest = SEAL.unpack(file.read(SEAL.size))
            if magic != MAGIC:
                raise StoreDamaged(f"{path} is not a whole backup: it does not end as one")
            if version != FORMAT_VERSION:
                raise StoreError(
                    f"the backup {path} has format version {version}, this sonicpy reads {FORMAT_VERSION}: "
                    "restore it with the version that wrote it"
                )
            if _digest(file.fileno(), size - SEAL.size) != digest:
                raise StoreDamaged(f"the backup {path} is damaged: its checksum is not that of its content")
            return size
    except FileNotFoundError as error:
        raise StoreError(f"there is no backup in {path.parent}: {BACKUP_FILE} is missing") from error
    except OSError as error:
        raise StoreError(f"cannot read the backup {path}: {error.strerror}") from error


def _fill(environment: Environment, descriptor: int) -> None:
    environment.copy(descriptor)
    content = os.fstat(descriptor).st_size
    if os.write(descriptor, SEAL.pack(MAGIC, FORMAT_VERSION, _digest(descriptor, content))) != SEAL.size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    sync_file(descriptor)


def _digest(descriptor: int, size: int) -> bytes:
    """Return the BLAKE2b-256 of the first `size` bytes of a file."""
    digest = blake2b(digest_size=32)
    place = 0
    while place < size and (part := os.pread(descriptor, min(READ_BYTES, size - place), place)):
        digest.update(part)
        place += len(part)
    return digest.digest()
