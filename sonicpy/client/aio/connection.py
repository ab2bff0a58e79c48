"""AsyncConnection: one conversation as an asyncio protocol, shared by any number of tasks.

A task sends its lines at once and waits for its own answers, which come in the order of the lines. When a task is
cancelled, its place in that order stays: its answers are dropped when they come, and other tasks still get theirs. The
lines of one UPSERT are an exception to the sharing; see `UpsertTurn`.
"""

import asyncio
import copy
import math
import ssl
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, cast

from sonicpy.channel.commands import Mode
from sonicpy.client.address import Address
from sonicpy.client.conversation import Answer, AnswerKind, Conversation, InFlight, ServerInfo
from sonicpy.client.exchange import LINES_IN_FLIGHT_MAX, Exchange, Reply, accepted, encoded
from sonicpy.client.transport import keep_alive, lost, unopened, unreachable
from sonicpy.errors import ClientError, ConnectionLost, TimedOut

PendingAnswers = asyncio.Future[list[Answer]]


class AsyncConnection(asyncio.Protocol):
    """A session in one mode; made by `open`.

    Attributes:
        is_retired: whether the client gave up the connection, which says nothing about the server.
        upserts: held by the task that sends an UPSERT.
    """

    def __init__(self, address: Address, mode: Mode, timeout_s: float) -> None:
        self.address = address
        self._peer = str(address)
        self._is_tcp = address.unix is None
        self._timeout_s = timeout_s
        self._conversation = Conversation(mode, address.password, self._peer)
        self._transport: asyncio.Transport | None = None
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = loop.create_future()
        self._closed: asyncio.Future[None] = loop.create_future()
        self._waiting: dict[InFlight, PendingAnswers] = {}
        self._writable = asyncio.Event()
        self._writable.set()
        self.is_retired = False
        self.upserts = asyncio.Lock()

    @classmethod
    async def open(cls, address: Address, mode: Mode, timeout_s: float) -> Self:
        """Return an open session.

        Args:
            timeout_s: the longest time in seconds for connecting, TLS and START together, and then for each answer.

        Raises:
            ConnectionLost, TimedOut, WrongPassword, NotSonic: the session could not be opened.
        """
        connection = cls(address, mode, timeout_s)
        began = math.inf
        try:
            async with asyncio.timeout(timeout_s):
                await connection._connect(address)
                began = time.monotonic()
                await asyncio.shield(connection._opened)
        except TimeoutError as late:
            await connection.close()
            raise TimedOut(f"{address} opened no session within {timeout_s:g} s") from late
        except OSError as error:
            await connection.close()
            if isinstance(error, ConnectionLost):
                silent_s = 0.0 if connection._conversation.has_received else time.monotonic() - began
                raise unopened(str(address), error, silent_s) from error.__cause__
            raise unreachable(str(address), error) from error
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _connect(self, address: Address) -> None:
        loop = asyncio.get_running_loop()
        if address.unix is not None:
            await loop.create_unix_connection(lambda: self, str(address.unix))
        else:
            await self._connect_by_tcp(loop, address)

    async def _connect_by_tcp(self, loop: asyncio.AbstractEventLoop, address: Address) -> None:
        name = None if address.tls is None else address.host
        *others, last = address.hosts
        for host in others:
            try:
                await loop.create_connection(lambda: self, host, address.port, ssl=address.tls, server_hostname=name)
            except ssl.SSLError:
                raise
            except OSError:
                continue
            return
        await loop.create_connection(lambda: self, last, address.port, ssl=address.tls, server_hostname=name)

    @property
    def server(self) -> ServerInfo:
        """The properties of the server that are known so far."""
        return self._conversation.server

    @property
    def is_usable(self) -> bool:
        """Whether the connection is open, no error has occurred, and neither side has given it up."""
        conversation = self._conversation
        return (
            conversation.is_open and conversation.end is None and not conversation.is_stopping and not self.is_retired
        )

    @property
    def is_closed(self) -> bool:
        """Whether the socket is closed."""
        return self._closed.done()

    async def carry_out(self, exchange: Exchange) -> Reply:
        """Send the lines of an exchange and return the answers.

        Raises:
            ClientError, CommandError: see `submit`, `answered` and `accepted`.
        """
        lines = exchange.lines(self.server)
        answers: list[Answer] = []
        with UpsertTurn(self, exchange.command) as turn:
            for start in range(0, len(lines), LINES_IN_FLIGHT_MAX):
                end = start + LINES_IN_FLIGHT_MAX
                try:
                    some = await turn.submit(lines[start:end], exchange.kind, goes_on=end < len(lines))
                except ConnectionLost as error:
                    error.was_sent |= start > 0
                    raise
                try:
                    answers += await self.answered(some, exchange.timeout_s)
                except asyncio.CancelledError:
                    if exchange.timeout_s is not None:  # it may take an hour: no other command should wait behind it
                        self.abort()
                    raise
        return Reply(accepted(answers), self.server)

    async def submit(self, lines: Sequence[str], kind: AnswerKind, command: str) -> PendingAnswers:
        """Send lines, once there is room in the write buffer, and return their pending answers, for which `answered`
        waits. Lines of UPSERT are sent by `UpsertTurn.submit`.

        Raises:
            ConnectionLost, TimedOut: the lines could not be sent.
        """
        data = encoded(lines)
        if not self._writable.is_set():
            try:
                async with asyncio.timeout(self._timeout_s):
                    await self._writable.wait()
            except TimeoutError as late:
                raise self._give_up(f"accepted no command for {self._timeout_s:g} s") from late
        if self._conversation.end is not None or self._transport is None:
            raise ConnectionLost(f"the connection to {self._peer} is lost", was_sent=False)
        answers: PendingAnswers = asyncio.get_running_loop().create_future()
        self._waiting[self._conversation.submit(len(lines), kind, command)] = answers
        self._transport.write(data)
        return answers

    async def answered(self, answers: PendingAnswers, timeout_s: float | None = None) -> list[Answer]:
        """Return the answers to lines that `submit` sent.

        Args:
            timeout_s: the longest wait in seconds for all answers; None: that of the connection.

        Raises:
            ClientError: the connection broke, or no answer came; the connection is closed.
        """
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                return await answers
        except TimeoutError as late:
            raise self._give_up(f"did not answer within {timeout_s:g} s") from late

    def retire(self) -> None:
        """Take no further command of new users, and no UPSERT at all; close when every command is answered."""
        self.is_retired = True
        if self._conversation.is_idle:
            self.abort()

    def abort(self) -> None:
        """Close at once."""
        self.is_retired = True
        self._end(ConnectionLost(f"the connection to {self._peer} was closed"))

    async def close(self) -> None:
        """Close at once; return when the connection is closed."""
        self.abort()
        if self._transport is not None:
            await asyncio.shield(self._closed)

    # -- called by the event loop --------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._is_tcp:
            keep_alive(transport.get_extra_info("socket"))
        if self._conversation.end is not None:  # `open` gave up before the connection was made
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        conversation = self._conversation
        for in_flight in conversation.feed(data):
            answers = self._waiting.pop(in_flight, None)
            if answers is not None and not answers.done():
                answers.set_result(in_flight.answers)
        if conversation.outgoing and self._transport is not None:
            self._transport.write(conversation.outgoing)
            conversation.outgoing = b""
        if conversation.end is not None:
            self._end(conversation.end)
        elif conversation.is_stopping and conversation.is_idle:
            self._end(ConnectionLost(f"{self._peer} is shutting down", was_sent=False))
        elif self.is_retired and conversation.is_idle:
            self.abort()
        elif conversation.is_open and not self._opened.done():
            self._opened.set_result(None)

    def eof_received(self) -> None:
        self._end(ConnectionLost(f"{self._peer} closed the connection without an answer"))

    def connection_lost(self, error: Exception | None) -> None:
        error = error if isinstance(error, OSError) else ConnectionResetError("it was closed")
        self._end(lost(self._peer, error))
        if not self._closed.done():
            self._closed.set_result(None)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # -- the end -------------------------------------------------------------------------------------------------

    def _give_up(self, what: str) -> TimedOut:
        self._end(ConnectionLost(f"{self._peer} {what}"))
        return TimedOut(f"{self._peer} {what}")

    def _end(self, reason: ClientError) -> None:
        """Raise an error in every waiting task; a second call changes nothing."""
        if self._conversation.end is None:
            self._conversation.end = reason
        reason = self._conversation.end
        waiting: list[asyncio.Future[Any]] = [self._opened, *self._waiting.values()]
        for each in waiting:
            if not each.done():
                # One copy for each task, because raising an exception adds to its traceback.
                each.set_exception(copy.copy(reason))
                each.exception()  # marks it as seen: the loop does not complain if no task waits for it
        self._waiting.clear()
        self._writable.set()
        if self._transport is not None:
            self._transport.abort()


