"""Limits of one HTTP connection, in addition to those of uvicorn's protocol, so that the channel never waits long.

uvicorn has no time limit for headers, and none for their size; it takes any number of requests from one packet, and it
handles all connections that have data in one pass of the loop.
"""

import asyncio
import gc
import math
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from sonicpy.server.connections.descriptors import Room
from sonicpy.server.connections.rejected import LINGER_S, LINGERING_MAX

HEAD_S = 10.0
"""The longest time in seconds for the line and the headers of a request, including the first one of a connection."""
KEEP_ALIVE_S = 75.0
"""The longest time in seconds of a connection without a request."""
STUCK_S = 30.0
"""The longest time in seconds for a client to read an answer."""
HEAD_BYTES_MAX = 64 << 10
"""The most bytes of the first line and the headers of a request; bytes that are parsed again may count twice."""
HEADER_BYTES = 32
"""The number of bytes that are counted for each header in addition to its text: a short one takes more memory than its
text."""
DROPPED_BYTES_MAX = 256 << 10
"""The most bytes of a body that are ignored because the request was answered before its end."""
PIPELINE_MAX = 16
"""The most requests of one connection that wait for the answer of the one before."""
CONNECTIONS_MAX = 512
LOOK_EVERY_S = 1.0
TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\n"
    b"Retry-After: 1\r\nConnection: close\r\n\r\ntoo many connections\n"
)
INVALID = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
    b"Connection: close\r\n\r\n%b"
)
LONG_HEAD = f"The headers are too long; allowed are {HEAD_BYTES_MAX} bytes."
COLLECTIONS = 50
"""The number of garbage collections of generation 1 before a full one, which waits until few requests are under way."""
FEW = 16
"""The most requests under way whose objects a collection may examine: 3,000 objects."""

PASS_S = 0.001
"""The time in seconds of a pass of the loop that halves the number of acts in the next pass."""
ALLOWED_MAX = 2
"""The most acts in one pass: an answer of 1,000 hits takes 3 ms."""
NEW_EVERY = 4


class TooMuchSent(Exception):
    """The client exceeded a limit: it gets 400 and a sentence, and the connection is closed."""


