"""The order in which connections are served.

A connection that was not busy takes its turn as soon as its bytes arrive. A connection that used up a turn queues for
the next. The queue is processed for one round at a time, then the loop looks for new bytes: so an idle connection waits
for at most one round, however many are busy.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

ROUND_S = 0.005
"""The time in seconds for queued turns, after which the loop looks for new bytes."""


class Turns:
    """The queue of turns. Create it while the loop runs."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: deque[Callable[[], None]] = deque()
        self._has_round = False
        self._spent_s = 0.0
        self.is_backlogged = False
        """Whether turns taken on arrival have used up a round, so that further such turns have to be short."""

    def note_immediate_turn(self, seconds: float) -> None:
        """Count the time of a turn that was taken on arrival, until the loop looks for new bytes."""
        self._spent_s += seconds
        if self._spent_s > ROUND_S and not self.is_backlogged:
            self.is_backlogged = True
            self._loop.call_soon(self._forget_spent)  # runs before the loop looks for new bytes

    def enqueue_turn(self, turn: Callable[[], None]) -> None:
        """Take a turn after all turns that are queued now."""
        self._queue.append(turn)
        if not self._has_round:
            self._has_round = True
            self._loop.call_soon(self._take_round)

    def _take_round(self) -> None:
        deadline = time.perf_counter() + ROUND_S
        try:
            while self._queue and time.perf_counter() < deadline:
                self._queue.popleft()()
        finally:
            self._has_round = bool(self._queue)
            if self._has_round:
                self._loop.call_soon(self._take_round)

    def _forget_spent(self) -> None:
        self._spent_s = 0.0
        self.is_backlogged = False
