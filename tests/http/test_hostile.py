"""Hostile requests: the memory of the server stays bounded, and a PING on the channel does not wait for them."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the extra [http]")

from sonicpy.server.web.http_protocol import CONNECTIONS_MAX, HEAD_S
from tests.http import pinger
from tests.http.asking import Asking, ends, raw
from tests.http.test_server import WithHttp
from tests.processes import HOST
from tests.support import proc
from tests.support.patience import SLOWNESS, is_within, measured_slowness
from tests.support.patience import until as until_true

pytestmark = pytest.mark.full

PING_P99_S = 0.005
"""The longest time of a PING on a quiet machine; longer on one that is slow."""
GROWTH_BYTES_MAX = 64 << 20
ROUNDS = 4
"""The number of rounds of an attack: a busy machine may slow one round down, but only an attack slows all of them
down.
"""
ATTACK_S = 4.0
IDLE = 1_000
SCOPE = {"collection": "messages", "bucket": "default"}
POST = "POST /v1/push HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
WIDE = b"[" + b"[]," * 80_000 + b"1]"
DEEP = b"[" * 240_000
QUERY = b"GET /v1/query?collection=messages&bucket=default&text=row1+weather HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WithHttp, int]]:
    """A server after some ordinary use, and its memory at that time in bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    try:
        with WithHttp(tmp_path_factory.mktemp("hostile")) as server:
            rows = [json.dumps({**SCOPE, "object": f"o{n}", "text": f"row{n} weather"}).encode() for n in range(2_000)]
            with server.asking() as asking:
                assert asking.stream("/v1/bulk", [b"\n".join(rows)]).body["pushed"] == 2_000
                for _ in range(200):
                    assert asking.get("/v1/query", **SCOPE, text="row1 weather").status == 200
            yield server, server.rss_bytes()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def until(deadline: float, act: Callable[[], None]) -> None:
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            act()


