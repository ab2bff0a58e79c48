"""Turns: limit the threads that use connections at a time, in a form that no interrupt can break.

A signal handler may raise after any call that Python makes. So a semaphore can be acquired by a call whose result never
arrives, and then nothing releases it. A `with` statement of a lock written in C has no such gap, neither before its
block nor after it. So each turn is a lock of its own, which a thread holds in a `with` statement; a turn counts while
its lock is held. Nothing is counted up and down; an interrupt leaves at most an unheld lock behind.

    turn = threading.Lock()
    with turn:
        try:
            turns.wait(turn, timeout_s)
            ...
        finally:
            turns.leave(turn)
"""

import queue
import time
from threading import Lock

LOOK_S = 0.05
"""The interval in seconds at which a waiting thread checks its turn, because an interrupt may keep another thread from
waking it.
"""

Wake = queue.SimpleQueue[None]


class CallTurns:
    """Lets at most `most` calls run at a time; the others wait in the order in which they came."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._turns: dict[Lock, Wake | None] = {}  # in the order of arrival, with what wakes a thread that waits

    def wait(self, turn: Lock, timeout_s: float) -> bool:
        """Wait until the turn of the calling thread, which holds `turn`, has come; return False after `timeout_s`
        seconds.
        """
        self._turns[turn] = None
        if len(self._turns) <= self._most or self._has_come(turn):
            return True
        wake = self._turns[turn] = Wake()
        deadline = time.monotonic() + timeout_s
        while not self._has_come(turn):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            try:
                wake.get(timeout=min(left_s, LOOK_S))
            except queue.Empty:
                continue
        return True

    def leave(self, turn: Lock) -> None:
        """Remove a turn, and wake the threads whose turn has come. Without this call they continue within LOOK_S."""
        self._turns.pop(turn, None)
        if len(self._turns) >= self._most:
            for wake in list(self._turns.values())[: self._most]:
                if wake is not None:
                    wake.put(None)

    def _has_come(self, turn: Lock) -> bool:
        """Return whether fewer than `most` turns before this one are held; remove turns that are not held."""
        ahead = 0
        for other in list(self._turns):
            if other is turn:
                return True
            if not other.locked():
                self._turns.pop(other, None)
            elif (ahead := ahead + 1) >= self._most:
                return False
        return True
