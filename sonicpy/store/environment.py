"""The LMDB environment: tables, transactions, growth. The only file that imports lmdb, which is why it is long.

Invariants:
- A write transaction is begun, used, committed and aborted on one thread.
- The map is only resized while no transaction of this process is open (`set_mapsize` would kill it).
- An idle read transaction waits for the next reader only until the next commit: pages that it shows cannot be reused.
- Callers get copies of values, so no view into LMDB's memory outlives a call.
- Every lmdb error leaves this file as a StoreError.
- LMDB never waits for the disk itself: what a loss of power leaves is the business of `checkpoint.py`.
"""

import errno
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import get_ident
from typing import Final, NamedTuple, Protocol

import lmdb

from sonicpy._native.readers import OpenTransactions
from sonicpy._native.term_rows import keys_with, rows_with
from sonicpy._native.word_range import WordRange
from sonicpy.errors import IndexClosed, StoreError, StoreFull
from sonicpy.store.checkpoint import Checkpoints
from sonicpy.store.platform import make_folder

# Tables, in the order of docs/storage-format.md.
META: Final = 0
SCOPES: Final = 1
BUCKETS: Final = 2
WORDS: Final = 3
COMMON: Final = 4
TERMS: Final = 5
POSTINGS: Final = 6
IMPACTS: Final = 7
OBJECTS: Final = 8
LENGTHS: Final = 9
OIDS: Final = 10
PENDING: Final = 11
DROPPED: Final = 12
REMOVED: Final = 13

TABLE_NAMES: Final = (
    b"meta", b"scopes", b"buckets", b"words", b"common", b"terms", b"postings", b"impacts", b"objects", b"lengths",
    b"oids", b"pending", b"doomed", b"removed",
)  # fmt: skip

# The tables whose keys begin with a bucket id: what goes when a bucket is flushed.
BUCKET_TABLES: Final = (WORDS, COMMON, TERMS, POSTINGS, IMPACTS, OBJECTS, LENGTHS, OIDS, PENDING, REMOVED)

MAX_READERS: Final = 512
DATA_FILE: Final = "data.mdb"
LOCK_FILE: Final = "lock.mdb"
CLOSED: Final = "closed/deleted/dropped"  # in lmdb's message for a transaction that was open when all was closed
LOCK_BYTES: Final = 1024 + 64 * MAX_READERS  # at least what LMDB maps: a head, and a slot for each reader
IDLE_MAX: Final = 8  # read transactions that wait for the next readers
GROW_WHEN_USED: Final = 0.75  # of the map: growth happens between transactions, long before it is needed

Row = tuple[bytes, bytes]


class Reader(NamedTuple):
    """A slot of LMDB's table of readers that is in use: one process or thread reads one snapshot.

    Attributes:
        process: its id.
        slot: tells the readers of a process apart.
        commit: the number of the commit that it reads.
    """

    process: int
    slot: str
    commit: int


class MapFull(StoreFull):
    """The reserved map is used up: it can grow once the transaction is gone."""


class CachedView(Protocol):
    """What readers of a snapshot hand on to the next one."""

    def end(self) -> None: ...


