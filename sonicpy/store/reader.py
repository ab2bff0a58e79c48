"""Reading a store: snapshots of its last commit, which readers share, and its sizes."""

import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from math import inf
from pathlib import Path
from typing import Any

from sonicpy._native.held import Held, insist
from sonicpy._native.readers import PutOff, Reading
from sonicpy.errors import CommandError, StoreDamaged
from sonicpy.files import PRIVATE, Access
from sonicpy.store.disk.environment import Environment, ReaderSlot
from sonicpy.store.disk.late_commits import LateCommits
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.meta import ANALYZER
from sonicpy.store.rows.undecoded import UNDECODED
from sonicpy.store.views.read_cache import Snapshot, SnapshotCache
from sonicpy.store.views.view import View


class StoreReader:
    """The common part of `Store` and `ReadOnlyStore`. The functions in `_closers` release all that they hold.

    Args:
        folder: the folder of the store.
        environment: the open environment of the folder.
        access: modes of new files.

    Attributes:
        late: makes the commits soon after changes, if threads share the open transaction; see `SharedStore`.
        durability: when a change is on the disk; see `Store`.
        uncommitted: the number of mutations since the last commit.
        recoveries: the number of recoveries. After each, earlier reads of the open transaction may be invalid.
        undone: how often changes were undone because they could not be sealed.
        is_torn: whether the open transaction is in the middle of a change.
    """

    durability = "interval"
    harmless = (CommandError, PutOff)
    """Errors that leave the open transaction whole when a read of it raises them: they refuse arguments, or put a
    question off."""
    late: LateCommits | None = None
    uncommitted = 0
    undone = 0
    is_torn = False
    _is_closing = False
    _closers: list[Callable[[], object]]  # each may be called again

    def __init__(
        self, folder: Path, environment: Environment, postings_max_bytes: int, access: Access = PRIVATE
    ) -> None:
        self.folder = folder
        self._access = access
        self.recoveries = 0
        self._environment = environment
        self._snapshot_cache = SnapshotCache(-1, postings_max_bytes=postings_max_bytes)
        self._replacing_cache = threading.Lock()  # only one cache may take over the content of another

    def made_with(self) -> Mapping[str, str]:
        """Return the analysis settings by which the texts of the store are cut."""
        with self._environment.reading() as transaction:
            return ANALYZER.read(transaction) or {}

    def reading(self, then: Callable[..., Any] | None = None, *args: Any) -> AbstractContextManager[Any]:
        """Return a context manager for a read of the state that this thread should see: `with ... as view`.

        Args:
            then, args: if given, the block gets `then(view, *args)` instead of the view.

        Raises (the block):
            StoreDamaged: a row cannot be decoded.
        """
        return Reading(self._environment.transactions, self, True, then, args, UNDECODED, self.damaged)

    def snapshot(self) -> AbstractContextManager[View]:
        """Return a context manager for a read of the last commit: `with ... as view`. Raises the errors of
        `reading`."""
        return Reading(self._environment.transactions, self, False, None, (), UNDECODED, self.damaged)

    def show(self, transaction: Transaction) -> Snapshot:
        """Return a view of a new read transaction."""
        return Snapshot(transaction, self._cache_of(transaction.number))

    def shown_now(self) -> View | None:
        """Return the view that this thread should see instead of the last commit; None: the last commit."""
        return None

    def damaged(self, error: Exception) -> StoreDamaged:
        """Return the error to raise for rows that cannot be decoded."""
        return StoreDamaged(f"the store {self.folder} is damaged: {error}")

    def _cache_of(self, number: int) -> SnapshotCache:
        """Return the cache of commit `number`."""
        with Held(self._replacing_cache):
            cache = self._snapshot_cache
            if cache.commit < number:
                cache = self._snapshot_cache = SnapshotCache(number, cache)
            elif cache.commit > number:  # the transaction was begun before the last commit
                cache = SnapshotCache(number, postings_max_bytes=cache.postings_max_bytes)
            return cache

    def backup(self, folder: Path) -> Path:
        """Copy the last commit into a folder; return the file. Any thread may call it.

        Raises:
            StoreError: the backup could not be written; an earlier one is kept.
        """
        from sonicpy.store.care.backup import write_backup  # noqa: PLC0415  loaded when it is needed

        return write_backup(self._environment, folder, self._access)

    def is_behind(self, collection: str, bucket: str | None) -> bool:
        """Return whether reads may lack an acknowledged change: always False in the writing process."""
        return False

    def drop_idle_reads(self) -> None:
        """Do nothing: in the writing process, each commit ends the idle transactions of older commits."""

    def readers(self) -> list[ReaderSlot]:
        """Return the readers of the store in all processes, with the commits that they show."""
        return self._environment.readers()

    def last_commit(self) -> int:
        """Return the number of the last commit of any process."""
        return self._environment.last_commit()

    def size_bytes(self) -> int:
        """Return the number of bytes of the environment that are in use."""
        return self._environment.used_bytes()

    def map_bytes(self) -> int:
        """Return the number of bytes of address space that are reserved for the environment."""
        return self._environment.map_bytes()

    def close(self, seconds: float = inf) -> None:
        """Finish the work, and release the store for other processes. A second call finishes an interrupted one.

        Args:
            seconds: the time limit for reads of other threads. If they take longer, the store is left as after a kill.

        Raises:
            StoreError: the last changes could not be committed or synced; the store is closed all the same.
        """
        is_alone = True
        try:
            if not self._is_closing:
                is_alone = self._finish(seconds)
        except BaseException as error:  # LMDB would crash if it were closed under a copy; an interrupt does not wait
            is_alone = self._environment.wait_for_copies(seconds if isinstance(error, Exception) else 0)
            raise
        finally:
            if is_alone:
                insist(self._release)

    @property
    def is_worked_here(self) -> bool:
        """Whether the calling thread is one of the store's own, which must not close the store: it would wait for
        itself."""
        return self._environment.transactions.is_worked_here

    @property
    def is_closed(self) -> bool:
        """Whether `close` has released everything."""
        return not self._closers

    def _finish(self, seconds: float) -> bool:
        """Wait at most `seconds` for other threads; return whether none uses the store any more."""
        return self._environment.wait_for_others(seconds)

    def _release(self) -> None:
        """Release everything; a second call finishes an interrupted one."""
        self._is_closing = True
        while self._closers:
            self._closers[-1]()
            del self._closers[-1]
