"""The load generator: connections that send prepared lines and count the lines of the replies.

The client has one thread, and sends and receives all available bytes with one system call each, so that the server is
the limit and not the client. Every result includes the share of the time in which the client was busy.
"""

import gc
import select
import socket
import struct
import time
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice, repeat
from time import perf_counter

RECEIVE_BYTES = 1 << 18
TIMEOUT_S = 60
"""The time in seconds without an answer of a server after which the client stops with an error."""


def connect(host: str, port: int) -> socket.socket:
    """Return a connection whose calls block; `recv` raises BlockingIOError after TIMEOUT_S seconds."""
    connection = socket.create_connection((host, port), TIMEOUT_S)
    connection.settimeout(None)  # with a time-out in Python, each call makes two system calls
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", TIMEOUT_S, 0))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Lane:
    """The work of one connection in one run.

    Args:
        connection: a connection without outstanding replies.
        lines: the commands, with line ends.
        in_flight: the number of commands that wait for their replies at any time.
        reply_lines: the number of lines in each reply.
        endless: whether the run does not wait for the end of `lines`.
    """

    def __init__(
        self,
        connection: socket.socket,
        lines: Iterable[bytes],
        *,
        in_flight: int = 1,
        reply_lines: int = 1,
        endless: bool = False,
    ) -> None:
        self.connection = connection
        self.endless = endless
        self.latencies_s = array("d")
        """The times in seconds from the call that sends a command to the return of the call that receives the end of
        its reply.
        """
        self.received: list[bytes] = []
        self._lines = iter(lines)
        self._in_flight = in_flight
        self._reply_lines = reply_lines
        self._partial_lines = 0
        self._sent_s: deque[float] = deque()
        self.is_open = True
        """Whether there are more commands to send."""

    @property
    def waits(self) -> bool:
        """Whether a reply is outstanding."""
        return bool(self._sent_s)

    def start(self) -> None:
        """Send the first commands."""
        self._send(self._in_flight)

    def turn(self) -> None:
        """Receive available bytes, and send one command for each complete reply. Raises ConnectionError if the server
        closes the connection.
        """
        data = self.connection.recv(RECEIVE_BYTES)
        now = perf_counter()
        if not data:
            raise ConnectionError("the server closed the connection in the middle of a run")
        self.received.append(data)
        whole, self._partial_lines = divmod(self._partial_lines + data.count(b"\n"), self._reply_lines)
        if whole:
            took, sent_s = self.latencies_s.append, self._sent_s.popleft
            for _ in range(whole):
                took(now - sent_s())
            if self.is_open:
                self._send(whole)

    def _send(self, count: int) -> None:
        lines = list(islice(self._lines, count))
        if len(lines) < count:
            self.is_open = False
        if lines:
            self._sent_s.extend(repeat(perf_counter(), len(lines)))
            self.connection.sendall(b"".join(lines))


def drive(lanes: Sequence[Lane], seconds: float = float("inf")) -> tuple[float, float]:
    """Run the lanes until all are done or `seconds` have passed; return wall-clock and CPU seconds of this process.

    No reply is outstanding at the end. Endless lanes end with the last lane that is not endless.

    Raises:
        OSError: a connection broke, or a server did not answer within TIMEOUT_S.
    """
    gc.collect()
    gc.disable()
    try:
        cpu_s, began = time.process_time(), perf_counter()
        for lane in lanes:
            lane.start()
        if len(lanes) == 1:
            drive_one(lanes[0], began + seconds)
        else:
            drive_many(lanes, began + seconds)
        return perf_counter() - began, time.process_time() - cpu_s
    finally:
        gc.enable()


def drive_one(lane: Lane, end_s: float) -> None:
    while lane.waits:
        lane.turn()
        if perf_counter() > end_s:
            lane.is_open = False


def drive_many(lanes: Sequence[Lane], end_s: float) -> None:
    by_number = {lane.connection.fileno(): lane for lane in lanes}
    waited_for = [lane for lane in lanes if not lane.endless]
    with select.epoll() as poll:
        for number in by_number:
            poll.register(number, select.EPOLLIN)
        while any(lane.waits for lane in lanes):
            ready = poll.poll(TIMEOUT_S)
            if not ready:
                raise TimeoutError(f"the server did not answer within {TIMEOUT_S} s")
            for number, _ in ready:
                by_number[number].turn()
            if perf_counter() > end_s or not any(lane.waits for lane in waited_for):
                for lane in lanes:
                    lane.is_open = False
