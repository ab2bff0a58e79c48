"""The LMDB environment: one file of tables, its transactions, growth. Only this file and `table_rows.py` import lmdb.

Invariants:
- A write transaction is begun, committed and aborted on one thread, because LMDB's lock of the writer belongs to it. It
  is also used there alone, or, after `share` or with a holder, on any thread that has the turn.
- A transaction is opened and counted, or released, in one native call (`_native/readers.pyx`): so no exception of a
  signal handler can leave a transaction open that is not counted. Flags are set right before a `try` and reset first of
  all behind its `finally`, where no exception can come in between.
- The map is only resized while no transaction of this process is open (`set_mapsize` would kill it).
- An idle read transaction is kept for the next reader only until the next commit, because its pages cannot be reused.
- Every lmdb error leaves these two files as a StoreError.
- LMDB never waits for the disk itself: `checkpoint.py` handles a loss of power.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from math import inf
from pathlib import Path
from threading import get_ident
from typing import Final, NamedTuple

import lmdb

from sonicpy._native.held import Held, insist
from sonicpy._native.one_thread import OneThread
from sonicpy._native.readers import OpenTransactions, Reading
from sonicpy._native.turn import Turn
from sonicpy.errors import StoreError
from sonicpy.files import PRIVATE, Access
from sonicpy.store.disk.checkpoint import Checkpoints
from sonicpy.store.disk.partial_transaction import PartialTransaction
from sonicpy.store.disk.platform import make_folder, reserve_file
from sonicpy.store.disk.table_numbers import TABLE_NAMES
from sonicpy.store.disk.table_rows import Tables, not_opened, opened_newest, translated, with_all_of_the_map
from sonicpy.store.disk.transaction import Transaction

MAX_READERS: Final = 512
DATA_FILE: Final = "data.mdb"
LOCK_FILE: Final = "lock.mdb"
LOCK_BYTES: Final = 1024 + 64 * MAX_READERS  # at least the bytes that LMDB maps: a head, and a slot for each reader
IDLE_MAX: Final = 8  # read transactions that wait for the next readers
GROW_WHEN_USED: Final = 0.75  # of the map: growth happens between transactions, long before it is needed
GROWTHS_MAX: Final = 20
"""The most doublings of the map for one change: far more than any disk holds."""
PAUSE_S: Final = 0.001
"""The pause in seconds between two checks whether other threads have ended their transactions."""


class ReaderSlot(NamedTuple):
    """A used slot of LMDB's table of readers: one process or thread reads one snapshot.

    Attributes:
        process: the id of the process.
        slot: a number that distinguishes the readers of a process.
        commit: the number of the commit that the reader shows.
    """

    process: int
    slot: str
    commit: int


class Environment:
    """An open LMDB environment: the tables of one folder.

    Args:
        folder: created if it is missing.
        map_bytes: address space to reserve; the file itself grows as it is written.
        sync: True: every commit waits for the disk. False: no commit does. None: no commit does, and `sync` saves
            checkpoints, to which `startup.py` goes back after a loss of power.
        read_only: open for reading, beside a process that writes.
        copied: open for reading; `folder` is the file of a copy, which no process writes.
        unlocked: open for reading although LMDB's lock file cannot be written; the caller keeps writers away.
        tables: the names of the tables; the constants for table numbers are indexes into the default.
        access: modes of new files.

    Raises:
        StoreLocked: a process of another pid namespace has the store open under the process id of this one.
        StoreError: the folder cannot be used; the message says why.

    Attributes:
        transactions: the open transactions.
        patience_s: the time for which a growth of the map waits for reads of other threads.
    """

    patience_s = inf

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
        access: Access = PRIVATE,
    ) -> None:
        self._folder = folder
        self._access = access
        self._read_only = read_only = read_only or copied or unlocked
        self._resizing = threading.Lock()
        self._copies = 0
        self._is_closed = False
        self._followed = 0  # the last argument of `follow`
        self._checkpoints: Checkpoints | None = None
        self._env: lmdb.Environment
        try:
            if not read_only:
                make_folder(folder, access)
                reserve_file(folder / LOCK_FILE, LOCK_BYTES, access)  # a page without a block would crash the process
            opened = partial(
                lmdb.open, os.fsencode(folder), map_size=map_bytes, max_dbs=len(tables), max_readers=MAX_READERS,
                sync=bool(sync), metasync=bool(sync), max_spare_txns=8, readonly=read_only, create=not read_only,
                subdir=not copied, lock=not (copied or unlocked), mode=access.file,
            )  # fmt: skip
            if read_only and not (copied or unlocked):
                opened = partial(opened_newest, opened, self.data_file)
            self._env = opened()
            if self._has_left_slots():
                self._env.close()  # which clears them
                self._env = opened()
            self._begin(self._env, tables, saves=not read_only and sync is None)
        except BaseException as error:
            insist(self._close)
            if isinstance(error, lmdb.Error | OSError):
                raise not_opened(error, folder, map_bytes) from error
            raise

    def _begin(self, env: lmdb.Environment, tables: Sequence[bytes], *, saves: bool) -> None:
        """Save a checkpoint, if `saves`, before the first commit, because a commit may reuse pages; open the tables."""
        self._names = tables
        self._opened: Tables = []
        # Where another process writes, every read needs a new transaction.
        self.transactions = _transactions(env, self._opened, 0 if self._read_only else IDLE_MAX)
        self._page_bytes: int = env.stat()["psize"]
        if saves:
            self._checkpoints = Checkpoints(self._folder, self.data_file, partial(_pin, env), self._access)
            self._checkpoints.save()
        is_new = not self._read_only and self._open_table(tables[0], create=False) is None
        self._opened += [self._open_table(name, create=is_new) for name in tables]
        if self.lacks_tables:
            self.transactions = _transactions(env, self._opened, 0)
        env.reader_check()

    def _has_left_slots(self) -> bool:
        """Register this process with LMDB, which may refuse that; return whether slots with its process id are in use.

        Such slots are leftovers of a killed process, as in a restarted container. LMDB takes them for slots of this
        process, and would keep their pages for ever.
        """
        with_all_of_the_map(self._env.begin, self._env.set_mapsize).abort()
        return any(reader.process == os.getpid() for reader in self._slots())

    @property
    def lacks_tables(self) -> bool:
        """Whether tables of this version are missing in the environment, and read as empty, until `add_tables`."""
        return None in self._opened

    def add_tables(self) -> None:
        """Make the tables that an older version did not have; called before any read or write. Raises StoreError."""
        if not self.lacks_tables:
            return
        try:
            self._opened[:] = [self._open_table(name, create=True) for name in self._names]
        except lmdb.Error as error:
            raise translated(error) from error
        self.transactions = _transactions(self._env, self._opened, IDLE_MAX)

    def _open_table(self, name: bytes, *, create: bool) -> "lmdb._Database | None":
        """Return an opened table, created with `create` if it is missing; None: it is missing."""
        try:
            return with_all_of_the_map(partial(self._env.open_db, name, create=create), self._set_map_bytes)
        except lmdb.NotFoundError:
            return None
        except lmdb.MapFullError:  # of a file larger than `map_bytes`, LMDB maps only the used part
            self._set_map_bytes(2 * self.map_bytes())
            return self._env.open_db(name, create=create)

    def begin(self, holder: Turn | None = None) -> Transaction:
        """Begin a write transaction, which this thread ends, unless threads share it.

        Args:
            holder: the turn of this thread, if any thread that has it later may end the transaction.

        Raises:
            StoreError: the transaction could not begin.
        """
        try:
            return self.transactions.begin_write(holder)
        except lmdb.Error as error:
            raise translated(error) from error
        except RuntimeError as error:  # no thread can be started, or the store was closed
            raise StoreError(f"the store cannot be changed now: {error}") from error

    def share(self, turn: Turn) -> None:
        """Share the write transaction among all threads; each uses it while it has the turn."""
        assert self.transactions.writer is None, "the open one belongs to a thread"
        self.transactions.turn, self.transactions.worker = turn, OneThread()

    @property
    def is_read_elsewhere(self) -> bool:
        """Whether another process has a slot in LMDB's table of readers; it keeps the slot between its reads."""
        own, table = str(os.getpid()), str(self._env.readers())
        return any(line.split()[0] not in (own, "pid") for line in table.splitlines() if line[:1] == " ")

    @property
    def data_file(self) -> Path:
        """The path of the file with the pages."""
        return self._folder / DATA_FILE

    def reading(self) -> AbstractContextManager[Transaction]:
        """Return a context manager for a read transaction that shows the last commit: `with ... as transaction`.

        The next reader may reuse the transaction if nothing was committed since.
        """
        return Reading(self.transactions)

    def follow(self, commit: int) -> None:
        """Share read transactions between threads until the commit after `commit`, the newest known one, in a process
        that does not write. Call this often: an idle transaction of an older commit keeps pages from being reused.
        """
        if commit == self._followed:
            return
        if not self._followed:
            self.transactions = _transactions(self._env, self._opened, IDLE_MAX)
        self.transactions.note_commit()
        self._followed = commit  # last, because another thread then takes the idle transactions for new ones

    def commit(self, transaction: Transaction) -> None:
        """Make the transaction's rows visible to others. The transaction ends even if this call raises.

        Raises:
            StoreFull, StoreError: nothing of the transaction was committed.
        """
        assert self.transactions.own_writer is transaction, "another thread may end it, or it is over"
        checkpoints = self._checkpoints
        try:
            if checkpoints is None:
                self.transactions.commit()
            else:
                with Held(checkpoints.committing):
                    checkpoints.keep_pinned()
                    self.transactions.commit()
        except lmdb.Error as error:
            raise translated(error) from error
        finally:
            self.transactions.abort()
            transaction.drop_rows()
        if checkpoints is not None:
            checkpoints.note_commit()

    def abort(self, transaction: Transaction) -> None:
        """Abort the write transaction, if one is open."""
        if self.transactions.own_writer is transaction:
            self.transactions.abort()
            transaction.drop_rows()

    def sync(self) -> None:
        """Wait until everything committed is on the disk, and save it as the checkpoint; any thread may call it.

        The slots of readers that died are cleared, too: LMDB would never reuse the pages that they once read.

        Raises:
            StoreError: the disk failed; the earlier checkpoint stays valid. See `Checkpoints.save`.
        """
        try:
            self._env.reader_check()
        except lmdb.Error as error:
            raise translated(error) from error
        if self._checkpoints is None:
            _sync_data(self._env)
        else:
            self._checkpoints.save()

    def oldest_commit(self) -> int:
        """Return the oldest commit that is being read, or to which the store may go back."""
        return min([self._writer_checkpoints().saved, *(reader.commit for reader in self.readers())])

    def unchanged(self) -> Held:
        """Return a context manager that excludes changes during a short block; reads are possible. The block gets True;
        or False if a write transaction is open, so that changes are not excluded."""
        return Held(self.transactions.changing, wait=False)

    def sync_before(self, work: Callable[[], None]) -> None:
        """Call `work` at the beginning of every sync; it syncs the files that commits refer to."""
        self._writer_checkpoints().before_save = work

    @property
    def checkpoint(self) -> int:
        """The number of the commit to which the store goes back after a loss of power."""
        return self._writer_checkpoints().saved

    @property
    def replaced_bytes(self) -> int:
        """The number of bytes of pages replaced since the last sync began, which LMDB cannot reuse before its end."""
        return self._writer_checkpoints().replaced_bytes

    def readers(self) -> list[ReaderSlot]:
        """Return the readers in all processes with their commits, without the reader that keeps the checkpoint. Raises
        StoreError.

        The slots of readers that died are cleared, too.
        """
        try:
            self._env.reader_check()
            readers = self._slots()
        except lmdb.Error as error:
            raise translated(error) from error
        kept = None if self._checkpoints is None else (os.getpid(), self._checkpoints.saved)
        return [reader for reader in readers if (reader.process, reader.commit) != kept]

    def _slots(self) -> list[ReaderSlot]:
        """Return the slots of readers that are in use."""
        table: str = self._env.readers()
        rows = (line.split() for line in table.splitlines()[1:])
        return [ReaderSlot(int(row[0]), row[1], int(row[2])) for row in rows if len(row) == 3 and row[2].isdigit()]

    def _writer_checkpoints(self) -> Checkpoints:
        if self._checkpoints is None:
            raise StoreError(f"no checkpoints are kept of {self._folder}")
        return self._checkpoints

    def copy(self, descriptor: int) -> None:
        """Write the last commit, compacted, to an open file; any thread may call it.

        Raises:
            StoreError: the copy could not be written.
        """
        try:
            self._copies += 1
            try:
                with self.reading():  # the map must not grow while it is copied
                    self._env.copyfd(descriptor, compact=True)
            finally:
                self._copies -= 1
        except lmdb.Error as error:
            raise StoreError(f"the store cannot be copied: {error}") from error

    def needs_room(self) -> bool:
        """Return whether the map should grow before the next transaction.

        During a copy the answer is False: growing would wait for the end of the copy.
        """
        return not self._copies and self.used_bytes() > GROW_WHEN_USED * self.map_bytes()

    def grow(self) -> None:
        """Double the map, as `resize` does. Raises StoreError."""
        self.resize(2 * self.map_bytes())

    def resize(self, size: int) -> None:
        """Set the size of the map, at least that of its used pages; waits until no other transaction of this process is
        open. Raises StoreError: this thread has one open, or the system has no room for the map."""
        if self.transactions.is_here:
            raise StoreError("the store cannot grow while the thread that changes it also reads a snapshot of it")
        with Held(self._resizing):
            self.transactions.growing += 1
            try:
                if not wait_for_readers(self.transactions, seconds=self.patience_s):
                    raise StoreError("the store cannot grow while other threads read snapshots of it for long")
                self._set_map_bytes(size)
            except lmdb.Error as error:
                raise translated(error) from error
            finally:
                self.transactions.growing -= 1

    def _set_map_bytes(self, size: int) -> None:
        """Set the size of the map; meanwhile no transaction is open, not even the reader of the checkpoint."""
        work = partial(self._env.set_mapsize, size)
        if self._checkpoints is None:
            work()
        else:
            self._checkpoints.unpinned(work)

    def can_grow(self) -> bool:
        """Return whether `grow` can work: no transaction of this thread is open, nor, if patience is limited, of
        another."""
        return not self.transactions.is_here and (self.patience_s == inf or not self.transactions.is_elsewhere())

    def last_commit(self) -> int:
        """Return the number of the last commit of any process."""
        number: int = self._env.info()["last_txnid"]
        return number

    def used_bytes(self) -> int:
        """Return the number of bytes of the map that pages use."""
        pages: int = self._env.info()["last_pgno"]
        return (pages + 1) * self._page_bytes

    def map_bytes(self) -> int:
        """Return the size of the map in bytes."""
        size: int = self._env.info()["map_size"]
        return size

    def wait_for_others(self, seconds: float = inf) -> bool:
        """Wait until copies of the environment and reads by other threads have ended; return whether they have within
        `seconds`."""
        return self.wait_for_copies(seconds) and wait_for_readers(self.transactions, get_ident(), seconds)

    def wait_for_copies(self, seconds: float = inf) -> bool:
        """Wait until copies of the environment have ended; return whether they have within `seconds`."""
        deadline = time.monotonic() + seconds
        while self._copies:
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE_S)
        return True

    def close(self) -> None:
        """Close the environment; reads of other threads that have not ended raise IndexClosed.

        A second call finishes an interrupted one.
        """
        if not self._is_closed:
            self.transactions.abort()
        if self.transactions.worker is not None:
            self.transactions.worker.end()
        self._close()
        self._is_closed = True

    def _close(self) -> None:
        """Close the environment, its readers and files; a second call finishes an interrupted one."""
        if self._checkpoints is not None:
            self._checkpoints.close()
        env = getattr(self, "_env", None)  # it is missing if it could not be opened
        if env is not None:
            env.close()

    def leave_to_parent(self) -> None:
        """In a forked process: do not touch any transaction."""
        self.transactions.leave_to_parent()


