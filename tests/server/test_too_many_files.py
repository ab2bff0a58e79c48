"""A server with a low limit of open files: connections are refused with a message, and all promises hold."""

import resource
import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import sonicpy
from sonicpy.server.connections.rejected import LINGERING_MAX
from tests.processes import HOST, Server, free_port
from tests.server.certificates import write_certificates
from tests.server.limited import Limited, crowd, opened
from tests.server.peer import Peer
from tests.support.patience import WAIT_S, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc, and sets their limits")

LIMIT = 140
FLOOD = 200
REFUSED = "new connections are refused: this process may open 140 files"


def asked(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}{path}", timeout=WAIT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def is_ready(port: int) -> bool:
    """Return whether the server is ready; while the crowd goes, the port may still be without a descriptor."""
    try:
        return asked(port, "/readyz")[0] == 200
    except (ConnectionError, urllib.error.URLError):
        return False


@pytest.mark.full
def test_promises_hold_at_the_limit(tmp_path: Path) -> None:
    http, metrics = free_port(HOST), free_port(HOST)
    settings = {"http.inet": f"{HOST}:{http}", "metrics.inet": f"{HOST}:{metrics}", "store.kv.durability": "commit"}
    with (
        Limited(tmp_path, settings, LIMIT) as server,
        Peer(server, "ingest") as ingest,
        Peer(server, "control") as control,
    ):
        assert resource.prlimit(server.pid, resource.RLIMIT_NOFILE) == (LIMIT, LIMIT), "it raises the soft limit"
        assert ingest.ask('PUSH c b o1 "found"') == "OK"
        with crowd(FLOOD, [(HOST, server.port), (HOST, server.port), (HOST, http)]) as sockets:
            heard = [first_bytes(each) for number, each in enumerate(sockets) if number % 3 != 2]
            greeting = f"CONNECTED <sonicpy v{sonicpy.__version__}>\r\n".encode()
            assert set(heard) == {greeting, b"ENDED too_many_connections\r\n"}
            assert heard[0] == greeting != heard[-1]
            assert first_bytes(sockets[FLOOD // 3 * 3 - 1]).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
            assert opened(server) <= LIMIT // 2 + 20 + LINGERING_MAX, "a half is kept free"
            assert asked(metrics, "/readyz")[1].startswith(REFUSED)
            assert ingest.ask('PUSH c b o2 "found"') == "OK"
            for command in ("TRIGGER consolidate", f"TRIGGER backup {tmp_path / 'backup'}", "STATS", "VERIFY"):
                assert not control.ask(command).startswith("ERR"), command
            assert asked(metrics, "/metrics")[0] == 200
        while not is_ready(metrics):
            time.sleep(0.05)
        with Peer(server, "search") as search:
            assert search.results('QUERY c b "found"') == ["o2", "o1"]
        assert server.log().count(REFUSED) == 1
        assert server.log().count("level=error") == 1


@pytest.mark.full
def test_connections_that_begin_no_handshake(tmp_path: Path) -> None:
    certificates = write_certificates(tmp_path)
    settings = {**certificates.settings(), "channel.unix_socket": tmp_path / "s.sock"}
    with Server(tmp_path, settings) as server, Peer(server, "ingest", unix=tmp_path / "s.sock") as ingest:
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
        with crowd(FLOOD, [(HOST, server.port)]) as sockets:
            assert first_bytes(sockets[-1]) == b"", "it is closed before a handshake"
            assert opened(server) <= LIMIT // 2 + 20
            assert ingest.ask('PUSH c b o "found"') == "OK"
            assert server.log().count(REFUSED) == 1
        until(lambda: opened(server) < LIMIT // 2, "the server has seen the end of the crowd")
        with Peer(server, "search", tls=certificates.client()) as search:
            assert search.results('QUERY c b "found"') == ["o"]


def first_bytes(each: socket.socket) -> bytes:
    each.settimeout(20)
    return each.recv(100)
