"""No command blocks the loop for long: PINGs beside the longest commands, and the times of these."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.accounting import cpu_s
from tests.processes import Server
from tests.server.fair import answered_s
from tests.server.peer import Peer
from tests.server.streams import word_of
from tests.server.watch import watch
from tests.support.patience import is_below

HUGE = 320_000
"""The number of words of the object that is flushed."""
LARGE = 100_000
"""The number of words in the object to which further words are pushed, one after the other."""
MANY = 20_000
"""The number of buckets that are flushed and counted."""
VERY_MANY = 30_000
"""The number of buckets that are consolidated."""
PING_S = 0.020
COMMIT_S = 0.050
"""The longest wait of a PING beside commits of new buckets."""
PUSH_S = 0.002
CONSOLIDATION_S = 10.0
"""The CPU time of the server and its workers for a consolidation of VERY_MANY buckets, with the PINGs beside it."""
WAIT_S = 300.0
PER_LINE = 1_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path, {"store.fst.graph.consolidate_after": 280}) as server:
        yield server


def made_up(number: int) -> str:
    """Return a word of six letters that has little in common with the next one."""
    return word_of(number * 7_368_787 % 20**6)


def push_object(ingest: Peer, bucket: str, words: int) -> None:
    for first in range(0, words, PER_LINE):
        text = " ".join(map(made_up, range(first, min(first + PER_LINE, words))))
        assert ingest.ask(f'PUSH c {bucket} o "{text}" LANG(none)') == "OK"


def push_buckets(ingest: Peer, buckets: int) -> None:
    for first in range(0, buckets, PER_LINE):
        numbers = range(first, min(first + PER_LINE, buckets))
        ingest.send_lines(*(f'PUSH many u{number} o "hallo {made_up(number)} welt" LANG(none)' for number in numbers))
        assert set(ingest.lines(len(numbers))) == {"OK"}


def timed(server: Server, peer: Peer, line: str) -> str:
    """Return the answer to a command, print its time in seconds; fail if a PING meanwhile waited too long."""
    time.sleep(1.5)  # for what was begun before
    peer.socket.settimeout(WAIT_S)
    with watch(server) as seen:
        began = time.perf_counter()
        answer = peer.ask(line)
        took_s = time.perf_counter() - began
        time.sleep(0.5)
    print(f"{line}: {took_s:.3f} s, slowest PING {seen.ping_s:.4f} s, the machine delayed by {seen.busy_s:.4f} s")
    assert is_below(seen.ping_s - seen.busy_s, PING_S), line
    return answer


@pytest.mark.full
def test_ping_beside_a_huge_object(server: Server) -> None:
    with Peer(server, "ingest") as ingest:
        push_object(ingest, "large", LARGE)
        time.sleep(1.5)
        times = []
        with watch(server) as seen:
            for number in range(50):
                times.append(answered_s(server, ingest, f'PUSH c large o "neu{number}" LANG(none)', "OK"))
                time.sleep(0.01)
        print(f"PUSH of one word: median {sorted(times)[25] * 1e3:.2f} ms, slowest PING {seen.ping_s:.4f} s")
        assert is_below(sorted(times)[25], PUSH_S)
        assert is_below(seen.ping_s - seen.busy_s, PING_S)
        push_object(ingest, "huge", HUGE)
        assert timed(server, ingest, "FLUSHO c huge o") == f"RESULT {HUGE}"
        assert (ingest.ask("COUNT c huge"), ingest.ask("COUNTB c huge")) == ("RESULT 0", "RESULT 0")
        assert timed(server, ingest, "FLUSHB c large") == "RESULT 1"
    with Peer(server, "control") as control:
        assert control.ask("VERIFY") == "RESULT []"


@pytest.mark.full
def test_ping_beside_very_many_buckets(server: Server) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "control") as control:
        with watch(server) as seen:
            push_buckets(ingest, MANY)
        print(f"PUSH into {MANY} new buckets: slowest PING {seen.ping_s:.4f} s, the machine {seen.busy_s:.4f} s")
        assert is_below(seen.ping_s - seen.busy_s, COMMIT_S)
        timed(server, control, "STATS")
        assert timed(server, ingest, "FLUSHC many") == "RESULT 1"
        assert ingest.ask("COUNT many") == "RESULT 0"
        push_buckets(ingest, VERY_MANY)
        before_s = cpu_s(server.pid)
        assert timed(server, control, "TRIGGER consolidate") == "OK"
        took_s = cpu_s(server.pid) - before_s
        print(f"TRIGGER consolidate: {took_s:.3f} s of CPU time")
        assert is_below(took_s, CONSOLIDATION_S)
