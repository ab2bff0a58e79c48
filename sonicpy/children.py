"""Processes that this one starts for itself: they end with it, also if it is killed, where the system can do that.

Signals to a whole group, such as Control-C in a terminal, reach a child while it imports its modules. So a child that
ignores some is started while its parent holds them back: they are held back in it, too, until it has called `ignore`.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process, resource_tracker

PR_SET_PDEATHSIG = 1
"""Of prctl(2): the signal that a process gets when the one that started it ends."""


def ends_with_parent() -> Callable[[], None] | None:
    """Return what a new process calls so that it gets SIGTERM when its parent ends; None: the system cannot do it."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up here: between fork and exec, a process should do little
    parent = os.getpid()

    return lambda: _ask_for(signal.SIGTERM, parent, prctl)


def _ask_for(number: signal.Signals, parent: int, prctl: Callable[..., int]) -> None:
    """Let the system send this process a signal when its parent ends."""
    prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != parent:  # it ended before the request, so no signal will come
        os._exit(1)


def die_with_parent() -> None:
    """Let the system kill this process, which multiprocessing started, when its parent ends; elsewhere do nothing.

    More precisely: when the thread of the parent ends that started it. This works while the process is stopped, too.
    """
    parent = parent_process()
    if sys.platform == "linux" and parent is not None and parent.pid is not None:
        _ask_for(signal.SIGKILL, parent.pid, ctypes.CDLL(None).prctl)


@contextmanager
def held_back(numbers: Iterable[signal.Signals]) -> Iterator[None]:
    """Hold back signals from this thread, and from what it starts inside a `with` block. Not for the main thread."""
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
    """Ignore signals from now on, also those that were held back until now; for the main thread."""
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
