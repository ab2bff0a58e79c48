"""A store that another process may write: every read shows the last commit, every change is refused.

A reader takes a slot in LMDB's table of readers, so that the writer does not reuse the pages being read. A process that
may not write the table (a read-only medium, no permission) excludes writers while it reads.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast

from sonicpy._native.held import insist
from sonicpy.errors import ReadOnly, StoreError
from sonicpy.files import PRIVATE, Access
from sonicpy.store.care.startup import refuse_damaged_file, refuse_other_tables
from sonicpy.store.changing.any_store import AnyStore, Maintainable, Readable, refuses
from sonicpy.store.disk.change_board import ChangeBoard
from sonicpy.store.disk.environment import DATA_FILE, Environment
from sonicpy.store.disk.folder import ReaderLock, holds_store, may_write, refuse_unrecovered
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.reader import StoreReader
from sonicpy.store.rows.meta import ANALYZER, FORMAT, as_made, check_analyzer, check_format, uses_of
from sonicpy.store.rows.uses import check_known
from sonicpy.store.views.read_cache import POSTINGS_MAX_BYTES, Snapshot
from sonicpy.store.views.view import View


@refuses(Maintainable, besides=Readable)
class ReadOnlyStore(StoreReader):
    """A store that this process only reads.

    Args:
        folder: the folder of an existing store.
        analyzer, older: the analysis settings of new stores, and of older ones, which keep them; see `as_made`.
        map_bytes: the address space to reserve, which grows with that of the writing process.
        postings_max_bytes: the most bytes of postings that readers cache.
        access: modes of new files.

    Raises:
        StoreLocked: a process writes the store, and this one may not write LMDB's lock file.
        StoreError: the folder has no store, or the store cannot be opened; the message says why.
    """

    refusing = has_dropped = has_removals = False

    def __init__(
        self,
        folder: Path,
        analyzer: Mapping[str, str],
        *,
        older: Mapping[str, str] | None = None,
        map_bytes: int,
        postings_max_bytes: int = POSTINGS_MAX_BYTES,
        access: Access = PRIVATE,
    ) -> None:
        if not holds_store(folder):
            raise StoreError(
                f"there is no store in {folder} ({DATA_FILE} is missing): open it for writing once, or start a server"
            )
        refuse_unrecovered(folder)
        refuse_damaged_file(folder)
        unlocked = not may_write(folder, access)
        self._closers = []
        self._board: ChangeBoard | None = None
        self._reader_lock: ReaderLock | None = None
        try:
            if unlocked:
                self._reader_lock = ReaderLock(folder)
                self._closers.append(self._reader_lock.release)
            environment = Environment(folder, map_bytes, read_only=True, unlocked=unlocked, access=access)
            self._closers.append(environment.close)
            self._uses = _check_made_with(folder, environment, analyzer, older)
            super().__init__(folder, environment, postings_max_bytes, access)
        except BaseException:
            insist(self._release)
            raise

    def watch_changes(self, board: ChangeBoard) -> None:
        """Use the change board of the writing process; `drop_idle_reads` then has to be called regularly."""
        self._board = board
        self._closers.append(board.close)
        self.drop_idle_reads()

    def is_behind(self, collection: str, bucket: str | None) -> bool:
        """Return whether, according to the change board, the writing process has an uncommitted change.

        Args:
            bucket: the name of the changed bucket; None: any bucket.
        """
        board = self._board
        assert board is not None, "it watches no board"
        return board.is_behind(collection, bucket)

    def drop_idle_reads(self) -> None:
        """End idle transactions of older commits, whose pages the writer cannot reuse."""
        if self._board is not None:
            self._environment.follow(self._board.committed)

    def show(self, transaction: Transaction) -> Snapshot:
        """Return a view of a new read transaction.

        Raises:
            StoreError: a newer version has noted features in the store that this one does not know, or had not found
                when it opened the store.
        """
        names = uses_of(transaction)
        if names != self._uses:
            check_known(names, f"the store {self.folder}")
            if self._environment.lacks_tables:
                raise StoreError(f"a newer sonicpy has changed the store {self.folder} meanwhile: open it again")
            self._uses = names
        return super().show(transaction)

    def reading(self, then: Callable[..., Any] | None = None, *args: Any) -> AbstractContextManager[Any]:
        """Return a context manager for a read of the last commit; see `StoreReader.reading`."""
        self.drop_idle_reads()
        return super().reading(then, *args)

    def snapshot(self) -> AbstractContextManager[View]:
        """Return a context manager for a read of the last commit: `with ... as view`. Raises the errors of
        `reading`."""
        self.drop_idle_reads()
        return super().snapshot()

    def any_store(self) -> AnyStore:
        """Return this store, typed as the store of an index."""
        return cast(AnyStore, self)

    def refusal(self) -> ReadOnly:
        """Return the error that refuses every change."""
        return ReadOnly(f"the index in {self.folder} is open for reading only: open it without read_only to change it")

    def readable_stamp(self) -> int:
        """Return the number of the last commit of any process, with a change board that of the last noted one. Answers
        are valid while the number stays the same."""
        # A commit that the board has not noted yet may be missing in idle transactions, and so in an answer.
        return self.last_commit() if self._board is None else self._board.committed

    def pending_buckets(self) -> set[int]:
        """Return no bucket: only the writing process consolidates."""
        return set()

    def log_bytes(self) -> int:
        """Return the number of bytes of the log files in the folder."""
        return sum(path.stat().st_size for path in (self.folder / "log").glob("*.log"))

    def leave_to_parent(self) -> None:
        """In a forked process: release the locks, without touching a transaction."""
        self._environment.leave_to_parent()
        if self._reader_lock is not None:
            self._reader_lock.release()


def _check_made_with(
    folder: Path, environment: Environment, analyzer: Mapping[str, str], older: Mapping[str, str] | None
) -> frozenset[str]:
    """Return the features of `uses.KNOWN` that the store uses. Raises StoreError if its texts were analysed by other
    settings."""
    refuse_other_tables(folder, environment)
    with environment.reading() as transaction:
        if FORMAT.read(transaction) is None:
            raise StoreError(f"another process is creating the store in {folder}: try again")
        check_format(transaction)
        check_analyzer(folder, transaction, as_made(ANALYZER.read(transaction), analyzer, older))
        return uses_of(transaction)
