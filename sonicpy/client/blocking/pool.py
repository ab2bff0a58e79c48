"""Pool: the connections of a blocking client, those of each mode apart, and what is tried again on them.

A connection belongs to one thread from the first byte of a command to the last of its answer. One that was left in
between, by an error or an interrupt, is closed: an answer never reaches anybody but who asked.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from sonicpy.channel.commands import Mode
from sonicpy.client.address import Address
from sonicpy.client.blocking.connection import Connection
from sonicpy.client.conversation import InFlight, Kind
from sonicpy.client.exchange import Exchange, Reply, RetryPolicy
from sonicpy.client.pushes import TICKETS_UNDER_WAY, Pushes
from sonicpy.errors import ClientError, SonicError, TimedOut

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a client does by itself. Raises ValueError for what makes no sense."""

    timeout_s: float
    """For connecting, and for each answer."""
    retry_s: float
    """For how long what may be carried out twice is tried again on new connections."""
    retry_changes: bool
    """POP and FLUSH may be carried out twice."""
    pool_size: int
    """Connections of each mode."""

    def __post_init__(self) -> None:
        if not self.timeout_s > 0:
            raise ValueError(f"timeout_s is {self.timeout_s}; allowed is any number of seconds above 0")
        if not self.retry_s >= 0:
            raise ValueError(f"retry_s is {self.retry_s}; allowed is any number of seconds from 0 on")
        if self.pool_size < 1:
            raise ValueError(f"pool_size is {self.pool_size}; allowed is any number from 1 on")


class Pool:
    """Connections to one server, opened when they are needed; for any number of threads."""

    def __init__(self, address: Address, settings: Settings) -> None:
        self._address = address
        self._settings = settings
        self._is_closed = False
        self._forget()

    def carry_out(self, exchange: Exchange) -> Reply:
        """Carry out an exchange, again if the connection breaks and that does no harm.

        Raises:
            ClientError, CommandError: it failed, or was refused.
        """
        patience = RetryPolicy(self._settings.retry_s, not exchange.changes or self._settings.retry_changes)
        return self.patiently(patience, exchange.mode, lambda connection: connection.carry_out(exchange))

    def patiently(self, patience: RetryPolicy, mode: Mode, work: Callable[[Connection], Value]) -> Value:
        """Return what `work` does with a connection, as often as `patience` lets it try."""
        while True:
            try:
                with self.lent(mode) as connection:
                    return work(connection)
            except SonicError as trouble:
                time.sleep(patience.pause_s(trouble))

    def push(self, pushes: Pushes) -> None:
        """Push rows over one connection, or over one after the other where they break.

        Raises:
            ClientError: not all rows could be sent. Whatever making the rows raised, once those before are settled.
        """
        patience = RetryPolicy(self._settings.retry_s, repeats=True)
        self.patiently(patience, Mode.INGEST, lambda connection: push_over(connection, pushes, patience))
        pushes.finish()

    @contextmanager
    def lent(self, mode: Mode) -> Iterator[Connection]:
        """A connection for the time of a `with` block.

        Raises:
            ClientError: it could not be opened, or all were in use for too long.
        """
        self._mind_forks()
        free, idle = self._free[mode], self._idle[mode]
        if not free.acquire(timeout=self._settings.timeout_s):
            raise TimedOut(
                f"all {self._settings.pool_size} connections to {self._address} in mode {mode} were in use for "
                f"{self._settings.timeout_s:g} s; connect with a larger pool_size"
            )
        try:
            connection = self._fresh(mode)
            try:
                yield connection
            finally:
                if connection.is_usable and not self._is_closed:
                    idle.append(connection)
                else:
                    connection.close()
        finally:
            free.release()
        if self._is_closed:
            self.close()  # it may have come back after the others were closed

    def close(self) -> None:
        """Close the connections; those in use when they come back."""
        self._is_closed = True
        if self._process == os.getpid():
            for idle in self._idle.values():
                while idle:
                    idle.pop().close()

    def _fresh(self, mode: Mode) -> Connection:
        if self._is_closed:
            raise ClientError(f"the client of {self._address} is closed")
        idle = self._idle[mode]
        while idle:
            try:
                connection = idle.pop()  # the last used is the least likely to have been closed
            except IndexError:
                break  # another thread was quicker
            if connection.is_fresh():
                return connection
            connection.close()
        return Connection(self._address, mode, self._settings.timeout_s)

    def _forget(self) -> None:
        self._process = os.getpid()
        self._idle: dict[Mode, list[Connection]] = {mode: [] for mode in Mode}
        self._free = {mode: threading.BoundedSemaphore(self._settings.pool_size) for mode in Mode}

    def _mind_forks(self) -> None:
        """In a forked child begin anew: its parent uses the same sockets."""
        if self._process != os.getpid():
            inherited = self._idle
            self._forget()
            for idle in inherited.values():
                for connection in idle:
                    connection.close()  # of this process; the parent's stays open


def push_over(connection: Connection, pushes: Pushes, patience: RetryPolicy) -> None:
    """Send what is left of some rows over one connection, several tickets under way. Raises ClientError."""
    pushes.start_over()
    tickets: deque[InFlight] = deque()
    while True:
        while len(tickets) < TICKETS_UNDER_WAY and (lines := pushes.take(connection.facts)):
            tickets.append(connection.submit(lines, Kind.OK, "PUSH"))
        if not tickets:
            return
        ticket = tickets.popleft()
        connection.wait(ticket)
        pushes.take_answers(ticket.answers)
        patience.renew()
