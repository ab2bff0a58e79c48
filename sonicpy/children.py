"""Starts child processes that end with this process, even if it is killed, where the system supports that.

A signal to a whole group, such as Control-C in a terminal, reaches a child while it imports its modules. So the parent
blocks signals while it starts a child that is to ignore them; the child inherits the blocked signals until it calls
`ignore`.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process, resource_tracker

PR_SET_PDEATHSIG = 1
"""The option of prctl(2) for the signal that the kernel sends to a process when its parent ends."""


def ends_with_parent() -> Callable[[], None] | None:
    """Return a function that makes the process calling it get SIGTERM when its parent ends; None: not supported."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up here: between fork and exec, a process should do little
    parent = os.getpid()

    return lambda: _ask_for(signal.SIGTERM, parent, prctl)


def _ask_for(number: signal.Signals, parent: int, prctl: Callable[..., int]) -> None:
    """Ask the kernel to send this process a signal when its parent ends.

    Args:
        number: the signal.
        parent: the id of the parent.
        prctl: the function of the C library.
    """
    prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:  # it ended before the request, so no signal will come
        os._exit(1)


def die_with_parent() -> None:
    """Ask the kernel to kill this process, which multiprocessing started, when its parent ends; elsewhere do nothing.

    The signal is sent when the thread of the parent that started this process ends. It also works while this process is
    stopped.
    """
    parent = parent_process()
    if sys.platform == "linux" and parent is not None and parent.pid is not None:
        _ask_for(signal.SIGKILL, parent.pid, ctypes.CDLL(None).prctl)


@contextmanager
def held_back(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Block signals in this thread, and in the processes that it starts, during a `with` block. Not for the main
    thread."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # to start it beside the first child would let some of them through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore(numbers: Iterable[signal.Signals]) -> None:
    """Ignore signals from now on, including those that were held back. Only the main thread may call this."""
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
