"""No connection delays the others, whatever it sends: the times of PINGs beside it are measured.

The bounds are many times the usual 1 ms, for machines that are busy.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.processes import Server
from tests.server import flood
from tests.server.fair import ping_s
from tests.server.peer import Peer
from tests.support.patience import is_below

ROUNDS = 4
ROUND_S = 0.5
PING_P99_S = 0.020
ENOUGH = 100
"""The number of PINGs that suffices for a percentile."""


@contextmanager
def flooding(server: Server, kind: str) -> Iterator[None]:
    """Flood the server from another process inside a `with` block."""
    command = [sys.executable, str(Path(flood.__file__)), server.host, str(server.port), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        try:
            assert process.stdout.readline() == b"flooding\n"
            yield
            assert process.poll() is None, "the flood ended by itself"
        finally:
            process.kill()


def ping_p99_s(server: Server, peer: Peer, seconds: float) -> float:
    """Return the 99th percentile of the durations of PINGs in seconds, sent one after the other for at least
    `seconds`.
    """
    took: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(took) < ENOUGH:
        took.append(ping_s(server, peer))
        time.sleep(0.001)
    return sorted(took)[len(took) * 99 // 100]


@pytest.mark.full
@pytest.mark.parametrize("kinds", [["push"], ["push", "query"]], ids=" and ".join)
def test_ping_beside_a_flood(server: Server, kinds: list[str]) -> None:
    with Peer(server, "search") as peer, ExitStack() as floods:
        for kind in kinds:
            floods.enter_context(flooding(server, kind))
        rounds: list[float] = []
        while len(rounds) < ROUNDS and not (rounds and is_below(min(rounds), PING_P99_S)):
            rounds.append(ping_p99_s(server, peer, ROUND_S))
        assert is_below(min(rounds), PING_P99_S), rounds


@pytest.mark.full
def test_ping_beside_a_consolidation_and_a_sweep(server: Server) -> None:
    with Peer(server, "ingest") as ingest:
        for first in range(0, 10_000, 1_000):
            numbers = range(first, first + 1_000)
            ingest.send_lines(*(f'PUSH big b o{number} "wort{number} rest{number}" LANG(none)' for number in numbers))
            assert set(ingest.lines(1_000)) == {"OK"}
        with Peer(server, "search") as peer, Peer(server, "control") as control:
            consolidated = threading.Thread(target=control.ask, args=("TRIGGER consolidate",))
            consolidated.start()
            slowest = []
            while consolidated.is_alive():
                slowest.append(ping_s(server, peer))
            assert len(slowest) > 10, "the consolidation blocked the server"
            assert is_below(sorted(slowest)[len(slowest) * 9 // 10], PING_P99_S)
            assert ingest.ask("FLUSHB big b") == "RESULT 1"
            assert is_below(ping_p99_s(server, peer, 1.0), PING_P99_S), "beside the deletion of flushed rows"
            assert ingest.ask("COUNT big b") == "RESULT 0"
