"""A worker process for long jobs: started when there is a job, ended when there has been none for a while.

Workers start with `spawn`; a job is a function of a module, with picklable arguments. If a worker dies, another one
repeats its job, so a job must be repeatable.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from types import ModuleType
from typing import ParamSpec, TypeVar

from sonicpy.errors import WorkerError

logger = logging.getLogger(__name__)

IDLE_S = 30.0
"""A worker without a job for this time ends, because it takes about 30 MB."""
TRIES = 3
NICENESS = 5
"""When processors are busy, the server, whose clients wait for answers, runs before a worker."""
GIVEN_UP = "the job was given up because the workers were stopped"

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class Workers:
    """One worker process, which runs one job after the other."""

    def __init__(self) -> None:
        self._executor: ProcessPoolExecutor | None = None
        self._running = 0
        self._stops = 0
        self._idle_timer: asyncio.TimerHandle | None = None

    async def run(self, job: Callable[Arguments, Answer], *args: Arguments.args, **named: Arguments.kwargs) -> Answer:
        """Run a job in the worker, and return its result.

        Raises:
            WorkerError: TRIES workers died on the job, none could be started, or `stop` was called.
            SonicError: the job raised it.
        """
        loop = asyncio.get_running_loop()
        self._running += 1
        stops = self._stops
        try:
            for _ in range(TRIES):
                try:
                    executor = self._started()
                    # On a thread: starting a process blocks its parent for up to 0.1 s.
                    future = await loop.run_in_executor(None, partial(submit, executor, job, *args, **named))
                except OSError as error:
                    self._end(self._executor)
                    raise WorkerError(f"no worker process can be started: {error.strerror}") from error
                except BrokenProcessPool:
                    self._end(self._executor)
                    continue
                except RuntimeError:  # after shutdown
                    if self._stops != stops:
                        raise WorkerError(GIVEN_UP) from None
                    continue
                try:
                    return await asyncio.wrap_future(future, loop=loop)
                except BrokenProcessPool:
                    self._end(executor)
                    if self._stops != stops:
                        raise WorkerError(GIVEN_UP) from None
                    logger.error("a worker process died; its job is done again by another one")
                except asyncio.CancelledError:
                    if future.cancelled() and self._stops != stops:
                        raise WorkerError(GIVEN_UP) from None
                    raise
            raise WorkerError(f"{TRIES} worker processes died on one job; see the system log for what ended them")
        finally:
            self._running -= 1
            if self._executor is not None:
                self._idle_timer = loop.call_later(IDLE_S, self._leave_if_idle)

    def processes(self) -> list[int]:
        """Return the process id of the worker, if one runs."""
        return [] if self._executor is None else list(self._executor._processes or ())

    def stop(self) -> None:
        """End the worker, and give up its job."""
        self._stops += 1
        self._end(self._executor)

    def _started(self) -> ProcessPoolExecutor:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                max_workers=1, mp_context=multiprocessing.get_context("spawn"), initializer=prepare_worker
            )
        return self._executor

    def _leave_if_idle(self) -> None:
        if not self._running:
            self._end(self._executor)

    def _end(self, executor: ProcessPoolExecutor | None) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if executor is None:
            return
        if self._executor is executor:
            self._executor = None
        processes = executor._processes or {}
        executor.shutdown(wait=False, cancel_futures=True)  # first: it waits for a process that is just starting
        for process in list(processes.values()):
            process.terminate()


def submit(
    executor: ProcessPoolExecutor, job: Callable[Arguments, Answer], *args: Arguments.args, **named: Arguments.kwargs
) -> Future[Answer]:
    """Hand a job to the worker process, and start one if none runs."""
    with _starting, nothing_to_import():
        return executor.submit(job, *args, **named)


_starting = threading.Lock()
"""One start at a time, because `nothing_to_import` changes what all threads see."""


@contextmanager
def nothing_to_import() -> Iterator[None]:
    """Start workers without importing the program that this process runs.

    multiprocessing makes a worker import `__main__` again, with settings, loop and all, in case a job is a function of
    it; no job here is.
    """
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


def prepare_worker() -> None:
    """Ignore Control-C, which the parent handles, and end when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
