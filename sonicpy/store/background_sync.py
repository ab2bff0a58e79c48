"""Syncs a store in the background: soon after a commit, and sooner if many pages wait for it to be used again."""

import logging
import threading
from collections.abc import Callable

from sonicpy.errors import StoreError

logger = logging.getLogger(__name__)

SYNC_AFTER_S = 1.0
"""A loss of power costs at most the changes of about this time."""


class BackgroundSync:
    """Calls `sync` in a thread of its own within SYNC_AFTER_S after a change; no thread waits while nothing changes.

    Args:
        sync: waits for the disk; after a StoreError it is called again.
    """

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
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
        except StoreError as error:
            logger.error("%s", error)
            self.note_change(is_urgent=False)
        finally:
            with self._turn:
                self._threads.discard(threading.current_thread())