class Transaction:
    """One transaction; `write` says which kind. Not to be shared between threads.

    The ignored type errors: lmdb's stubs allow for memoryviews, which it returns only if asked for buffers.
    """

    __slots__ = ("_commits", "_cursors", "_tables", "_txn", "cached_view", "write")

    def __init__(self, txn: lmdb.Transaction, tables: list[lmdb._Database], write: bool, commits: int = 0) -> None:
        self._commits = commits
        self.cached_view: CachedView | None = None
        """For the next reader of the same snapshot."""
        self._txn = txn
        self._tables = tables
        self._cursors: list[lmdb.Cursor | None] = [None] * len(tables)
        self.write = write

    @property
    def number(self) -> int:
        """The number of the commit it shows; a write transaction has the number of the next one."""
        number: int = self._txn.id()
        return number

    def get(self, table: int, key: bytes) -> bytes | None:
        """Return the value under `key`, or None."""
        try:
            return self._txn.get(key, db=self._tables[table])  # type: ignore[return-value]
        except lmdb.Error as error:
            raise translated(error) from error

    def getter(self, table: int) -> Callable[[bytes], bytes | None]:
        """Return `get` for one table, for callers that read very many rows."""
        get, db = self._txn.get, self._tables[table]

        def value(key: bytes) -> bytes | None:
            try:
                return get(key, None, db)  # type: ignore[return-value]
            except lmdb.Error as error:
                raise translated(error) from error

        return value

    def get_many(self, table: int, keys: list[bytes]) -> list[Row]:
        """Return (key, value) for those of `keys` that exist, in the order of `keys`."""
        if not keys:
            return []
        try:
            cursor = self._cursors[table]
            if cursor is None:  # each search comes here some times
                cursor = self._cursor(table)
            return cursor.getmulti(keys)  # type: ignore[return-value]
        except lmdb.Error as error:
            raise translated(error) from error

    def floor_many(self, table: int, keys: list[bytes], prefix_bytes: int) -> list[Row | None]:
        """Return for each key the last row whose key is not behind it and shares its first `prefix_bytes` bytes, or
        None."""
        found: list[Row | None] = []
        try:
            cursor = self._cursor(table)
            for key in keys:
                is_there = cursor.set_range(key)
                if not is_there or cursor.key() != key:
                    is_there = cursor.prev() if is_there else cursor.last()
                if is_there and bytes(cursor.key())[:prefix_bytes] == key[:prefix_bytes]:
                    found.append(cursor.item())  # type: ignore[arg-type]
                else:
                    found.append(None)
        except lmdb.Error as error:
            raise translated(error) from error
        return found

    def newest_first(self, table: int, prefix: bytes) -> Iterator[Row]:
        """Yield the rows whose keys begin with `prefix`, which is no row's key, from the last one to the first."""
        try:
            with self._txn.cursor(db=self._tables[table]) as cursor:
                behind = int.from_bytes(prefix, "big") + 1
                is_last = behind >> 8 * len(prefix)  # no key is behind those with this prefix
                is_inside = not is_last and cursor.set_range(behind.to_bytes(len(prefix), "big"))
                is_there = cursor.prev() if is_inside else cursor.last()
                while is_there:
                    row: Row = cursor.item()  # type: ignore[assignment]
                    if not row[0].startswith(prefix):
                        return
                    yield row
                    is_there = cursor.prev()
        except lmdb.Error as error:
            raise translated(error) from error

    def keys(self, table: int, prefix: bytes) -> list[bytes]:
        """Return the keys that begin with `prefix`, which are few."""
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

    def put(self, table: int, key: bytes, value: bytes) -> None:
        """Write one row.

        Raises:
            StoreFull: the map or the disk is full; the transaction is lost.
            StoreError: any other error of the storage; the transaction is lost.
        """
        try:
            self._txn.put(key, value, db=self._tables[table])
        except lmdb.Error as error:
            raise translated(error) from error

    def put_many(self, table: int, rows: Iterable[Row]) -> None:
        """Write several rows; raises like `put`."""
        if not rows:
            return
        try:
            self._cursor(table).putmulti(rows)
        except lmdb.Error as error:
            raise translated(error) from error

    def append(self, table: int, key: bytes, value: bytes) -> None:
        """Write a row whose key probably sorts behind all others: pages are then filled to the brim."""
        try:
            if not self._txn.put(key, value, db=self._tables[table], append=True):
                self._txn.put(key, value, db=self._tables[table])
        except lmdb.Error as error:
            raise translated(error) from error

    def delete(self, table: int, key: bytes) -> bool:
        """Delete one row; return whether it was there."""
        try:
            gone: bool = self._txn.delete(key, db=self._tables[table])
        except lmdb.Error as error:
            raise translated(error) from error
        return gone

    def delete_many(self, table: int, keys: Iterable[bytes]) -> None:
        """Delete the rows with these keys that exist."""
        delete, db = self._txn.delete, self._tables[table]
        try:
            for key in keys:
                delete(key, b"", db)
        except lmdb.Error as error:
            raise translated(error) from error

    def first(self, table: int, start: bytes) -> Row | None:
        """Return the first row whose key is not before `start`, or None."""
        try:
            cursor = self._cursor(table)
            if not cursor.set_range(start):
                return None
            return cursor.item()  # type: ignore[return-value]
        except lmdb.Error as error:
            raise translated(error) from error

    def rows_of(self, table: int, prefix: bytes, start: bytes | None = None) -> list[bytes]:
        """Return the values of the rows whose keys begin with `prefix`, which are few, from `start` on in key order."""
        found: list[bytes] = []
        try:
            cursor = self._cursor(table)
            is_there = cursor.set_range(start or prefix)
            while is_there:
                row: Row = cursor.item()  # type: ignore[assignment]
                if not row[0].startswith(prefix):
                    break
                found.append(row[1])
                is_there = cursor.next()
        except lmdb.Error as error:
            raise translated(error) from error
        return found

    def some_rows(self, table: int, start: bytes, limit: int, prefix: bytes = b"") -> list[Row]:
        """Return the first `limit` rows whose keys are not before `start`, in key order.

        Args:
            prefix: of `start`: only rows whose keys begin with it; each row that is read costs time.
        """
        try:
            cursor = self._cursors[table]
            if cursor is None:
                cursor = self._cursor(table)
            if not cursor.set_range(start):
                return []
            return rows_with(cursor.iternext(), prefix, limit)  # type: ignore[arg-type]
        except lmdb.Error as error:
            raise translated(error) from error

    def some_keys(self, table: int, start: bytes, limit: int, prefix: bytes = b"") -> list[bytes]:
        """Return the keys of the same rows, which takes less time."""
        try:
            cursor = self._cursors[table]
            if cursor is None:
                cursor = self._cursor(table)
            if not cursor.set_range(start):
                return []
            if limit == 1:
                key: bytes = cursor.key()  # type: ignore[assignment]
                return [key] if key.startswith(prefix) else []
            return keys_with(cursor.iternext(values=False), prefix, limit)  # type: ignore[arg-type]
        except lmdb.Error as error:
            raise translated(error) from error

    def word_range(self, table: int, prefix: bytes, most: int) -> WordRange:
        """Return the words of the first `most` rows whose keys begin with `prefix`, read without a list of rows."""
        try:
            cursor = self._cursors[table]
            if cursor is None:
                cursor = self._cursor(table)
            is_there = cursor.set_range(prefix)
            return WordRange(cursor.iternext() if is_there else (), prefix, most)  # type: ignore[arg-type]
        except lmdb.Error as error:
            raise translated(error) from error

    def rows(self, table: int, prefix: bytes, start: bytes | None = None) -> Iterator[Row]:
        """Yield the rows whose keys begin with `prefix`, in key order, from `start` on. No row may change meanwhile."""
        try:
            with self._txn.cursor(db=self._tables[table]) as cursor:
                found = cursor.set_range(start or prefix) if start or prefix else cursor.first()
                while found:
                    row: Row = cursor.item()  # type: ignore[assignment]
                    if not row[0].startswith(prefix):
                        return
                    yield row
                    found = cursor.next()
        except lmdb.Error as error:
            raise translated(error) from error

    def delete_rows(self, table: int, prefix: bytes, limit: int) -> int:
        """Delete at most `limit` rows whose keys begin with `prefix`; return how many were deleted."""
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
        try:
            entries: int = self._txn.stat(self._tables[table])["entries"]
        except lmdb.Error as error:
            raise translated(error) from error
        return entries

    def size_bytes(self, table: int) -> int:
        """Return how many bytes of pages a table takes."""
        try:
            stat = self._txn.stat(self._tables[table])
        except lmdb.Error as error:
            raise translated(error) from error
        pages: int = stat["leaf_pages"] + stat["branch_pages"] + stat["overflow_pages"]
        return pages * int(stat["psize"])

    def _cursor(self, table: int) -> lmdb.Cursor:
        cursor = self._cursors[table]
        if cursor is None:
            cursor = self._cursors[table] = self._txn.cursor(db=self._tables[table])
        return cursor

    def _commit(self) -> None:
        self._txn.commit()

    def _abort(self) -> None:
        if self.cached_view is not None:
            self.cached_view.end()
            self.cached_view = None
        self._txn.abort()