class Pace:
    """Bounds the work of HTTP in a pass of the loop: at most ALLOWED_MAX acts; further ones queue.

    An act handles a packet, begins a request, or resumes a request that has waited. Many requests may wait for one
    event, such as a sync of the log. The channel does not need this class: its connections take turns of their own.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._new: deque[Callable[[], None]] = deque()
        self._going_on: deque[Callable[[], None]] = deque()
        self._waiting: dict[asyncio.Future[Any], list[Callable[[], None]]] = {}  # for each event, what it resumes
        self._allowed = ALLOWED_MAX
        self._taken = 0
        self._acts = 0
        self._began = 0.0  # 0: no pass is watched

    @property
    def is_quiet(self) -> bool:
        """Whether there was no act in the last pass of the loop."""
        return not self._began

    def take(self) -> bool:
        """Count one more act; return False if this pass has no room for it, so that the caller has to queue."""
        if self._new or self._going_on or self._taken >= self._allowed:
            return False
        self._taken += 1
        self._watch()
        return True

    def queue(self, act: Callable[[], None]) -> None:
        """Call `act` in one of the next passes, in the order of the calls."""
        self._new.append(act)
        self._watch()

    async def turn(self) -> None:
        """Wait for a pass with room to resume one more request."""
        if not self.take():
            turn = self._loop.create_future()
            self._going_on.append(partial(_let_go_on, turn))
            self._watch()
            await turn

    async def after(self, event: "asyncio.Future[Any]") -> None:
        """Wait for an event that many requests may wait for, then for a pass with room. Raises the error of the event.

        The event itself resumes no request, so it takes the same time for one request and for 500.
        """
        if event not in self._waiting:
            self._waiting[event] = []
            event.add_done_callback(self._come)
        turn = self._loop.create_future()
        self._waiting[event].append(partial(_let_go_on, turn))
        await turn
        event.result()

    def _come(self, event: "asyncio.Future[Any]") -> None:
        if not event.cancelled():
            event.exception()  # the requests may have been cancelled
        self._going_on += self._waiting.pop(event)
        self._watch()

    def _watch(self) -> None:
        if not self._began:
            self._began = time.perf_counter()
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        """Begin a pass: adapt its number of acts to the duration of the last one."""
        now = time.perf_counter()
        if now - self._began > PASS_S:
            self._allowed = max(1, self._allowed // 2)
        elif self._taken >= self._allowed:
            self._allowed = min(self._allowed + 1, ALLOWED_MAX)
        if not (self._taken or self._new or self._going_on):
            self._began = 0.0
            return
        self._taken, self._began = 0, now
        self._loop.call_soon(self._next)  # before the acts, which would begin another pass in this one
        while self._taken < self._allowed and (act := self._next_act()) is not None:
            self._taken += 1
            act()

    def _next_act(self) -> Callable[[], None] | None:
        """Return the next act in the queues; None: there is none.

        One of NEW_EVERY acts begins a new request. The others resume requests, so that few are under way at a time.
        """
        self._acts += 1
        is_new = self._acts % NEW_EVERY == 0
        queue = (self._new or self._going_on) if is_new else (self._going_on or self._new)
        return queue.popleft() if queue else None


def _let_go_on(turn: "asyncio.Future[None]") -> None:
    if not turn.done():  # it was cancelled: the client left, or the answer took too long
        turn.set_result(None)


def authority_of(target: bytes) -> bytes:
    """Return the host and port of a request target in absolute form, which replace the Host (RFC 9112, section 3.2.2).

    Raises:
        HttpParserInvalidURLError: it is not a URL.
    """
    url = httptools.parse_url(target)
    host = url.host or b""
    host = b"[%b]" % host if b":" in host else host
    return host if url.port is None else b"%b:%d" % (host, url.port)


class Connections:
    """The open connections of one address: at most CONNECTIONS_MAX, each with a time limit."""

    def __init__(self, room: Room) -> None:
        self.pace = Pace()
        self._room = room
        self.open: dict[LimitedProtocol, None] = {}
        """The open connections, in the order in which they were accepted."""
        self.lingering: set[LimitedProtocol] = set()
        """The connections whose clients may still read an answer that ends them."""
        self._timer = asyncio.get_running_loop().call_later(LOOK_EVERY_S, self._look)

    def abort(self) -> None:
        """Stop the timer, and abort the remaining connections."""
        self._timer.cancel()
        for connection in [*self.open, *self.lingering]:
            connection.end()

    def add(self, connection: "LimitedProtocol") -> None:
        """Add a connection; if there are too many, end the one that has been idle for longest, or refuse this one."""
        if not self._room.has(connection.descriptor):
            connection.refuse()
            return
        self.open[connection] = None
        if len(self.open) > CONNECTIONS_MAX:
            waiting = [each for each in self.open if each.is_waiting and each is not connection]
            oldest = min(waiting, key=lambda each: each.waits_since, default=None)
            self.open.pop(oldest or connection)
            if oldest is None:
                connection.refuse()
            else:
                oldest.end()

    def _look(self) -> None:
        now = time.monotonic()
        for connection in list(self.open):
            if connection.is_overdue(now):
                connection.end()
        if gc.get_count()[2] >= COLLECTIONS and self._is_idle():
            gc.collect()
        self._timer = asyncio.get_running_loop().call_later(LOOK_EVERY_S, self._look)

    def _is_idle(self) -> bool:
        """Return whether no request is handled in this pass, and few requests wait for anything, such as the disk."""
        return self.pace.is_quiet and sum(not each.is_waiting for each in self.open) <= FEW


class LimitedProtocol(HttpToolsProtocol):
    """One connection within its limits."""

    def __init__(self, connections: Connections, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connections = connections
        self._head_bytes = 0  # of the address and of complete headers
        self._open_bytes = 0  # of the last packets, in which no part of a request ended
        self._dropped_bytes = 0
        self._is_in_body = False
        self.waits_since = time.monotonic()
        self._due = self.waits_since + HEAD_S
        self._stuck_since = math.inf
        self._served: RequestResponseCycle | None = None
        self._excess = ""
        self._linger_timer: asyncio.TimerHandle | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def is_overdue(self, now: float) -> bool:
        """Return whether the client has exceeded a time limit at the time `now`."""
        return now - self._stuck_since > STUCK_S or (self.is_waiting and now > self._due)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection."""
        super().connection_made(transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._connections.open.pop(self, None)
        self._connections.lingering.discard(self)
        if self._linger_timer is not None:
            self._linger_timer.cancel()
        self._leave()
        self._unset_keepalive_if_required()  # uvicorn leaves the timer, and it the connection, where the peer resets
        super().connection_lost(exc)

    @property
    def descriptor(self) -> int:
        """The descriptor of the socket."""
        number: int = self.transport.get_extra_info("socket").fileno()
        return number

    def refuse(self) -> None:
        """Answer that there are too many connections, and close this one."""
        self.transport.write(TOO_MANY)
        self._linger()

    def end(self) -> None:
        """End the connection at once."""
        self._leave()
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer an invalid request with the sentence `msg`, and close the connection.

        If the invalid part is the body of a request whose answer has begun, nothing is written: the client would take
        the sentence for the answer to its next request.
        """
        msg = self._excess or msg
        is_answered = self._is_in_body and self.cycle.response_started
        self._leave()
        if not is_answered:
            self.transport.write(INVALID % (len(msg), msg.encode("ascii")))
        self._linger()

    def _linger(self) -> None:
        """Close the connection after an answer; drop meanwhile the bytes that the client still sends.

        A connection that is closed with bytes to read is reset, and the client may lose the answer (RFC 9112, section
        9.6).
        """
        if self._has_ended or len(self._connections.lingering) >= LINGERING_MAX:
            self.transport.close()
            return
        self._connections.lingering.add(self)
        self._linger_timer = asyncio.get_running_loop().call_later(LINGER_S, self.transport.abort)
        self.transport.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    @property
    def _has_ended(self) -> bool:
        """Whether no further request is handled."""
        return self._linger_timer is not None or self.transport.is_closing()

    def _leave(self) -> None:
        """Stop the answer to the request under way, and drop the requests behind it."""
        self.pipeline.clear()
        if self._served is not None and not self._served.response_complete:
            self._served.disconnected = True
            self._served.waiting_for_100_continue = False  # else it would write after the end of the answer
            self._served.message_event.set()

    def data_received(self, data: bytes) -> None:
        """Handle a packet now, or in a later pass of the loop if this one has no room."""
        if self._linger_timer is not None:
            return
        if self._connections.pace.take():
            self._handle(data)
        else:
            self.transport.pause_reading()
            self._connections.pace.queue(partial(self._handle_later, data))

    def _handle_later(self, data: bytes) -> None:
        if self.parser is None or self._has_ended:
            return
        if not self.flow.read_paused:
            self.transport.resume_reading()
        self._handle(data)

    def _handle(self, data: bytes) -> None:
        self._open_bytes += len(data)  # unless a callback tells of a part: they do not see a header before its end
        super().data_received(data)
        if self._head_bytes + self._open_bytes > HEAD_BYTES_MAX and not self._has_ended:
            self.send_400_response(LONG_HEAD)

    def on_message_begin(self) -> None:
        """Begin a request. Raises TooMuchSent if too many requests wait."""
        if len(self.pipeline) >= PIPELINE_MAX:
            self._stop(f"More than {PIPELINE_MAX} requests wait for answers.")
        super().on_message_begin()
        self._head_bytes = self._open_bytes = 0
        self._due = time.monotonic() + HEAD_S

    def on_url(self, url: bytes) -> None:
        """Take a part of the address. Raises TooMuchSent if the head is too long."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. Raises TooMuchSent if the head is too long."""
        self._count(len(name) + len(value) + HEADER_BYTES)
        super().on_header(name, value)

    def _stop(self, reason: str) -> NoReturn:
        """Make the parser fail. Raises TooMuchSent, which the parser wraps; `send_400_response` is called then."""
        self._excess = reason
        raise TooMuchSent(reason)

    def _count(self, count: int) -> None:
        self._open_bytes = 0
        self._head_bytes += count
        if self._head_bytes > HEAD_BYTES_MAX:
            self._stop(LONG_HEAD)

    def on_headers_complete(self) -> None:
        """Begin the answer."""
        self._head_bytes = self._open_bytes = self._dropped_bytes = 0  # the headers behind a body count anew
        if not self.url.startswith(b"/"):
            self.headers[:] = [header for header in self.headers if header[0] != b"host"]
            self.headers.append((b"host", authority_of(self.url)))
        super().on_headers_complete()
        self._is_in_body = True

    def on_message_complete(self) -> None:
        """Note the end of the body."""
        self._is_in_body = False
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Begin to serve a request now, or in a later pass of the loop if this one has no room."""
        self._served = cycle
        if self._connections.pace.take():
            self._begin(cycle, app)
        else:
            self._connections.pace.queue(partial(self._begin, cycle, app))

    def _begin(self, cycle: RequestResponseCycle, app: Any) -> None:
        if not self._has_ended:
            super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body. Raises TooMuchSent if an ignored body exceeds DROPPED_BYTES_MAX."""
        self._open_bytes = 0
        if self.cycle.response_complete:
            self._dropped_bytes += len(body)
            if self._dropped_bytes > DROPPED_BYTES_MAX:
                self._stop("The body continues after its answer.")
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.waits_since = time.monotonic()
        self._due = self.waits_since + KEEP_ALIVE_S
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Note that the client reads slowly."""
        self._stuck_since = time.monotonic()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that the client has read."""
        self._stuck_since = math.inf
        super().resume_writing()
