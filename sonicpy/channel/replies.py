"""Replies and errors as bytes; no other module of the server makes bytes for the wire.

Each function returns whole lines that end in CR LF. Its arguments hold no line breaks: names and words cannot, and
neither can parts of a client's line. In compat mode, pieces of a Chinese text may be line feeds, which LIST sends as
Sonic does.
"""

import json
from collections.abc import Iterable
from random import getrandbits
from typing import NamedTuple

from sonicpy._native import replies as native
from sonicpy.channel.groups import pack_group
from sonicpy.channel.held_words import AnsweringWord, pack_held, pack_text
from sonicpy.channel.line_buffer import LINE_MAX_BYTES
from sonicpy.errors import CommandError, InvalidArgument, SessionEnded, ShuttingDown, SonicError
from sonicpy.filters.grouping import GroupKey

OK = b"OK\r\n"
PONG = b"PONG\r\n"
NO_REPLY = b""
"""The answer to a blank line."""

OF_INDEX = (OK, b"PENDING ", b"RESULT ")
"""The beginnings of replies that depend on an index, or confirm a change of it."""

PROTOCOL_REVISION = 1

NOT_KNOWN = "-"
"""The item for a number that is not known."""

MARKER_BITS = 64
"""The number of bits of a marker, eight for each letter; it distinguishes one PENDING from another and need not be
secret.
"""


class InfoFigures(NamedTuple):
    """The figures of INFO in their order on the wire; the names of the fields are the keys."""

    uptime: int
    """The time since the start in whole seconds."""
    clients_connected: int
    """The number of open connections, including those before START."""
    commands_total: int
    """The number of lines handled."""
    command_latency_best: int
    """The shortest time that a command took, in whole milliseconds."""
    command_latency_worst: int
    """The longest time that a command took, in whole milliseconds."""
    kv_open_count: int
    """The number of collections in use."""
    fst_open_count: int
    """The number of word graphs in use."""
    fst_consolidate_count: int
    """The number of word graphs with pending words."""


def connected(version: str) -> bytes:
    """Return the banner of a server with this version."""
    return f"CONNECTED <sonicpy v{version}>\r\n".encode()


def started(mode: str) -> bytes:
    """Return the reply to an accepted START for `mode`. Clients compare the whole line, so it never changes."""
    return f"STARTED {mode} protocol({PROTOCOL_REVISION}) buffer({LINE_MAX_BYTES})\r\n".encode()


def ended(reason: str) -> bytes:
    """Return the last line that a connection sends, with the reason for its end."""
    return f"ENDED {reason}\r\n".encode()


def result(value: int | str) -> bytes:
    """Return a RESULT line."""
    return f"RESULT {value}\r\n".encode()


def json_result(value: object) -> bytes:
    """Return a RESULT line with a value as JSON, in ASCII."""
    return result(json.dumps(value, separators=(",", ":")))


def listing(name: str, items: Iterable[str]) -> bytes:
    """Return a RESULT line that lists `items` under `name`."""
    return result(f"{name}({', '.join(items)})")


def info(figures: InfoFigures) -> bytes:
    """Return the reply to INFO."""
    return result(" ".join([f"{key}({value})" for key, value in zip(figures._fields, figures, strict=True)]))


def event(kind: str, items: Iterable[str]) -> bytes:
    """Return PENDING and its EVENT as one piece. Clients expect the blank before the items even if there are none."""
    return native.event(kind, items, getrandbits(MARKER_BITS))


def hits(
    found: Iterable[tuple[str, float | None]],
    total: int | None,
    *,
    scores: bool,
    counts_whole: bool = False,
    whole: int | None = None,
    hows: Iterable[Iterable[AnsweringWord]] | None = None,
    corrected: str | None = None,
    groups: Iterable[GroupKey | None] | None = None,
    kind: str = "QUERY",
) -> bytes:
    """Return the event of a QUERY that asked for more than names, or of SIMILAR (`kind`).

    Args:
        found: the names and their scores; a score of None: the ranking has no scores.
        total: the number of all objects that answer, for the first item; None: it was not asked for.
        scores: items are `name:score`, or `name:-` without one; else names.
        counts_whole: whether the second item is the number of those that answer by whole words.
        whole: this number; None: it is not known, and the item is `-`.
        hows: the words by which each object answers, which follow the last colon of its item; None: they were not asked
            for.
        corrected: the text that the user may have meant, for the item behind the numbers if `hows` is given; None:
            none.
        groups: the group of each object, which follows a colon behind the score; None: there are no groups.
    """
    items = [name if not scores else f"{name}:-" if score is None else f"{name}:{score:.6f}" for name, score in found]
    counts = [] if total is None else [str(total)]
    if counts_whole:
        counts.append(NOT_KNOWN if whole is None else str(whole))
    if hows is not None:
        items = [f"{item}:{pack_held(how)}" for item, how in zip(items, hows, strict=True)]
        counts.append(pack_text(corrected))
    if groups is not None and scores:
        items = [f"{item}:{pack_group(key)}" for item, key in zip(items, groups, strict=True)]
    return event(kind, [*counts, *items])


def error(raised: SonicError) -> bytes:
    """Return the line for an error: ENDED for SessionEnded, else ERR. Errors of the store are sent without details."""
    match raised:
        case SessionEnded():
            return ended(raised.reason)
        case InvalidArgument(code="invalid_argument", detail=None):
            return f"ERR {raised.code}({' '.join(str(raised).split())})\r\n".encode()
        case CommandError(detail=None):
            return f"ERR {raised.code}\r\n".encode()
        case CommandError():
            return f"ERR {raised.code}({raised.detail})\r\n".encode()
        case ShuttingDown():
            return b"ERR shutting_down\r\n"
    return b"ERR internal_error\r\n"
