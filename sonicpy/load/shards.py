"""One query to several servers: it is sent to all, and done when all have answered."""

import contextlib
import socket
import time
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from sonicpy.channel.quoting import quoted
from sonicpy.client.address import Address
from sonicpy.client.blocking.connection import connect_socket, seconds_left
from sonicpy.load.messages import QueryStatus, Result
from sonicpy.load.test_set import TestSet

RECEIVE_BYTES = 1 << 16
MODES = {"query": "search", "suggest": "search", "ping": "search", "count": "ingest"}
ANSWERS = {"ping": b"PONG", "count": b"RESULT "}
"""Command without EVENT -> the beginning of its answer."""


ERROR_CHARACTERS_MAX = 1000
"""The most characters of an error that a result keeps."""


class ShardRefused(Exception):
    """The server answered ERR, or refused the session."""


class Shard:
    """One server, over one connection that opens when it is needed and again after an error.

    Args:
        mode: the mode of the channel.
        timeout_s: the longest time in seconds for opening a session, and then for each answer.
    """

    def __init__(self, address: Address, mode: str, timeout_s: float) -> None:
        self._address = address
        self._mode = mode
        self._timeout_s = timeout_s
        self._socket: socket.socket | None = None
        self._received = b""

    def send(self, lines: bytes) -> None:
        """Send commands. Raises OSError or Refused."""
        if self._socket is None:
            self._open()
        assert self._socket is not None
        self._socket.settimeout(self._timeout_s)
        self._socket.sendall(lines)

    def _open(self) -> None:
        deadline = time.monotonic() + self._timeout_s
        self._socket = connect_socket(self._address, deadline)
        self._received = b""
        greeting = self.line(deadline)
        self._socket.sendall(f"START {self._mode} {self._address.password or ''}".rstrip().encode() + b"\r\n")
        started = self.line(deadline)
        if not greeting.startswith(b"CONNECTED ") or not started.startswith(b"STARTED "):
            raise ShardRefused(started.decode("utf-8", "replace"))

    def line(self, deadline: float) -> bytes:
        """Return the next line of the server. Raises TimeoutError at `deadline`, by the monotonic clock, and
        OSError.
        """
        assert self._socket is not None
        while b"\n" not in self._received:
            self._socket.settimeout(seconds_left(deadline))
            data = self._socket.recv(RECEIVE_BYTES)
            if not data:
                raise ConnectionError("the server closed the connection")
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return line.rstrip(b"\r")

    def close(self) -> None:
        """Close the connection; the next `send` opens another."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
        self._socket = None


class Shards:
    """All servers of a query.

    Args:
        addresses: the addresses of the servers.
        asked: the test set.
        timeout_s: the longest wait for an answer in seconds.
    """

    def __init__(self, addresses: Sequence[Address], asked: TestSet, timeout_s: float) -> None:
        self._shards = [Shard(address, MODES[asked.Op], timeout_s) for address in addresses]
        self._asked = asked
        self._timeout_s = timeout_s

    def ask(self, query: str) -> Result:
        """Send a query to all servers, and return its result when all have answered; the error of one server is the
        result.
        """
        begun = time.perf_counter()
        try:
            processing, answers = self._exchange(self._lines(query))
        except TimeoutError:
            failure = QueryStatus.TIMEOUT, "no answer in time"
        except ShardRefused as error:
            failure = QueryStatus.REFUSED, str(error)
        except OSError as error:
            failure = QueryStatus.LOST, error.strerror or str(error)
        else:
            ended = time.perf_counter()
            hits = len(list(round_robin(answers))[: self._asked.Limit or None])
            return Result(
                begun, ended, processing, QueryStatus.FOUND if hits else QueryStatus.NOT_FOUND, hits, "", query
            )
        ended = time.perf_counter()
        self.close()  # answers may be on their way that belong to no query any more
        return Result(begun, ended, -1.0, failure[0], 0, failure[1][:ERROR_CHARACTERS_MAX], query)

    def _exchange(self, lines: list[bytes]) -> tuple[float, list[list[bytes]]]:
        """Return the processing time of the slowest answer, and the items of all answers."""
        together = b"".join(lines)
        for shard in self._shards:
            shard.send(together)
        deadline = time.monotonic() + self._timeout_s
        answers = [self._answer(shard, deadline) for shard in self._shards for _ in lines]
        return max(took for took, _ in answers), [items for _, items in answers]

    def _lines(self, query: str) -> list[bytes]:
        asked = self._asked
        if asked.Op == "ping":
            return [b"PING\r\n"]
        limit = asked.limit_of_shard(len(self._shards))
        tail = f" LIMIT({limit})"
        if asked.Op == "query":
            tail += f" OFFSET({asked.Offset * limit})" if asked.Offset else ""
            tail += f" LANG({asked.Lang})" if asked.Lang else ""
        heads = [f"{asked.Op.upper()} {collection} {bucket}" for collection, bucket in asked.scopes]
        if asked.Op == "count":
            return [f"{head} {query}\r\n".encode() for head in heads]
        return [f"{head} {quoted(query)}{tail}\r\n".encode() for head in heads]

    def _answer(self, shard: Shard, deadline: float) -> tuple[float, list[bytes]]:
        """Return the seconds between PENDING and EVENT, or -1, and the items of the answer. Raises ShardRefused if the
        server answers with an error.
        """
        first = shard.line(deadline)
        if first.startswith(b"PENDING "):
            began = time.perf_counter()
            event = shard.line(deadline)
            return time.perf_counter() - began, [item for item in event.split(b" ")[3:] if item]
        if first.startswith(ANSWERS.get(self._asked.Op, b"\n")):
            return -1.0, [first] if not first.endswith(b"RESULT 0") else []
        raise ShardRefused(first.decode("utf-8", "replace"))

    def close(self) -> None:
        """Close all connections."""
        for shard in self._shards:
            shard.close()


def round_robin(lists: Sequence[list[bytes]]) -> Iterator[bytes]:
    """Yield the first item of each list, then the second of each, because the channel gives no score to merge by."""
    return (item for item in chain.from_iterable(zip_longest(*lists)) if item is not None)
