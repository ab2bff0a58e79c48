"""Requests that try to pass a gate: each combines a method, a path, an odd spelling, a content type and a framing."""

import contextlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import sonicpy
from tests.http.asking import raw
from tests.processes import HOST

COLLECTION, BUCKET = "messages", "default"
OBJECTS = 20
MARK = "gemstone"
"""A word, and a part of names, that only the index holds: an answer with it is a leak."""
ANSWER_S = 0.5
"""The time in seconds to wait for an answer; a request without its end gets none."""

METHODS = ("POST", "POST", "POST", "POST", "PUT", "PATCH", "DELETE", "GET", "HEAD", "OPTIONS", "QUERY", "TRACE", "post")
CHANGES = ("push", "pop", "flush", "bulk", "consolidate", "backup", "restore")
READS = ("query", "search", "suggest", "objects", "words", "collections", "stats", "figures", "explain")
TYPES = (
    "application/json", "application/json; charset=utf-16", "text/plain", "application/x-www-form-urlencoded",
    "application/x-ndjson", "multipart/form-data; boundary=x", "application/vnd.api+json", "",
)  # fmt: skip
OVERRIDES = (
    "", "", "", "X-HTTP-Method-Override: POST\r\n", "X-HTTP-Method: DELETE\r\n", "X-Original-URL: /v1/flush\r\n",
    "X-Rewrite-URL: /v1/flush\r\n", "X-Forwarded-Prefix: /v1\r\n", "Expect: 100-continue\r\n",
    "Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", "X-Forwarded-Host: localhost\r\n",
    "Forwarded: for=127.0.0.1;host=localhost\r\n",
)  # fmt: skip


class Request(NamedTuple):
    """A request.

    Attributes:
        sent: the bytes of the request.
        told: the description in the report of a wrong answer.
        is_plain: whether it requests a change as documented, so that its refusal has an unambiguous status.
    """

    sent: bytes
    told: str
    is_plain: bool


class State(NamedTuple):
    """The content of an index."""

    names: dict[str, list[str]]
    objects: list[str]
    words: list[str]
    figures: list[int]


def fill(port: int, folder: Path) -> None:
    """Push objects, write a backup, and push more, so that restoring it would be a change."""
    with sonicpy.connect(f"sonic://{HOST}:{port}") as client:
        for number in range(OBJECTS):
            client.push(COLLECTION, BUCKET, f"{MARK}:{number}", f"common words and {MARK}{number}")
            if number == OBJECTS // 2:
                client.backup(folder / "backup")


def state(port: int) -> State:
    """Return the content of the index of a server."""
    with sonicpy.connect(f"sonic://{HOST}:{port}") as client:
        collections = client.collections()
        objects = client.objects(COLLECTION, BUCKET, limit=500)
        return State(
            {name: client.buckets(name) for name in collections},
            objects,
            client.words(COLLECTION, BUCKET, limit=500),
            [client.count(COLLECTION, BUCKET, name) for name in objects],
        )


def body_of(verb: str, folder: Path) -> bytes:
    """Return a valid body for a change."""
    scope = {"collection": COLLECTION, "bucket": BUCKET}
    held: dict[str, object] = {
        "push": {**scope, "object": f"{MARK}:1", "text": "forged"},
        "bulk": {**scope, "object": "forged", "text": "forged"},
        "pop": {**scope, "object": f"{MARK}:2", "text": "common words"},
        "flush": {"collection": COLLECTION},
        "backup": {"folder": str(folder / "stolen")},
        "restore": {"folder": str(folder / "backup")},
        "query": {**scope, "text": "common"},
    }
    return json.dumps(held.get(verb, {})).encode() + b"\n"


SPELLINGS: tuple[Callable[[str, random.Random], str], ...] = (
    *(lambda path, _, end=end: path + end for end in (
        "%0A", "%0a", "%0D%0A", "%0D", "%00", "%20", "%09", "/", "//", "/.", "/..", ";", ";x=1", "?x=%0A", "?", "#",
        "%2F", "%3F", "%23", "%250A", "%E2%80%A8", "%C2%85", "%1C", ".", "\\", "%5C", "\t", "#/x",
    )),
    *(lambda path, _, begin=begin: begin + path for begin in (
        "/", "//", "/.", "/./", "/x/..", "/v1/..", "/page/..", "/health/..", "/page/%2e%2e", "%0A", "/%0A", "/%00",
        "\\", "/search", "/%2F", "/v1/query/..",
    )),
    lambda path, _: path.upper(),
    lambda path, _: path.title(),
    lambda path, _: path.replace("/", "//"),
    lambda path, _: path.replace("/", "/./"),
    lambda path, _: path.replace("/", "\\"),
    lambda path, _: path.replace("/v1/", "/v1%2F"),
    lambda path, _: path.replace("/v1/", "/v1%2f/"),
    lambda path, _: path.replace("/v1/", "/v1%5C"),
    lambda path, _: path.replace("/v1/", "/v1/%2e%2e/v1/"),
    lambda path, _: path.replace("/v1/", "/v1/query/../"),
    lambda path, _: path.replace("/v1/", "/v1/query%2F..%2F"),
    lambda path, _: path.replace("/v1/", "/v1/{verb}/"),
    lambda path, _: path.replace("/v1/", "/v1%C0%AF"),
    lambda path, _: path.replace("/v1/", "/v1%EF%BC%8F"),
    lambda path, chance: encoded(path, chance, "%{:02x}"),
    lambda path, chance: encoded(path, chance, "%{:02X}"),
    lambda path, chance: encoded(path, chance, "%25{:02x}"),
)  # fmt: skip


