"""How busy the loop of a process is."""

import time

BUSY_SHARE = 0.7
"""The share of time from which on a loop counts as busy."""


class LoopLoad:
    """The load of this thread's loop."""

    def __init__(self) -> None:
        self.busy = 0.0
        """The share of time in which the loop ran, between the last two measurements."""
        self._at_s = time.monotonic()
        self._cpu_s = time.thread_time()

    def measure(self) -> float:
        """Set and return `busy` for the time since the last call."""
        now, cpu = time.monotonic(), time.thread_time()
        if now > self._at_s:
            self.busy = min((cpu - self._cpu_s) / (now - self._at_s), 1.0)
        self._at_s, self._cpu_s = now, cpu
        return self.busy
