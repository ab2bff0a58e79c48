"""AioPool: the connections of an asyncio client, those of each mode apart, and what is tried again on them.

Tasks share connections: one that nobody uses is taken first, then a new one is opened, and when there are as many as
allowed, the one with the fewest users takes one more.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from sonicpy.channel.commands import Mode
from sonicpy.client.address import Address
from sonicpy.client.aio.connection import AioConnection, Answers
from sonicpy.client.blocking.pool import Settings
from sonicpy.client.conversation import Kind
from sonicpy.client.exchange import Exchange, Reply, RetryPolicy
from sonicpy.client.pushes import TICKETS_UNDER_WAY, Pushes
from sonicpy.errors import ClientError, SonicError

Value = TypeVar("Value")


class _Place:
    """Where a connection is, or will be."""

    def __init__(self) -> None:
        self.users = 0
        self.connection: AioConnection | None = None
        self.opening: asyncio.Task[AioConnection] | None = None

    @property
    def is_ready(self) -> bool:
        return self.connection is not None and self.connection.is_usable


class AioPool:
    """Connections to one server, opened when they are needed; for the tasks of one event loop."""

    def __init__(self, address: Address, settings: Settings) -> None:
        self._address = address
        self._settings = settings
        self._places: dict[Mode, list[_Place]] = {mode: [] for mode in Mode}
        self._is_closed = False

    async def carry_out(self, exchange: Exchange) -> Reply:
        """Carry out an exchange, again if the connection breaks and that does no harm.

        Raises:
            ClientError, CommandError: it failed, or was refused.
        """
        patience = RetryPolicy(self._settings.retry_s, not exchange.changes or self._settings.retry_changes)
        if exchange.changes:
            for _ in range(2):
                await asyncio.sleep(0)  # lets the loop see that the server has closed a connection that lay idle
        return await self.patiently(patience, exchange.mode, lambda connection: connection.carry_out(exchange))

    async def patiently(
        self, patience: RetryPolicy, mode: Mode, work: Callable[[AioConnection], Awaitable[Value]]
    ) -> Value:
        """Return what `work` does with a connection, as often as `patience` lets it try."""
        while True:
            try:
                async with self.lent(mode) as connection:
                    return await work(connection)
            except SonicError as trouble:
                await asyncio.sleep(patience.pause_s(trouble))

    async def push(self, pushes: Pushes) -> None:
        """Push rows over one connection, or over one after the other where they break.

        Raises:
            ClientError: not all rows could be sent. Whatever making the rows raised, once those before are settled.
        """
        patience = RetryPolicy(self._settings.retry_s, repeats=True)
        await self.patiently(patience, Mode.INGEST, lambda connection: push_over(connection, pushes, patience))
        pushes.finish()

    @asynccontextmanager
    async def lent(self, mode: Mode) -> AsyncIterator[AioConnection]:
        """A connection for the time of a `with` block.

        Raises:
            ClientError: it could not be opened.
        """
        place = self._pick(mode)
        place.users += 1
        try:
            yield await self._connection(place, mode)
        finally:
            place.users -= 1

    async def close(self) -> None:
        """Close all connections; who is waiting for an answer gets ConnectionLost."""
        self._is_closed = True
        for places in self._places.values():
            for place in places:
                if place.opening is not None:
                    place.opening.cancel()
                    await asyncio.wait([place.opening])
                if place.connection is not None:
                    await place.connection.close()
            places.clear()

    def _pick(self, mode: Mode) -> _Place:
        if self._is_closed:
            raise ClientError(f"the client of {self._address} is closed")
        places = self._places[mode]
        free = [place for place in places if not place.users]
        if free:
            return max(free, key=lambda place: place.is_ready)
        if len(places) < self._settings.pool_size:
            places.append(_Place())
            return places[-1]
        return min(places, key=lambda place: place.users)

    async def _connection(self, place: _Place, mode: Mode) -> AioConnection:
        if place.connection is not None:
            if place.connection.is_usable:
                return place.connection
            place.connection = None
        if place.opening is None:
            place.opening = asyncio.create_task(self._open(place, mode))
        # Others wait for the same: who is cancelled does not take it from them.
        return await asyncio.shield(place.opening)

    async def _open(self, place: _Place, mode: Mode) -> AioConnection:
        try:
            place.connection = await AioConnection.open(self._address, mode, self._settings.timeout_s)
            return place.connection
        finally:
            place.opening = None


async def push_over(connection: AioConnection, pushes: Pushes, patience: RetryPolicy) -> None:
    """Send what is left of some rows over one connection, several tickets under way. Raises ClientError."""
    pushes.start_over()
    under_way: deque[Answers] = deque()
    while True:
        while len(under_way) < TICKETS_UNDER_WAY and (lines := pushes.take(connection.facts)):
            under_way.append(await connection.submit(lines, Kind.OK, "PUSH"))
        if not under_way:
            return
        pushes.take_answers(await connection.answered(under_way.popleft()))
        patience.renew()
