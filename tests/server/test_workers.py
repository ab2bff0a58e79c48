"""The worker process that builds graphs ends when its server ends, in whatever way."""

import os
import signal
import threading
from pathlib import Path

import pytest

from tests.processes import Server
from tests.server.peer import Peer
from tests.support import proc
from tests.support.patience import until

OBJECTS = 2_000
WORDS_EACH = 11
"""The number of words in each bucket, which suffices for a worker to build the graph."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find a server's children")


def children(server: Server) -> set[int]:
    """Return the process ids of the children of a server."""
    return set(proc.children(server.pid))


def builds_graphs(number: int) -> bool:
    """Return whether a child is a worker; the other child is the resource tracker of multiprocessing."""
    return b"spawn_main" in proc.read(number, "cmdline")


def push_words(server: Server, bucket: str) -> None:
    """Push enough new words to make a worker build their graph."""
    with Peer(server, "ingest") as ingest:
        for number in range(OBJECTS):
            rest = " ".join(f"zrest{number}x{place}" for place in range(1, WORDS_EACH))
            ingest.send_lines(f'PUSH big {bucket} o{number} "wort{number} {rest}" LANG(none)')
        assert ingest.lines(OBJECTS) == ["OK"] * OBJECTS


def stop(server: Server, _: set[int]) -> None:
    assert server.stop() == 0


def kill(server: Server, _: set[int]) -> None:
    server.kill()


def interrupt_all(server: Server, workers: set[int]) -> None:
    """Send SIGINT to a server and its children, like Control-C in a terminal."""
    for number in workers:
        os.kill(number, signal.SIGINT)
    assert server.stop(signal.SIGINT) == 0


ENDS = [(stop, "busy"), (kill, "busy"), (kill, "idle"), (interrupt_all, "idle")]


@pytest.mark.full
def test_no_worker_is_left_behind(server: Server) -> None:
    for end, worker in ENDS:
        bucket = f"{end.__name__}-{worker}"
        push_words(server, bucket)
        workers = start_worker(server, worker)
        end(server, workers)
        assert_all_end(workers)
        assert end is kill or "Traceback" not in server.log(), server.log()
        server.start()
        with Peer(server, "ingest") as ingest, Peer(server, "search") as search:
            assert ingest.ask(f"COUNT big {bucket}") == f"RESULT {WORDS_EACH * OBJECTS}"
            assert search.results(f'QUERY big {bucket} "wort77" LIMIT(1)') == ["o77"]


def start_worker(server: Server, worker: str) -> set[int]:
    """Make a server start a worker, and wait until it is "busy" or "idle"; return the children of the server."""
    with Peer(server, "control") as control:
        control.send_lines("TRIGGER consolidate")
        if worker == "idle":
            assert control.line() == "OK"
        return until(lambda: children(server), "a worker is started: else the test judges nothing", pause_s=0.0)


def assert_all_end(workers: set[int]) -> None:
    try:
        until(lambda: not any(map(proc.is_running, workers)), "all processes end")
    except AssertionError:
        for number in filter(proc.is_running, workers):
            os.kill(number, signal.SIGKILL)
        raise


def test_a_worker_that_is_killed_is_replaced(server: Server) -> None:
    push_words(server, "b")
    answers: list[str] = []
    with Peer(server, "control") as control, Peer(server, "search") as search:
        asked = threading.Thread(target=lambda: answers.append(control.ask("TRIGGER consolidate")))
        asked.start()
        for number in until(lambda: list(filter(builds_graphs, children(server))), "a worker is started", pause_s=0.0):
            os.kill(number, signal.SIGKILL)
        assert search.ask("PING") == "PONG"
        asked.join()
        assert answers == ["OK"]
        assert search.results("LIST big b LIMIT(2)") == ["wort0", "wort1"]
    assert "worker process died" in server.log()
