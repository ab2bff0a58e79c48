"""The second port beside clients that are slow, half open, or many: it answers others, and its log stays short."""

import asyncio
import contextlib
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from socketserver import ThreadingMixIn

import pytest

pytest.importorskip("prometheus_client", reason="needs the extra [metrics]")

from sonicpy.config import Config
from sonicpy.index.index import Index
from sonicpy.server.service import Service
from sonicpy.server.web import metrics_port
from sonicpy.server.web.metrics import MetricsServer
from sonicpy.server.web.metrics_port import MetricsPage
from tests.processes import HOST, Server, free_port
from tests.server.test_metrics import get
from tests.support.patience import WAIT_S, until

HALF = b"GET /healthz HT"
RESET = struct.pack("ii", 1, 0)
"""The value of SO_LINGER with which closing resets a connection."""


def opened(port: int) -> socket.socket:
    return socket.create_connection((HOST, port), 10)


def half_open(stack: contextlib.ExitStack, port: int, count: int) -> list[socket.socket]:
    peers = [stack.enter_context(opened(port)) for _ in range(count)]
    for peer in peers:
        peer.sendall(HALF)
    return peers


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, int]]:
    port = free_port()
    with Server(tmp_path_factory.mktemp("port"), {"metrics.inet": f"{HOST}:{port}"}) as server:
        yield server, port


def test_clients_that_leave_write_nothing_into_the_log(watched: tuple[Server, int]) -> None:
    server, port = watched
    for sent in (b"", HALF, b"GET /metrics HTTP/1.0\r\n\r\n"):
        for _ in range(20):
            with opened(port) as peer:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                peer.sendall(sent)
    assert get(port, "/readyz") == (200, "ready\n")
    assert server.log() == ""


def test_more_connections_than_it_serves_end_the_oldest(watched: tuple[Server, int]) -> None:
    server, port = watched
    count = metrics_port.CLIENTS_MAX + 20
    with contextlib.ExitStack() as stack:
        peers = half_open(stack, port, count)
        assert get(port, "/readyz") == (200, "ready\n")
        assert peers[0].recv(1) == b""
        if Path("/proc").exists():  # a thread ends when it runs next
            until(lambda: len(os.listdir(f"/proc/{server.pid}/task")) < count)
    lines = server.log().splitlines()
    assert 1 <= len(lines) <= 10
    assert "the oldest one is ended" in lines[0]


def test_each_connection_too_many_ends_another_before_any_thread_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_port, "CLIENTS_MAX", 2)
    page = MetricsPage(200, [], b"")
    with metrics_port.MetricsPort(HOST, 0, lambda _: page) as server, contextlib.ExitStack() as stack:
        monkeypatch.setattr(ThreadingMixIn, "process_request", lambda _, accepted, address: stack.push(accepted))
        peers = []
        for _ in range(5):
            peers.append(stack.enter_context(opened(server.server_address[1])))
            server.handle_request()
        assert [peer.recv(1) for peer in peers[:3]] == [b""] * 3
        for peer in peers[3:]:
            peer.setblocking(False)
            with pytest.raises(BlockingIOError):
                peer.recv(1)


@pytest.mark.skipif(not Path("/proc").exists(), reason="the queue of connections is that of Linux")
def test_128_connections_may_wait(watched: tuple[Server, int]) -> None:
    server, port = watched
    with contextlib.ExitStack() as stack:
        os.kill(server.pid, signal.SIGSTOP)
        stack.callback(os.kill, server.pid, signal.SIGCONT)
        for _ in range(metrics_port.BACKLOG):
            stack.enter_context(socket.create_connection((HOST, port), 10))


def test_a_slow_client_is_ended_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(metrics_port, "REQUEST_S", 0.3)

    def dawdle(port: int) -> None:
        with contextlib.ExitStack() as stack:
            peers = half_open(stack, port, 3)
            drips, left = peers[0], time.monotonic() + WAIT_S
            with contextlib.suppress(ConnectionError):
                while time.monotonic() < left:  # a byte now and then does not make it last
                    drips.sendall(b"x")
                    time.sleep(0.05)
            assert time.monotonic() < left
            for peer in peers[1:]:
                assert peer.recv(100) == b""

    async def run() -> None:
        with Index(tmp_path, autocommit=False) as index:
            server = MetricsServer(Service(index, Config()), HOST, 0)
            server.start()
            await asyncio.to_thread(dawdle, int(server.name.rpartition(":")[2]))
            await server.stop()

    asyncio.run(run())
    assert threading.active_count() < 20
    said = [record.getMessage() for record in caplog.records if "metrics" in record.name]
    assert said == ["a client of the metrics port took more than 0 s: its connection is ended"] * 3
    assert not [record for record in caplog.records if record.exc_info]
