"""AsyncPool: the connections of an asyncio client, separate for each mode, and the retries over them.

Tasks share connections. A task gets an unused connection if there is one, else a new one while the pool may grow, else
the one with the fewest users.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sonicpy.channel.commands import Mode
from sonicpy.client.aio.connection import AsyncConnection, PendingAnswers, UpsertTurn
from sonicpy.client.aio.opening import open_nearest
from sonicpy.client.client_settings import ClientSettings
from sonicpy.client.conversation import AnswerKind
from sonicpy.client.exchange import Exchange, Reply
from sonicpy.client.pushes import GROUPS_IN_FLIGHT_MAX, Pushes
from sonicpy.client.retry import RetryPolicy
from sonicpy.client.servers import Servers
from sonicpy.errors import ClientError, ConnectionLost, SonicError, TimedOut

Value = TypeVar("Value")


class _Slot:
    """Room for one connection of the pool: open, being opened, or neither."""

    def __init__(self) -> None:
        self.users = 0
        self.connection: AsyncConnection | None = None
        self.opening: asyncio.Task[AsyncConnection] | None = None

    @property
    def is_ready(self) -> bool:
        return self.connection is not None and self.connection.is_usable

    def abort(self) -> None:
        """Abort the connection, or cancel its opening."""
        if self.opening is not None:
            self.opening.cancel()
        if self.connection is not None:
            self.connection.abort()


class AsyncPool:
    """Connections to one of some servers, opened on demand; for the tasks of one event loop."""

    def __init__(self, servers: Servers, settings: ClientSettings) -> None:
        self._servers = servers
        self._settings = settings
        self._slots: dict[Mode, list[_Slot]] = {mode: [] for mode in Mode}
        self._replaced: set[AsyncConnection] = set()
        """Connections to servers that stop, on which tasks wait for answers; some may have ended meanwhile."""
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def carry_out(self, exchange: Exchange) -> Reply:
        """Return the reply to an exchange; retry it if the connection breaks and a second execution does no harm.

        Raises:
            ClientError, CommandError: the exchange failed, or the server refused it.
        """
        policy = self._policy(not exchange.changes or self._settings.retry_changes)
        if exchange.changes:
            for _ in range(2):
                await asyncio.sleep(0)  # lets the loop notice that the server has closed an idle connection
        return await self.retrying(policy, exchange.mode, lambda connection: connection.carry_out(exchange))

    async def retrying(
        self, policy: RetryPolicy, mode: Mode, work: Callable[[AsyncConnection], Awaitable[Value]]
    ) -> Value:
        """Return `await work(connection)`, tried as often as `policy` allows. Raises the error of the last attempt."""
        while True:
            try:
                return await self.use(mode, work)
            except SonicError as error:
                await asyncio.sleep(policy.pause_s(error))

    async def push(self, pushes: Pushes) -> None:
        """Push rows over one connection; if it breaks, continue over the next.

        Raises:
            ClientError: not all rows could be sent.
            Exception: the iterator of rows raised it; the rows before are done first.
        """
        policy = self._policy(repeats=True)
        await self.retrying(policy, Mode.INGEST, lambda connection: push_over(connection, pushes, policy))
        pushes.finish()

    async def use(self, mode: Mode, work: Callable[[AsyncConnection], Awaitable[Value]]) -> Value:
        """Return `await work(connection)` for a connection that other tasks may use meanwhile.

        Raises:
            ClientError: the connection could not be opened.
        """
        slot = self._pick(mode)
        slot.users += 1
        try:
            return await self._use(await self._connection(slot, mode), work)
        finally:
            slot.users -= 1

    async def close(self) -> None:
        """Close all connections; tasks that wait for an answer get ConnectionLost.

        All of them are aborted before the first `await`: a task that is cancelled while it closes leaves none open.
        """
        self._is_closed = True
        slots = [slot for slots in self._slots.values() for slot in slots]
        for slot in slots:
            slot.abort()
        for connection in self._replaced:
            connection.abort()
        for slot in slots:
            if slot.opening is not None:
                await asyncio.wait([slot.opening])
            if slot.connection is not None:
                await slot.connection.close()
        for connection in self._replaced:
            await connection.close()
        self._slots = {mode: [] for mode in Mode}

    async def _use(self, connection: AsyncConnection, work: Callable[[AsyncConnection], Awaitable[Value]]) -> Value:
        try:
            return await work(connection)
        except (ConnectionLost, TimedOut):
            if not connection.is_retired:
                self._servers.note_lost(connection.address)
            raise

    def _closed(self) -> ClientError:
        return ClientError(f"the client of {self._servers} is closed")

    def _pick(self, mode: Mode) -> _Slot:
        if self._is_closed:
            raise self._closed()
        self._check_loop()
        slots = self._slots[mode]
        free = [slot for slot in slots if not slot.users]
        if free:
            return max(free, key=lambda slot: slot.is_ready)
        if len(slots) < self._settings.pool_size:
            slots.append(_Slot())
            return slots[-1]
        return min(slots, key=lambda slot: slot.users)

    def _check_loop(self) -> None:
        """Raise ClientError in an event loop that is not that of the first use, because the sockets cannot wake a
        task of this loop.
        """
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        if self._loop is not loop:
            raise ClientError(f"the client of {self._servers} belongs to another event loop: connect in each one")

    async def _connection(self, slot: _Slot, mode: Mode) -> AsyncConnection:
        connection = slot.connection
        if connection is not None:
            if connection.is_usable and (slot.users > 1 or self._is_wanted(connection)):
                return connection
            slot.connection = None
            if slot.users > 1:
                self._replaced = {each for each in (*self._replaced, connection) if not each.is_closed}
            else:
                connection.abort()  # nothing is awaited before the next one is being opened: other tasks see either
        opening = slot.opening
        if opening is None:
            opening = slot.opening = asyncio.create_task(self._open(slot, mode))
            opening.add_done_callback(_look_at)
        await asyncio.wait([opening])  # to cancel this task must not cancel the opening: others may wait for it too
        if opening.cancelled() and self._is_closed:  # `close` ended it, maybe before its first step
            raise self._closed()
        return opening.result()

    def _is_wanted(self, connection: AsyncConnection) -> bool:
        return self._servers.is_current(connection.address) and not self._servers.is_time_to_look()

    def _policy(self, repeats: bool) -> RetryPolicy:
        return RetryPolicy(self._settings.retry_s, repeats, elsewhere=self._servers.are_several)

    async def _open(self, slot: _Slot, mode: Mode) -> AsyncConnection:
        try:
            slot.connection = await open_nearest(self._servers, mode, self._settings.timeout_s)
            return slot.connection
        finally:
            slot.opening = None


def _look_at(opening: "asyncio.Task[AsyncConnection]") -> None:
    """Mark an error as retrieved, because all tasks that waited for the connection may have been cancelled."""
    if not opening.cancelled():
        opening.exception()


async def push_over(connection: AsyncConnection, pushes: Pushes, policy: RetryPolicy) -> None:
    """Send the rows that are not done over one connection, several groups in flight. Raises ClientError."""
    pushes.start_over()
    groups: deque[PendingAnswers] = deque()
    with UpsertTurn(connection, pushes.command) as turn:
        while True:
            while len(groups) < GROUPS_IN_FLIGHT_MAX and (lines := pushes.take(connection.server)):
                groups.append(await turn.submit(lines, AnswerKind.OK, goes_on=pushes.is_within_row))
            if not groups:
                return
            pushes.take_answers(await connection.answered(groups.popleft()))
            policy.restart()