def _transactions(env: lmdb.Environment, tables: Tables, idle_max: int) -> "OpenTransactions[Transaction]":
    # None of these refers to an Environment: so LMDB is closed when a program drops it.
    kind = PartialTransaction if None in tables else Transaction
    begin, wrap, use_new_size = partial(_begin, env), partial(kind, tables), partial(_use_new_size, env)
    return OpenTransactions(idle_max, begin, wrap, lmdb.MapResizedError, use_new_size)


def _begin(env: lmdb.Environment, write: bool) -> lmdb.Transaction:
    try:
        return env.begin(write=write)
    except lmdb.MapResizedError:
        raise
    except lmdb.Error as error:
        raise translated(error) from error


def _pin(env: lmdb.Environment) -> lmdb.Transaction:
    """Begin a reader of the last commit, which is not counted among the open transactions. Raises StoreError."""
    try:
        return with_all_of_the_map(env.begin, env.set_mapsize)
    except lmdb.Error as error:
        raise translated(error) from error


def _sync_data(env: lmdb.Environment) -> None:
    try:
        env.sync(True)
    except lmdb.Error as error:
        raise translated(error) from error


def _use_new_size(env: lmdb.Environment, open: "OpenTransactions[Transaction]") -> None:
    """Use the size of the map that the writing process has set. Raises StoreError while this thread has a reader."""
    if open.is_here:
        raise StoreError("the store has grown while this thread reads it: end the read, then try again")
    open.growing += 1
    try:
        wait_for_readers(open)
        env.set_mapsize(0)
    except lmdb.Error as error:
        raise translated(error) from error
    finally:
        open.growing -= 1


def wait_for_readers(open: "OpenTransactions[Transaction]", besides: int | None = None, seconds: float = inf) -> bool:
    """Wait until only the thread `besides` has open transactions; end idle ones; return False after `seconds`."""
    deadline = time.monotonic() + seconds
    open.awaited += 1
    try:
        while open.is_elsewhere(besides):
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE_S)
        open.drop()
    finally:
        open.awaited -= 1
    return True
