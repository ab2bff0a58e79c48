"""A worker process for graph builds: started when there is work, gone when there is none.

Workers start with `spawn`; a job is a function of a module with picklable arguments. A worker that dies is replaced and
its job done again, so a job must be one that can be done twice.
"""

import asyncio
import logging
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import ParamSpec, TypeVar

from sonicpy.errors import WorkerError

logger = logging.getLogger(__name__)

IDLE_S = 30.0
"""A worker holds about 30 MB; after so long without work it leaves."""
TRIES = 3

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class Workers:
    """One process that does one job after the other, off the event loop."""

    def __init__(self) -> None:
        self._executor: ProcessPoolExecutor | None = None
        self._running = 0
        self._idle_timer: asyncio.TimerHandle | None = None

    async def run(
        self, job: Callable[Arguments, Answer], *args: Arguments.args, **named: Arguments.kwargs
    ) -> Answer:
        """Return what the job returns.

        Raises:
            WorkerError: workers died on it again and again.
            SonicError: whatever the job raises.
        """
        loop = asyncio.get_running_loop()
        self._running += 1
        try:
            for _ in range(TRIES):
                executor = self._started()
                try:
                    return await asyncio.wrap_future(executor.submit(job, *args, **named), loop=loop)
                except BrokenProcessPool:
                    logger.error("a worker process died; its job is done again by another one")
                    if self._executor is executor:
                        self._executor = None
                    executor.shutdown(wait=False)
            raise WorkerError(f"{TRIES} worker processes died on one job; see the system log for who ended them")
        finally:
            self._running -= 1
            self._idle_timer = loop.call_later(IDLE_S, self._leave_if_idle)

    def processes(self) -> list[int]:
        """Return the process ids of the workers."""
        held = self._executor._processes if self._executor is not None else None
        return list(held or ())

    def stop(self) -> None:
        """End the worker; a job under way is given up."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        executor, self._executor = self._executor, None
        if executor is not None:
            for process in list((executor._processes or {}).values()):
                process.terminate()
            executor.shutdown(wait=False, cancel_futures=True)

    def _started(self) -> ProcessPoolExecutor:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._executor is None:
            self._executor = ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn"))
        return self._executor

    def _leave_if_idle(self) -> None:
        if not self._running:
            self.stop()
