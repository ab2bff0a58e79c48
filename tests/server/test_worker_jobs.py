"""Workers.run: the caller gets the result or the exception of a job, or an error if the worker died; an idle worker
ends.
"""

import asyncio
import gc
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sonicpy
from sonicpy.errors import (
    CommandError,
    ConfigError,
    GraphError,
    SessionEnded,
    ShuttingDown,
    SonicError,
    StoreDamaged,
    StoreError,
    StoreFull,
    WorkerError,
)
from sonicpy.index.maintenance.consolidate import GraphLimits, build_in_worker
from sonicpy.server.jobs.workers import TRIES, Workers
from tests.support.patience import WAIT_S, until_in_loop
from tests.support.proc import is_running

ERRORS = [
    StoreError("the store cannot be read"),
    StoreFull("there is no room"),
    StoreDamaged("bytes are not what was written"),
    GraphError("cannot write the word graph /x/1-1.graph: No space left on device"),
    CommandError("invalid_format"),
    CommandError("invalid_format", "TRIGGER consolidate"),
    ConfigError("a setting is wrong"),
    SessionEnded("quit"),
    ShuttingDown(),
    WorkerError("a worker's worker"),
]


# -- jobs: they run in the worker --------------------------------------------------------------------------------


def add(one: int, other: int, *, times: int = 1) -> int:
    return (one + other) * times


def own_number() -> int:
    return os.getpid()


def fail(error: BaseException) -> None:
    raise error


def die(tries: str, times: int) -> int:
    """End this process at the first `times` tries, which the file `tries` counts; return its id at later tries."""
    with open(tries, "a") as file:
        file.write(".")
    if os.path.getsize(tries) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def sleep(seconds: float, begun: str = os.devnull) -> int:
    Path(begun).write_text(str(os.getpid()))
    time.sleep(seconds)
    return os.getpid()


# -- tests -------------------------------------------------------------------------------------------------------


def with_workers(test: Callable[[Workers], Awaitable[None]]) -> None:
    """Run a test in an event loop, and always end its workers."""

    async def run() -> None:
        workers = Workers()
        try:
            await asyncio.wait_for(test(workers), WAIT_S)
        finally:
            workers.stop()
            await until_in_loop(lambda: not worker_numbers(), "all workers end")

    asyncio.run(run())
    gc.collect()  # their pipes too


def worker_numbers() -> list[int]:
    return [process.pid for process in multiprocessing.active_children() if process.pid is not None]


def test_a_worker_that_builds_graphs_is_small(tmp_path: Path) -> None:
    sonicpy.open(tmp_path).close()

    async def test(workers: Workers) -> None:
        assert await workers.run(build_in_worker, tmp_path, 1 << 20, [], GraphLimits()) == ([], [])
        imported = await workers.run(eval, "[*__import__('sys').modules]")
        assert {"asyncio", "logging", "pydantic", "sonicpy.store"} & set(imported) == {"sonicpy.store"}

    with_workers(test)


def test_one_process_does_one_job_after_the_other() -> None:
    async def test(workers: Workers) -> None:
        assert worker_numbers() == [], "none before there is work"
        assert await workers.run(add, 1, 2) == 3
        assert await workers.run(add, 1, 2, times=10) == 30
        number = await workers.run(own_number)
        assert number != os.getpid()
        assert worker_numbers() == [number]
        assert await asyncio.gather(*(workers.run(sleep, 0.01) for _ in range(5))) == [number] * 5

    with_workers(test)


def test_signals_to_all_processes_while_one_starts() -> None:
    async def test(workers: Workers) -> None:
        answer = asyncio.ensure_future(workers.run(own_number))
        await until_in_loop(lambda: bool(workers.processes()), "it is started")
        [number] = workers.processes()
        os.kill(number, signal.SIGINT)
        os.kill(number, signal.SIGHUP)
        assert await answer == number, "they came before it had imported anything"

    with_workers(test)


def test_what_a_job_raises_arrives_whole() -> None:
    async def test(workers: Workers) -> None:
        number = await workers.run(own_number)
        for error in ERRORS:
            with pytest.raises(SonicError) as caught:
                await workers.run(fail, error)
            assert type(caught.value) is type(error)
            assert str(caught.value) == str(error)
            assert vars(caught.value).keys() >= vars(error).keys()
            assert {name: vars(caught.value)[name] for name in vars(error)} == vars(error)
        assert await workers.run(own_number) == number, "no error costs a process"

    with_workers(test)


def test_a_job_whose_worker_dies_is_done_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tries = tmp_path / "tries"

    async def test(workers: Workers) -> None:
        first = await workers.run(own_number)
        second = await workers.run(die, str(tries), 1)
        assert tries.read_text() == ".."
        assert second not in (first, os.getpid())
        await until_in_loop(lambda: worker_numbers() == [second], "the dead one is gone")
        assert len(caplog.records) == 1 and "worker process died" in caplog.text

    with_workers(test)


