"""SIGTERM and SIGINT under load: the server answers received commands, keeps their changes, and ends soon."""

import signal
import threading
import time
from pathlib import Path

import pytest

from tests.processes import Server
from tests.server.peer import Peer
from tests.server.streams import SETTINGS, Stream
from tests.server.test_kill import check_and_settle
from tests.support.patience import WAIT_S, until

STOPS = [(signal.SIGTERM, "interval"), (signal.SIGINT, "commit")]


@pytest.mark.parametrize(("number", "durability"), STOPS)
def test_stopped_while_connections_write(tmp_path: Path, number: signal.Signals, durability: str) -> None:
    streams = [Stream(f"b{place}", seed=place) for place in range(4)]
    server = Server(tmp_path, {**SETTINGS, "store.kv.durability": durability})
    with server:
        threads = [threading.Thread(target=stream.run, args=(server, threading.Event())) for stream in streams]
        for thread in threads:
            thread.start()
        until(lambda: sum(stream.acknowledged for stream in streams) > 100, "they write")
        assert server.stop(number) == 0
        for thread in threads:
            thread.join(timeout=WAIT_S)
            assert not thread.is_alive(), "the connection was left open"
    with server:
        check_and_settle(server, streams)


def test_pushes_are_answered_until_the_end(server: Server) -> None:
    with Peer(server, "ingest") as peer:
        peer.send_lines(*(f'PUSH last b o{number} "einmal noch" LANG(none)' for number in range(3_000)))
        assert peer.line() == "OK"
        assert server.stop() == 0
        answers = ["OK", *peer.rest().decode().split("\r\n")[:-1]]
    kept = answers.count("OK")
    assert answers[kept:] == ["ERR shutting_down"] * (len(answers) - kept)
    server.start()
    with Peer(server, "ingest") as peer:
        stored = int(peer.ask("COUNTB last b").removeprefix("RESULT "))
        assert kept <= stored <= 3_000
        assert peer.ask(f"COUNTO last b o{kept - 1}") == "RESULT 2"


@pytest.mark.full
def test_a_peer_that_never_reads_cannot_hold_up_the_end(server: Server) -> None:
    with Peer(server, "ingest") as ingest:
        for number in range(300):
            ingest.send_lines(f'PUSH unread b o "{"a" * 32}{number:05}" LANG(none)')
        assert set(ingest.lines(300)) == {"OK"}
    with Peer(server, "search", receive_bytes=4096) as peer:
        peer.send(b"LIST unread b LIMIT(500)\n" * 2_000)
        time.sleep(0.3)
        assert server.stop() == 0


def test_what_compat_mode_would_show_after_consolidation_is_shown_after_a_restart(tmp_path: Path) -> None:
    with Server(tmp_path, {"server.compat": "sonic"}) as server:
        with Peer(server, "ingest") as ingest:
            assert ingest.ask('PUSH later b o "valeriane" LANG(none)') == "OK"
        with Peer(server, "search") as search:
            assert search.results("LIST later b") == []
        assert server.stop() == 0
        server.start()
        with Peer(server, "search") as search:
            assert search.results("LIST later b") == ["valeriane"], "a stop consolidates, as Sonic's does"
