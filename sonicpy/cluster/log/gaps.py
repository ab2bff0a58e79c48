"""The times that batches of a log wait for their acknowledgement: mostly a millisecond, sometimes until a new leader is
elected.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GAP_S = 0.2
"""The wait in seconds from which on a batch counts as a gap."""


class Gaps:
    """The gaps of a partition at one node. One batch waits at a time.

    Args:
        clock: returns the time in seconds.

    Attributes:
        count: number of gaps that have ended.
        seconds: the total duration of these gaps.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.count = 0
        self.seconds = 0.0
        self._clock = clock
        self._since: float | None = None

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Measure the wait for the acknowledgement of a batch, which happens inside the `with` block."""
        self._since = began = self._clock()
        try:
            yield
        finally:
            self._since = None
            waited = self._clock() - began
            if waited > GAP_S:
                self.count += 1
                self.seconds += waited

    @property
    def lasting_s(self) -> float:
        """The time in seconds that the batch under way has waited; 0.0: no batch is under way."""
        return 0.0 if self._since is None else self._clock() - self._since