class UpsertTurn:
    """The turn of a task to send commands over a connection: of UPSERT one task at a time, of all others at once.

    UPSERT alone needs turns, because a text of several lines is a state of the connection: the server refuses every
    other UPSERT before the last line, or takes it for a part of the text. If the `with` block ends within a text, by an
    error or a cancellation, the connection is retired.
    """

    def __init__(self, connection: AsyncConnection, command: str) -> None:
        self._connection = connection
        self._command = command
        self._lock = connection.upserts if command == "UPSERT" else None
        self._holds_lock = False
        self._is_within_text = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_within_text:
            self._connection.retire()  # first, so that the next task in the queue sends nothing over it
        self._release()

    async def submit(self, lines: Sequence[str], kind: AnswerKind, *, goes_on: bool) -> PendingAnswers:
        """Send lines when it is the turn of this task, as `AsyncConnection.submit` does.

        Args:
            goes_on: whether the text of the last line goes on in the next call, so that other tasks have to wait.

        Raises:
            ConnectionLost, TimedOut: the lines could not be sent.
        """
        if self._lock is None:
            return await self._connection.submit(lines, kind, self._command)
        if not self._holds_lock:
            await self._lock.acquire()
            self._holds_lock = True
            if self._connection.is_retired:
                raise ConnectionLost(f"the connection to {self._connection.address} is given up", was_sent=False)
        answers = await self._connection.submit(lines, kind, self._command)
        self._is_within_text = goes_on
        if not goes_on:
            self._release()
        return answers

    def _release(self) -> None:
        if self._holds_lock and self._lock is not None:
            self._holds_lock = False
            self._lock.release()
