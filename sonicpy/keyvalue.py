"""Keys and values on the same storage as the index: one process writes, any number of threads and processes read.

>>> import sonicpy.keyvalue
>>> with sonicpy.keyvalue.open("./data/settings") as table:
...     table.set(b"colour", b"red")
...     table.incr(b"visits")
...     table.get(b"colour")
1
b'red'

Each change is one commit. `batch()` makes many changes one commit, which is several times faster:

>>> with sonicpy.keyvalue.open(":memory:") as table, table.batch():
...     for number in range(1000):
...         table.set(b"key %d" % number, b"value")
"""

import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self

from sonicpy._native.held import Opened, insist, keep_for_ever
from sonicpy._native.readers import Reading
from sonicpy._native.turn import Turn
from sonicpy.arguments import path_of, whole_number
from sonicpy.errors import IndexClosed, InvalidArgument, ReadOnly, StoreError, StoreFull, StoreLocked
from sonicpy.ids import shown
from sonicpy.store.care.backup import open_backup, write_backup
from sonicpy.store.disk.environment import DATA_FILE, Environment
from sonicpy.store.disk.folder import LMDB_LOCK_FILE, ReaderLock, WriterLock, holds_store, may_write
from sonicpy.store.disk.open_folders import FolderClaim, OpenFolder, guard
from sonicpy.store.disk.table_rows import KEY_BYTES_MAX, MapFull
from sonicpy.store.disk.temporary import MEMORY, temporary_folder
from sonicpy.store.disk.transaction import Transaction

TABLES: Final = (b"keyvalue", b"values")
KEYVALUE: Final = 0
VALUES: Final = 1

FORMAT_KEY: Final = b"format"
FORMAT: Final = b"1"
SIZE_MAX: Final = 64 << 30
"""The default of `size_max`, in bytes. It is only address space: the file on the disk holds the used pages."""
ROOM_BYTES: Final = 1 << 20  # beyond `size_max`, which only `delete` uses: LMDB copies a page before it changes it
PATIENCE_S: Final = 5.0  # for which a change of the size of the map waits for snapshots of other threads
RESTORE_ROWS: Final = 10_000  # of a backup, the most that are read at a time
BYTES_MAX: Final = (1 << 63) - 1  # that LMDB takes
COUNTER_BYTES: Final = 8
COUNTER_MAX: Final = (1 << 64) - 1


