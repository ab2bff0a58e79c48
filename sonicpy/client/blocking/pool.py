"""Pool: the connections of a blocking client, separate for each mode, and the retries over them.

A connection belongs to one thread from the first byte of a command to the last byte of its answer. If an error or an
interrupt comes in between, the pool closes the connection: no thread ever receives the answer to another thread's
command.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sonicpy.channel.commands import Mode
from sonicpy.client.blocking.connection import Connection
from sonicpy.client.blocking.opening import open_nearest
from sonicpy.client.conversation import InFlight, Kind
from sonicpy.client.exchange import Exchange, Reply
from sonicpy.client.pushes import GROUPS_IN_FLIGHT_MAX, Pushes
from sonicpy.client.retry import AllInUse, RetryPolicy
from sonicpy.client.servers import Servers
from sonicpy.client.settings import ClientSettings
from sonicpy.errors import ClientError, ConnectionLost, SonicError, TimedOut

Value = TypeVar("Value")


class Pool:
    """Connections to one of some servers, opened on demand; for any number of threads."""

    def __init__(self, servers: Servers, settings: ClientSettings) -> None:
        self._servers = servers
        self._settings = settings
        self._is_closed = False
        self._start_empty()

    def carry_out(self, exchange: Exchange) -> Reply:
        """Execute an exchange; retry it if the connection breaks and a second execution does no harm.

        Raises:
            ClientError, CommandError: it failed, or the server refused it.
        """
        policy = self._policy(not exchange.changes or self._settings.retry_changes)
        return self.retrying(policy, exchange.mode, lambda connection: connection.carry_out(exchange))

    def retrying(self, policy: RetryPolicy, mode: Mode, work: Callable[[Connection], Value]) -> Value:
        """Return `work(connection)`, tried as often as `policy` allows."""
        while True:
            try:
                with self.lent(mode) as connection:
                    return work(connection)
            except SonicError as error:
                time.sleep(policy.pause_s(error))

    def push(self, pushes: Pushes) -> None:
        """Push rows over one connection; if it breaks, go on over the next.

        Raises:
            ClientError: not all rows could be sent.
            Exception: of the iterator of rows, raised when the rows before it are done.
        """
        policy = self._policy(repeats=True)
        self.retrying(policy, Mode.INGEST, lambda connection: push_over(connection, pushes, policy))
        pushes.finish()

    @contextmanager
    def lent(self, mode: Mode) -> Iterator[Connection]:
        """Lend a connection for the length of a `with` block.

        Raises:
            ClientError: it could not be opened, or all connections stayed in use until the time limit.
        """
        self._start_empty_after_fork()
        free, idle = self._free[mode], self._idle[mode]
        if not free.acquire(timeout=self._settings.timeout_s):
            raise AllInUse(
                f"all {self._settings.pool_size} connections to {self._servers} in mode {mode} were in use for "
                f"{self._settings.timeout_s:g} s; connect with a larger pool_size"
            )
        try:
            connection = self._fresh(mode)
            try:
                yield connection
            except (ConnectionLost, TimedOut):
                self._servers.note_lost(connection.address)
                raise
            finally:
                if connection.is_usable and not self._is_closed and self._servers.is_current(connection.address):
                    idle.append(connection)
                else:
                    connection.close()
        finally:
            free.release()
        if self._is_closed:
            self.close()  # another thread called close() after this connection was checked above

    def close(self) -> None:
        """Close all connections; one in use is closed when it comes back."""
        self._is_closed = True
        if self._process == os.getpid():
            for idle in self._idle.values():
                while idle:
                    idle.pop().close()

    def _fresh(self, mode: Mode) -> Connection:
        if self._is_closed:
            raise ClientError(f"the client of {self._servers} is closed")
        idle = self._idle[mode]
        while idle and not self._servers.is_time_to_look():
            try:
                connection = idle.pop()  # the server is least likely to have closed the one used last
            except IndexError:
                break  # another thread took the last one
            if connection.is_fresh() and self._servers.is_current(connection.address):
                return connection
            connection.close()
        return open_nearest(self._servers, mode, self._settings.timeout_s)

    def _policy(self, repeats: bool) -> RetryPolicy:
        return RetryPolicy(self._settings.retry_s, repeats, elsewhere=self._servers.are_several)

    def _start_empty(self) -> None:
        self._process = os.getpid()
        self._idle: dict[Mode, list[Connection]] = {mode: [] for mode in Mode}
        self._free = {mode: threading.BoundedSemaphore(self._settings.pool_size) for mode in Mode}

    def _start_empty_after_fork(self) -> None:
        """In a forked child, open connections anew: the parent uses the inherited sockets."""
        if self._process != os.getpid():
            inherited = self._idle
            self._start_empty()
            for idle in inherited.values():
                for connection in idle:
                    connection.close()  # closes the child's descriptor; the parent's stays open


def push_over(connection: Connection, pushes: Pushes, policy: RetryPolicy) -> None:
    """Send the rows that are not done over one connection, several groups in flight. Raises ClientError."""
    pushes.start_over()
    groups: deque[InFlight] = deque()
    while True:
        while len(groups) < GROUPS_IN_FLIGHT_MAX and (lines := pushes.take(connection.server)):
            groups.append(connection.submit(lines, Kind.OK, "PUSH"))
        if not groups:
            return
        group = groups.popleft()
        connection.wait(group)
        pushes.take_answers(group.answers)
        policy.restart()
