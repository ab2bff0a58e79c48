"""Commits soon after a change, in a thread of its own; no thread waits while nothing changes.

A change is done when it is in the log, and threads of this process read it in the open transaction. So a commit only
serves other processes, and limits the replay at a start: it can wait until it covers many changes.
"""

import threading
import time
from _thread import start_new_thread
from collections.abc import Callable
from math import inf
from typing import Final

from sonicpy._native.turn import Turn
from sonicpy.errors import StoreError, StoreLocked
from sonicpy.late_logger import LateLogger
from sonicpy.store.disk.background_sync import Bell, rang

logger = LateLogger(__name__)

COMMIT_CHANGES: Final = 4_096
"""The number of changes after which the thread that makes them commits."""
COMMIT_BYTES: Final = 4 << 20
"""The number of bytes in the log after which the thread that makes changes commits."""
READ_AFTER_S: Final = 0.05
"""The time in seconds from a change to its commit while another process reads the folder; that process looks for new
commits at the same interval.
"""
SLICES: Final = 18
"""The time from a change to its commit while no other process reads, in units of READ_AFTER_S: 0.9 s, so that the sync
1 s after the change covers the commit.
"""
TURN_S: Final = 0.01
"""The pause in seconds between two checks whether the store is being closed, while another thread has the turn."""
PAUSE_S: Final = 0.001
"""The pause in seconds between two checks whether the thread has ended."""


class LateCommits:
    """The commits of a store that threads change in turn.

    Args:
        turn: the turn that these threads take.
        seal: a function, called with the turn, that writes all changes to the log, and commits only if very many wait.
        commit: a function, called with the turn, that commits everything.
        is_due: a function, called from time to time, that returns whether to commit at once.
        sync_soon: a function that is called when changes begin, so that a sync follows within a second.
    """

    def __init__(
        self,
        turn: Turn,
        seal: Callable[[], None],
        commit: Callable[[], None],
        is_due: Callable[[], bool],
        sync_soon: Callable[[], None],
    ) -> None:
        self._turn = turn
        self.seal = seal
        self._commit = commit
        self._is_due = is_due
        self._sync_soon = sync_soon
        self._waiting: Bell | None = None  # ends the wait of the thread that will commit
        self._threads: set[int] = set()  # that have begun and not ended
        self._is_closed = False
        self._told = ""  # the error of the last commit
        self.is_idle = True
        """Whether no commit is scheduled: the thread with the turn then calls `begin` before a change."""

    def begin(self) -> None:
        """Start a thread that commits soon. Only the thread with the turn may call this."""
        if self._is_closed:
            return
        self._sync_soon()
        self._waiting = bell = Bell()
        is_started, self.is_idle = False, False
        try:
            start_new_thread(self._run, (bell,))
            is_started = True
        except RuntimeError as error:  # the system allows no more threads; the next change tries again
            logger.error("no thread can be started to commit the changes of the store: %s", error)
        finally:
            if not is_started:  # or an exception came behind the start: two threads do no harm
                self.is_idle = True

    def close(self, seconds: float = inf) -> bool:
        """Begin no more commits, and wait until the last one has ended. This may be called again.

        Args:
            seconds: the time limit of the wait.

        Returns:
            Whether the last commit has ended.
        """
        self._is_closed = True
        waiting = self._waiting
        if waiting is not None:
            waiting.put(None)
        deadline = time.monotonic() + seconds
        while self._threads:
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE_S)
        return True

    def leave_to_parent(self) -> None:
        """In a forked process: begin no commits, and do not wait for those under way, which belong to the parent."""
        self._is_closed = True
        self._threads.clear()

    @property
    def is_here(self) -> bool:
        """Whether the calling thread is one of those that commit."""
        return threading.get_ident() in self._threads

    def _run(self, bell: Bell) -> None:
        thread = threading.get_ident()
        self._threads.add(thread)  # before the check of _is_closed: `close` sets it, then looks for threads
        try:
            for _ in range(SLICES):
                if self._is_closed or rang(bell, READ_AFTER_S) or self._is_due():
                    break
            self._commit_in_turn()
        finally:
            self._threads.discard(thread)

    def _commit_in_turn(self) -> None:
        while not self._is_closed:
            if self._turn.do(self._commit_now, TURN_S):
                return

    def _commit_now(self) -> None:
        self.is_idle, self._waiting = True, None
        try:
            self._commit()
            self._told = ""
        except StoreError as error:
            if str(error) != self._told and not isinstance(error, StoreLocked):  # which the store has logged
                logger.error("%s", error)
            self._told = str(error)
            if not isinstance(error, StoreLocked):  # which is for good
                self.begin()
