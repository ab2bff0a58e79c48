"""What a store does in the background: it syncs soon after a commit, sooner if many pages wait for it to be used again;
and when nothing was changed for some seconds, it gives back disk that it does not need."""

import logging
import threading
from collections.abc import Callable

from sonicpy.errors import StoreError

logger = logging.getLogger(__name__)

SYNC_AFTER_S = 1.0
"""A loss of power costs at most the changes of about this time."""
REST_AFTER_S = 3.0
"""After a sync that long without a change, the store is at rest."""
REST_PAUSE_S = 0.002
"""Between two steps of what is done at rest, so that readers get their turns."""


class BackgroundSync:
    """Calls `sync` in a thread of its own within SYNC_AFTER_S after a change; no thread waits while nothing changes.

    Args:
        sync: waits for the disk; after a StoreError it is called again.
        rest: a step of what is to be done at rest; returns whether more is left.
    """

    def __init__(self, sync: Callable[[], None], rest: Callable[[], bool]) -> None:
        self._sync = sync
        self._rest = rest
        self._woken: threading.Event | None = None  # ends the rest of a thread that has synced
        self._turn = threading.Lock()
        self._waiting: threading.Event | None = None  # of the thread that will sync and has not begun to
        self._threads: set[threading.Thread] = set()
        self._is_closed = False

    def note_change(self, *, is_urgent: bool) -> None:
        """Sync soon; at once if that is urgent."""
        soon = self._waiting
        if soon is None:
            soon = self._begin()
        if is_urgent:
            soon.set()

    def close(self) -> None:
        """Begin no more syncs, and wait until the last one has ended."""
        with self._turn:
            self._is_closed = True
            self._wake()
            threads = list(self._threads)
            if self._waiting is not None:
                self._waiting.set()
        for thread in threads:
            thread.join()

    def _begin(self) -> threading.Event:
        """Start the thread of the next sync; return what makes it hurry."""
        with self._turn:
            soon = threading.Event()
            if self._is_closed:
                return soon
            self._wake()
            thread = threading.Thread(target=self._run, args=(soon,), name="sonicpy-sync", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # the system allows no more threads; the next change tries again
                logger.error("no thread can be started to sync the store: %s", error)
                return soon
            self._waiting = soon
            self._threads.add(thread)
            return soon

    def _run(self, soon: threading.Event) -> None:
        soon.wait(SYNC_AFTER_S)
        with self._turn:
            self._waiting = None  # what changes from now on needs another sync
            is_closed = self._is_closed
        try:
            if not is_closed:
                self._sync()
                self._rest_until_woken()
        except StoreError as error:
            logger.error("%s", error)
            self.note_change(is_urgent=False)
        finally:
            with self._turn:
                self._threads.discard(threading.current_thread())

    def _rest_until_woken(self) -> None:
        """Do what is to be done at rest, if nothing changes for a while."""
        with self._turn:
            if self._is_closed or self._waiting is not None:
                return
            self._wake()  # the thread of a sync that was under way at the same time: one is enough
            self._woken = woken = threading.Event()
        pause_s = REST_AFTER_S
        try:
            while not woken.wait(pause_s) and self._rest():
                pause_s = REST_PAUSE_S
        except StoreError as error:
            logger.error("%s", error)

    def _wake(self) -> None:
        if self._woken is not None:
            self._woken.set()
            self._woken = None
