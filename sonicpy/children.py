"""Processes that a command starts for itself: they end with it, also if it is killed, where the system can do that."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
"""Of prctl(2): the signal that a process gets when the one that started it ends."""


def ends_with_parent() -> Callable[[], None] | None:
    """Return what a new process calls so that it gets SIGTERM when its parent ends; None: the system cannot do it."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up here: between fork and exec, a process should do little
    parent = os.getpid()

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:  # it ended before the request, so no signal will come
            os._exit(1)

    return ask
