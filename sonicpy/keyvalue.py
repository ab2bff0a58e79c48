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

import operator
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self

from sonicpy.errors import IndexClosed, InvalidArgument, ReadOnly, StoreError, StoreFull, StoreLocked
from sonicpy.ids import shown
from sonicpy.store.backup import open_backup, write_backup
from sonicpy.store.environment import DATA_FILE, Environment
from sonicpy.store.folder import LMDB_LOCK_FILE, ReaderLock, WriterLock, holds_store
from sonicpy.store.read_only import may_write
from sonicpy.store.registry import claimed, guard
from sonicpy.store.temporary import MEMORY, temporary_folder
from sonicpy.store.transaction import KEY_BYTES_MAX, MapFull, Transaction

TABLES: Final = (b"keyvalue", b"values")
KEYVALUE: Final = 0
VALUES: Final = 1

FORMAT_KEY: Final = b"format"
FORMAT: Final = b"1"
SIZE_MAX: Final = 64 << 30
"""Bytes that the file may reach by default. They are address space: the disk holds only what is used."""
RESTORE_ROWS: Final = 10_000
"""Rows of a backup read at a time."""
BYTES_MAX: Final = (1 << 63) - 1
"""The largest `size_max` that LMDB takes."""
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
        size_max: bytes that the file may reach.

    Raises:
        StoreLocked: another process has the folder open for writing, or this process has it open already.
        StoreError: the folder cannot be opened as a table of keys and values.
        InvalidArgument: an argument is not valid.
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str) or not os.fspath(path):
        raise InvalidArgument(f"path is {shown(path)}; allowed is the path of a folder")
    if not isinstance(size_max, int) or isinstance(size_max, bool) or not 0 < size_max <= BYTES_MAX:
        raise InvalidArgument(f"size_max is {shown(size_max)}; allowed is a number of bytes from 1 on")
    if os.fspath(path) != MEMORY:
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

    Keys are 1 to 511 bytes, values at most 4 GiB. Arguments as those of `open`.
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
        self._writer = threading.RLock()
        self._batch: Transaction | None = None
        self._batch_thread = 0
        self._environment: Environment | None = None
        self._closed = f"the table in {folder} was closed: open it again"
        if read_only and not holds_store(folder):
            raise StoreError(f"there is no table of keys and values in {folder}")
        with claimed(self._folder, writes=not read_only) as claim:
            held = _Held(self._folder, size_max, sync=sync, read_only=read_only)
            self._held: _Held | None = held
            self._environment = held.environment
            self._let_go = guard(self, held, claim, self._folder if temporary else None)
        try:
            self._check_format()
        except BaseException:
            self.close()
            raise

    def _check_format(self) -> None:
        environment = self._opened()
        with environment.reading() as transaction:
            found = transaction.get(KEYVALUE, FORMAT_KEY)
        if found is None and not self._is_read_only:
            with self.batch():
                self._changing().put(KEYVALUE, FORMAT_KEY, FORMAT)
        elif found != FORMAT:
            raise StoreError(f"{self._folder} holds no table of keys and values of format {FORMAT.decode()}")

    # Reading

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None. Inside `batch()` it sees the changes of the batch.

        Raises:
            TypeError, ValueError: the key is not 1 to 511 bytes.
            IndexClosed: the table was closed.
        """
        if self._batch is not None and self._batch_thread == threading.get_ident():
            return self._batch.get(VALUES, _checked(key))
        environment = self._opened()
        transaction = environment.take_snapshot()
        try:
            return transaction.get(VALUES, _checked(key))
        finally:
            environment.give_back(transaction)

    def __contains__(self, key: bytes) -> bool:
        return self.get(key) is not None

    def count(self) -> int:
        """Return the number of keys."""
        if self._batch is not None and self._batch_thread == threading.get_ident():
            return self._batch.count(VALUES)
        with self._opened().reading() as transaction:
            return transaction.count(VALUES)

    def __len__(self) -> int:
        return self.count()

    @contextmanager
    def snapshot(self) -> Iterator["Snapshot"]:
        """The last commit, for the length of a `with` block: the fastest way to read many keys.

        The thread that reads a snapshot may not write: the file can grow only when nothing reads it.
        """
        environment = self._opened()
        transaction = environment.take_snapshot()
        try:
            yield Snapshot(transaction)
        finally:
            if self._environment is environment:  # else it was closed, or belongs to the process that forked
                environment.give_back(transaction)

    def file_size(self) -> int:
        """Return the size of the file in bytes, space for reuse included."""
        self._opened()
        return (self._folder / DATA_FILE).stat().st_size

    # Changing

    def set(self, key: bytes, value: bytes) -> None:
        """Set the value of a key.

        Raises:
            TypeError, ValueError: the key is not 1 to 511 bytes, or the value no bytes.
            StoreFull: the disk is full, or the file would exceed `size_max`; the batch is lost.
            ReadOnly: the table was opened for reading.
        """
        if not isinstance(value, bytes):
            raise TypeError(f"a value is bytes, not {type(value).__name__}")
        with self.batch():
            self._changing().put(VALUES, _checked(key), value)

    def delete(self, key: bytes) -> bool:
        """Delete a key and its value; return whether it was there. Raises like `set`."""
        with self.batch():
            return self._changing().delete(VALUES, _checked(key))

    def incr(self, key: bytes, by: int = 1) -> int:
        """Add `by`, which may be negative, to a counter and return its new value. A key that is missing counts from 0.

        A counter's value is 8 bytes, big-endian.

        Raises:
            TypeError: `by` is no whole number; nothing changes.
            ValueError: the value is no counter, or the sum is outside 0 to 2**64 - 1; nothing changes.
        """
        if isinstance(by, bool) or not hasattr(by, "__index__"):
            raise TypeError(f"by is a whole number, not {type(by).__name__}")
        with self.batch():
            transaction = self._changing()
            held = transaction.get(VALUES, _checked(key))
            if held is None:
                held = bytes(COUNTER_BYTES)
            if len(held) != COUNTER_BYTES:
                raise ValueError(f"the value of {key!r} has {len(held)} bytes: a counter has {COUNTER_BYTES}")
            total = int.from_bytes(held) + operator.index(by)
            if not 0 <= total <= COUNTER_MAX:
                raise ValueError(f"the counter {key!r} would be {total}: it holds 0 to 2**64 - 1")
            transaction.put(VALUES, key, total.to_bytes(COUNTER_BYTES))
            return total

    def decr(self, key: bytes, by: int = 1) -> int:
        """Subtract `by` from a counter and return its new value. Raises like `incr`."""
        return self.incr(key, -by)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make the changes of a `with` block one commit. If the block raises, none of them is made.

        Blocks may be nested: the outermost one commits. Other threads that write wait for its end.
        """
        with self._writer:
            if self._batch is not None:
                yield
                return
            environment = self._opened()
            self._refuse_reader()
            self._refuse_replaced()
            self._batch = environment.begin(write=True)
            self._batch_thread = threading.get_ident()
            try:
                try:
                    yield
                except BaseException:
                    self._end_batch(environment, commit=False)
                    raise
                self._end_batch(environment, commit=True)
            except MapFull as error:
                most = f"its file would exceed {self._size_max} bytes (size_max)"
                raise StoreFull(f"the table in {self._folder} is full: {most}") from error

    def _end_batch(self, environment: Environment, *, commit: bool) -> None:
        transaction, self._batch, self._batch_thread = self._batch, None, 0
        if transaction is not None and self._environment is environment:
            (environment.commit if commit else environment.abort)(transaction)
        elif commit:
            self._opened()  # it ended with the table: say so

    def _changing(self) -> Transaction:
        assert self._batch is not None
        return self._batch

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
        """Write a compacted copy of the last commit into a folder, and return its file. Others may write meanwhile.

        Raises:
            StoreError: it cannot be written; a backup that was there before stays.
        """
        return write_backup(self._opened(), Path(folder))

    def restore(self, folder: str | os.PathLike[str]) -> int:
        """Replace all keys and values by those of a backup, in one commit; return how many there are.

        Raises:
            StoreError: there is no backup of keys and values in the folder; nothing changes.
            StoreDamaged: the backup is not what was written; nothing changes.
        """
        with open_backup(Path(folder), TABLES) as source, source.reading() as held:
            if held.get(KEYVALUE, FORMAT_KEY) != FORMAT:
                raise StoreError(f"the backup in {os.fspath(folder)} holds no table of keys and values")
            with self.batch():
                target = self._changing()
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
        if self._environment is not None:
            self._environment = self._held = None
            self._let_go()

    def abandon(self, parent: int) -> "_Held | None":
        """In a forked process: refuse every further use; return what the parent holds, None: it was closed."""
        held = self._held
        if held is not None:
            held.batch = self._batch  # not to be freed here, either
            self._environment = self._held = self._batch = None
            self._writer = threading.RLock()  # another thread of the parent may have held it
            self._closed = (
                f"the table in {self._folder} belongs to process {parent}, which this one was forked from: open it in "
                "a process that was started afresh (spawn), with read_only=True while the other has it open"
            )
        return held

    def _refuse_reader(self) -> None:
        if self._is_read_only:
            raise ReadOnly(f"the table in {self._folder} was opened for reading")

    def _refuse_replaced(self) -> None:
        """Raise StoreLocked if a file of the table was deleted or replaced while it was open."""
        if self._held is not None and (refusal := self._held.refusal()) is not None:
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
    """What keeps a table open: the environment; a lock where it may be changed, or read without LMDB's own lock."""

    def __init__(self, folder: Path, size_max: int, *, sync: bool, read_only: bool) -> None:
        unlocked = read_only and not may_write(folder)
        self._lock: WriterLock | ReaderLock | None = ReaderLock(folder) if unlocked else None
        if not read_only:
            self._lock = WriterLock(folder)
        self.batch: Transaction | None = None
        try:
            if not read_only and holds_store(folder):
                check_kind(folder, size_max)
            self.environment = Environment(
                folder, size_max, sync=sync, read_only=read_only, unlocked=unlocked, tables=TABLES
            )
            if isinstance(self._lock, WriterLock):
                self._lock.watch(LMDB_LOCK_FILE, folder / LMDB_LOCK_FILE)
        except BaseException:
            self._release()
            raise

    def refusal(self) -> StoreLocked | None:
        """Return why changes are refused, because a file was deleted or replaced; None: they are not."""
        return self._lock.refusal() if isinstance(self._lock, WriterLock) else None

    def close(self) -> None:
        """Close the environment, and let other processes write the folder."""
        try:
            self.environment.close()
        finally:
            self._release()

    def leave_to_parent(self) -> None:
        """In a forked process: release the lock here; the parent keeps it."""
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()


class Snapshot:
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
    """Raise StoreError if a folder holds something else, such as an index: opening it would add our tables to it."""
    environment = Environment(folder, size_max, sync=False, read_only=True, tables=TABLES)
    try:
        with environment.reading() as transaction:
            # Where our table is missing, this is the list of all tables.
            names = set(transaction.keys(KEYVALUE, b""))
    finally:
        environment.close()
    if not names <= {*TABLES, FORMAT_KEY}:
        raise StoreError(f"{folder} holds no table of keys and values, but an index: choose another folder")


def _checked(key: bytes) -> bytes:
    """Return a key. Raises TypeError or ValueError if no table can hold it."""
    if not isinstance(key, bytes):
        raise TypeError(f"a key is bytes, not {type(key).__name__}")
    if not 1 <= len(key) <= KEY_BYTES_MAX:
        raise ValueError(f"a key has 1 to {KEY_BYTES_MAX} bytes, this one has {len(key)}")
    return key
