"""A store that another process may write: every read shows its last commit, no change is taken.

A reader holds a place in LMDB's table of readers, so that the writer leaves alone what is being read. Who may not write
that table (a medium or a folder without the right to write) keeps writers away instead, for as long as it reads.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from sonicpy.errors import ReadOnly, StoreError
from sonicpy.store.environment import DATA_FILE, META, Environment
from sonicpy.store.folder import LMDB_LOCK_FILE, ReaderLock, holds_store
from sonicpy.store.mutations import Mutation, Push
from sonicpy.store.read_cache import SnapshotCache
from sonicpy.store.store import ANALYSER, FORMAT, Store, check_analyser, check_format
from sonicpy.store.view import WriteView
from sonicpy.store.write_cache import WriteCache

Answer = TypeVar("Answer")


class ReadOnlyStore(Store):
    """A folder that this process only reads.

    Args:
        folder: holds a store.
        analyser: what decides which terms are stored; must be what the store was made with.
        map_bytes: address space to reserve; it grows as the writer's does.

    Raises:
        StoreLocked: a process writes it, and this one may not write LMDB's lock file.
        StoreError: there is no store, or it cannot be opened; one sentence says why.
    """

    def __init__(self, folder: Path, analyser: dict[str, str], *, map_bytes: int) -> None:
        if not holds_store(folder):
            raise StoreError(
                f"there is no store in {folder} ({DATA_FILE} is missing): open it for writing once, or start a server"
            )
        self.folder = folder
        self.durability = "interval"
        self.uncommitted = self.stamp = self.recoveries = 0
        self._memory = WriteCache()
        self._memory.has_dropped = False
        self._view = None
        self._is_lost = False
        self._read_lengths = {}
        self._remembered = SnapshotCache(-1)
        self._refusing = None
        unlocked = not _may_write(folder)
        self._readers = ReaderLock(folder) if unlocked else None
        try:
            self._environment = Environment(folder, map_bytes, sync=False, read_only=True, unlocked=unlocked)
            try:
                self._check_made_with(analyser)
            except BaseException:
                self._environment.close()
                raise
        except BaseException:
            self.leave_to_parent()
            raise

    def apply(self, mutation: Mutation) -> int:
        """Refuse: raise ReadOnly."""
        self._refuse()

    def apply_pushes(self, pushes: Sequence[Push], *, new: bool = False) -> list[int]:
        """Refuse: raise ReadOnly."""
        self._refuse()

    def maintain(self, work: Callable[[WriteView], Answer]) -> Answer:
        """Refuse: raise ReadOnly."""
        self._refuse()

    def seal(self) -> None:
        """Refuse: raise ReadOnly."""
        self._refuse()

    def commit(self) -> None:
        """Refuse: raise ReadOnly."""
        self._refuse()

    def sync(self) -> None:
        """Refuse: raise ReadOnly."""
        self._refuse()

    def sync_log(self) -> int:
        """Refuse: raise ReadOnly."""
        self._refuse()

    def readable_stamp(self) -> int:
        """Return the number of the last commit, whoever made it: the same number, the same answers."""
        return self._environment.last_commit()

    def log_bytes(self) -> int:
        """Return how many bytes of log the writer keeps."""
        return sum(path.stat().st_size for path in (self.folder / "log").glob("*.log"))

    def leave_to_parent(self) -> None:
        """Let go of what a forked process must not hold."""
        if self._readers is not None:
            self._readers.release()

    def close(self) -> None:
        """End reading."""
        self._environment.close()
        self.leave_to_parent()

    def _refuse(self) -> NoReturn:
        raise ReadOnly(f"the index in {self.folder} is open for reading only: open it without read_only to change it")

    def _check_made_with(self, analyser: dict[str, str]) -> None:
        with self._environment.reading() as transaction:
            form = transaction.get(META, FORMAT)
            if form is None:
                raise StoreError(f"the store in {self.folder} is only being made: try again")
            check_format(form)
            check_analyser(self.folder, transaction.get(META, ANALYSER), analyser)


def _may_write(folder: Path) -> bool:
    """Return whether LMDB can write its table of readers here."""
    try:
        os.close(os.open(folder / LMDB_LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640))
    except OSError:
        return False
    return True