def in_threads(count: int, act: Callable[[], None]) -> None:
    deadline = time.monotonic() + ATTACK_S
    threads = [threading.Thread(target=until, args=(deadline, act)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def trickle(server: WithHttp, begin: bytes, rest: bytes) -> None:
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(raw(server.http_port)) for _ in range(300)]
        for peer in peers:
            peer.sendall(begin)
        deadline = time.monotonic() + ATTACK_S
        for place in range(len(rest)):
            if time.monotonic() > deadline:
                return
            for peer in peers:
                with contextlib.suppress(OSError):
                    peer.sendall(rest[place : place + 1])
            time.sleep(0.1)


def slow_headers(server: WithHttp) -> None:
    trickle(server, b"GET / HTTP/1.1\r\n", b"X: " + b"y" * 1_000)


def slow_bodies(server: WithHttp) -> None:
    trickle(server, POST.format(200_000).encode(), b'{"text": "' + b"y" * 1_000)


def huge_bodies(server: WithHttp) -> None:
    head = b"POST /v1/push HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"

    def act() -> None:
        with raw(server.http_port) as peer:
            peer.sendall(head)
            for _ in range(1_000):
                peer.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")

    in_threads(8, act)


def held_bodies(server: WithHttp) -> None:
    """Send bodies of the largest size, without their last byte."""
    with contextlib.ExitStack() as stack:
        for _ in range(400):
            peer = stack.enter_context(raw(server.http_port))
            with contextlib.suppress(OSError):
                peer.sendall(POST.format(262_144).encode() + b" " * 262_000)
        time.sleep(1)


def pathological_json(server: WithHttp) -> None:
    def act() -> None:
        for body in (WIDE, DEEP):
            with raw(server.http_port) as peer:
                peer.sendall(POST.format(len(body)).encode() + body)
                assert peer.recv(100).startswith(b"HTTP/1.1 4")

    in_threads(2, act)


def idle_connections(server: WithHttp) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(IDLE):
            stack.enter_context(raw(server.http_port))
        assert server.status("/health") == 200, "an honest client is let in"
        time.sleep(1)


def pipelines(server: WithHttp) -> None:
    def act() -> None:
        with raw(server.http_port) as peer:
            for _ in range(20):
                peer.sendall(QUERY * 16)
                answered = 0
                while answered < 16:
                    part = peer.recv(1 << 16)
                    assert part
                    answered += part.count(b"HTTP/1.1 200")

    in_threads(16, act)


def unread_answers(server: WithHttp) -> None:
    """Send requests, and leave their answers unread."""
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            peer = stack.enter_context(socket.socket())
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.connect((HOST, server.http_port))
            peer.setblocking(False)
            with contextlib.suppress(OSError):
                peer.sendall(QUERY.replace(b"text=", b"limit=1000&text=") * 1_000)
        time.sleep(1)


def pinged(server: WithHttp, attack: Callable[[WithHttp], None]) -> tuple[float, float]:
    """Return the 99th percentiles of the PINGs during an attack, and of the delays that the machine causes."""
    command = [sys.executable, str(Path(pinger.__file__)), HOST, str(server.port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        assert process.stdout.readline() == "pinging\n"
        attack(server)
        process.stdin.close()
        ping_s, late_s, _ = map(float, process.stdout.readline().split())
    return ping_s, late_s


ATTACKS = [
    slow_headers, slow_bodies, huge_bodies, held_bodies, pathological_json, idle_connections, pipelines, unread_answers,
]  # fmt: skip


def takes_large_bodies(server: WithHttp) -> bool:
    """Return whether the server reads a large body, which would be wrong, instead of refusing it unread."""
    with contextlib.suppress(OSError), raw(server.http_port) as peer:
        peer.sendall(POST.format(len(WIDE)).encode() + WIDE)
        return peer.recv(100).startswith(b"HTTP/1.1 4")
    return False


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_costs_bounded_memory_and_no_ping_waits(
    victim: tuple[WithHttp, int], attack: Callable[[WithHttp], None]
) -> None:
    server, rss_bytes = victim
    waits = []
    for _ in range(ROUNDS):
        ping_s, late_s = pinged(server, attack)
        # On a busy machine, the last bodies are held for a while after their connections are closed.
        until_true(lambda: takes_large_bodies(server), "the server takes large bodies again")
        grown = server.rss_bytes() - rss_bytes
        print(f"{attack.__name__}: p99 {ping_s * 1e3:.1f} ms, machine {late_s * 1e3:.1f} ms, {grown >> 20} MB")
        assert grown < GROWTH_BYTES_MAX
        waits.append((ping_s - 3 * late_s) / max(SLOWNESS, measured_slowness()))
        if waits[-1] <= PING_P99_S:
            break
    assert min(waits) <= PING_P99_S, waits
    with Asking(server.http_port) as asking:
        assert asking.get("/v1/query", **SCOPE, text="row7").body["hits"][0]["object"] == "o7"


def test_silence_ends_in_time(victim: tuple[WithHttp, int]) -> None:
    server, _ = victim
    begins = [b"", b"GET / HTTP/1.1\r\nX: ", POST.format(10).encode() + b"{"]
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(raw(server.http_port)) for _ in begins]
        began = time.monotonic()
        for peer, begin in zip(peers, begins, strict=True):
            peer.sendall(begin)
        answers = [ends(peer) for peer in peers]
        assert is_within(HEAD_S + 5, began)
    assert answers[:2] == [b"", b""]
    assert answers[2].startswith(b"HTTP/1.1 408")


def test_connections_are_bounded(victim: tuple[WithHttp, int]) -> None:
    server, _ = victim
    with contextlib.ExitStack() as stack:
        for _ in range(IDLE):
            stack.enter_context(raw(server.http_port))
        time.sleep(0.5)
        assert proc.sockets(server.pid) < CONNECTIONS_MAX + 50
