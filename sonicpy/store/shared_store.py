"""A store whose open transaction all threads share: a change costs its record in the log, not a commit.

A change is done when it is in the log. It stays in the open write transaction, which any thread uses while it has the
turn: for the next change, or to read. LMDB's lock of the writer belongs to a thread, so a thread that no caller touches
begins, commits and aborts the transaction (`OneThread`). `LateCommits` chooses the moment of a commit.

While another thread is in a batch, or makes a long change, reads show the last commit, which was made right before
that.
"""

from functools import partial
from math import inf
from typing import Final

from sonicpy._native.turn import Turn
from sonicpy.errors import StoreError, StoreFull
from sonicpy.late_logger import LateLogger
from sonicpy.store.disk.late_commits import COMMIT_BYTES, COMMIT_CHANGES, LateCommits
from sonicpy.store.refused_changes import logged
from sonicpy.store.store import Store
from sonicpy.store.views.view import View

logger = LateLogger(__name__)

PATIENCE_S: Final = 0.5
"""The longest time in seconds for which a late commit waits for readers when the map is full: readers may be waiting
for its turn.
"""
SWEEPS: Final = 10
SWEEP_ROWS: Final = 500
"""The most rows of flushed buckets that one of the SWEEPS steps after a late commit deletes: some ms."""


class SharedStore(Store):
    """A store that the threads of one process write in turn; see `Store`.

    Attributes:
        late: the late commits; the thread with the turn calls `late.begin` before a change if `late.is_idle`.
    """

    late: LateCommits

    def shown_now(self) -> View | None:
        """Return the view of the open write transaction, if there is one. Only the thread with the turn calls this.

        Raises:
            StoreError: the transaction is lost and cannot be recovered, so acknowledged changes cannot be read.
        """
        view = self.view
        if self.is_torn or self._transactions.is_lost:
            view = self._writing_for_reader()
        return view if view is None or view.open_cache is not None else self._with_cache(view)

    def readable_stamp(self) -> int | None:
        """Return `stamp` if this thread reads the newest state; None: another thread makes a long change."""
        turn = self._transactions.turn
        return self.stamp if turn.is_mine or not (turn.batches or turn.apart) else None

    @property
    def is_worked_here(self) -> bool:
        """Whether the calling thread is one of the store's own."""
        return super().is_worked_here or self.late.is_here or self._background.is_here

    def _take_turns(self, turn: Turn | None) -> None:
        assert turn is not None
        sync_soon = partial(self._background.note_change, is_urgent=False)
        works = self._seal_soon, self._commit_late
        self.late = LateCommits(turn, *works, self._is_due, sync_soon)
        self._closers.append(self.late.close)  # an interrupt may keep `_finish` from it
        self._environment.share(turn)

    def _seal_soon(self) -> None:
        """Seal all changes, and wait for the disk with durability "commit"; commit only if very many wait for it.

        Raises:
            StoreError: the changes could not be sealed; or the log has them, but not the disk, as the message says.
        """
        before = self._log.position
        self.seal()
        try:
            if self.durability == "commit":
                self.sync_log()
            if self.uncommitted >= COMMIT_CHANGES or self.uncommitted_bytes >= COMMIT_BYTES:
                self.commit()
            else:
                self.write_many_buckets()
        except StoreFull as error:  # the log has the change; the next one is refused, and late commits log this
            logger.debug("%s", error)
        except StoreError as error:
            if self._log.position == before:
                raise
            raise logged(error) from error

    def _is_due(self) -> bool:
        """Return whether to commit now: another process reads the folder, or has replaced one of its files, which the
        commit then reports.
        """
        return self._environment.is_read_elsewhere or self._refusals.finds_replaced()

    def _commit_late(self) -> None:
        """Commit without waiting long for readers; then delete some rows of flushed buckets."""
        self._environment.patience_s = PATIENCE_S
        try:
            self.commit()
            if not self.has_dropped:
                return
            for _ in range(SWEEPS):
                if not self.sweep(SWEEP_ROWS):
                    break
            self.commit()
        finally:
            self._environment.patience_s = inf
        if self.has_dropped:
            self.late.begin()

    def leave_to_parent(self) -> None:
        """In a forked process: use neither the threads nor the transaction of the parent; see `Store`."""
        self.late.leave_to_parent()
        self._background.leave_to_parent()
        super().leave_to_parent()

    def _finish(self, seconds: float) -> bool:
        """Commit and sync, and wait at most `seconds` for other threads; return whether none uses the store any
        more."""
        if not self.late.close(seconds):
            return False
        if self._refusals.replaced() is not None:
            self._give_up()  # which the end would wait for
        return super()._finish(seconds)
