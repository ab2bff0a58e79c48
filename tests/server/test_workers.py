"""The worker process that builds graphs: it goes when its server goes, however that is."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import Server
from tests.server.peer import Peer

OBJECTS = 2_000
GONE_S = 5.0

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find a server's children")


def children(server: Server) -> set[int]:
    """Return the processes that a server has started."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rsplit(")", 1)[1].split()[1]
        except OSError:  # it is gone
            continue
        if int(parent) == server.pid:
            found.add(int(stat.parent.name))
    return found


def builds_graphs(number: int) -> bool:
    """Whether a child builds graphs; the other one only counts what Python's processes share."""
    try:
        return b"spawn_main" in Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False


def is_alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def busy(server: Server) -> Server:
    """A server with so many new words that a worker is asked to build their graph."""
    with Peer(server, "ingest") as ingest:
        ingest.send_lines(*(f'PUSH big b o{number} "wort{number} rest{number}"' for number in range(OBJECTS)))
        assert ingest.lines(OBJECTS) == ["OK"] * OBJECTS
    return server


def stop(server: Server, _: set[int]) -> None:
    assert server.stop() == 0


def kill(server: Server, _: set[int]) -> None:
    server.kill()


def interrupt_all(server: Server, workers: set[int]) -> None:
    """What Control-C does in a terminal."""
    for number in workers:
        os.kill(number, signal.SIGINT)
    assert server.stop(signal.SIGINT) == 0


ENDS = [(stop, "busy"), (kill, "busy"), (kill, "idle"), (interrupt_all, "idle")]


@pytest.mark.parametrize(("end", "worker"), ENDS)
def test_no_worker_is_left_behind(busy: Server, end: Callable[[Server, set[int]], None], worker: str) -> None:
    with Peer(busy, "control") as control:
        control.send_lines("TRIGGER consolidate")
        if worker == "idle":
            assert control.line() == "OK"
        deadline = time.monotonic() + GONE_S
        while not (workers := children(busy)):
            assert time.monotonic() < deadline, "no worker was started: the test means nothing"
    end(busy, workers)
    deadline = time.monotonic() + GONE_S
    while left := [number for number in workers if is_alive(number)]:
        if time.monotonic() > deadline:
            for number in left:
                os.kill(number, signal.SIGKILL)
            pytest.fail(f"{len(left)} of {len(workers)} processes are left behind")
        time.sleep(0.02)
    assert end is kill or "Traceback" not in busy.log(), busy.log()
    busy.start()
    with Peer(busy, "ingest") as ingest, Peer(busy, "search") as search:
        assert ingest.ask("COUNT big b") == f"RESULT {2 * OBJECTS}"
        assert search.results('QUERY big b "wort77" LIMIT(1)') == ["o77"]


def test_a_worker_that_is_killed_is_replaced(busy: Server) -> None:
    answers: list[str] = []
    with Peer(busy, "control") as control, Peer(busy, "search") as search:
        asked = threading.Thread(target=lambda: answers.append(control.ask("TRIGGER consolidate")))
        asked.start()
        deadline = time.monotonic() + GONE_S
        while not (workers := list(filter(builds_graphs, children(busy)))):
            assert time.monotonic() < deadline, "no worker was started: the test means nothing"
        for number in workers:
            os.kill(number, signal.SIGKILL)
        assert search.ask("PING") == "PONG"
        asked.join()
        assert answers == ["OK"]
        assert search.results("LIST big b LIMIT(2) OFFSET(2000)") == ["wort0", "wort1"]
    assert "worker process died" in busy.log()
