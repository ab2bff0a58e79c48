"""Peers that send nothing, read nothing, or read slowly, and the little memory that they can take."""

import contextlib
import select
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import Server
from tests.server.fair import ping_s
from tests.server.peer import Peer
from tests.support.patience import is_below, is_within, until

WORDS = 500
MEGABYTE = 1 << 20
SENT_BYTES_MAX = 16 * MEGABYTE
"""A number of bytes above the buffers of the system and of the server together."""
READ_BYTES_PER_S = 2_500_000
"""The speed of a slow reader in bytes per second, which needs two seconds for 5 MB."""

TRIES = 5
TOO_SILENT_S = 0.9
"""The silence of the test in seconds that counts as too long on a loaded machine, because the server closes after 1
s.
"""


@pytest.fixture(scope="module")
def hasty_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with an idle time-out of one second, and with enough words for long answers."""
    with Server(tmp_path_factory.mktemp("hasty"), {"channel.tcp_timeout": 1}) as running:
        with Peer(running, "ingest") as ingest:
            for number in range(WORDS):
                ingest.send_lines(f'PUSH many b o{number % 7} "{"a" * 32}{number:05}" LANG(none)')
            assert set(ingest.lines(WORDS)) == {"OK"}
        yield running


def clients_connected(server: Server) -> int:
    with Peer(server, "control") as control:
        return int(control.ask("INFO").split("clients_connected(")[1].split(")")[0])


def test_a_silent_connection_is_closed_without_a_line(hasty_server: Server) -> None:
    began = time.monotonic()
    with Peer(hasty_server, "search") as peer:
        assert peer.rest() == b""
        assert time.monotonic() - began > 0.9


@pytest.mark.full
def test_every_byte_restarts_the_clock(hasty_server: Server) -> None:
    for _ in range(TRIES):
        answer, silent_s = ask_byte_by_byte(hasty_server)
        if answer == "PONG":
            return
        assert silent_s > TOO_SILENT_S, "closed although it never was silent for a second"
    pytest.fail(f"this machine let the peer wait too long {TRIES} times")


def ask_byte_by_byte(server: Server) -> tuple[str, float]:
    """Send PING with pauses that add up to more than the time-out; return the answer, and the longest silence in
    seconds.
    """
    answer, silences = "closed", []
    with Peer(server, "search") as peer, contextlib.suppress(OSError):
        for byte in b"PING\n":
            began = time.monotonic()
            time.sleep(0.4)
            peer.send(bytes([byte]))
            silences.append(time.monotonic() - began)
        answer = peer.line()
    return answer, max(silences)


@pytest.mark.full
def test_a_connection_that_has_not_started_has_ten_seconds(hasty_server: Server) -> None:
    with Peer(hasty_server) as peer:
        time.sleep(1.5)
        assert peer.line().startswith("CONNECTED <")
        peer.send(b"START search\n")
        assert peer.line().startswith("STARTED search ")


@pytest.mark.full
def test_start_has_to_come_within_ten_seconds(shared_server: Server) -> None:
    with Peer(shared_server) as peer:
        began = time.monotonic()
        assert peer.rest().endswith(b"ENDED unknown\r\n")
        assert time.monotonic() - began > 9.5
        assert is_within(12, began)


@pytest.mark.full
def test_no_timeout_with_zero(tmp_path: Path) -> None:
    with Server(tmp_path, {"channel.tcp_timeout": 0}) as server, Peer(server, "search") as peer:
        time.sleep(1.2)
        assert peer.ask("PING") == "PONG"


@pytest.mark.full
def test_peers_that_never_read_are_paused_bounded_and_dropped(hasty_server: Server) -> None:
    before = hasty_server.rss_bytes()
    peers = [Peer(hasty_server, "search", receive_bytes=4096) for _ in range(8)]
    try:
        sent = send_until_paused(peers, b"LIST many b LIMIT(500)\n" * 1_000_000)
        began = time.monotonic()
        assert max(sent) < SENT_BYTES_MAX, "the server did not stop reading"
        connected = clients_connected(hasty_server)
        assert connected == len(peers) + 1 or time.monotonic() - began > 0.5
        assert hasty_server.rss_bytes() - before < 40 * MEGABYTE
        with Peer(hasty_server, "search") as other:
            p99_s = sorted(ping_s(hasty_server, other) for _ in range(200))[197]
            assert is_below(p99_s, 0.1)
        until(lambda: clients_connected(hasty_server) == 1, "peers that never read are dropped", pause_s=0.1)
    finally:
        for peer in peers:
            peer.close()


def read_slowly(peer: Peer) -> None:
    """Ask for many lists, and read the replies for longer than the idle time-out."""
    lists = 280
    peer.send(b"LIST many b LIMIT(500)\n" * lists)
    began = time.monotonic()
    lines = size = 0
    while lines < 2 * lists:
        data = peer.socket.recv(65_536)
        took_s = time.monotonic() - began
        assert data, f"closed after {lines} lines and {took_s:.1f} s"
        lines += data.count(b"\r\n")
        size += len(data)
        time.sleep(max(0.0, size / READ_BYTES_PER_S - took_s))  # a busy machine makes it no slower than that
    assert time.monotonic() - began > 1.5, "otherwise it was not slow"


@pytest.mark.full
def test_a_slow_reader_gets_everything(hasty_server: Server) -> None:
    with Peer(hasty_server, "search", receive_bytes=65_536) as peer:
        read_slowly(peer)


@pytest.mark.full
def test_the_clock_of_a_slow_reader_starts_when_it_has_read(hasty_server: Server) -> None:
    for _ in range(TRIES):
        with Peer(hasty_server, "search", receive_bytes=65_536) as peer:
            answer, silent_s = ask_after_a_late_read(peer)
        if answer == "PONG":
            return
        assert silent_s > TOO_SILENT_S, "closed although it never was silent for a second"
    pytest.fail(f"this machine let the peer wait too long {TRIES} times")


def ask_after_a_late_read(peer: Peer) -> tuple[str, float]:
    """Read long replies late, ask later still; return the answer, and the longest time in seconds without a read or a
    write.
    """
    lists = 400
    began = time.monotonic()
    peer.send(b"LIST many b LIMIT(500)\n" * lists)
    time.sleep(0.7)  # the server waits for its replies to be read, not for another command
    read = time.monotonic()
    answer = "closed"
    with contextlib.suppress(OSError):
        peer.lines(2 * lists)
        time.sleep(0.6)
        answer = peer.ask("PING")
    return answer, max(read - began, time.monotonic() - read)


def send_until_paused(peers: list[Peer], data: bytes) -> list[int]:
    """Send over all peers until the server reads nothing for 0.2 s; return the number of bytes that each has sent."""
    view = memoryview(data)
    sent = dict.fromkeys((peer.socket for peer in peers), 0)
    for peer in peers:
        peer.socket.setblocking(False)
    while writable := select.select([], list(sent), [], 0.2)[1]:
        for target in writable:
            sent[target] += target.send(view[sent[target] : sent[target] + 65_536])
            if sent[target] == len(data):
                return list(sent.values())
    return list(sent.values())