def open(  # noqa: A001 - the name that users expect, as in gzip.open
    path: str | os.PathLike[str], *, sync: bool = False, read_only: bool = False, size_max: int = SIZE_MAX
) -> "KeyValue":
    """Open a table of keys and values.

    Args:
        path: a folder, created if it is missing; or ":memory:", a temporary table that `close` deletes.
        sync: every commit waits for the disk. Without it a commit survives the end of the process, and a power loss
            may damage the file: call `sync()` where that matters.
        read_only: read a folder that another process writes; every call shows the last commit.
        size_max: the most bytes that the file may reach; to delete keys from a full table, at most 1 MiB more.

    Raises:
        StoreLocked: another process has the folder open for writing, or this process has it open already.
        StoreError: the folder cannot be opened as a table of keys and values.
        InvalidArgument: an argument is not valid.
    """
    path = path_of("path", path)
    if not isinstance(size_max, int) or isinstance(size_max, bool) or not 0 < size_max <= BYTES_MAX:
        raise InvalidArgument(f"size_max is {shown(size_max)}; allowed is a number of bytes from 1 on")
    if path != MEMORY:
        return KeyValue(Path(path), sync=sync, read_only=read_only, size_max=size_max)
    if read_only:
        raise StoreError("a table in memory begins empty: open it without read_only")
    folder = temporary_folder()
    try:
        return KeyValue(folder, sync=False, size_max=size_max, temporary=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


class KeyValue:
    """A table of keys and values. Any thread may use it; changes of different threads follow one another.

    Keys are 1 to 511 bytes, values at most 4 GiB. The arguments are those of `open`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        sync: bool = False,
        read_only: bool = False,
        size_max: int = SIZE_MAX,
        temporary: bool = False,
    ) -> None:
        self._folder = folder.absolute()  # the program may change its working directory
        self._is_read_only = read_only
        self._size_max = size_max
        self._has_room = False  # beyond `size_max`
        self._is_overfull = False  # whether a change did not fit into the open batch, which is lost then
        self._turn = Turn()
        self._environment: Environment | None = None
        self._closed = f"the table in {folder} was closed: open it again"
        if read_only and not holds_store(folder):
            raise StoreError(f"there is no table of keys and values in {folder}")
        claim = self._claim = FolderClaim(self._folder, writes=not read_only, temporary=temporary)
        try:
            self._guard = guard(self, claim)
            held = claim.open(_Held, self._folder, size_max, sync=sync, read_only=read_only)
            self._environment = held.environment
            self._turn.open = held.environment.transactions
            self._check_format()
            claim.is_open = True
        except BaseException:
            insist(claim.close)
            raise

    def _check_format(self) -> None:
        with self._opened().reading() as transaction:
            found = transaction.get(KEYVALUE, FORMAT_KEY)
        if found is None and not self._is_read_only:
            with self._changing() as writer:
                writer.put(KEYVALUE, FORMAT_KEY, FORMAT)
        elif found != FORMAT:
            raise StoreError(f"{self._folder} holds no table of keys and values of format {FORMAT.decode()}")

    # Reading

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None. Inside `batch()`, the changes of the batch are visible.

        Raises:
            TypeError, ValueError: the key is not 1 to 511 bytes.
            IndexClosed: the table was closed.
        """
        return (self._environment or self._opened()).transactions.look_up(VALUES, _checked(key))

    def __contains__(self, key: bytes) -> bool:
        return self.get(key) is not None

    def count(self) -> int:
        """Return the number of keys."""
        environment = self._opened()
        writer = environment.transactions.own_writer
        if writer is not None:
            return writer.count(VALUES)
        with environment.reading() as transaction:
            return transaction.count(VALUES)

    def __len__(self) -> int:
        return self.count()

    def snapshot(self) -> AbstractContextManager["KeyValueSnapshot"]:
        """Return a context manager for reading the last commit, which is the fastest way to read many keys.

        End the block soon: meanwhile the space of values that are replaced is not used again.
        """
        return Reading(self._opened().transactions, None, False, KeyValueSnapshot)

    def file_size(self) -> int:
        """Return the size of the file in bytes, including space for reuse."""
        self._opened()
        return (self._folder / DATA_FILE).stat().st_size

    # Changing

    def set(self, key: bytes, value: bytes) -> None:
        """Set the value of a key.

        Raises:
            TypeError, ValueError: the key is not 1 to 511 bytes, or the value is not bytes.
            StoreFull: the disk is full, or the file would exceed `size_max`; the batch is lost.
            ReadOnly: the table was opened for reading.
        """
        if not isinstance(value, bytes):
            raise TypeError(f"a value is bytes, not {type(value).__name__}")
        with self._changing() as writer:
            writer.put(VALUES, _checked(key), value)

    def delete(self, key: bytes) -> bool:
        """Delete a key and its value; return whether the key was there. Outside of `batch()` this works in a full
        table, too. Raises the errors of `set`."""
        try:
            return self._delete(_checked(key))
        except StoreFull:
            if self._turn.is_mine:  # a batch, which is lost
                raise
        with self._turn.hold():
            self._resize(self._size_max + ROOM_BYTES)
            self._has_room = True
            return self._delete(key)

    def _delete(self, key: bytes) -> bool:
        with self._turn.hold(self._begin, self._end_batch, batches=1) as writer:
            return writer.delete(VALUES, key)

    def incr(self, key: bytes, by: int = 1) -> int:
        """Add `by`, which may be negative, to a counter and return its new value. A key that is missing counts from 0.

        A counter's value is 8 bytes, big-endian.

        Raises:
            TypeError: `by` is no whole number; nothing changes.
            ValueError: the value is no counter, or the sum is outside 0 to 2**64 - 1; nothing changes.
        """
        by = whole_number("by", by)
        with self._changing() as transaction:
            held = transaction.get(VALUES, _checked(key))
            if held is None:
                held = bytes(COUNTER_BYTES)
            if len(held) != COUNTER_BYTES:
                raise ValueError(f"the value of {key!r} has {len(held)} bytes: a counter has {COUNTER_BYTES}")
            total = int.from_bytes(held) + by
            if not 0 <= total <= COUNTER_MAX:
                raise ValueError(f"the counter {key!r} would be {total}: it holds 0 to 2**64 - 1")
            transaction.put(VALUES, key, total.to_bytes(COUNTER_BYTES))
            return total

    def decr(self, key: bytes, by: int = 1) -> int:
        """Subtract `by` from a counter and return its new value. Raises the errors of `incr`."""
        return self.incr(key, -whole_number("by", by))

    def batch(self) -> AbstractContextManager[None]:
        """Return a context manager that makes the changes of its block one commit, or none if the block raises.

        Blocks may be nested: the outermost one commits. Changes of other threads wait for the end of the block: do not
        wait for them inside it.
        """
        return self._turn.hold(self._begin_batch, self._end_batch, batches=1)

    def _changing(self) -> AbstractContextManager[Transaction]:
        """Return a context manager like `batch`, which gives the block its write transaction."""
        return self._turn.hold(self._begin_to_add, self._end_batch, batches=1)

    def _begin_batch(self) -> None:
        self._begin_to_add(self._turn)  # a block of a generator may end on another thread

    def _begin_to_add(self, holder: Turn | None = None) -> Transaction:
        if self._has_room and self._opened().transactions.own_writer is None:
            self._resize(self._size_max)
            self._has_room = False
        return self._begin(holder)

    def _begin(self, holder: Turn | None = None) -> Transaction:
        environment = self._opened()
        self._refuse_reader()
        self._refuse_replaced()
        writer = environment.transactions.own_writer
        if writer is None:
            self._is_overfull = False
            return environment.begin(holder)
        if self._is_overfull:
            raise self._full()
        return writer

    def _end_batch(self, error: BaseException | None) -> None:
        if isinstance(error, MapFull):
            self._is_overfull = True
            raise self._full() from error
        if error is None and not self._turn.batches:
            self._commit()

    def _commit(self) -> None:
        environment = self._opened()  # raises for a batch that ends after the table was closed
        writer = environment.transactions.own_writer
        if self._is_overfull:  # and the block caught the error
            raise self._full()
        try:
            if writer is not None:
                environment.commit(writer)
        except MapFull as error:
            raise self._full() from error

    def _resize(self, size: int) -> None:
        try:
            self._opened().resize(size)
        except StoreError as error:
            raise StoreFull(f"{self._full()}; {error}") from error

    def _full(self) -> StoreFull:
        environment, most = self._opened(), f"its file would exceed {self._size_max} bytes (size_max)"
        if any(reader.commit < environment.last_commit() for reader in environment.readers()):
            most += "; no space is used again while an older snapshot is being read: end its block"
        return StoreFull(f"the table in {self._folder} is full: {most}")

    # Keeping

    def sync(self) -> None:
        """Wait until the disk has everything that was committed.

        Raises:
            StoreError: the disk failed.
            ReadOnly: the table was opened for reading.
        """
        environment = self._opened()
        self._refuse_reader()
        environment.sync()

    def backup(self, folder: str | os.PathLike[str]) -> Path:
        """Write a compacted copy of the last commit into a folder, and return its file. Other threads may write
        meanwhile.

        Raises:
            StoreError: the backup cannot be written; an earlier one is kept.
        """
        return write_backup(self._opened(), Path(path_of("folder", folder)))

    def restore(self, folder: str | os.PathLike[str]) -> int:
        """Replace all keys and values by those of a backup, in one commit; return their number.

        Raises:
            StoreError: there is no backup of keys and values in the folder; nothing changes.
            StoreDamaged: the backup is damaged; nothing changes.
        """
        with open_backup(Path(path_of("folder", folder)), TABLES) as source, source.reading() as held:
            if held.get(KEYVALUE, FORMAT_KEY) != FORMAT:
                raise StoreError(f"the backup in {os.fspath(folder)} holds no table of keys and values")
            with self._changing() as target:
                while target.delete_rows(VALUES, b"", RESTORE_ROWS):
                    pass
                start = b"\0"
                while rows := held.some_rows(VALUES, start, RESTORE_ROWS):
                    target.put_many(VALUES, rows)
                    start = rows[-1][0] + b"\0"
                return target.count(VALUES)

    def close(self) -> None:
        """Close the table; a temporary one is deleted. A second call, and one in a forked process, does nothing.

        A table that the program no longer references is closed, too.
        """
        self._environment = None
        self._let_go(inf)

    def end(self, seconds: float) -> None:
        """Close the table at the end of the interpreter, or leave it as after a kill; see `Engine.end`."""
        if self._claim.is_closed:
            return
        if self._turn.end(seconds):
            self._environment = None
            if self._let_go(seconds):
                return
        self._guard.detach()
        keep_for_ever(self._claim)

    def abandon(self, parent: int) -> OpenFolder | None:
        """Refuse further use in a fork of the process `parent`; return its environment, or None if it was closed."""
        self._turn.renew()  # another thread of the parent may have it
        if self._environment is None:
            return None
        self._environment = None
        self._closed = (
            f"the table in {self._folder} belongs to process {parent}, which this one was forked from: open it in "
            "a process that was started afresh (spawn), with read_only=True while the other has it open"
        )
        return self._claim.held

    def _let_go(self, seconds: float) -> bool:
        if not self._claim.close(seconds):
            return False
        self._guard.detach()
        return True

    def _refuse_reader(self) -> None:
        if self._is_read_only:
            raise ReadOnly(f"the table in {self._folder} was opened for reading")

    def _refuse_replaced(self) -> None:
        """Raise StoreLocked if a file of the table was deleted or replaced while it was open."""
        held = self._claim.held
        if isinstance(held, _Held) and (refusal := held.refusal()) is not None:
            raise refusal

    def _opened(self) -> Environment:
        if self._environment is None:
            raise IndexClosed(self._closed)
        return self._environment

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a table belongs to its process: open it with read_only=True in others, instead of pickling or copying it"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sonicpy.keyvalue.KeyValue in {self._folder}{' (closed)' if self._environment is None else ''}>"


class _Held:
    """The environment of an open table, and its lock if it was opened for writing, or is read without LMDB's own
    lock."""

    def __init__(self, folder: Path, size_max: int, *, sync: bool, read_only: bool) -> None:
        self._closers: list[Callable[[], object]] = []  # each may be called again
        self._lock: WriterLock | ReaderLock | None = None
        unlocked = read_only and not may_write(folder)
        try:
            if unlocked or not read_only:
                self._lock = ReaderLock(folder) if unlocked else WriterLock(folder)
                self._closers.append(self._lock.release)
            if not read_only and holds_store(folder):
                check_kind(folder, size_max)
            opening = partial(Environment, folder, size_max, tables=TABLES)
            self.environment = opening(sync=sync, read_only=read_only, unlocked=unlocked)
            self.environment.patience_s = PATIENCE_S
            self._closers.append(self.environment.close)
            if isinstance(self._lock, WriterLock):
                self._lock.watch(LMDB_LOCK_FILE, folder / LMDB_LOCK_FILE)
        except BaseException:
            insist(self._release)
            raise

    @property
    def is_worked_here(self) -> bool:
        """Whether the calling thread is one of the table's own."""
        return self.environment.transactions.is_worked_here

    def refusal(self) -> StoreLocked | None:
        """Return the error for a change if a file of the table was deleted or replaced; None: changes are allowed."""
        return self._lock.refusal() if isinstance(self._lock, WriterLock) else None

    def close(self, seconds: float = inf) -> None:
        """Close the environment and release the folder. A second call finishes one that was interrupted.

        Args:
            seconds: the time limit for reads of other threads; if they take longer, nothing is closed.
        """
        if not self._closers or self.environment.wait_for_others(seconds):
            insist(self._release)

    @property
    def is_closed(self) -> bool:
        """Whether `close` has released everything."""
        return not self._closers

    def leave_to_parent(self) -> None:
        """In a forked process: close the inherited files without touching a transaction; the parent keeps its lock."""
        self.environment.leave_to_parent()
        if self._lock is not None:
            self._lock.release()

    def _release(self) -> None:
        while self._closers:
            self._closers[-1]()
            del self._closers[-1]


class KeyValueSnapshot:
    """The keys and values of one commit, inside the `with` block of `KeyValue.snapshot`."""

    __slots__ = ("_transaction", "get")

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self.get: Callable[[bytes], bytes | None] = transaction.getter(VALUES)
        """Return the value of a key, or None."""

    def count(self) -> int:
        """Return the number of keys."""
        return self._transaction.count(VALUES)


def check_kind(folder: Path, size_max: int) -> None:
    """Raise StoreError if a folder holds other data, such as an index: opening it would add tables.

    Args:
        size_max: the size of the map in bytes.
    """
    opening = partial(Environment, folder, size_max, sync=False, read_only=True, tables=TABLES)
    with Opened(opening) as environment, environment.reading() as transaction:
        names = transaction.table_names()
    if not names <= set(TABLES):
        raise StoreError(f"{folder} holds no table of keys and values, but an index: choose another folder")


def _checked(key: bytes) -> bytes:
    """Return a key unchanged. Raises TypeError or ValueError if no table can hold it."""
    if not isinstance(key, bytes):
        raise TypeError(f"a key is bytes, not {type(key).__name__}")
    if not 1 <= len(key) <= KEY_BYTES_MAX:
        raise ValueError(f"a key has 1 to {KEY_BYTES_MAX} bytes, this one has {len(key)}")
    return key
