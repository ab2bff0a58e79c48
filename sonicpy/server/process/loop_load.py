"""How busy the loop of a process is."""

import time

BUSY_SHARE = 0.7
"""A loop with a larger share is busy."""


class LoopLoad:
    """How busy the loop of this thread is."""

    def __init__(self) -> None:
        self.busy = 0.0
        """The share of the time that it took between the last two measurements."""
        self._at_s = time.monotonic()
        self._cpu_s = time.thread_time()

    def measure(self) -> float:
        """Note and return how busy it was since the last call."""
        now, cpu = time.monotonic(), time.thread_time()
        if now > self._at_s:
            self.busy = min((cpu - self._cpu_s) / (now - self._at_s), 1.0)
        self._at_s, self._cpu_s = now, cpu
        return self.busy
