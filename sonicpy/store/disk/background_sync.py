"""The background work of a store: it syncs soon after a commit, and frees unused disk space when idle.

A sync comes sooner if many replaced pages wait for it. A store is idle after some seconds without a change.
"""

import threading
import time
from _thread import start_new_thread
from collections.abc import Callable
from math import inf
from queue import Empty, SimpleQueue

from sonicpy._native.held import Held
from sonicpy.errors import StoreError
from sonicpy.late_logger import LateLogger

logger = LateLogger(__name__)

SYNC_AFTER_S = 1.0
"""The time in seconds from a change to its sync: a loss of power undoes about the changes of this time, and no more."""
REST_AFTER_S = 3.0
"""The time in seconds without a change, after a sync, from which on a store is at rest."""
REST_PAUSE_S = 0.002
"""The pause in seconds between two steps of the work at rest, in which readers get their turns."""
PAUSE_S = 0.001
"""The pause in seconds between two checks whether all threads have ended."""

Bell = SimpleQueue[None]
"""A queue whose items wake a waiting thread.

An Event is not safe: its methods are Python functions, and an exception of a signal handler inside one may leave its
lock held.
"""


class BackgroundSync:
    """Calls `sync` in a thread of its own within SYNC_AFTER_S after a change; no thread waits while nothing changes.

    Args:
        sync: a function that waits for the disk; after a StoreError it is called again.
        rest: a function that carries out a step of the work at rest, and returns whether more is left.
    """

    def __init__(self, sync: Callable[[], None], rest: Callable[[], bool]) -> None:
        self._sync = sync
        self._rest = rest
        self._woken: Bell | None = None  # ends the rest of a thread that has synced
        self._turn = threading.Lock()
        self._waiting: Bell | None = None  # of the thread that will sync and has not begun to
        self._running: set[int] = set()  # threads that have begun and not ended
        self._is_closed = False

    def note_change(self, *, is_urgent: bool) -> None:
        """Note a change, so that a sync follows soon, or at once if `is_urgent`."""
        soon = self._waiting
        if soon is None:
            soon = self._begin()
        if is_urgent:
            soon.put(None)

    def close(self, seconds: float = inf) -> bool:
        """Begin no more syncs, and wait until the last one has ended. This may be called again.

        Args:
            seconds: the time limit of the wait.

        Returns:
            Whether the last sync has ended.
        """
        with Held(self._turn):
            self._is_closed = True
            self._wake()
            if self._waiting is not None:
                self._waiting.put(None)
        deadline = time.monotonic() + seconds
        while self._running:
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE_S)
        return True

    def leave_to_parent(self) -> None:
        """In a forked process: begin no syncs, and do not wait for those under way, which belong to the parent."""
        self._turn = threading.Lock()  # another thread of the parent may have it
        self._is_closed = True
        self._running.clear()

    @property
    def is_here(self) -> bool:
        """Whether the calling thread is one that syncs."""
        return threading.get_ident() in self._running

    def _begin(self) -> Bell:
        """Start the thread of the next sync; return the bell that wakes it."""
        with Held(self._turn):
            soon = Bell()
            if self._is_closed:
                return soon
            self._wake()
            self._waiting = soon
            is_started = False
            try:
                # Not threading.Thread: its `start` is a function of Python that waits for an Event.
                start_new_thread(self._run, (soon,))
                is_started = True
            except RuntimeError as error:  # the system allows no more threads; the next change tries again
                logger.error("no thread can be started to sync the store: %s", error)
            finally:
                if not is_started:  # or an exception came behind the start: two threads do no harm
                    self._waiting = None
            return soon

    def _run(self, soon: Bell) -> None:
        thread = threading.get_ident()
        self._running.add(thread)  # before it looks whether this is closed, as `close` looks at it behind
        try:
            self._sync_after(soon)
        finally:
            self._running.discard(thread)

    def _sync_after(self, soon: Bell) -> None:
        rang(soon, SYNC_AFTER_S)
        with Held(self._turn):
            if self._waiting is soon:
                self._waiting = None  # changes from now on need another sync
            if self._is_closed:
                return
        try:
            self._sync()
            self._rest_until_woken()
        except StoreError as error:
            logger.error("%s", error)
            self.note_change(is_urgent=False)

    def _rest_until_woken(self) -> None:
        """Carry out the work at rest, if nothing changes for a while."""
        with Held(self._turn):
            if self._is_closed or self._waiting is not None:
                return
            self._wake()  # the thread of a sync that was under way at the same time: one is enough
            self._woken = woken = Bell()
        pause_s = REST_AFTER_S
        try:
            while not rang(woken, pause_s) and self._rest():
                pause_s = REST_PAUSE_S
        except StoreError as error:
            logger.error("%s", error)

    def _wake(self) -> None:
        if self._woken is not None:
            self._woken.put(None)
            self._woken = None


def rang(bell: Bell, seconds: float) -> bool:
    """Wait for a bell; return whether it rang in time."""
    try:
        bell.get(timeout=seconds)
    except Empty:
        return False
    return True
