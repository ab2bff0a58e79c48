"""A worker process for long jobs: started when there is a job, ended when there has been none for a while.

Workers start with `spawn`; a job is a function of a module, with picklable arguments. If a worker dies, another one
repeats its job, so a job must be repeatable. A worker that is silent for SILENCE_S, or for START_SILENCE_S after its
start, or whose job takes longer than the time limit, is killed, which counts as its death.
"""

import asyncio
import logging
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.util import is_exiting
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from sonicpy.children import held_back
from sonicpy.errors import WorkerError
from sonicpy.interpreter import safe_path
from sonicpy.server.jobs.worker_process import BEAT_S, IGNORED, Job, Outcome, serve_jobs

logger = logging.getLogger(__name__)

IDLE_S = 30.0
"""The time in seconds without a job after which a worker ends, because it takes about 20 MB."""
TRIES = 3
SILENCE_S = 12.0
"""The time in seconds without a message after which a worker counts as stopped or hanging; even a busy machine is far
faster.
"""
START_SILENCE_S = 120.0
"""Replaces SILENCE_S before the first message: a start takes half a second of a core, and a busy machine may need long
for it.
"""
TIME_LIMIT_S = 3600.0
NOTED_S = 1.0
DIED = "died"
GIVEN_UP = "the job was given up because the workers were stopped"

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


class WorkerDied(Exception):
    """The worker ended before it answered; the argument is the reason, if this process ended it."""


class DeadlyJob(WorkerError):
    """Each worker that was given a job died on it, or was killed for it.

    Attributes:
        has_ended_worker: the last worker had begun the job and ended by itself, so a part of the job may be at fault.
        was_late: the last worker was killed because of the time limit.
    """

    has_ended_worker = was_late = False


