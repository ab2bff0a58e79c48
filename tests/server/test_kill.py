"""After kill -9 at random moments and a restart, every acknowledged change is there, and all tables agree with each
other.
"""

import random
import threading
import time
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.index.maintenance.verify import verify_folder
from tests.processes import Server
from tests.server.peer import Peer
from tests.server.streams import SETTINGS, Stream
from tests.store.consistency import check_consistent
from tests.support.examples import some
from tests.support.patience import until

CONNECTIONS = 4
LONGEST_S = 0.3


def run_until_killed(server: Server, streams: list[Stream], seconds: float) -> None:
    """Run the streams until `seconds` after the first acknowledgement, and kill the server."""
    before = acknowledged(streams)
    stopped = threading.Event()
    threads = [threading.Thread(target=stream.run, args=(server, stopped)) for stream in streams]
    for thread in threads:
        thread.start()
    until(lambda: acknowledged(streams) != before)
    time.sleep(seconds)
    server.kill()
    for thread in threads:
        thread.join()


def acknowledged(streams: list[Stream]) -> int:
    return sum(stream.acknowledged for stream in streams)


def check_and_settle(server: Server, streams: list[Stream]) -> None:
    """Check that the content of every bucket is a possible one, and make its stream continue from that content."""
    with Peer(server, "search") as search, Peer(server, "ingest") as ingest:
        for stream in streams:
            assert stream.wrong == []
            held = stream.read(search)
            assert held in list(stream.possible_states()), difference(stream, held)
            assert ingest.ask(f"COUNTB {stream.collection} {stream.bucket}") == f"RESULT {len(held)}"
            words = set().union(*held.values()) if held else set()
            assert ingest.ask(f"COUNT {stream.collection} {stream.bucket}") == f"RESULT {len(words)}"
            stream.settle(held)


def difference(stream: Stream, held: dict[str, frozenset[str]]) -> str:
    model = stream.objects
    wrong = {oid: (model.get(oid), held.get(oid)) for oid in {*model, *held} if model.get(oid) != held.get(oid)}
    return f"bucket {stream.bucket}: (acknowledged, found) differ in {wrong}; in flight were {stream.in_flight}"


def kill_again_and_again(folder: Path, rounds: int, seed: int, durability: str) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    streams = [Stream(f"b{number}", seed) for number in range(CONNECTIONS)]
    server = Server(folder, {**SETTINGS, "store.kv.durability": durability})
    for _ in range(rounds):
        with server:
            before = acknowledged(streams)
            run_until_killed(server, streams, chance.uniform(0.05, LONGEST_S))
            assert acknowledged(streams) > before, "nothing was acknowledged: the test judged nothing"
        assert verify_folder(folder / "store") == []
        with server:
            check_and_settle(server, streams)
        with Index(folder / "store") as index:
            check_consistent(index.engine.store)
    with server:
        check_and_settle(server, streams)


@pytest.mark.parametrize("durability", some(["interval", "commit"], 2))
def test_killed_while_connections_write(tmp_path: Path, durability: str) -> None:
    kill_again_and_again(tmp_path, 2 if durability == "interval" else 1, random.randrange(10**9), durability)


def test_a_stream_that_begins_after_the_kill_leaves_no_socket(tmp_path: Path) -> None:
    """An open socket would cause a ResourceWarning, which fails the test."""
    stream = Stream("b0", 0)
    stream.run(Server(tmp_path), threading.Event())
    assert (stream.acknowledged, stream.in_flight, stream.wrong) == (0, [], [])


def test_words_wait_through_a_kill_in_compat_mode(tmp_path: Path) -> None:
    """Pending words survive a kill in compat mode, too, whereas Sonic loses words that were not consolidated."""
    server = Server(tmp_path, {"server.compat": "sonic"})
    with server:
        with Peer(server, "ingest") as ingest:
            assert ingest.ask('PUSH c b o "valeriane" LANG(none)') == "OK"
        server.kill()
        server.start()
        with Peer(server, "control") as control, Peer(server, "search") as search:
            assert control.ask("TRIGGER consolidate") == "OK"
            assert search.results("LIST c b") == ["valeriane"]


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("durability", ["interval", "commit"])
def test_killed_many_times(tmp_path: Path, durability: str) -> None:
    kill_again_and_again(tmp_path, 20, random.randrange(10**9), durability)
