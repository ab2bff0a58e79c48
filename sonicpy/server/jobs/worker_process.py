"""The work of a worker process: one job after the other, and signs of life meanwhile.

A worker is kept small, and starts sooner, because it imports neither asyncio nor the server: `workers.py` is the side
of the parent.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from sonicpy.children import die_with_parent, ignore
from sonicpy.errors import SonicError, WorkerError

IGNORED = (signal.SIGINT, signal.SIGHUP)
NICENESS = 5
"""The niceness of a worker: on a busy machine the server runs first, because clients wait for its answers."""
BEAT_S = 1.0
"""The interval in seconds of the messages by which a worker reports that it runs."""

Job = Callable[[], Any]


class Outcome(NamedTuple):
    """The last message of a worker about a job: the error that the job raised, or else its result."""

    error: Exception | None
    result: Any


def serve_jobs(parent: Connection) -> None:
    """Carry out one job after the other until the parent ends or closes the pipe.

    The parent handles Control-C and the end of its terminal. An error that is not a SonicError ends the process, and
    another process repeats the job.
    """
    ignore(IGNORED)
    die_with_parent()
    os.nice(NICENESS)
    teller = Teller(parent)
    error = teller.start()
    while True:
        try:
            job = parent.recv()
        except EOFError:
            return
        teller.is_busy = True
        teller.tell(None)
        outcome = do(job) if error is None else Outcome(error, None)
        teller.is_busy = False
        teller.tell(outcome)


def do(job: Job) -> Outcome:
    """Run a job; return its result or its SonicError."""
    try:
        return Outcome(None, job())
    except SonicError as error:
        return Outcome(error, None)


class Teller:
    """Sends messages to the parent: signs of life of this process, and the outcome of its job."""

    def __init__(self, parent: Connection) -> None:
        self.is_busy = False
        self._parent = parent
        self._lock = threading.Lock()

    def start(self) -> WorkerError | None:
        """Begin to send regular messages; return an error if no thread can be started for them."""
        try:
            threading.Thread(target=self._beat, daemon=True).start()
        except RuntimeError as error:
            return WorkerError(f"a worker process cannot start a thread: {error}")
        return None

    def tell(self, told: Outcome | None) -> None:
        """Send an outcome, or None as a sign of life; end the process if the parent is gone."""
        try:
            with self._lock:
                self._parent.send(told)
        except OSError:
            os._exit(1)

    def _beat(self) -> None:
        """Send a sign of life every BEAT_S; end with the parent."""
        parent = multiprocessing.parent_process()
        assert parent is not None
        while not wait([parent.sentinel], BEAT_S):
            if self.is_busy:
                self.tell(None)
        os._exit(1)
