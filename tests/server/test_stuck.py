"""Nothing waits for ever: workers that are stopped, too slow or cannot start; and readers that never end."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sonicpy import Config
from sonicpy.errors import StoreError, StoreFull, WorkerError
from sonicpy.index.index import Index
from sonicpy.server.jobs import readers as readers_module
from sonicpy.server.jobs import workers as workers_module
from sonicpy.server.jobs.maintenance import Maintenance
from sonicpy.server.jobs.readers import MIB, RESERVE_BYTES, ReaderWatch
from sonicpy.server.jobs.workers import Workers
from tests.processes import Server
from tests.server.peer import Peer
from tests.server.test_worker_jobs import add, descriptors_left, own_number, sleep, with_workers
from tests.server.test_workers import builds_graphs, children, push_words, start_worker
from tests.support.patience import WAIT_S, is_within, until_in_loop

READ = """
import sys, time
from sonicpy.store.disk.environment import Environment
from pathlib import Path
environment = Environment(Path(sys.argv[1]), 1 << 30, read_only=True)
with environment.reading():
    print("reading", flush=True)
    sys.stdin.read()
"""


# -- workers -----------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_stopped_worker_is_killed_and_its_job_repeated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(workers_module, "SILENCE_S", 1.5)
    monkeypatch.setattr(workers_module, "BEAT_S", 0.2)
    begun = tmp_path / "begun"

    async def test(workers: Workers) -> None:
        answer = asyncio.ensure_future(workers.run(sleep, 0.3, str(begun)))
        await until_in_loop(begun.exists, "the job begins")
        [number] = workers.processes()
        os.kill(number, signal.SIGSTOP)
        assert await answer != number
        [number] = workers.processes()
        os.kill(number, signal.SIGSTOP)
        assert await workers.run(add, 1, 2) == 3, "one that was stopped while it was idle"
        assert caplog.text.count("silent for 1.5 s; its job is done again") == 2

    with_workers(test)


@pytest.mark.full
def test_a_worker_that_takes_long_to_start_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise, on a machine with many busy processes, each of three attempts would end before it has begun."""
    monkeypatch.setattr(workers_module, "SILENCE_S", 0.3)
    monkeypatch.setattr(workers_module, "BEAT_S", 0.05)

    async def test(_: Workers) -> None:
        workers = Workers(time_limit_s=0.5)
        try:
            answer = asyncio.ensure_future(workers.run(own_number))
            await until_in_loop(workers.processes, "it is started")
            [number] = workers.processes()
            os.kill(number, signal.SIGSTOP)
            await asyncio.sleep(0.8)
            os.kill(number, signal.SIGCONT)
            assert await answer == number
            assert caplog.text == ""
        finally:
            workers.stop()

    with_workers(test)


@pytest.mark.full
def test_a_job_that_takes_too_long_is_tried_again_then_given_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(_: Workers) -> None:
        workers = Workers(time_limit_s=1)
        try:
            with pytest.raises(WorkerError, match="3 worker processes died on one job"):
                await workers.run(sleep, 60)
            assert caplog.text.count("its job took longer than 1 s") == 3
            assert caplog.text.count("; its job is done again by another one") == 2
            assert await workers.run(add, 1, 2) == 3, "later jobs go on"
        finally:
            workers.stop()

    with_workers(test)


def test_a_worker_that_can_start_no_thread_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def test(workers: Workers) -> None:
        with monkeypatch.context() as patched, pytest.raises(WorkerError, match="can't start new thread"):
            patched.setattr(threading.Thread, "start", refuse)
            await workers.run(add, 1, 2)
        assert await workers.run(add, 1, 2) == 3, "it is tried again later"

    with_workers(test)


def test_a_worker_that_was_killed_while_it_was_idle_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    async def test(workers: Workers) -> None:
        first = await workers.run(own_number)
        workers.kill("was killed for a test")
        assert await asyncio.wait_for(workers.run(own_number), WAIT_S) != first
        assert "was killed for a test" in caplog.text

    with_workers(test)


def test_a_cancelled_job_does_not_hold_up_the_next() -> None:
    async def test(workers: Workers) -> None:
        first = await workers.run(own_number)
        given_up = asyncio.ensure_future(workers.run(sleep, 60))
        await asyncio.sleep(0.1)
        given_up.cancel()
        assert await asyncio.wait_for(workers.run(own_number), WAIT_S) != first

    with_workers(test)


@pytest.mark.full
def test_sigterm_ends_a_server_whose_worker_is_stopped(server: Server) -> None:
    push_words(server, "b")
    for number in filter(builds_graphs, start_worker(server, "idle")):
        os.kill(number, signal.SIGSTOP)
    push_words(server, "other")
    with Peer(server, "control") as control, Peer(server, "search") as search:
        control.send_lines("TRIGGER consolidate")
        time.sleep(0.3)
        assert search.ask("PING") == "PONG"
        workers = list(filter(builds_graphs, children(server)))
        assert workers, "the stopped worker is still there"
        assert server.stop() == 0


