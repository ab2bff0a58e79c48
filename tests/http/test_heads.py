"""The limit of the head of a request, however its bytes come."""

import os
import signal
import socket
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="needs the extra [http]")
pytest.importorskip("uvicorn", reason="needs the extra [http]")

from tests.http.asking import ends, raw
from tests.http.test_server import WithHttp

PUSH = b"POST /v1/bulk HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
ROW = b'{"collection": "c", "bucket": "b", "object": "o", "text": "%b"}'
TOO_LONG = b"\r\n\r\nThe headers are too long; allowed are 65536 bytes."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WithHttp]:
    with WithHttp(tmp_path_factory.mktemp("http")) as running:
        yield running


def send_as_one_packet(server: WithHttp, connection: socket.socket, data: bytes) -> None:
    """Send bytes while the server sleeps, so that it reads them together."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        connection.sendall(data)
    finally:
        os.kill(server.pid, signal.SIGCONT)


def test_a_body_in_the_packet_of_the_end_of_a_head_is_none_of_it(server: WithHttp) -> None:
    body = ROW % (b"word " * 30_000)
    with raw(server.http_port) as connection:
        connection.sendall(PUSH)
        time.sleep(0.1)
        rest = b"X: %b\r\nContent-Length: %d\r\n\r\n" % (b"x" * 30_000, len(body))
        send_as_one_packet(server, connection, rest + body)
        assert ends(connection).startswith(b"HTTP/1.1 200 ")


def test_a_head_within_the_limit_may_come_in_many_packets(server: WithHttp) -> None:
    body = ROW % b"word"
    head = PUSH + b"".join(b"X-%d: %b\r\n" % (number, b"x" * 15_000) for number in range(4))
    with raw(server.http_port) as connection:
        for at in range(0, len(head), 4_000):
            connection.sendall(head[at : at + 4_000])
            time.sleep(0.005)
        connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        assert ends(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("begin", [b"", b"Transfer-Encoding: chunked\r\n\r\n5\r\n{}\n{}\r\n0\r\n"])
def test_a_header_without_an_end_is_refused(server: WithHttp, begin: bytes) -> None:
    with raw(server.http_port) as connection:
        connection.sendall(PUSH + begin + b"X: ")
        try:
            for _ in range(64):
                connection.sendall(b"x" * 4_000)
                time.sleep(0.002)
        except ConnectionError:
            pass
        assert ends(connection).endswith(TOO_LONG)