class Workers:
    """One worker process, which runs one job after the other.

    Args:
        time_limit_s: the longest time of a job in seconds; 0: no limit.
        idle_s: the time in seconds without a job after which the worker ends; None: it never ends.
        first: a job that each worker carries out before its others, such as one that loads a model.
        later_limit_s: replaces `time_limit_s` for the jobs behind `first`; a late job is not repeated then.
    """

    def __init__(
        self,
        time_limit_s: float = TIME_LIMIT_S,
        *,
        idle_s: float | None = IDLE_S,
        first: Job | None = None,
        later_limit_s: float | None = None,
    ) -> None:
        self._time_limit_s = time_limit_s
        self._later_limit_s = time_limit_s if later_limit_s is None else later_limit_s
        self._repeats_late = later_limit_s is None
        self._first = first
        self._idle_s = idle_s
        self._worker: Worker | None = None
        self._turn = asyncio.Lock()
        self._running = 0
        self._stops = 0
        self._idle_timer: asyncio.TimerHandle | None = None

    async def run(self, job: Callable[Arguments, Value], *args: Arguments.args, **named: Arguments.kwargs) -> Value:
        """Run a job in the worker, at most TRIES times, and return its result. Raises as `run_at_most`."""
        return await self.run_at_most(TRIES, job, *args, **named)

    async def run_at_most(
        self, tries: int, job: Callable[Arguments, Value], *args: Arguments.args, **named: Arguments.kwargs
    ) -> Value:
        """Run a job in the worker, and return its result.

        Args:
            tries: how many workers may die on the job.

        Raises:
            DeadlyJob: `tries` workers died on the job or were killed for it, or it was late and is not repeated.
            WorkerError: none could be started, or `stop` was called.
            SonicError: the job raised it.
        """
        self._running += 1
        stops = self._stops
        try:
            async with self._turn:
                answer: Value = await self._run(partial(job, *args, **named), tries, stops)
                return answer
        finally:
            self._running -= 1
            if not self._running and self._worker is not None and self._idle_s is not None:
                self._idle_timer = asyncio.get_running_loop().call_later(self._idle_s, self._leave_if_idle)

    def processes(self) -> list[int]:
        """Return the process id of the worker, if one runs."""
        number = None if self._worker is None else self._worker.pid
        return [] if number is None else [number]

    def kill(self, why: str) -> None:
        """Kill the worker, if one runs; another one repeats its job. `why` is for the log."""
        if self._worker is not None:
            self._worker.kill(why)

    def stop(self) -> None:
        """End the worker, and give up its job."""
        self._stops += 1
        self._end()

    async def _run(self, job: Job, tries: int, stops: int) -> Any:
        has_ended_worker = False
        for left in reversed(range(tries)):
            while True:
                if self._stops != stops:
                    raise WorkerError(GIVEN_UP)
                worker, was_idle = self._started()
                try:
                    if self._first is not None and not worker.is_prepared:
                        await worker.run(self._first, self._time_limit_s)
                        worker.is_prepared = True
                    return await worker.run(job, self._later_limit_s)
                except WorkerDied as death:
                    if self._worker is worker:
                        self._end()
                    if self._stops != stops:
                        raise WorkerError(GIVEN_UP) from None
                    if was_idle and str(death) == DIED and not worker.has_begun:
                        continue  # it had died while it was idle, not because of the job
                    is_given_up = worker.is_late and not self._repeats_late
                    again = "; its job is done again by another one" if left and not is_given_up else ""
                    logger.error("a worker process %s%s", death, again)
                    if is_given_up:
                        raise _deadly(f"a worker process {death}", was_late=True) from None
                    has_ended_worker = str(death) == DIED and worker.has_begun
                    break
                except asyncio.CancelledError:
                    self._end()  # no caller waits for this job, and the next job must not wait for it
                    raise
                except OSError as error:
                    self._end()
                    raise WorkerError(f"no worker process can be started: {error.strerror}") from error
        died = "a worker process" if tries == 1 else f"{tries} worker processes"
        says = f"{died} died on one job; see the system log for what ended them"
        raise _deadly(says, has_ended_worker=has_ended_worker)

    def _started(self) -> tuple["Worker", bool]:
        """Return the worker, started if necessary, and whether it was running already.

        Raises:
            WorkerError: it cannot be started.
        """
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if self._worker is not None:
            return self._worker, True
        try:
            self._worker = Worker()
        except RuntimeError as error:  # no memory for the stack of a thread, or too many threads
            raise WorkerError(f"no worker process can be started: {error}") from error
        return self._worker, False

    def _leave_if_idle(self) -> None:
        if not self._running:
            self._end()

    def _end(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill("was ended")


def _deadly(says: str, *, has_ended_worker: bool = False, was_late: bool = False) -> DeadlyJob:
    error = DeadlyJob(says)
    error.has_ended_worker, error.was_late = has_ended_worker, was_late
    return error


class Worker:
    """One worker process, and the thread of this process that starts it and communicates with it.

    The thread is a daemon, because it may wait for a process that never answers; nothing waits for the thread.

    Raises:
        RuntimeError: the thread cannot be started.
    """

    def __init__(self) -> None:
        self.has_begun = False
        """Whether the process has confirmed the start of its last job."""
        self.is_late = False
        """Whether the process was killed because of a time limit."""
        self.is_prepared = False
        """Whether the process has carried out the first job of `Workers`."""
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._process: multiprocessing.process.BaseProcess | None = None
        self._why = DIED
        self._is_killed = False
        self._told = 0  # messages of the process
        self._job: tuple[Job, asyncio.Future[Any]] | None = None
        self._wake = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._serve, name="worker", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The process id; None: the process has not started, or has ended."""
        with self._lock:
            return None if self._process is None else self._process.pid

    async def run(self, job: Job, limit_s: float) -> Any:
        """Return the result of a job.

        Args:
            limit_s: the longest time for the job in seconds; 0: no limit.

        Raises:
            WorkerDied: the process died or was killed.
            OSError: the process could not be started.
            SonicError: the job raised it.
        """
        if self._is_killed:  # while it was idle
            raise WorkerDied(self._why)
        answer: asyncio.Future[Any] = self._loop.create_future()
        self.has_begun = False
        self._job = job, answer
        self._wake.release()
        checked_s = time.monotonic()
        worked_s, silence_s, told = 0.0, 0.0, self._told
        try:
            while not answer.done():
                await asyncio.wait([answer], timeout=BEAT_S)
                now = time.monotonic()
                # A pause of this process or of the machine is neither the worker's silence nor its work.
                passed_s = min(now - checked_s, 2 * BEAT_S)
                silence_s = silence_s + passed_s if told == self._told else 0.0
                checked_s, told = now, self._told
                if self.has_begun:  # before, the process starts, or reads the job
                    worked_s += passed_s
                if limit_s and worked_s > limit_s:
                    self.is_late = True
                    self.kill(f"was killed, because its job took longer than {limit_s:g} s")
                elif silence_s > (most_s := SILENCE_S if self._told else START_SILENCE_S):
                    self.kill(f"was killed, because it was silent for {most_s:g} s")
                if not answer.done() and self._is_gone():
                    raise WorkerDied(self._why)
            return answer.result()
        finally:
            answer.cancel()  # if no caller waits any more

    def _is_gone(self) -> bool:
        """Return whether no answer can come: the thread has ended, or waits for a process that was never started."""
        return not self._thread.is_alive() or (self._is_killed and self._process is None)

    def kill(self, why: str) -> None:
        """Kill the process, even a stopped one, so that its thread ends."""
        with self._lock:
            if not self._is_killed:
                self._is_killed = True
                self._why = why
            if self._process is not None and self._process.pid is not None:
                self._process.kill()
        self._wake.release()

    def _serve(self) -> None:
        """Start the process, and hand it one job after the other. Runs in a thread of its own."""
        ours = None
        try:
            while True:
                self._wake.acquire()
                if self._is_killed and self._job is None:
                    return
                if self._job is None:
                    continue
                (job, answer), self._job = self._job, None
                error: Exception | None = None
                try:
                    if ours is None:
                        ours = self._start()
                    self._settle(answer, self._ask(ours, job))
                except (EOFError, ConnectionError):
                    return
                except OSError as failure:
                    error = failure
                    return
                finally:  # whatever happened: otherwise the caller would wait for ever
                    self._settle(answer, Outcome(error or WorkerDied(self._why), None))
        finally:
            if ours is not None:
                ours.close()
            self._reap()

    def _start(self) -> Connection:
        """Start the process, which blocks its parent for up to 0.1 s; return the connection to it."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=serve_jobs, args=(theirs,), daemon=True)
        try:
            with nothing_to_import(), held_back(IGNORED):
                process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        with self._lock:
            self._process = process
            if self._is_killed:
                process.kill()
        return ours

    def _ask(self, ours: Connection, job: Job) -> Outcome:
        ours.send(job)
        while True:
            told = ours.recv()
            self._told += 1
            if isinstance(told, Outcome):
                return told
            self.has_begun = True

    def _settle(self, answer: "asyncio.Future[Any]", outcome: Outcome) -> None:
        """Resolve the caller's future, unless it is done."""

        def settle() -> None:
            if answer.done():
                return
            if outcome.error is not None:
                answer.set_exception(outcome.error)
            else:
                answer.set_result(outcome.result)

        try:
            self._loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop is closed: no caller waits
            return

    def _reap(self) -> None:
        with self._lock:
            process = self._process
        if process is None:
            return
        process.kill()
        # Its pipes would stay open until the garbage of old objects is collected. A start looks for processes that have
        # ended, too: `close` would refuse what it finds half done.
        with _starting:
            process.join()
            has_ended = _is_noted(process)
            with self._lock:
                self._process = None
                if has_ended and not is_exiting():  # at its exit, multiprocessing joins what it has not seen closed
                    process.close()


def _is_noted(process: multiprocessing.process.BaseProcess) -> bool:
    """Return whether multiprocessing has noticed the end of a process.

    A program that embeds the server may start processes as well, and wait for ended ones in another thread;
    multiprocessing then notices the end a moment later.
    """
    deadline = time.monotonic() + NOTED_S
    while process.exitcode is None and time.monotonic() < deadline:
        time.sleep(0.001)
    return process.exitcode is not None


_starting = threading.Lock()
"""Allows one start or close at a time, because `nothing_to_import` and multiprocessing change global state."""


@contextmanager
def nothing_to_import() -> Iterator[None]:
    """Make workers start without importing the program of this process, or modules of the working folder.

    multiprocessing would make a worker import `__main__`, in case a job is a function of it; no job here is.
    """
    with _starting:
        program = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            with safe_path():
                yield
        finally:
            sys.modules["__main__"] = program
