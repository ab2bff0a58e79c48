"""Time limits of tests, on any machine.

A wait ends as soon as its condition holds, so its limit costs nothing and only detects a hang: it is three minutes, or
longer on a machine that was slow when the tests began. A value that a test compares with a limit is a count, or a CPU
time (`time.thread_time`, `is_below`), or is compared with something that takes far longer.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

STEPS = 2_000_000
QUIET_S = 0.06
"""The time in seconds of STEPS on a quiet core that is a few years old."""
PAUSE_S = 0.01

Found = TypeVar("Found")


def measured_slowness(clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the factor by which this machine is slower than a quiet core at present; at least 1.

    Args:
        clock: by default the wall clock, so that other processes which use the cores count.
    """
    began = clock()
    for _ in range(STEPS):
        pass
    return max(1.0, (clock() - began) / QUIET_S)


SLOWNESS = measured_slowness()
"""The slowness of this machine when the tests began."""
WAIT_S = 180.0 * SLOWNESS
"""The time limit in seconds of events that come within a few seconds on a quiet machine."""


def until(
    look: Callable[[], Found],
    what: str = "what the test waits for",
    *,
    pause_s: float = PAUSE_S,
    most_s: float = WAIT_S,
) -> Found:
    """Wait until `look` returns a true value, and return that value.

    Args:
        look: a function that is called repeatedly.
        what: the awaited event, for the failure.
        pause_s: the seconds between two calls.
        most_s: after this many seconds the test fails; later on a machine that is slow by then.
    """
    began_s = time.monotonic()
    while not (found := look()):
        assert is_within(most_s, began_s), f"not within {most_s:.0f} s: {what}"
        time.sleep(pause_s)
    return found


async def until_in_loop(
    look: Callable[[], Found], what: str = "what the test waits for", *, most_s: float = WAIT_S
) -> Found:
    """Wait as `until` does, while the event loop runs."""
    began_s = time.monotonic()
    while not (found := look()):
        assert is_within(most_s, began_s), f"not within {most_s:.0f} s: {what}"
        await asyncio.sleep(PAUSE_S)
    return found


def is_within(limit_s: float, began_s: float) -> bool:
    """Return whether at most `limit_s` seconds have passed since `began_s`, or many times more on a machine that is
    slow now.
    """
    took_s = time.monotonic() - began_s
    return took_s < limit_s or took_s < limit_s * measured_slowness()


def is_below(took_s: float, limit_s: float) -> bool:
    """Return whether a CPU time, or a time without the waits for a core, is below a limit for quiet cores; the limit is
    higher on cores that are slow at present.
    """
    return took_s < limit_s or took_s < limit_s * measured_slowness(time.thread_time)
