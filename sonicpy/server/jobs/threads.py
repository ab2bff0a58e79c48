"""Run work of the loop in a thread; if no thread can be started, the error is a WorkerError, not a RuntimeError."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from sonicpy.errors import WorkerError

Value = TypeVar("Value")


def in_thread(work: Callable[..., Value], *args: object) -> "asyncio.Future[Value]":
    """Begin work in a thread; return the future of its result.

    Raises:
        WorkerError: no thread can be started.
    """
    try:
        return asyncio.get_running_loop().run_in_executor(None, work, *args)
    except RuntimeError as error:  # no memory for the stack of a thread, or too many threads
        raise WorkerError(f"a task is given up: {error}") from error
