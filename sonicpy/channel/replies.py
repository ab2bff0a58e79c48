"""Replies as bytes, and every error as the line that tells it; nothing else puts bytes on the wire.

Each function returns whole lines that end in CR LF. What stands in a reply is trusted to hold no line break: names and
words cannot, and parts of a client's line are cut at every one.
"""

import json
from collections.abc import Iterable
from random import getrandbits
from typing import NamedTuple

from sonicpy._native import channel
from sonicpy.channel.lines import LINE_MAX_BYTES
from sonicpy.errors import CommandError, SessionEnded, ShuttingDown, SonicError

OK = b"OK\r\n"
PONG = b"PONG\r\n"
NO_REPLY = b""
"""The answer to a blank line."""

PROTOCOL_REVISION = 1

MARKER_BITS = 64
"""Eight for each letter of a marker."""


class Figures(NamedTuple):
    """What INFO tells, in the order it is told. Names of fields are keys on the wire."""

    uptime: int
    """Whole seconds since the start."""
    clients_connected: int
    """Open connections, those before START included."""
    commands_total: int
    """Lines handled."""
    command_latency_best: int
    """Shortest time of a command in whole milliseconds."""
    command_latency_worst: int
    """Longest time of a command in whole milliseconds."""
    kv_open_count: int
    """Collections in use."""
    fst_open_count: int
    """Word graphs in use."""
    fst_consolidate_count: int
    """Word graphs that have words waiting for consolidation."""


def connected(version: str) -> bytes:
    """Return the banner."""
    return f"CONNECTED <sonicpy v{version}>\r\n".encode()


def started(mode: str) -> bytes:
    """Return the answer to a START that was accepted. Clients compare this line as a whole: it never grows."""
    return f"STARTED {mode} protocol({PROTOCOL_REVISION}) buffer({LINE_MAX_BYTES})\r\n".encode()


def ended(reason: str) -> bytes:
    """Return the last line before the connection closes."""
    return f"ENDED {reason}\r\n".encode()


def result(value: int | str) -> bytes:
    """Return a RESULT line."""
    return f"RESULT {value}\r\n".encode()


def json_result(value: object) -> bytes:
    """Return a RESULT line that holds a value as JSON, in ASCII."""
    return result(json.dumps(value, separators=(",", ":")))


def listing(name: str, items: Iterable[str]) -> bytes:
    """Return a RESULT line that lists `items` under `name`."""
    return result(f"{name}({', '.join(items)})")


def info(figures: Figures) -> bytes:
    """Return the answer to INFO."""
    return result(" ".join([f"{key}({value})" for key, value in zip(figures._fields, figures, strict=True)]))


def event(kind: str, items: Iterable[str]) -> bytes:
    """Return PENDING and its EVENT in one piece. Without items the blank before them stays: clients wait for it."""
    return channel.event(kind, items, getrandbits(MARKER_BITS))


def scored_event(kind: str, items: Iterable[tuple[str, float | None]]) -> bytes:
    """Return an event whose items are `name:score`, and `name:-` where objects are not ranked by scores."""
    return event(kind, [f"{name}:-" if score is None else f"{name}:{score:.6f}" for name, score in items])


def new_marker() -> str:
    """Return 8 random characters of [A-Za-z0-9], which tell one PENDING from another; not meant to be secret."""
    return channel.marker(getrandbits(MARKER_BITS))


def error(trouble: SonicError) -> bytes:
    """Return the line for `trouble`: ENDED for SessionEnded, else ERR. Of a failing store no details are told."""
    match trouble:
        case SessionEnded():
            return ended(trouble.reason)
        case CommandError(detail=None):
            return f"ERR {trouble.code}\r\n".encode()
        case CommandError():
            return f"ERR {trouble.code}({trouble.detail})\r\n".encode()
        case ShuttingDown():
            return b"ERR shutting_down\r\n"
    return b"ERR internal_error\r\n"