class Environment:
    """One folder of storage.

    Args:
        folder: created if it is missing.
        map_bytes: address space to reserve; the file itself grows as it is written.
        sync: True: every commit waits for the disk. False: none does. None: none does, and `sync` saves checkpoints, to
            which `startup.py` goes back after a loss of power.
        read_only: for another process than the one that writes.
        copied: `folder` is the file of a copy, which no process writes; for reading.
        unlocked: as read_only, where LMDB's lock file cannot be written; the caller keeps writers away.
        tables: their names; the numbers above are those of an index.

    Raises:
        StoreError: the folder cannot be used; one sentence says why.
    """

    def __init__(
        self,
        folder: Path,
        map_bytes: int,
        *,
        sync: bool | None = None,
        read_only: bool = False,
        copied: bool = False,
        unlocked: bool = False,
        tables: Sequence[bytes] = TABLE_NAMES,
    ) -> None:
        self._folder = folder
        read_only = read_only or copied or unlocked
        self._turn = threading.Condition()
        self._open: OpenTransactions[Transaction] = OpenTransactions(
            0 if read_only else IDLE_MAX  # another process writes: every read needs a new transaction
        )
        self._copies = 0
        self._followed = 0  # the commit that `follow` was told last
        self._checkpoints: Checkpoints | None = None
        self._changing = threading.Lock()  # held while a write transaction is open, or `unchanged` keeps changes away
        try:
            if not read_only:
                make_folder(folder)
                reserve_lock_file(folder / LOCK_FILE)
            self._env = lmdb.open(
                str(folder), map_size=map_bytes, max_dbs=len(tables), max_readers=MAX_READERS,
                sync=bool(sync), metasync=bool(sync), max_spare_txns=8, readonly=read_only, create=not read_only,
                subdir=not copied, lock=not (copied or unlocked),
            )  # fmt: skip
            try:
                self._begin(tables, writes=not read_only, saves=not read_only and sync is None)
            except BaseException:
                self._close()
                raise
        except lmdb.Error as error:
            raise StoreError(f"cannot open the store in {folder}: {error}") from error
        except OSError as error:
            raise StoreError(f"cannot use {folder} as a store: {error.strerror}") from error

    def _begin(self, tables: Sequence[bytes], *, writes: bool, saves: bool) -> None:
        """Save a checkpoint before the first commit, which may use pages again; open the tables."""
        self._page_bytes: int = self._env.stat()["psize"]
        if saves:
            self._checkpoints = Checkpoints(self._folder, self.data_file, self._pin, self._sync_data)
            self._checkpoints.save()
        self._tables = [self._open_table(name, create=writes) for name in tables]
        self._env.reader_check()

    def _open_table(self, name: bytes, *, create: bool) -> lmdb._Database:
        """Open a table. One that may not be created and is missing gives the main table, which has none of our rows.

        Stores of older formats have fewer tables: the caller reads their format and refuses them.
        """
        try:
            return self._env.open_db(name, create=create)
        except lmdb.NotFoundError:
            return self._env.open_db(None, create=False)
        except lmdb.MapFullError:  # LMDB maps just what a file that is larger than `map_bytes` uses
            self._set_map_bytes(2 * self.map_bytes())
            return self._env.open_db(name, create=create)

    def begin(self, *, write: bool) -> Transaction:
        """Begin a transaction; end it with `commit` or `abort` on the same thread."""
        if not write:
            return self._begin_one(write=False)
        self._changing.acquire()
        try:
            return self._begin_one(write=True)
        except BaseException:
            self._changing.release()
            raise

    def _begin_one(self, *, write: bool) -> Transaction:
        while True:
            with self._turn:
                self._note_begin()
                commits = self._open.commits
            try:
                return Transaction(self._env.begin(write=write), self._tables, write, commits)
            except lmdb.MapResizedError:
                self._ended()
                self._use_new_size()
            except lmdb.Error as error:
                self._ended()
                raise translated(error) from error

    @property
    def data_file(self) -> Path:
        """The path of the file with the pages."""
        return self._folder / DATA_FILE

    def take_snapshot(self) -> Transaction:
        """Return a read transaction that shows the last commit; end it with `give_back` on the same thread."""
        return self._open.take() or self.begin(write=False)

    def give_back(self, transaction: Transaction) -> None:
        """End reading; the next reader may use the same transaction if nothing was committed since."""
        if not self._open.keep(transaction, transaction._commits):
            self.abort(transaction)

    def follow(self, commit: int) -> None:
        """Let reads of a process that does not write share transactions until the next commit, as the writer's do.

        Args:
            commit: the newest one that the caller knows of. The caller has to tell often, because an idle transaction
                of an older commit keeps pages from being used again.
        """
        if commit == self._followed:
            return
        if not self._followed:
            self._open = OpenTransactions(IDLE_MAX)
        self._followed = commit
        for idle in self._open.note_commit():
            idle._abort()

    def commit(self, transaction: Transaction) -> None:
        """Make the transaction's rows visible to other transactions and processes.

        Raises:
            StoreFull, StoreError: nothing of the transaction was committed.
        """
        checkpoints = self._checkpoints
        try:
            with nullcontext() if checkpoints is None else checkpoints.committing:
                transaction._commit()
        except lmdb.Error as error:
            transaction._abort()
            raise translated(error) from error
        finally:
            self._changing.release()
            self._ended()
        for idle in self._open.note_commit():
            idle._abort()
        if checkpoints is not None:
            checkpoints.note_commit()

    def abort(self, transaction: Transaction) -> None:
        """End the transaction and forget what it wrote."""
        try:
            transaction._abort()
        finally:
            if transaction.write:
                self._changing.release()
            self._ended()

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A read transaction for the length of a `with` block."""
        transaction = self.begin(write=False)
        try:
            yield transaction
        finally:
            self.abort(transaction)

    def sync(self) -> None:
        """Wait until everything committed is on the disk, and save it as the checkpoint; any thread may call it.

        It also clears the slots of readers that died: pages that they once read would never be reused.

        Raises:
            StoreError: the disk failed; the checkpoint before stays.
        """
        try:
            self._env.reader_check()
        except lmdb.Error as error:
            raise translated(error) from error
        if self._checkpoints is None:
            self._sync_data()
        else:
            self._checkpoints.save()

    def oldest_commit(self) -> int:
        """Return the oldest commit that anyone reads, or to which the store may go back."""
        return min([self._writer_checkpoints().saved, *(reader.commit for reader in self.readers())])

    @contextmanager
    def unchanged(self, commit: int) -> Iterator[bool]:
        """Keep changes away for the length of a `with` block, which has to be short; others may read.

        Yields:
            Whether that works: no write transaction is open, and `commit` is the last one.
        """
        if not self._changing.acquire(blocking=False):
            yield False
            return
        try:
            yield self.last_commit() == commit
        finally:
            self._changing.release()

    def sync_before(self, work: Callable[[], None]) -> None:
        """Let every sync begin with `work`, which makes sure that the disk has what commits refer to."""
        self._writer_checkpoints().before_save = work

    @property
    def checkpoint(self) -> int:
        """The number of the commit to which the store goes back after a loss of power."""
        return self._writer_checkpoints().saved

    @property
    def replaced_bytes(self) -> int:
        """How many bytes of pages were replaced since the last sync began: LMDB cannot use them before it ends."""
        return self._writer_checkpoints().replaced_bytes

    def _pin(self) -> lmdb.Transaction:
        """Begin a reader of the last commit that no one waits for."""
        try:
            return self._env.begin()
        except lmdb.Error as error:
            raise translated(error) from error

    def _sync_data(self) -> None:
        try:
            self._env.sync(True)
        except lmdb.Error as error:
            raise translated(error) from error

    def readers(self) -> list[Reader]:
        """Return who reads which commit now, of all processes, without the reader that keeps our checkpoint.

        It also clears the slots of readers that died.
        """
        try:
            self._env.reader_check()
            table: str = self._env.readers()
        except lmdb.Error as error:
            raise translated(error) from error
        rows = (line.split() for line in table.splitlines()[1:])
        readers = [Reader(int(row[0]), row[1], int(row[2])) for row in rows if len(row) == 3 and row[2].isdigit()]
        kept = None if self._checkpoints is None else (os.getpid(), self._checkpoints.saved)
        return [reader for reader in readers if (reader.process, reader.commit) != kept]

    def _writer_checkpoints(self) -> Checkpoints:
        if self._checkpoints is None:
            raise StoreError(f"no checkpoints are kept of {self._folder}")
        return self._checkpoints

    def copy(self, descriptor: int) -> None:
        """Write what was committed last, compacted, to an open file; may be called from any thread.

        Raises:
            StoreError: it could not be written.
        """
        try:
            with self.copying(), self.reading():  # the map must not grow while it is copied
                self._env.copyfd(descriptor, compact=True)
        except lmdb.Error as error:
            raise StoreError(f"the store cannot be copied: {error}") from error

    @contextmanager
    def copying(self) -> Iterator[None]:
        """For the length of a `with` block `needs_room` is False, and `close` waits."""
        with self._turn:
            self._copies += 1
        try:
            yield
        finally:
            with self._turn:
                self._copies -= 1
                self._turn.notify_all()

    def needs_room(self) -> bool:
        """Return whether so much of the map is used that it should grow before the next transaction.

        False during a copy: growing would wait for its end.
        """
        return not self._copies and self.used_bytes() > GROW_WHEN_USED * self.map_bytes()

    def grow(self) -> None:
        """Double the map; waits until no other transaction of this process is open.

        Raises:
            StoreError: this very thread has a transaction open, or the system has no room for the map.
        """
        with self._turn:
            if not self.can_grow():
                raise StoreError("the store cannot grow while the thread that changes it also reads a snapshot of it")
            self._turn.wait_for(lambda: not self._open.growing)
            self._open.growing = True
            try:
                self._wait_for_readers()
                self._set_map_bytes(2 * self.map_bytes())
            except lmdb.Error as error:
                raise translated(error) from error
            finally:
                self._open.growing = False
                self._turn.notify_all()

    def _set_map_bytes(self, size: int) -> None:
        """Set the size of the map while no transaction is open, the reader of the checkpoint included."""
        with nullcontext() if self._checkpoints is None else self._checkpoints.unpinned():
            self._env.set_mapsize(size)

    def _use_new_size(self) -> None:
        """Use the size of the map that the writing process has set."""
        with self._turn:
            if not self.can_grow():
                raise StoreError("the store has grown while this thread reads it: end that, then ask again")
            self._wait_for_readers()
            try:
                self._env.set_mapsize(0)
            except lmdb.Error as error:
                raise translated(error) from error

    def can_grow(self) -> bool:
        """Return whether this thread has no transaction open, which `grow` would wait for in vain."""
        return not self._open.is_here

    def last_commit(self) -> int:
        """Return the number of the last commit of any process."""
        number: int = self._env.info()["last_txnid"]
        return number

    def used_bytes(self) -> int:
        """Return how much of the map is used."""
        pages: int = self._env.info()["last_pgno"]
        return (pages + 1) * self._page_bytes

    def map_bytes(self) -> int:
        """Return the size of the map."""
        size: int = self._env.info()["map_size"]
        return size

    def close(self) -> None:
        """Close the environment, after copies of it and reads by other threads have ended."""
        with self._turn:
            self._turn.wait_for(lambda: not self._copies)
            self._wait_for_readers(besides=get_ident())
        self._close()

    def _close(self) -> None:
        if self._checkpoints is not None:
            self._checkpoints.close()
        self._env.close()

    def _wait_for_readers(self, besides: int | None = None) -> None:
        """Wait until no transaction is open, except those of the thread `besides`. The caller holds `_turn`."""
        self._open.awaited += 1
        try:
            self._turn.wait_for(lambda: not self._open.is_elsewhere(besides))
            for idle in self._open.drop():
                idle._abort()
        finally:
            self._open.awaited -= 1

    def _note_begin(self) -> None:
        if self._open.growing and not self._open.is_here:
            # A thread that already has one open may go on: the growth waits for it anyway.
            self._turn.wait_for(lambda: not self._open.growing)
        self._open.begin()

    def _ended(self) -> None:
        with self._turn:
            self._open.end()
            if self._open.awaited:
                self._turn.notify_all()


def reserve_lock_file(path: Path) -> None:
    """Reserve the blocks of the lock file before LMDB maps it: a page without one would kill the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    try:
        os.posix_fallocate(descriptor, 0, LOCK_BYTES)
    finally:
        os.close(descriptor)


def translated(error: lmdb.Error) -> StoreError:
    """Return the StoreError for an error of lmdb."""
    if isinstance(error, lmdb.MapFullError):
        return MapFull("the map of the store is full")
    if CLOSED in str(error):
        return IndexClosed("the store was closed while this read it: open it again")
    if isinstance(error, lmdb.DiskError):
        return StoreFull(f"the disk of the store is full: {error}")
    if os.strerror(errno.EIO) in str(error):  # what LMDB also says when the disk had room for a part of a write
        return StoreFull("the disk of the store is full, or it failed: a part of a commit could not be written")
    return StoreError(f"the store failed: {error}")