def encoded(path: str, chance: random.Random, form: str) -> str:
    """Return a path with one of its characters encoded in another form."""
    place = chance.randrange(1, len(path))
    return path[:place] + form.format(ord(path[place])) + path[place + 1 :]


def with_length(head: str, body: bytes) -> bytes:
    """Return a request with a Content-Length."""
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body


def chunked(head: str, body: bytes) -> bytes:
    """Return a request in chunks, one of which has an extension."""
    half = len(body) // 2
    chunks = b"%x;x=y\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (half, body[:half], len(body) - half, body[half:])
    return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode("latin-1") + chunks


def both(head: str, body: bytes) -> bytes:
    """Return a request with a chunked body and a Content-Length."""
    return chunked(f"{head}Content-Length: {len(body)}\r\n", body)


def hidden_by_length(head: str, body: bytes) -> bytes:
    """Return a read with another request in its body, which a proxy may parse as a request of its own."""
    inner = with_length(head, body)
    front = "GET /health HTTP/1.1\r\nHost: localhost\r\n"
    return f"{front}Content-Length: {len(inner)}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode() + inner


def hidden_by_chunks(head: str, body: bytes) -> bytes:
    """Return a read with another request behind its chunks, and a Content-Length of a few bytes."""
    front = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding : chunked\r\n\r\n"
    return f"{front}1\r\nx\r\n0\r\n\r\n".encode() + with_length(head, body)


def behind_a_read(head: str, body: bytes) -> bytes:
    """Return an allowed request and another one in one packet."""
    return b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" + with_length(head, body)


def twice_long(head: str, body: bytes) -> bytes:
    """Return a request with two Content-Lengths."""
    return with_length(f"{head}Content-Length: 0\r\n", body)


def other_coding(head: str, body: bytes) -> bytes:
    """Return a request with an unknown transfer coding."""
    return with_length(f"{head}Transfer-Encoding: xchunked\r\n", body)


def folded(head: str, body: bytes) -> bytes:
    """Return a request with a header over two lines."""
    return with_length(f"{head}X: y\r\n Content-Length: 0\r\n", body)


def bare_ends(head: str, body: bytes) -> bytes:
    """Return a request whose lines end with LF alone."""
    return with_length(head, body).replace(b"\r\n", b"\n")


def until_the_end(head: str, body: bytes) -> bytes:
    """Return a request without a Content-Length."""
    return f"{head}\r\n".encode("latin-1") + body


FRAMINGS = (
    with_length, with_length, with_length, chunked, chunked, both, hidden_by_length, hidden_by_chunks, behind_a_read,
    twice_long, other_coding, folded, bare_ends, until_the_end,
)  # fmt: skip


def made(chance: random.Random, folder: Path, hosts: str, authority: str = "localhost") -> Request:
    """Return a random request.

    Args:
        hosts: the Host headers, each with its end of line.
        authority: the authority of a full URL as the target of the request.
    """
    is_change = chance.random() < 0.75
    verb = chance.choice(CHANGES if is_change else READS)
    path = f"/v1/{verb}"
    is_spelled = chance.random() < (0.8 if is_change else 0.4)
    target = chance.choice(SPELLINGS)(path, chance) if is_spelled else path
    if is_whole := chance.random() < 0.1:
        target = f"{chance.choice(('http', 'HTTPS', 'ftp'))}://{authority}{target}"
    if not is_change:
        target += f"{'&' if '?' in target else '?'}collection={COLLECTION}&bucket={BUCKET}&text=common&word=comm"
    method, kind = chance.choice(METHODS if is_change else (*METHODS, *["GET"] * len(METHODS))), chance.choice(TYPES)
    version = "1.1" if chance.random() < 0.9 else "1.0"
    head = f"{method} {target} HTTP/{version}\r\n{hosts}{chance.choice(OVERRIDES)}Connection: close\r\n"
    head += f"Content-Type: {kind}\r\n" if kind else ""
    framing = chance.choice(FRAMINGS)
    is_plain = is_change and not is_spelled and not is_whole and method == "POST" and framing in (with_length, chunked)
    told = f"{method} {target} HTTP/{version}, {hosts!r}, {kind or 'no type'}, {framing.__name__}"
    return Request(framing(head, body_of(verb, folder)), told, is_plain)


def answered(port: int, sent: bytes) -> bytes:
    """Return the answer of a server to bytes that are sent."""
    received = b""
    with raw(port) as peer:
        peer.settimeout(ANSWER_S)
        with contextlib.suppress(ConnectionError, TimeoutError):
            peer.sendall(sent)
            while part := peer.recv(1 << 16):
                received += part
                if b'"status":4' in part and is_refused(received):
                    break
    return received


def is_refused(received: bytes) -> bool:
    """Return whether the first answer is a refusal."""
    return received.startswith(b"HTTP/1.1 4")


def statuses(received: bytes) -> list[int]:
    """Return the status of each answer."""
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]
