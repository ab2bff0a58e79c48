"""RetryPolicy: decides whether a failed exchange is tried again, and after which pause."""

import random
import time

from sonicpy.errors import ConnectionLost, SonicError, TimedOut

FIRST_PAUSE_S = 0.02
PAUSE_MAX_S = 1.0


class AllInUse(TimedOut):
    """No connection of a pool became free in time: nothing was sent."""


class RetryPolicy:
    """Decides after each error whether to try again; each pause is twice as long as the one before.

    Args:
        retry_s: the time limit of the retries in seconds, from the first failure on; one retry is always made.
        repeats: whether the server may execute the exchange twice.
        elsewhere: whether there is another server; then an exchange without an answer in time is tried there once more.
    """

    def __init__(self, retry_s: float, repeats: bool, *, elsewhere: bool = False) -> None:
        self._retry_s = retry_s
        self._deadline: float | None = None
        self._repeats = repeats
        self._pause_s = 0.0
        self._elsewhere = elsewhere
        self._was_late = False

    def pause_s(self, error: SonicError) -> float:
        """Return the pause in seconds before the next attempt, longer at each call; raise `error` if there is to be
        no further one.
        """
        if self._deadline is None:
            self._deadline = time.monotonic() + self._retry_s
        if self._repeats and self._elsewhere and not self._was_late and _is_silence(error):
            self._was_late = True
            return 0.0
        if not isinstance(error, ConnectionLost) or (error.was_sent and not self._repeats):
            raise error
        pause_s = self._pause_s * random.uniform(0.5, 1.0)  # clients should not all come back at the same moment
        if self._pause_s and time.monotonic() + pause_s > self._deadline:
            raise error
        # The first retry comes at once: the server may have closed only this connection, because it was idle.
        self._pause_s = min(PAUSE_MAX_S, self._pause_s * 2 or FIRST_PAUSE_S)
        return pause_s

    def restart(self) -> None:
        """Start the time limit and the pauses anew, because the server answered something."""
        self._deadline = None
        self._pause_s = 0.0
        self._was_late = False


def _is_silence(error: SonicError) -> bool:
    return isinstance(error, TimedOut) and not isinstance(error, AllInUse)
