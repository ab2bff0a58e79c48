"""Answers that come before the end of the body of their request."""

import json
import re
import socket
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="needs the extra [http]")
pytest.importorskip("uvicorn", reason="needs the extra [http]")

from tests.http.asking import Asking, ends, raw
from tests.http.test_server import PASSWORD, WithHttp

PART = b" " * 0x8000
PARTS = 10  # together more than the server drops on a connection that stays open
ORIGIN = "https://shop.example"
LENGTH = f"Content-Length: {PARTS * len(PART)}"
CHUNKED = "Transfer-Encoding: chunked"
RIGHT = f"Authorization: Bearer {PASSWORD}"
PREFLIGHT = f"Origin: {ORIGIN}\r\nAccess-Control-Request-Method: POST"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WithHttp]:
    with WithHttp(tmp_path_factory.mktemp("http"), PASSWORD, **{"http.origins": ORIGIN}) as running:
        yield running


def read_answer(connection: socket.socket) -> bytes:
    """Return one answer, whose length is given."""
    received = b""
    while not (found := re.search(rb"(?i)content-length: (\d+)(?s:.*?)\r\n\r\n", received)) or len(
        received
    ) - found.end() < int(found[1]):
        part = connection.recv(1 << 16)
        assert part, received
        received += part
    return received


def in_chunk(part: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(part), part)


@pytest.mark.parametrize("length", [LENGTH, CHUNKED])
@pytest.mark.parametrize(
    ("line", "header", "status"),
    [
        ("POST /v1/bulk?bad=1", RIGHT, 422),
        ("POST /v1/bulk", "X: y", 401),
        ("POST /v1/bulk", "Authorization: Bearer wrong", 401),
        ("GET /v1/query?collection=c&bucket=b&text=x", RIGHT, 200),
    ],
)
def test_a_long_body_gets_one_answer_which_ends_the_connection(
    server: WithHttp, line: str, header: str, status: int, length: str
) -> None:
    if length == LENGTH and status == 200:
        status = 413  # no GET has a long body
    with raw(server.http_port) as connection:
        connection.sendall(f"{line} HTTP/1.1\r\nHost: h\r\n{header}\r\n{length}\r\n\r\n".encode())
        answer = read_answer(connection)
        for _ in range(PARTS):
            connection.sendall(in_chunk(PART) if length == CHUNKED else PART)
        if length == CHUNKED:
            connection.sendall(b"0\r\n\r\n")
        assert ends(connection) == b""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status) and b"\r\nconnection: close" in head.lower()
    assert head.lower().count(b"\r\nconnection:") == 1
    assert status == 200 or json.loads(body)["status"] == status


def test_a_short_body_of_a_refused_request_leaves_the_connection_open(server: WithHttp) -> None:
    row = b'{"collection": "c", "bucket": "b", "object": "o", "text": "kept"}'
    with raw(server.http_port) as connection:
        connection.sendall(f"POST /v1/bulk?bad=1 HTTP/1.1\r\nHost: h\r\n{RIGHT}\r\nContent-Length: 9\r\n\r\n".encode())
        assert read_answer(connection).startswith(b"HTTP/1.1 422 ")
        connection.sendall(b"the body\n")
        push = f"POST /v1/push HTTP/1.1\r\nHost: h\r\n{RIGHT}\r\nContent-Type: application/json\r\n"
        connection.sendall(push.encode() + b"Content-Length: %d\r\n\r\n%b" % (len(row), row))
        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
    assert server.count("c") == 1


@pytest.mark.parametrize("rest", [in_chunk(PART) * PARTS, b"no chunk\r\n"])
def test_the_rest_of_an_answered_body_gets_no_second_answer(server: WithHttp, rest: bytes) -> None:
    with raw(server.http_port) as connection:
        connection.sendall(f"OPTIONS /v1/push HTTP/1.1\r\nHost: h\r\n{PREFLIGHT}\r\n{CHUNKED}\r\n\r\n".encode())
        assert read_answer(connection).startswith(b"HTTP/1.1 200 ")
        connection.sendall(rest)
        assert ends(connection) == b""


def test_rows_behind_an_early_refusal_are_pushed(server: WithHttp) -> None:
    """A client that keeps its connections learns in time that this one ends."""
    with server.asking() as asking:
        for number in range(3):
            assert asking.stream("/v1/bulk?bad=1", [PART] * PARTS).status == 422
            assert asking.post("/v1/push", collection="d", bucket="b", object=number, text="kept").status == 200
    with Asking(server.http_port, PASSWORD) as asking:
        assert asking.get("/v1/count", collection="d", bucket="b", objects="true").body["count"] == 3
