"""Too many connections, too few descriptors, damaged commands: the server continues, and its memory does not grow."""

import contextlib
import random
import socket
from pathlib import Path

import pytest

from tests.processes import Server
from tests.server.peer import Peer
from tests.support import proc
from tests.support.patience import WAIT_S, until

resource = pytest.importorskip("resource")

CHURN = 700
GROWTH_BYTES_MAX = 8 << 20
LINES = """\
PUSH noise b o "ein Text mit Wörtern" LANG(deu)
POP noise b o "Text"
COUNT noise b
FLUSHO noise b o
FLUSHB noise b
FLUSHC noise
QUERY noise b "Wörtern" LIMIT(5) OFFSET(1)
SUGGEST noise b "wo"
LIST noise b LIMIT(3)
INFO
TRIGGER consolidate
START search
HELP commands
PING
QUIT

""".encode().split(b"\n")


@pytest.mark.full
def test_connections_that_come_and_go_leave_nothing_behind(server: Server) -> None:
    def come_and_go() -> None:
        for _ in range(CHURN):
            with Peer(server, "ingest") as peer:
                peer.send(b'PUSH churn b o "immer dasselbe"\n')
                assert peer.line() == "OK"

    come_and_go()
    before = server.rss_bytes()
    come_and_go()
    assert server.rss_bytes() - before < GROWTH_BYTES_MAX


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs prlimit to take descriptors away")
def test_more_connections_than_descriptors(tmp_path: Path) -> None:
    with Server(tmp_path) as server, Peer(server, "search") as peer:
        used = len(proc.descriptors(server.pid))
        _, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (used + 10, hard))
        crowd = [socket.create_connection((server.host, server.port), timeout=WAIT_S) for _ in range(40)]
        try:
            assert peer.ask("PING") == "PONG", "an open connection is served"
            heads = [answer_or_end(each) for each in crowd]
            assert any(heads), "some came in"
            assert not all(heads), "not all of them can have"
        finally:
            for each in crowd:
                each.close()
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (hard, hard))
        with soon_let_in(server) as later:
            assert later.ask('PUSH later b o "geht wieder"') == "OK"


def soon_let_in(server: Server) -> Peer:
    """Return a connection; the loop may reject the first attempts while other connections still wait."""

    def let_in() -> Peer | None:
        with contextlib.suppress(ConnectionError):
            return Peer(server, "ingest")
        return None

    peer = until(let_in, "a connection comes in", pause_s=0.1)
    assert peer is not None
    return peer


def answer_or_end(connection: socket.socket) -> bytes:
    try:
        return connection.recv(9)
    except OSError:
        return b""


def test_noise(server: Server) -> None:
    """Damaged commands in random pieces, over many connections that end in different ways."""
    chance = random.Random(4)
    with Peer(server, "control") as control:
        for _ in range(250):
            with Peer(server, chance.choice([None, "search", "ingest", "control"])) as peer:
                noise = b"\n".join(damaged(chance.choice(LINES), chance) for _ in range(40))
                for piece in pieces(noise, chance):
                    try:
                        peer.send(piece)
                    except OSError:  # it may have closed for what came before
                        break
                if chance.random() < 0.5:
                    with_end(peer)
        assert control.ask("PING") == "PONG"
        assert control.ask("TRIGGER consolidate") == "OK"
    assert server.log() == ""


def damaged(line: bytes, chance: random.Random) -> bytes:
    """Return a line with a few bytes changed, or with none."""
    changed = bytearray(line)
    for _ in range(chance.choice([0, 0, 1, 2, 5])):
        place = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0:
                changed[place:place] = bytes([chance.randrange(256)])
            case 1:
                del changed[place : place + 3]
            case 2:
                changed[place:place] = chance.choice(
                    [b'"', b"\\", b"(", b")", b"\0", b"\xff", b"\r", b" ", "　".encode()]
                )
            case 3:
                changed[place:place] = changed[: min(place, 400)] * chance.choice([1, 1, 60])
    return bytes(changed)


def pieces(data: bytes, chance: random.Random) -> list[bytes]:
    """Return `data` in random pieces."""
    cuts = sorted(chance.randrange(len(data)) for _ in range(5))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def with_end(peer: Peer) -> None:
    """Close the sending side, and read to the end."""
    try:
        peer.half_close()
    except OSError:  # it has closed
        return
    peer.rest()
