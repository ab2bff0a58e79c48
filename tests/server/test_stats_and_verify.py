"""STATS and VERIFY over real connections: their reports, and the service of other connections meanwhile."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from sonicpy import Index
from tests.processes import Server
from tests.server.fair import ping_s
from tests.server.peer import Peer
from tests.support.patience import is_below


def told(control: Peer, line: str) -> Any:
    kind, _, value = control.ask(line).partition(" ")
    assert kind == "RESULT", value
    return json.loads(value)


def test_stats_without_a_descriptor_to_spare_are_refused_and_nothing_more(server: Server) -> None:
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs prlimit to take the descriptors of a process")
    with Peer(server, "control") as control:
        assert told(control, "STATS")["objects"] == 0
        soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (3, hard))
        assert control.ask("STATS") == "ERR internal_error"
        assert control.ask("PING") == "PONG"
        assert "/store/log: Too many open files" in server.log()
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (soft, hard))
        assert told(control, "STATS")["disk_bytes"] > 0


def test_stats_follow_every_acknowledged_change(server: Server) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "control") as control:
        assert told(control, "STATS")["objects"] == 0
        for number in range(3):
            assert ingest.ask(f'PUSH messages default m{number} "hello world number{number}" LANG(none)') == "OK"
        assert ingest.ask('PUSH other box o "hello" LANG(none)') == "OK"
        whole = told(control, "STATS")
        assert (whole["collections"], whole["buckets"], whole["objects"], whole["words"]) == (2, 2, 4, 6)
        assert whole["by_collection"]["messages"] == {"buckets": 1, "objects": 3, "words": 5, "average_length": 3.0}
        assert whole["disk_bytes"] > 0 and whole["memory_bytes"] > 0
        collection = told(control, "STATS messages")
        assert (collection["buckets"], collection["by_bucket"]["default"]["words"]) == (1, 5)
        bucket = told(control, "STATS messages default")
        assert (bucket["words"], bucket["hidden_words"], bucket["pending_words"]) == (5, 0, 0), "it is small"
        assert control.ask("TRIGGER consolidate") == "OK"
        bucket = told(control, "STATS messages default")
        assert (bucket["pending_words"], bucket["graph"]["words"], bucket["graph"]["version"]) == (0, 0, 0)
        assert ingest.ask("FLUSHB messages default") == "RESULT 1"
        assert told(control, "STATS messages default")["exists"] is False
        assert told(control, "STATS nowhere") == {
            "collection": "nowhere", "buckets": 0, "objects": 0, "words": 0, "average_length": 0.0, "by_bucket": {},
        }  # fmt: skip


def test_stats_of_a_name_that_is_not_valid(shared_server: Server) -> None:
    with Peer(shared_server, "control") as control:
        assert control.ask("STATS é") == "ERR invalid_argument(InvalidCollection)"
        assert control.ask(f"STATS c {'x' * 129}") == "ERR invalid_argument(InvalidBucket)"
        assert control.ask("PING") == "PONG"


def test_the_library_tells_the_same(server: Server, tmp_path: Path) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "control") as control:
        assert ingest.ask('PUSH c b o "the quick brown fox สวย" LANG(eng)') == "OK"
        bucket, whole = told(control, "STATS c b"), told(control, "STATS")
        assert bucket["hidden_words"] == 5, "three letters and two pairs"
    server.stop()
    with Index(tmp_path / "store") as index:
        mine = index.stats()
        for passing in ("memory_bytes", "disk_bytes", "log_bytes", "graph_bytes", "used_bytes", "folder"):
            assert (mine.pop(passing) is None) == (whole.pop(passing) is None)
        kept = ("objects", "words", "average_length", "length_percentiles")
        assert {name: index.stats("c", "b")[name] for name in kept} == {name: bucket[name] for name in kept}
        assert mine | {"open_graphs": 0} == whole


@pytest.mark.full
def test_verify_finds_nothing_wrong_while_the_server_is_written(shared_server: Server) -> None:
    server = shared_server
    with Peer(server, "ingest") as ingest, Peer(server, "control") as control, Peer(server, "control") as other:
        assert ingest.ask('PUSH c b o "hello world"') == "OK"
        other.send_lines("VERIFY")
        control.send_lines("VERIFY")
        for number in range(500):
            assert ingest.ask(f'PUSH c b o{number} "hello world{number}"') == "OK"
        assert (control.line(), other.line()) == ("RESULT []", "RESULT []")


def test_verify_names_what_is_wrong(server: Server, tmp_path: Path) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "control") as control:
        words = " ".join(f"word{number}" for number in range(1_500))  # more than a small bucket has
        assert ingest.ask(f'PUSH c b o "{words}"') == "OK"
        assert control.ask("TRIGGER consolidate") == "OK"
        (graph,) = (tmp_path / "store" / "graph").glob("*.graph")
        graph.write_bytes(b"x" * graph.stat().st_size)
        (fault,) = told(control, "VERIFY")
        assert fault.startswith(f"c/b: {graph} cannot be read as a word graph")


@pytest.mark.full
def test_others_do_not_wait_for_verify(server: Server) -> None:
    with Peer(server, "ingest") as ingest, Peer(server, "control") as control, Peer(server, "control") as pinger:
        for start in range(0, 20_000, 500):
            lines = [f'PUSH c b o{n} "w{n} w{n % 97} w{n % 7} shared" LANG(none)' for n in range(start, start + 500)]
            ingest.send_lines(*lines)
            for _ in lines:
                assert ingest.line() == "OK"
        answers: list[str] = []
        asking = threading.Thread(target=lambda: answers.append(control.ask("VERIFY")))
        asking.start()
        slowest = 0.0
        while asking.is_alive():
            slowest = max(slowest, ping_s(server, pinger))
        asking.join()
        assert answers == ["RESULT []"]
        assert is_below(slowest, 0.2)
