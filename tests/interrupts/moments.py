"""Exceptions at chosen moments of a call, and a count of these moments.

The interpreter runs handlers of signals, and raises the exceptions that another thread has set, at few instructions of
its bytecode: behind calls, on entering a function, and where a loop goes back. A trace function sees each of them come,
and lets a signal be pending just then: so the exception comes from the interpreter itself, at exactly the moments at
which it comes in a real program, and every one of them can be tried.
"""

import ctypes
import dis
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from types import CodeType, FrameType
from typing import Any

CHECKING = ("CALL", "RESUME", "JUMP_BACKWARD")
"""The names of instructions that look for exceptions from outside begin so."""
OURS = __file__.rpartition("tests")[0] + "tests"
"""Frames of files in it are not interrupted."""
HYPOTHESIS = "/hypothesis/"
"""Nor are frames of such files: its callback of the garbage collector runs inside of other frames."""

pythonapi = ctypes.pythonapi
pythonapi.PyErr_SetInterruptEx.argtypes = [ctypes.c_int]
pythonapi.PyErr_SetInterruptEx.restype = ctypes.c_int
pythonapi.PyThreadState_SetAsyncExc.argtypes = [ctypes.c_ulong, ctypes.py_object]
pythonapi.PyThreadState_SetAsyncExc.restype = ctypes.c_int


class Signal(int):
    """A signal that is pending once `now` is read: without a call, behind which it would come at once."""

    now = property(pythonapi.PyErr_SetInterruptEx)


def _of_thread(thread: int, error: type[BaseException]) -> Any:
    """Return an object that sets an exception for a thread once its `now` is read."""
    arguments = ctypes.c_ulong(thread), ctypes.py_object(error)
    set_error = partial(pythonapi.PyThreadState_SetAsyncExc, *arguments)
    return type("OfThread", (int,), {"now": property(set_error)})(0)


@cache
def checks(code: CodeType) -> frozenset[int]:
    """Return the places of the instructions behind which an exception may come."""
    return frozenset(step.offset for step in dis.get_instructions(code) if step.opname.startswith(CHECKING))


class Moments:
    """Runs calls on this thread, and raises an exception at chosen moments of the calls.

    Args:
        error: the class of the exceptions.

    Attributes:
        passed: the number of moments of the last call.
    """

    def __init__(self, error: type[BaseException]) -> None:
        self._error = error
        self._at: list[int] = []
        self.passed = 0
        is_main = threading.current_thread() is threading.main_thread()
        self._trigger: Any = Signal(signal.SIGALRM) if is_main else _of_thread(threading.get_ident(), error)
        if is_main:
            signal.signal(signal.SIGALRM, self._raise)

    def run(self, call: Callable[[], object], at: list[int]) -> BaseException | None:
        """Run a call; return the exception that came out of it.

        Args:
            at: the numbers of the moments at which an exception comes, rising.
        """
        self._at = [*at, -1]
        self.passed = 0
        try:
            sys.settrace(self._trace)
            try:
                call()
            finally:
                sys.settrace(None)
        except BaseException as error:  # noqa: BLE001 - the caller judges it
            return error
        return None

    def _raise(self, number: int, frame: FrameType | None) -> None:
        raise self._error

    def _trace(self, frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        code = frame.f_code
        if code.co_filename.startswith((OURS, "<frozen importlib")):  # imports may leave their lock held: Python's part
            return None
        if HYPOTHESIS in code.co_filename:
            return None
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        places = checks(code)

        def local(frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
            if event == "opcode" and frame.f_lasti in places:
                number = self.passed
                self.passed = number + 1
                if number == self._at[0]:
                    del self._at[0]
                    self._trigger.now  # noqa: B018 - no call behind it: the exception comes in the traced frame
            return local

        number = self.passed
        self.passed = number + 1
        if number == self._at[0]:
            del self._at[0]
            self._trigger.now  # noqa: B018
        return local


@contextmanager
def alarm(seconds: float, error: type[BaseException]) -> Iterator[None]:
    """Raise an exception after some time, if the block takes that long; for the main thread."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise error

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
