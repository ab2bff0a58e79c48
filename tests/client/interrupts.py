"""Interrupts at chosen moments: exceptions where a signal handler may raise, cancellations where a task waits.

Python runs signal handlers when a function begins and after each call. A profiling function is called at these moments,
too, and its exceptions come out of the same instructions as those of a handler.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from types import FrameType
from typing import Any

WAKES = frozenset(["acquire", "connect", "get", "poll", "recv", "sendall", "sleep"])
"""Functions in C that a signal ends early, so that the handler runs inside them."""


class Interrupted(BaseException):
    """The exception that a signal handler raises."""


class Interrupt:
    """One or two interrupts of a call.

    Args:
        moment: the number of moments to let pass.
        second: the number of moments to let pass after the first interrupt; None: there is no second one.
    """

    def __init__(self, moment: int, second: int | None = None) -> None:
        self.seen = 0
        """The number of moments before the last interrupt, or of all moments if there was none."""
        self.given = 0
        """The number of interrupts so far."""
        self._next: list[int] = [moment, *([] if second is None else [second])]
        # CPython frees a bound method that unsets itself while it runs.
        self._looking, self._resuming = self._look, self._resume

    def run(self, work: Callable[[], object]) -> None:
        """Call `work`. Raises Interrupted, unless the call ends before that, or a destructor is interrupted."""
        before = sys.getprofile(), sys.gettrace(), sys.unraisablehook
        sys.unraisablehook = deque[Any](maxlen=0).append  # pytest's is in Python, and would be interrupted, too
        sys.setprofile(self._looking)
        try:
            work()
        finally:
            sys.setprofile(before[0])
            sys.settrace(before[1])
            sys.unraisablehook = before[2]

    def _look(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_exception" or (event == "c_call" and argument.__name__ not in WAKES):
            return
        if event.startswith("c_") and argument.__name__ in ("setprofile", "settrace"):
            return
        self.seen += 1
        if not self._next or self.seen <= self._next[0]:
            return
        del self._next[0]
        self.seen = 0
        self.given += 1
        if self._next:  # Python forgets a profiling function that raises: a tracing function sets it again
            above: FrameType | None = frame
            while above is not None and above.f_code is not Interrupt.run.__code__:
                above.f_trace = self._resuming
                above = above.f_back
            sys.settrace(self._resuming)
        raise Interrupted

    def _resume(self, frame: FrameType, event: str, argument: Any) -> None:
        sys.settrace(None)
        sys.setprofile(self._looking)


class CancelledAt:
    """Awaits `work` and cancels the task where it waits for the `place`th time, counted from 0, and perhaps once more.

    Args:
        place: the number of waits before the cancellation.
        again: the number of further waits before a second cancellation; None: it is cancelled once.
    """

    def __init__(self, work: Awaitable[Any], place: int, again: int | None = None) -> None:
        self.waits = 0
        """The number of times that the task waited."""
        self._work = work
        self._places = {place, *([] if again is None else [place + 1 + again])}

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._work.__await__()
        given: Any = None
        thrown: BaseException | None = None
        while True:
            try:
                waited_for = steps.send(given) if thrown is None else steps.throw(thrown)
            except StopIteration as end:
                return end.value
            if self.waits in self._places:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            self.waits += 1
            given = thrown = None
            try:
                given = yield waited_for
            except BaseException as error:  # noqa: BLE001 - passed on
                thrown = error
