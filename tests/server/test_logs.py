"""The log has one line per event, whatever its text; and lines about slow commands."""

import io
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy.channel.commands import Command, CountB, Push, Query, Trigger
from sonicpy.server.watching import logs
from sonicpy.server.watching.logs import FIELDS, KEPT_LINES, SAME_LINES, SAME_S, Logfmt, Repeats, written
from sonicpy.server.watching.slow import log_slow, peer_name
from tests.processes import Server
from tests.server.peer import Peer

VALUES = [
    ("QUERY", "QUERY", "a word"),
    ("[::1]:1491", "[::1]:1491", "an address"),
    ("/srv/a-b_c.d", "/srv/a-b_c.d", "a path"),
    (12, "12", "a number"),
    ("", '""', "nothing"),
    ("two words", '"two words"', "a blank"),
    ("a=b", '"a=b"', "what parts key and value"),
    ('say "x\\y"', '"say \\"x\\\\y\\""', "quotes"),
    ("a\r\nlevel=error b\t", '"a\\r\\nlevel=error b\\t"', "line ends"),
    ("\x1b[31m\x00\x7f\x85", '"\\u001b[31m\\u0000\\u007f\\u0085"', "what a terminal would obey"),
    ("\u2028\u202e", '"\\u2028\\u202e"', "line ends and turns of direction that are not ASCII"),
    ("\udc80", '"\\udc80"', "half a character, which cannot be written"),
    ("Größe", '"Größe"', "letters"),
]

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (level=\S+ logger=\S+ msg=.*)\n")


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """The log of sonicpy, in the format of the server."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Logfmt())
    logger = logging.getLogger("sonicpy")
    logger.addHandler(handler)
    yield stream
    logger.removeHandler(handler)


def line_of(log: io.StringIO) -> str:
    """Return the only line of the log, without its time."""
    found = LINE.fullmatch(log.getvalue())
    assert found, log.getvalue()
    return found[1]


def a_record(text: str, at_s: float) -> logging.LogRecord:
    record = logging.LogRecord("sonicpy.store", logging.ERROR, "", 0, "%s", (text,), None)
    record.created = at_s
    return record


def test_lines_that_say_the_same_are_left_out_and_counted() -> None:
    repeats = Repeats()
    kept = [repeats.filter(a_record("full", 50.0 + number / 100)) for number in range(30)]
    assert kept == [True] * SAME_LINES + [False] * (30 - SAME_LINES)
    assert repeats.filter(a_record("another", 51.0))
    last = a_record("full", 50.0 + SAME_S)
    assert repeats.filter(last)
    assert Logfmt().format(last).endswith(f"msg=full left_out={30 - SAME_LINES}")
    later = a_record("full", 50.0 + SAME_S + 0.1)
    assert repeats.filter(later)
    assert "left_out" not in Logfmt().format(later)
    assert repeats.filter(a_record("full", 7.0)), "the clock was set back"


def test_lines_with_fields_and_traces_are_never_left_out() -> None:
    repeats = Repeats()
    slow, failed = a_record("slow command", 50.0), a_record("failed", 50.0)
    setattr(slow, FIELDS, {"ms": 3})
    failed.exc_info = (ValueError, ValueError(), None)
    assert all(repeats.filter(record) for record in [slow, failed] * (SAME_LINES + 1))


def test_it_compares_few_lines() -> None:
    repeats = Repeats()
    for number in range(3 * KEPT_LINES):
        assert repeats.filter(a_record(f"line {number}", 50.0))
    assert len(repeats._written) <= KEPT_LINES


@pytest.mark.parametrize(("value", "expected", "why"), VALUES)
def test_a_value_stays_on_its_line(value: object, expected: str, why: str) -> None:
    assert written(value) == expected, why
    written(value).encode()


def test_a_sentence(log: io.StringIO) -> None:
    logging.getLogger("sonicpy.store.store").warning("%s", "the disk is full\nof things")
    assert line_of(log) == 'level=warn logger=store.store msg="the disk is full\\nof things"'


def test_fields_follow(log: io.StringIO) -> None:
    logging.getLogger("sonicpy.x").error("no", extra={FIELDS: {"ms": 3, "why": "a b"}})
    assert line_of(log) == 'level=error logger=x msg=no ms=3 why="a b"'


def test_a_fault_is_one_line_too(log: io.StringIO) -> None:
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        logging.getLogger("sonicpy.x").exception("failed", stack_info=True)
    line = line_of(log)
    assert line.startswith('level=error logger=x msg=failed trace="Traceback (most recent call last):\\n')
    assert 'ValueError: first\\nsecond" stack="Stack (most recent call last):\\n' in line


@pytest.mark.parametrize(("level", "shown"), [("off", 0), ("error", 1), ("warn", 2), ("info", 3), ("trace", 4)])
def test_levels(monkeypatch: pytest.MonkeyPatch, level: str, shown: int) -> None:
    root = logging.getLogger()
    before, stream = (root.level, root.handlers[:]), io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    root.handlers = []
    try:
        logs.set_up(level)
        for number in (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG):
            logging.getLogger("sonicpy.x").log(number, "said")
    finally:
        root.level, root.handlers = before
    assert stream.getvalue().count("msg=said") == shown


SECRET = "nobody else may read this"
SLOW: list[tuple[str, bytes | Command, str]] = [
    ("PUSH", Push("c", "b", "o", SECRET, None), "collection=c bucket=b object=o characters=25"),
    ("QUERY", Query("c", "b\n", SECRET, 1, 0, None), 'collection=c bucket="b\\n" characters=25'),
    ("COUNTB", CountB("c" * 20_000, "b"), f"collection={'c' * 128} bucket=b"),
    ("TRIGGER", Trigger("consolidate"), ""),
    ("OTHER", f"ERR {SECRET}\r\n".encode(), ""),
]


@pytest.mark.parametrize(("verb", "command", "fields"), SLOW, ids=[row[0] for row in SLOW])
def test_a_slow_command_tells_where_but_no_text(
    log: io.StringIO, verb: str, command: bytes | Command, fields: str
) -> None:
    log_slow(verb, command, 0.12345, ("::1", 7, 0, 0))
    expected = f'level=warn logger=server.slow msg="slow command" verb={verb} ms=123.5 peer=[::1]:7 {fields}'
    assert line_of(log) == expected.rstrip()


@pytest.mark.parametrize(
    ("peer", "name"), [(("127.0.0.1", 7), "127.0.0.1:7"), (("::1", 7, 0, 0), "[::1]:7"), ("", "unix"), (None, "gone")]
)
def test_peers_have_names(peer: object, name: str) -> None:
    assert peer_name(peer) == name


def test_a_server_logs_what_takes_long(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    settings = {"server.slow_command_ms": 1, "channel.unix_socket": path}
    with Server(tmp_path, settings, password="SecretPassword") as server:
        with Peer(server, "ingest") as ingest, Peer(server, "control", unix=path) as control:
            text = " ".join(f"wort{number}" for number in range(1_500))
            assert ingest.ask(f'PUSH slow b o "{text}" LANG(none)') == "OK"
            assert ingest.ask("PING") == "PONG"
            assert control.ask("TRIGGER consolidate") == "OK"
        log = server.log()
    push = [line for line in log.splitlines() if " verb=PUSH " in line]
    assert len(push) == 1, log
    assert re.search(r" ms=[\d.]+ peer=127\.0\.0\.1:\d+ collection=slow bucket=b object=o characters=\d+$", push[0])
    assert re.search(r" verb=TRIGGER ms=[\d.]+ peer=unix$", log, re.MULTILINE)
    assert "wort7" not in log
    assert "SecretPassword" not in log


def test_a_server_logs_nothing_slow_by_default(shared_server: Server) -> None:
    with Peer(shared_server, "ingest") as ingest:
        text = " ".join(f"wort{number}" for number in range(1_500))
        assert ingest.ask(f'PUSH slow b o "{text}" LANG(none)') == "OK"
    assert "slow" not in shared_server.log()
