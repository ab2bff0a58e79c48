"""The reasons why a store refuses changes at the moment, and the time of the next try."""

import time
from collections.abc import Callable
from typing import Protocol

from sonicpy.errors import StoreDamaged, StoreError, StoreFull, StoreLocked
from sonicpy.late_logger import LateLogger
from sonicpy.store.disk.folder import WriterLock

logger = LateLogger(__name__)

RETRY_S = 0.02  # between commits that fail and that changes have tried
RETRY_PAUSE = 4  # and at least this many times as long as the last one took


class Logged(Protocol):
    """A store with a log."""

    @property
    def log_position(self) -> int: ...


class Refusals:
    """The reasons for refusing changes: a failed commit or sync, a replaced file, a damaged log, or a call of
    `Store.refuse`.

    Args:
        lock: the lock of the store; it checks whether the files of the store are still there.

    Attributes:
        now: the error that a change raises; None: changes are accepted.
        damage: the error that refuses changes for good, because acknowledged ones were lost; None: none were.
        failed_disk: the error that refuses changes for good, because the disk may lack written bytes; None: no sync
            has failed like that.
        lasting: one of these two errors; None: there is neither.
    """

    def __init__(self, lock: WriterLock) -> None:
        self.now: StoreError | None = None
        self.damage: StoreDamaged | None = None
        self.failed_disk: StoreError | None = None
        self.lasting: StoreError | None = None
        self._lock = lock
        self._failed: StoreError | None = None
        self._replaced: StoreLocked | None = None
        self._held_back: StoreFull | None = None
        self._next_try_s = 0.0
        self._free_blocks = 0  # of the disk, after the last commit that failed

    @property
    def may_end(self) -> bool:
        """Whether the last commit failed, and the next one may succeed."""
        return self._failed is not None and self._replaced is None and self.lasting is None

    @property
    def is_time_to_try(self) -> bool:
        """Whether the next commit after a failed one is due: some time has passed, or the disk has more room."""
        return time.monotonic() >= self._next_try_s or self._lock.free_blocks() > self._free_blocks

    def hold_back(self, why: str | None) -> None:
        """Refuse changes with a sentence as the reason; None: accept them again."""
        self._held_back = None if why is None else StoreFull(why)
        self._renew()

    def note_damage(self, error: StoreDamaged) -> StoreDamaged:
        """Refuse changes for good, and log the error; return it."""
        self.damage = error
        self._renew()
        logger.error("%s", error)
        return error

    def note_failed_disk(self, why: StoreError) -> None:
        """Refuse changes for good, because a sync failed, and log that once; any thread may call this."""
        if self.failed_disk is None:
            advice = "reading goes on; check the disk, then open the store again"
            self.failed_disk = StoreError(f"changes are refused, because the disk failed to write ({why}): {advice}")
            self._renew()
            logger.error("%s", self.failed_disk)

    def note_failure(self, error: StoreError) -> StoreFull:
        """Refuse changes because a commit failed; return the error to raise for them."""
        reason = StoreFull(f"changes are refused until the store can be written again: {error}")
        self._failed = reason
        self._renew()
        return reason

    def wait_after(self, took_s: float) -> None:
        """Put off the next try of a commit, after one that took `took_s` seconds: readers would wait for it."""
        self._free_blocks = self._lock.free_blocks()
        self._next_try_s = time.monotonic() + max(RETRY_S, RETRY_PAUSE * took_s)

    def note_commit(self) -> None:
        """Accept changes again, because a commit has succeeded."""
        self._failed = None
        self._renew()

    def replaced(self) -> StoreLocked | None:
        """Return the error that refuses changes for good, because a file of the store was deleted or replaced; None:
        all files are in place. The first call that returns an error also logs it.
        """
        if self._replaced is None and (found := self._lock.refusal()) is not None:
            self._replaced = self._failed = found
            self._renew()
            logger.error("%s", found)
        return self._replaced

    def finds_replaced(self) -> bool:
        """Return whether a file was deleted or replaced. This may be called often: files are examined only from time to
        time.
        """
        is_time = self._replaced is not None or time.monotonic() >= self._lock.next_look_s
        return is_time and self.replaced() is not None

    def check_files(self) -> None:
        """Check, if the last check is some time ago, that the files of the store are in place. Raises StoreLocked."""
        if self.finds_replaced() and (replaced := self.replaced()) is not None:
            raise replaced.with_traceback(None)

    def check(self) -> None:
        """Raise the error of `now`, if changes are refused."""
        if self.now is not None:
            raise self.now.with_traceback(None)  # of the last change that was refused

    def check_damage(self) -> None:
        """Raise StoreDamaged if the log is damaged: a record behind the damage is set aside with it."""
        if self.damage is not None:
            raise self.damage.with_traceback(None)

    def check_lasting(self) -> None:
        """Raise the error of `lasting`, if changes are refused for good."""
        if self.lasting is not None:
            raise self.lasting.with_traceback(None)

    def _renew(self) -> None:
        self.lasting = self.damage or self.failed_disk
        self.now = self._replaced or self.lasting or self._failed or self._held_back


def interruption_in(error: StoreError) -> OSError | None:
    """Return the exception of a signal handler, such as TimeoutError, that was taken for a failure of the disk; None:
    the disk failed. The errors of the system have a number.
    """
    cause = error.__cause__
    return cause if isinstance(cause, OSError) and cause.errno is None else None


def finish_change(store: Logged, finish: Callable[[], None]) -> None:
    """Seal and commit the change just made, by `finish`.

    Raises:
        StoreError: the change was not stored, or the log has it without a commit, as the message says.
    """
    before = store.log_position
    try:
        finish()
    except StoreError as error:
        if store.log_position == before:
            raise
        raise logged(error) from error


def logged(error: StoreError) -> StoreError:
    """Return the error to raise instead of one behind a change that the log has."""
    kept = "the log has the change, which is visible at the latest after the next commit"
    return type(error)(f"{kept}: {error}")
