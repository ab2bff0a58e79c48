"""Tests of replies byte for byte, and of the line for every error."""

import re

import pytest

from sonicpy.channel import replies
from sonicpy.errors import CommandError, ConfigError, SessionEnded, ShuttingDown, SonicError, StoreError, StoreFull

FIGURES = replies.InfoFigures(7, 2, 30, 1, 12, 3, 4, 5)

LINES = [
    (replies.OK, b"OK\r\n"),
    (replies.PONG, b"PONG\r\n"),
    (replies.NO_REPLY, b""),
    (replies.connected("1.2.3"), b"CONNECTED <sonicpy v1.2.3>\r\n"),
    (replies.started("ingest"), b"STARTED ingest protocol(1) buffer(20000)\r\n"),
    (replies.ended("quit"), b"ENDED quit\r\n"),
    (replies.result(42), b"RESULT 42\r\n"),
    (replies.listing("actions", ["a", "b"]), b"RESULT actions(a, b)\r\n"),
    (
        replies.info(FIGURES),
        b"RESULT uptime(7) clients_connected(2) commands_total(30) command_latency_best(1) command_latency_worst(12) "
        b"kv_open_count(3) fst_open_count(4) fst_consolidate_count(5)\r\n",
    ),
]

ERRORS = [
    (CommandError("unknown_command"), b"ERR unknown_command\r\n"),
    (CommandError("invalid_format", "PING"), b"ERR invalid_format(PING)\r\n"),
    (CommandError("invalid_meta_key", "é[]"), "ERR invalid_meta_key(é[])\r\n".encode()),
    (CommandError("invalid_meta_key", ""), b"ERR invalid_meta_key()\r\n"),
    (SessionEnded("invalid_mode"), b"ENDED invalid_mode\r\n"),
    (ShuttingDown(), b"ERR shutting_down\r\n"),
    (StoreError("/data/store is on fire"), b"ERR internal_error\r\n"),
    (StoreFull("no room"), b"ERR internal_error\r\n"),
    (ConfigError("no"), b"ERR internal_error\r\n"),
]


@pytest.mark.parametrize(("reply", "expected"), LINES)
def test_lines(reply: bytes, expected: bytes) -> None:
    assert reply == expected


@pytest.mark.parametrize(("raised", "expected"), ERRORS)
def test_errors(raised: SonicError, expected: bytes) -> None:
    assert replies.error(raised) == expected


def test_an_event_with_scores() -> None:
    found = [("a:1", 2.5), ("b", 1 / 3), ("c", None)]
    assert replies.hits(found, None, scores=True).endswith(b" a:1:2.500000 b:0.333333 c:-\r\n")
    assert replies.hits([], None, scores=True).endswith(b" \r\n")


def test_an_event_with_a_total() -> None:
    found = [("a:1", 2.5), ("b", None)]
    assert replies.hits(found, 17, scores=False).endswith(b" 17 a:1 b\r\n")
    assert replies.hits(found, 17, scores=True).endswith(b" 17 a:1:2.500000 b:-\r\n")
    assert replies.hits(found, 17, scores=False, counts_whole=True, whole=0).endswith(b" 17 0 a:1 b\r\n")
    assert replies.hits(found, 17, scores=False, counts_whole=True).endswith(b" 17 - a:1 b\r\n")
    assert re.fullmatch(rb"PENDING (\w{8})\r\nEVENT QUERY \1 0\r\n", replies.hits([], 0, scores=True))


@pytest.mark.parametrize(
    ("items", "tail"),
    [(["o2", "o1"], b" o2 o1"), (["é"], " é".encode()), ([], b" "), (iter(("a", "b")), b" a b")],
    ids=["two", "one", "none", "iterator"],
)
def test_event(items: list[str], tail: bytes) -> None:
    pattern = rb"PENDING ([A-Za-z0-9]{8})\r\nEVENT QUERY \1(.*)\r\n"
    found = re.fullmatch(pattern, replies.event("QUERY", items))
    assert found is not None
    assert found[2] == tail, "the blank stays without items"


def test_markers() -> None:
    markers = [replies.event("QUERY", [])[8:16].decode() for _ in range(2_000)]
    assert all(re.fullmatch("[A-Za-z0-9]{8}", marker) for marker in markers)
    assert len(set(markers)) == len(markers), "two equal ones in 2,000 come once in 100 million runs"
    assert len(set("".join(markers))) == 62, "every letter is used"
