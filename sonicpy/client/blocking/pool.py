"""Pool: the connections of a blocking client, separate for each mode, and the retries over them.

A connection belongs to one thread from the first byte of a command to the last byte of its answer. If an error or an
interrupt comes in between, the pool closes the connection: no thread ever receives the answer to another thread's
command. An exception of a signal handler may come at any moment, and twice: `call_turns.py` explains why no turn is
lost then. A connection that is lost on the way into a variable is closed when Python frees it.
"""

import os
import time
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import TypeVar

from sonicpy.channel.commands import Mode
from sonicpy.client.blocking.call_turns import CallTurns
from sonicpy.client.blocking.connection import BlockingConnection
from sonicpy.client.blocking.opening import open_nearest
from sonicpy.client.client_settings import ClientSettings
from sonicpy.client.conversation import AnswerKind, InFlight
from sonicpy.client.exchange import Exchange, Reply
from sonicpy.client.pushes import GROUPS_IN_FLIGHT_MAX, Pushes
from sonicpy.client.retry import AllInUse, RetryPolicy
from sonicpy.client.servers import Servers
from sonicpy.errors import ClientError, ConnectionLost, SonicError, TimedOut

Value = TypeVar("Value")


class _Room:
    """The connections of one mode.

    Attributes:
        idle: connections that no thread uses, in the order of last use.
        turns: the turns of the threads that use a connection.
    """

    __slots__ = ("idle", "turns")

    def __init__(self, size: int) -> None:
        self.idle: list[BlockingConnection] = []
        self.turns = CallTurns(size)

    def take(self) -> BlockingConnection | None:
        """Remove and return the idle connection that was used last, the least likely to be closed by the server; None:
        none is idle."""
        try:
            return self.idle.pop()
        except IndexError:
            return None

    def close(self) -> None:
        """Close the connections that no thread uses."""
        while (connection := self.take()) is not None:
            connection.close()


class _Rooms:
    """The connections of one process: a forked child does not use those of its parent."""

    __slots__ = ("by_mode", "process")

    def __init__(self, size: int) -> None:
        self.process = os.getpid()
        self.by_mode = {mode: _Room(size) for mode in Mode}

    def close(self) -> None:
        """Close the idle connections; in a forked child, only the child's descriptors."""
        for room in self.by_mode.values():
            room.close()


class Pool:
    """Connections to one of some servers, opened on demand; for any number of threads."""

    def __init__(self, servers: Servers, settings: ClientSettings) -> None:
        self._servers = servers
        self._settings = settings
        self._is_closed = False
        self._rooms = _Rooms(settings.pool_size)

    def carry_out(self, exchange: Exchange) -> Reply:
        """Return the reply to an exchange; retry it if the connection breaks and a second execution does no harm.

        Raises:
            ClientError, CommandError: the exchange failed, or the server refused it.
        """
        policy = self._policy(not exchange.changes or self._settings.retry_changes)
        return self.retrying(policy, exchange.mode, lambda connection: connection.carry_out(exchange))

    def retrying(self, policy: RetryPolicy, mode: Mode, work: Callable[[BlockingConnection], Value]) -> Value:
        """Return `work(connection)`, tried as often as `policy` allows."""
        while True:
            try:
                return self.use(mode, work)
            except SonicError as error:
                time.sleep(policy.pause_s(error))

    def push(self, pushes: Pushes) -> None:
        """Push rows over one connection; if it breaks, continue over the next.

        Raises:
            ClientError: not all rows could be sent.
            Exception: the iterator of rows raised it; the rows before are done first.
        """
        policy = self._policy(repeats=True)
        self.retrying(policy, Mode.INGEST, lambda connection: push_over(connection, pushes, policy))
        pushes.finish()

    def use(self, mode: Mode, work: Callable[[BlockingConnection], Value]) -> Value:
        """Return `work(connection)` for a connection that no other thread uses meanwhile.

        Raises:
            ClientError: the connection could not be opened, or all connections stayed in use until the time limit.
        """
        room = self._rooms_here().by_mode[mode]
        turn = Lock()
        with turn:  # an interrupt comes before or after it, but never between the lock and the block
            try:
                if not room.turns.wait(turn, self._settings.timeout_s):
                    raise AllInUse(
                        f"all {self._settings.pool_size} connections to {self._servers} in mode {mode} were in use for "
                        f"{self._settings.timeout_s:g} s; connect with a larger pool_size"
                    )
                return self._use(room, mode, work)
            finally:
                room.turns.leave(turn)

    def close(self) -> None:
        """Close all connections; a connection in use is closed when its thread returns it."""
        self._is_closed = True
        rooms = self._rooms
        if rooms.process == os.getpid():
            rooms.close()

    def _use(self, room: _Room, mode: Mode, work: Callable[[BlockingConnection], Value]) -> Value:
        connection = self._fresh(room, mode)
        try:
            value = work(connection)
        except SonicError as error:
            if isinstance(error, ConnectionLost | TimedOut):
                self._servers.note_lost(connection.address)
            self._take_back(room, connection)
            raise
        except BaseException:  # an interrupt: what was asked last may not be answered
            connection.close()
            raise
        self._take_back(room, connection)
        return value

    def _take_back(self, room: _Room, connection: BlockingConnection) -> None:
        if not (connection.is_usable and self._servers.is_current(connection.address)):
            connection.close()
            return
        room.idle.append(connection)
        if self._is_closed:
            room.close()

    def _fresh(self, room: _Room, mode: Mode) -> BlockingConnection:
        if self._is_closed:
            raise ClientError(f"the client of {self._servers} is closed")
        while not self._servers.is_time_to_look() and (connection := room.take()) is not None:
            if connection.is_fresh() and self._servers.is_current(connection.address):
                return connection
            connection.close()
        return open_nearest(self._servers, mode, self._settings.timeout_s)

    def _policy(self, repeats: bool) -> RetryPolicy:
        return RetryPolicy(self._settings.retry_s, repeats, elsewhere=self._servers.are_several)

    def _rooms_here(self) -> _Rooms:
        """Return the connections of this process: a forked child opens its own and leaves the parent's alone."""
        rooms = self._rooms
        if rooms.process != os.getpid():
            inherited, rooms = rooms, _Rooms(self._settings.pool_size)
            self._rooms = rooms
            inherited.close()
        return rooms


def push_over(connection: BlockingConnection, pushes: Pushes, policy: RetryPolicy) -> None:
    """Send the rows that are not done over one connection, several groups in flight. Raises ClientError."""
    pushes.start_over()
    groups: deque[InFlight] = deque()
    while True:
        while len(groups) < GROUPS_IN_FLIGHT_MAX and (lines := pushes.take(connection.server)):
            groups.append(connection.submit(lines, AnswerKind.OK, pushes.command))
        if not groups:
            return
        group = groups.popleft()
        connection.wait(group)
        pushes.take_answers(group.answers)
        policy.restart()