@pytest.mark.full
def test_a_trigger_beside_a_stopped_worker_answers_within_30_s(server: Server) -> None:
    push_words(server, "b")
    for number in filter(builds_graphs, start_worker(server, "idle")):
        os.kill(number, signal.SIGSTOP)
    push_words(server, "other")
    with Peer(server, "control") as control:
        began = time.monotonic()
        control.send_lines("TRIGGER consolidate")
        assert control.line() == "OK"
        assert is_within(30, began)
    assert "was silent for" in server.log()


def test_stats_without_descriptors_is_an_error_of_ours(tmp_path: Path) -> None:
    with Index(tmp_path / "store") as index:
        index.push("c", "b", "o", "wort")
        index.stats()  # its code is loaded by the first call
        with descriptors_left(0), pytest.raises(StoreError, match="cannot look into .*: Too many open files"):
            index.stats()
        assert index.stats()["objects"] == 1


# -- readers -----------------------------------------------------------------------------------------------------


@contextmanager
def reading(folder: Path) -> Iterator[int]:
    """Read a store in another process inside a `with` block; yield its process id."""
    command = [sys.executable, "-c", READ, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        assert process.stdout.readline() == b"reading\n"
        try:
            yield process.pid
        finally:
            process.stdin.close()
            process.wait()


class Killed:
    """Takes the place of a server's maintenance, and records the workers that it is asked to kill."""

    def __init__(self) -> None:
        self.processes: list[tuple[int, str]] = []

    def worker_processes(self) -> list[int]:
        return []

    def kill_worker(self, process: int, why: str) -> None:
        self.processes.append((process, why))


class Grown:
    """An index whose folder another process reads, and a watch of its readers on a disk of a given size."""

    def __init__(self, folder: Path, limit_bytes: int = 0) -> None:
        self.index = Index(folder, Config())
        self.killed = Killed()
        self.free_bytes = 1 << 40
        maintenance: Maintenance = self.killed  # type: ignore[assignment]
        self.watch = ReaderWatch(self.index.engine, maintenance, limit_bytes, lambda _: self.free_bytes)

    def refuses(self) -> bool:
        return self.index.engine.store.refusing

    def push(self) -> None:
        for number in range(40):
            self.index.push("c", "b", f"o{number}", f"wort{number} noch ein wort {time.monotonic_ns()}")


@pytest.fixture
def grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Grown]:
    monkeypatch.setattr(readers_module, "OLD_S", 0.0)
    monkeypatch.setattr(readers_module, "WARN_BYTES", 100_000)
    grown = Grown(tmp_path / "store", limit_bytes=300_000)
    grown.push()
    try:
        yield grown
    finally:
        grown.index.close()


def test_a_reader_that_pins_pages_is_named(grown: Grown, caplog: pytest.LogCaptureFixture) -> None:
    with reading(grown.watch._engine.store.folder) as process:
        grown.watch.check()
        assert (grown.watch.age_s, grown.watch.pinned_bytes, caplog.text) == (0.0, 0, ""), "it reads the last commit"
        for _ in range(20):
            grown.push()
            grown.watch.check()
        assert grown.watch.age_s > 0
        assert grown.watch.pinned_bytes > 300_000
        warnings = caplog.text.count(f"process {process} has been reading one snapshot for")
        assert 2 <= warnings <= 7, "only when the growth has doubled"
        assert {number for number, _ in grown.killed.processes} == {process}
        assert "while it read one snapshot" in grown.killed.processes[0][1]

    def is_free() -> bool:
        grown.watch.check()
        return (grown.watch.age_s, grown.watch.pinned_bytes) == (0.0, 0)

    began = time.monotonic()
    while not is_free():  # a sync of this process may read for a moment, too
        assert is_within(WAIT_S, began)
        time.sleep(0.01)


def test_changes_are_refused_before_a_reader_has_filled_the_disk(
    grown: Grown, caplog: pytest.LogCaptureFixture
) -> None:
    grown.free_bytes = RESERVE_BYTES - 1
    grown.push()
    grown.watch.check()
    assert not grown.refuses(), "no reader is to blame"
    with reading(grown.watch._engine.store.folder) as process:
        grown.watch.check()
        grown.push()
        grown.watch.check()
        with pytest.raises(
            StoreFull, match=f"{RESERVE_BYTES // MIB - 1} MiB of the disk are left and process {process}"
        ):
            grown.push()
        assert grown.refuses()
        assert grown.index.query("c", "b", "wort7").pairs()
    grown.watch.check()
    assert not grown.refuses()
    grown.push()
    assert caplog.text.count("changes are refused") == 1
    assert "changes are accepted again" in caplog.text