@pytest.mark.full
def test_all_jobs_of_a_worker_that_dies_are_done_again(tmp_path: Path) -> None:
    async def test(workers: Workers) -> None:
        tries = str(tmp_path / "tries")
        answers = await asyncio.gather(
            workers.run(die, tries, 1), workers.run(add, 1, 2), workers.run(sleep, 0.1), workers.run(add, 3, 4)
        )
        assert (answers[1], answers[3]) == (3, 7)
        assert answers[0] == answers[2]
        await until_in_loop(lambda: worker_numbers() == [answers[0]], "the dead one is gone")

    with_workers(test)


@pytest.mark.full
def test_a_job_that_kills_every_worker_is_given_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tries = tmp_path / "tries"

    async def test(workers: Workers) -> None:
        with pytest.raises(WorkerError, match=f"{TRIES} worker processes died"):
            await workers.run(die, str(tries), 1_000)
        assert tries.read_text() == "." * TRIES
        assert len(caplog.records) == TRIES
        assert await workers.run(add, 1, 2) == 3, "other jobs are not given up"

    with_workers(test)


@pytest.mark.full
def test_a_worker_that_was_killed_while_idle_is_replaced() -> None:
    async def test(workers: Workers) -> None:
        first = await workers.run(own_number)
        os.kill(first, signal.SIGKILL)
        second = await workers.run(own_number)
        assert second != first
        await until_in_loop(lambda: worker_numbers() == [second], "the dead one is gone")

    with_workers(test)


def test_stop_ends_a_worker_in_the_middle_of_a_job(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    begun = tmp_path / "begun"

    async def test(workers: Workers) -> None:
        given_up = asyncio.ensure_future(workers.run(sleep, 30, str(begun)))
        await until_in_loop(begun.exists, "the job begins")
        [number] = worker_numbers()
        workers.stop()
        with pytest.raises(WorkerError):
            await asyncio.wait_for(given_up, WAIT_S)
        assert set(worker_numbers()) <= {number}, "nobody does it again"
        await until_in_loop(lambda: not is_running(number), "the worker ends")
        assert caplog.records == [], "it did not die, it was ended"

    with_workers(test)


def test_stop_ends_an_idle_worker_and_may_be_called_at_any_time() -> None:
    async def test(workers: Workers) -> None:
        workers.stop()
        number = await workers.run(own_number)
        workers.stop()
        workers.stop()
        await until_in_loop(lambda: not is_running(number), "the worker ends")
        await until_in_loop(lambda: not worker_numbers(), "and no other is there")

    with_workers(test)


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to count descriptors")
def test_the_pipes_of_a_worker_are_closed_when_it_ends() -> None:
    """The pipes are closed at once, not when Python collects garbage, which a server does rarely."""

    async def test(workers: Workers) -> None:
        await workers.run(add, 1, 2)
        workers.stop()
        await until_in_loop(lambda: not worker_numbers(), "the first worker ends")
        before = descriptors()
        gc.disable()
        try:
            for _ in range(3):
                os.kill(await workers.run(own_number), signal.SIGKILL)
                assert await workers.run(add, 1, 2) == 3
                workers.stop()
            await until_in_loop(lambda: descriptors() <= before, "their pipes are closed")
        finally:
            gc.enable()

    with_workers(test)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.full
def test_stop_gives_up_the_jobs_that_wait_too(tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    async def test(workers: Workers) -> None:
        given_up = [asyncio.ensure_future(workers.run(sleep, 30, str(begun))) for _ in range(4)]
        await until_in_loop(begun.exists, "the first job begins")
        workers.stop()
        answers = await asyncio.wait_for(asyncio.gather(*given_up, return_exceptions=True), WAIT_S)
        assert [type(answer) for answer in answers] == [WorkerError] * 4

    with_workers(test)


@pytest.mark.full
def test_a_worker_leaves_when_there_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Workers.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(Workers.__init__.__kwdefaults__, "idle_s", 0.3)

    async def test(workers: Workers) -> None:
        first = await workers.run(own_number)
        answers = await asyncio.gather(workers.run(own_number), workers.run(sleep, 0.8))
        assert answers == [first, first], "it stays for a job that takes longer than it may be idle"
        await until_in_loop(lambda: not worker_numbers(), "it leaves")
        await until_in_loop(lambda: not is_running(first), "it is gone")
        assert await workers.run(own_number) != first, "and comes back when there is work"

    with_workers(test)


@pytest.mark.full
@pytest.mark.parametrize("spare", [0, 3])
def test_a_worker_that_cannot_be_started_is_an_error_of_ours(spare: int) -> None:
    """With hardly any descriptor left, the server has to continue and report the error."""

    async def test(workers: Workers) -> None:
        with descriptors_left(spare), pytest.raises(WorkerError, match="Too many open files"):
            await workers.run(add, 1, 2)
        assert await workers.run(add, 1, 2) == 3, "it is tried again later"

    with_workers(test)


@contextmanager
def descriptors_left(spare: int) -> Iterator[None]:
    """Limit this process to `spare` further open files inside a `with` block."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 8, limits[1]))
    taken = []
    try:
        with pytest.raises(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        for descriptor in taken[:spare]:
            os.close(descriptor)
        del taken[:spare]
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for descriptor in taken:
            os.close(descriptor)
