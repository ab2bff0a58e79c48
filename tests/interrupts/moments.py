"""Exceptions at chosen moments of a call, and a count of these moments.

The interpreter runs handlers of signals, and raises the exceptions that another thread has set, at few instructions of
its bytecode: after calls, on entering a function, and where a loop jumps back. A trace function runs before each of
these, and makes a signal pending at that time. So the exception comes from the interpreter itself, at exactly the
moments at which it may come in a real program, and each moment can be tried.
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
"""The beginnings of the names of instructions that check for exceptions from outside."""
OURS = __file__.rpartition("tests")[0] + "tests"
"""The folder of files whose frames are not interrupted."""
HYPOTHESIS = "/hypothesis/"
"""A part of the paths of files whose frames are not interrupted either: a callback of Hypothesis runs during garbage
collection, inside other frames.
"""

pythonapi = ctypes.pythonapi
pythonapi.PyErr_SetInterruptEx.argtypes = [ctypes.c_int]
pythonapi.PyErr_SetInterruptEx.restype = ctypes.c_int
pythonapi.PyThreadState_SetAsyncExc.argtypes = [ctypes.c_ulong, ctypes.py_object]
pythonapi.PyThreadState_SetAsyncExc.restype = ctypes.c_int


class Signal(int):
    """A signal that becomes pending when `now` is read, without a call, after which it would be handled at once."""

    now = property(pythonapi.PyErr_SetInterruptEx)


def _of_thread(thread: int, error: type[BaseException]) -> Any:
    """Return an object that sets an exception for a thread once its `now` is read."""
    arguments = ctypes.c_ulong(thread), ctypes.py_object(error)
    set_error = partial(pythonapi.PyThreadState_SetAsyncExc, *arguments)
    return type("OfThread", (int,), {"now": property(set_error)})(0)


@cache
def checks(code: CodeType) -> frozenset[int]:
    """Return the places of the instructions after which an exception may come."""
    return frozenset(step.offset for step in dis.get_instructions(code) if step.opname.startswith(CHECKING))


class Moments:
    """Runs calls on this thread, and raises an exception at chosen moments of the calls.

    Args:
        error: the class of the exceptions.

    Attributes:
        passed: the number of moments in the last call.
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
        """Run a call; return the exception that came out of it, or None.

        Args:
            at: the numbers, rising, of the moments at which an exception comes.
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
    """Raise an exception in the main thread if the block takes longer than `seconds`."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise error

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
