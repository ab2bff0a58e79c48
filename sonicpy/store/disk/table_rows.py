"""Reads and writes rows of tables in one transaction of LMDB. Only this file and `environment.py` import lmdb.

Invariants:
- Callers get copies of values, so no view into LMDB's memory outlives a call.
- Every lmdb error leaves this file as a StoreError.
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NoReturn, Protocol, TypeVar, cast

import lmdb

from sonicpy._native.table_access import StoredRows
from sonicpy._native.term_rows import rows_with
from sonicpy._native.word_range import WordRange
from sonicpy.errors import IndexClosed, StoreError, StoreFull, StoreLocked
from sonicpy.store.disk.table_numbers import StoredRow

T = TypeVar("T")
OpenTransaction = lmdb.Transaction
Tables = list["lmdb._Database | None"]
"""The handles of tables, by the numbers above. None: the table is missing, and only a `PartialTransaction` may be
used."""

PANIC: Final = (
    "the disk failed at the last step of a commit, after which LMDB takes no more calls of this process: close what is "
    "open and open it again, or restart the server; no acknowledged change is lost"
)
READERS_FULL: Final = "too many reads are open at once in all processes: end some, such as unfinished iterations"
CLOSED: Final = "closed/deleted/dropped"  # in lmdb's message for a transaction that was open when all was closed


class MapFull(StoreFull):
    """The reserved map is used up: it can grow once the transaction is gone."""


class CachedView(Protocol):
    """State about a snapshot that one reader of it passes on to the next."""

    def end(self) -> None: ...


KEY_BYTES_MAX: Final = 511
"""The most bytes of a key, fixed when LMDB is compiled."""


class TableRows(StoredRows):
    """The rows of all tables in one transaction of LMDB, for reading or for writing. Threads must not share it.

    The ignored type errors exist because lmdb's stubs also allow memoryviews, which it returns only with `buffers`.
    """

    __slots__ = ()

    def is_missing(self, table: int) -> bool:
        """Return whether the environment does not have a table: an older version made it."""
        return self._tables[table] is None

    def table_names(self) -> set[bytes]:
        """Return the names of all tables of the environment, also of those that another program made."""
        try:
            with self._txn.cursor() as cursor:
                return set(cursor.iternext(values=False))  # type: ignore[arg-type]
        except lmdb.Error as error:
            raise translated(error) from error

    @property
    def number(self) -> int:
        """The number of the commit that the transaction shows; a write transaction has the number of the next
        commit.
        """
        number: int = self._txn.id()
        return number

    def getter(self, table: int) -> Callable[[bytes], bytes | None]:
        """Return `get` for one table, for callers that read very many rows."""
        get, db = self._txn.get, self._tables[table]

        def value(key: bytes) -> bytes | None:
            try:
                return get(key, None, db)  # type: ignore[return-value]
            except lmdb.Error as error:
                raise translated(error) from error

        return value

    def newest_first(self, table: int, prefix: bytes) -> Iterator[StoredRow]:
        """Yield the rows whose keys begin with `prefix`, which itself is not a key, from the last one to the first."""
        try:
            with self._txn.cursor(db=self._tables[table]) as cursor:
                behind = int.from_bytes(prefix, "big") + 1
                is_last = behind >> 8 * len(prefix)  # no key is behind those with this prefix
                is_inside = not is_last and cursor.set_range(behind.to_bytes(len(prefix), "big"))
                is_there = cursor.prev() if is_inside else cursor.last()
                while is_there:
                    row: StoredRow = cursor.item()  # type: ignore[assignment]
                    if not row[0].startswith(prefix):
                        return
                    yield row
                    is_there = cursor.prev()
        except lmdb.Error as error:
            raise translated(error) from error

    def keys(self, table: int, prefix: bytes) -> list[bytes]:
        """Return the keys that begin with `prefix`. All are in memory at once, so there should be few."""
        found: list[bytes] = []
        try:
            cursor = self._cursor(table)
            is_there = cursor.set_range(prefix)
            while is_there:
                key: bytes = cursor.key()  # type: ignore[assignment]
                if not key.startswith(prefix):
                    break
                found.append(key)
                is_there = cursor.next()
        except lmdb.Error as error:
            raise translated(error) from error
        return found

    def append(self, table: int, key: bytes, value: bytes) -> None:
        """Write a row whose key probably sorts behind all others, so that LMDB fills pages completely."""
        try:
            if not self._txn.put(key, value, db=self._tables[table], append=True):
                self._txn.put(key, value, db=self._tables[table])
        except lmdb.Error as error:
            raise translated(error) from error

    def delete_many(self, table: int, keys: Iterable[bytes]) -> None:
        """Delete the rows with these keys that exist."""
        delete, db = self._txn.delete, self._tables[table]
        try:
            for key in keys:
                delete(key, b"", db)
        except lmdb.Error as error:
            raise translated(error) from error

    def first(self, table: int, start: bytes) -> StoredRow | None:
        """Return the first row whose key is not before `start`, or None."""
        try:
            cursor = self._cursor(table)
            if not cursor.set_range(start):
                return None
            return cursor.item()  # type: ignore[return-value]
        except lmdb.Error as error:
            raise translated(error) from error

    def rows_of(self, table: int, prefix: bytes, start: bytes | None = None) -> list[bytes]:
        """Return the values of the rows whose keys begin with `prefix`, from `start` on, in key order, all at once."""
        found: list[bytes] = []
        try:
            cursor = self._cursor(table)
            is_there = cursor.set_range(start or prefix)
            while is_there:
                row: StoredRow = cursor.item()  # type: ignore[assignment]
                if not row[0].startswith(prefix):
                    break
                found.append(row[1])
                is_there = cursor.next()
        except lmdb.Error as error:
            raise translated(error) from error
        return found

    def some_rows(self, table: int, start: bytes, limit: int, prefix: bytes = b"") -> list[StoredRow]:
        """Return the first `limit` rows whose keys are not before `start`, in key order.

        Args:
            prefix: the rows wanted begin with this prefix of `start`; reading may stop at the first other row.
        """
        try:
            cursor = self._placed(table, start)
            return [] if cursor is None else rows_with(cursor.iternext(), prefix, limit)  # type: ignore[arg-type]
        except lmdb.Error as error:
            raise translated(error) from error

    def some_keys(self, table: int, start: bytes, limit: int, prefix: bytes = b"") -> list[bytes]:
        """Return the keys of the rows that `some_rows` would return, in less time."""
        try:
            cursor = self._placed(table, start)
            if cursor is None:
                return []
            if limit == 1:
                key: bytes = cursor.key()  # type: ignore[assignment]
                return [key] if key.startswith(prefix) else []
            return rows_with(cursor.iternext(values=False), prefix, limit)  # type: ignore[arg-type]
        except lmdb.Error as error:
            raise translated(error) from error

    def rows_onward(self, table: int, start: bytes) -> Iterator[StoredRow]:
        """Return the rows whose keys are not before `start`, in key order. Only native code may read them, and at
        once."""
        try:
            cursor = self._placed(table, start)
            return iter(()) if cursor is None else cursor.iternext()  # type: ignore[return-value]
        except lmdb.Error as error:
            raise translated(error) from error

    def word_range(self, table: int, prefix: bytes, most: int, *, letters: bool) -> WordRange:
        """Return the words of the first `most` rows whose keys begin with `prefix`, without making a list of the
        rows.

        Args:
            letters: True: words of up to 50 letters are in the lexicon; False: words of up to 40 bytes.
        """
        try:
            cursor = self._placed(table, prefix)
            rows = () if cursor is None else cursor.iternext()
            return WordRange(rows, prefix, most, letters)  # type: ignore[arg-type]
        except lmdb.Error as error:
            raise translated(error) from error

    def rows(self, table: int, prefix: bytes, start: bytes | None = None) -> Iterator[StoredRow]:
        """Yield the rows whose keys begin with `prefix`, in key order, from `start` on. No row may change meanwhile."""
        try:
            with self._txn.cursor(db=self._tables[table]) as cursor:
                found = cursor.set_range(start or prefix) if start or prefix else cursor.first()
                while found:
                    row: StoredRow = cursor.item()  # type: ignore[assignment]
                    if not row[0].startswith(prefix):
                        return
                    yield row
                    found = cursor.next()
        except lmdb.Error as error:
            raise translated(error) from error

    def delete_rows(self, table: int, prefix: bytes, limit: int) -> int:
        """Delete at most `limit` rows whose keys begin with `prefix`; return their number."""
        deleted = 0
        try:
            with self._txn.cursor(db=self._tables[table]) as cursor:
                found = cursor.set_range(prefix)
                while found and deleted < limit and bytes(cursor.key()).startswith(prefix):
                    cursor.delete()
                    deleted += 1
                    found = bool(cursor.key())
        except lmdb.Error as error:
            raise translated(error) from error
        return deleted

    def count(self, table: int) -> int:
        """Return the number of rows of a table."""
        return self._stat(table)["entries"]

    def is_empty(self, table: int) -> bool:
        """Return whether a table has no rows of its own; those of small buckets share other rows."""
        return not self._stat(table)["entries"]

    def size_bytes(self, table: int) -> int:
        """Return the number of bytes of the pages of a table."""
        stat = self._stat(table)
        return (stat["leaf_pages"] + stat["branch_pages"] + stat["overflow_pages"]) * stat["psize"]

    def leaf_pages(self, table: int) -> int:
        """Return the number of leaf pages of a table."""
        return self._stat(table)["leaf_pages"]

    @property
    def page_bytes(self) -> int:
        """The size of a page in bytes."""
        return self._stat(0)["psize"]

    def _failed(self, error: Exception) -> NoReturn:
        """Raise the error for an error of a method in native code."""
        if isinstance(error, lmdb.Error):
            raise translated(error) from error
        raise error

    def _stat(self, table: int) -> Mapping[str, int]:
        try:
            return cast("Mapping[str, int]", self._txn.stat(self._tables[table]))
        except lmdb.Error as error:
            raise translated(error) from error

    def _placed(self, table: int, start: bytes) -> lmdb.Cursor | None:
        """Return a cursor at the first row whose key is not before `start`; None: there is no such row."""
        cursor = self._cursors[table]
        if cursor is None:
            cursor = self._cursor(table)
        return cursor if cursor.set_range(start) else None


def translated(error: lmdb.Error) -> StoreError:
    """Return the StoreError for an error of lmdb."""
    if isinstance(error, lmdb.MapFullError):
        return MapFull("the map of the store is full")
    if isinstance(error, lmdb.PanicError):
        return StoreError(PANIC)
    if isinstance(error, lmdb.ReadersFullError):
        return StoreError(READERS_FULL)
    if CLOSED in str(error):
        return IndexClosed("the store was closed while this read it: open it again")
    if isinstance(error, lmdb.DiskError):
        return StoreFull(f"the disk of the store is full: {error}")
    if os.strerror(errno.EIO) in str(error):  # LMDB's error, too, if the disk had room for only a part of a write
        return StoreFull("the disk of the store is full, or it failed: a part of a commit could not be written")
    return StoreError(f"the store failed: {error}")


def opened_newest(open: Callable[[], lmdb.Environment], data: Path) -> lmdb.Environment:
    """Return an environment that `open` opens for reading, of the file that has the name `data` at its end.

    LMDB opens the data file first, and then waits for the lock file; compacting replaces the data file under that lock.

    Raises:
        OSError, lmdb.Error: the environment cannot be opened.
    """
    while True:
        before = os.stat(data)
        env = open()
        try:
            is_newest = os.path.samestat(before, os.stat(data))
        except BaseException:
            env.close()
            raise
        if is_newest:
            return env
        env.close()


def with_all_of_the_map(work: Callable[[], T], set_map_bytes: Callable[[int], None]) -> T:
    """Return the result of `work`, the first transaction of an opened environment, which another process may be
    growing.

    A server that writes the file may grow it between the opening and the transaction. Each try maps everything that the
    last commit uses, so another try is needed only after further growth.
    """
    while True:
        try:
            return work()
        except lmdb.MapResizedError:
            set_map_bytes(0)


def not_opened(error: lmdb.Error | OSError, folder: Path, map_bytes: int) -> StoreError:
    """Return the error to raise for an error of lmdb or of the system while the environment of a folder was opened."""
    match error:
        case lmdb.LockError():
            return StoreLocked(_same_process_id(folder))
        case lmdb.MemoryError():
            return StoreError(
                f"cannot open the store in {folder}: there is no address space for {map_bytes >> 20} MiB, which is "
                "only reserved, not used: raise the limit (ulimit -v, in a shell), or lower store.kv.map_size_mb"
            )
        case lmdb.ReadersFullError():
            return StoreError(f"cannot open the store in {folder}: {READERS_FULL}")
        case lmdb.Error():
            return StoreError(f"cannot open the store in {folder}: {error}")
    return StoreError(f"cannot use {folder} as a store: {error.strerror}")


def _same_process_id(folder: Path) -> str:
    """Return the message for a process id that LMDB refuses, because another process has slots of readers with it.

    Only a process of another pid namespace can have the same id. Closing the environment here would clear its slots.
    """
    return (
        f"the store {folder} is open in a process of another pid namespace, such as another container with the same "
        f"volume, and that process has the id of this one, {os.getpid()}, but ids distinguish the readers: start the "
        "containers with one pid namespace (docker run --pid=container:NAME), or ask the server over the network "
        "instead of its folder"
    )
