"""A store whose open transaction all threads share: a change costs its record in the log, not a commit.

A change is done when the log has it. It stays in the open write transaction, which any thread uses while it has the
turn: for the next change, or to read. LMDB's lock of the writer belongs to a thread, so a thread that no caller touches
begins, commits and aborts the transaction (`OneThread`). `LateCommits` says when.

While another thread is in a batch, or makes a long change, reads show the last commit, which is made right before.
"""

import threading
from functools import partial
from math import inf
from typing import Final

from sonicpy._native.turn import Turn
from sonicpy.store.disk.late_commits import COMMIT_BYTES, COMMIT_CHANGES, LateCommits
from sonicpy.store.store import Store
from sonicpy.store.views.view import View

PATIENCE_S: Final = 0.5
"""Longest wait of a late commit for readers, in seconds, if the map is full: readers may wait for the turn that it
has.
"""
SWEEPS: Final = 10
SWEEP_ROWS: Final = 500
"""The most rows of flushed buckets that a step after a late commit deletes, of SWEEPS steps: some ms."""


class SharedStore(Store):
    """A folder that the threads of one process write in turn; see `Store`.

    Attributes:
        late: the thread with the turn calls its `begin` before a change if it `is_idle`.
    """

    late: LateCommits

    def shown_now(self) -> View | None:
        """Return the view of the open write transaction, if there is one; this thread has the turn.

        Raises:
            StoreError: the transaction is lost and cannot be recovered, so acknowledged changes cannot be read.
        """
        view = self.view
        if self.is_torn or self._transactions.is_lost:
            view = self._writing()
        return None if view is None else self._with_cache(view)

    def readable_stamp(self) -> int | None:
        """Return `stamp` if this thread reads the state it belongs to; None: another thread makes a long change."""
        turn = self._transactions.turn
        return self.stamp if turn.is_mine or not (turn.batches or turn.apart) else None

    @property
    def is_worked_here(self) -> bool:
        """Whether this thread is one of the store's own."""
        worker = self._transactions.worker
        assert worker is not None
        return worker.thread == threading.get_ident() or self.late.is_here or self._background.is_here

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
            StoreError: as `seal`; or the commit failed, and the log keeps the changes.
        """
        self.seal()
        if self.durability == "commit":
            self.sync_log()
        if self.uncommitted >= COMMIT_CHANGES or self._log.position - self._committed_position >= COMMIT_BYTES:
            self.commit()

    def _is_due(self) -> bool:
        """Return whether to commit now: another process reads the folder, or has replaced a file of it, which the
        commit reports.
        """
        return self._environment.is_read_elsewhere or self._refusals.finds_replaced()

    def _commit_late(self) -> None:
        """Commit on a thread that must not wait for readers; then delete some rows of flushed buckets."""
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
        """As of `Store`."""
        self.late.leave_to_parent()
        self._background.leave_to_parent()
        super().leave_to_parent()

    def _finish(self, seconds: float) -> bool:
        """Commit and sync; return whether no other thread uses the store any more."""
        if not self.late.close(seconds):
            return False
        if self._refusals.replaced() is not None:
            self._give_up()  # which the end would wait for
        return super()._finish(seconds)
