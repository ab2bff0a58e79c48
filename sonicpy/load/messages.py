"""Messages between agents and the runner: one JSON object per line, of at most 1 MiB.

agent to runner    {"type": "hello", "id", "name", "version", "servers"}
runner to agent    {"type": "request", "run", "set", "filter": [ids], "seed"}
agent to runner    {"type": "response", "run", "id", "results": [[start, end, processing, status, hits, error, query]],
                    "last": true at the end}
both ways          {"type": "ping"} and {"type": "pong"}
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sonicpy.errors import LoadError

LINE_BYTES_MAX = 1 << 20
SET_BYTES_MAX = LINE_BYTES_MAX - (64 << 10)
"""The most bytes of a test set; the rest of its line is for the ids of agents."""
RESULTS_IN_MESSAGE = 1000
DEFAULT_HUB = ("127.0.0.1", 14910)
Message = dict[str, Any]


class QueryStatus:
    """The outcome of a query, as a number of Letarette."""

    NOT_FOUND = 42
    FOUND = 44
    TIMEOUT = 45
    REFUSED = 46
    LOST = 47


STATUS_TEXTS = {
    QueryStatus.NOT_FOUND: "not found",
    QueryStatus.FOUND: "found in index",
    QueryStatus.TIMEOUT: "timeout",
    QueryStatus.REFUSED: "query format error",
    QueryStatus.LOST: "server error",
}
SUCCESSES = (QueryStatus.NOT_FOUND, QueryStatus.FOUND)


class Result(NamedTuple):
    """One answered query; times are in seconds."""

    start: float
    """The start by the agent's own clock."""
    end: float
    processing: float
    """The time between PENDING and EVENT of the slowest server; negative if the command has no PENDING."""
    status: int
    hits: int
    error: str
    query: str

    @property
    def roundtrip(self) -> float:
        """The time in seconds from sending the query to the last answer of a server."""
        return self.end - self.start


def packed(message: Message) -> bytes:
    """Return the line of a message."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def unpacked(line: bytes) -> Message:
    """Return the message that `line` contains.

    Raises:
        LoadError: the line is not a message.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LoadError("the other side sent a line that is no JSON") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise LoadError("the other side sent a line that is no message of sonicpy load")
    return message


async def received(reader: asyncio.StreamReader) -> Message | None:
    """Return the next message; None: the other side closed the connection.

    Raises:
        LoadError: the line is not a message, or is too long.
        OSError: the connection broke.
    """
    try:
        line = await reader.readline()
    except ValueError as error:
        raise LoadError(f"the other side sent a line of more than {LINE_BYTES_MAX} bytes") from error
    return unpacked(line) if line else None


def responses(run: str, agent: str, results: Sequence[Result]) -> Iterator[bytes]:
    """Yield the lines of an agent's results, one line at least; a line has the most results that it may have."""
    about = {"type": "response", "run": run, "id": agent}
    room_bytes = LINE_BYTES_MAX - len(packed({**about, "results": [], "last": False}))
    some: list[Result] = []
    left_bytes = room_bytes
    for result in results:
        size_bytes = len(json.dumps(result, separators=(",", ":"))) + 1
        if some and (size_bytes > left_bytes or len(some) == RESULTS_IN_MESSAGE):
            yield packed({**about, "results": some, "last": False})
            some, left_bytes = [], room_bytes
        some.append(result)
        left_bytes -= size_bytes
    yield packed({**about, "results": some, "last": True})
