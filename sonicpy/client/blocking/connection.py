"""Connection: one conversation over a blocking socket, used by one thread at a time."""

import contextlib
import select
import socket
import time
from collections.abc import Sequence

from sonicpy.channel.commands import Mode
from sonicpy.client.address import Address
from sonicpy.client.conversation import Conversation, InFlight, Kind, ServerInfo
from sonicpy.client.exchange import LINES_UNDER_WAY, Exchange, Reply, accepted, encoded, keep_alive, lost, unreachable
from sonicpy.errors import ConnectionLost, TimedOut

RECEIVE_BYTES = 1 << 16


class Connection:
    """A session in one mode, open once this returns.

    Args:
        timeout_s: for connecting with all that belongs to it, and then for each answer.

    Raises:
        ConnectionLost, TimedOut, WrongPassword, NotSonic: it could not be opened.
    """

    def __init__(self, address: Address, mode: Mode, timeout_s: float) -> None:
        self._peer = str(address)
        self._timeout_s = timeout_s
        self._conversation = Conversation(mode, address.password, self._peer)
        deadline = time.monotonic() + timeout_s
        try:
            self._socket = connected(address, deadline)
        except TimeoutError as late:
            raise TimedOut(f"{self._peer} did not take a connection within {timeout_s:g} s") from late
        except OSError as trouble:
            raise unreachable(self._peer, trouble) from trouble
        try:
            while not self._conversation.is_open:
                self._receive(deadline, timeout_s)
        except ConnectionLost as trouble:
            self.close()
            trouble.was_sent = False
            raise
        except BaseException:
            self.close()
            raise

    @property
    def facts(self) -> ServerInfo:
        """What the server told of itself."""
        return self._conversation.facts

    @property
    def is_usable(self) -> bool:
        """Whether nothing is under way and nothing went wrong."""
        conversation = self._conversation
        return conversation.end is None and conversation.is_idle and not conversation.is_stopping

    def is_fresh(self) -> bool:
        """Return whether it can still be used: the server has neither closed it nor said anything unasked."""
        if not self.is_usable:
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def carry_out(self, exchange: Exchange) -> Reply:
        """Send the lines of an exchange and return the answers.

        Raises:
            ClientError, CommandError: see `submit`, `wait` and `accepted`.
        """
        lines = exchange.lines(self.facts)
        answers = []
        for start in range(0, len(lines), LINES_UNDER_WAY):
            ticket = self.submit(lines[start : start + LINES_UNDER_WAY], exchange.kind, exchange.command)
            self.wait(ticket, exchange.timeout_s)
            answers += ticket.answers
        return Reply(accepted(answers), self.facts)

    def submit(self, lines: Sequence[str], kind: Kind, command: str) -> InFlight:
        """Send lines; their answers are fetched by `wait`.

        Raises:
            ConnectionLost, TimedOut: they could not be sent; the connection is of no further use.
        """
        data = encoded(lines)
        ticket = self._conversation.submit(len(lines), kind, command)
        try:
            self._socket.settimeout(self._timeout_s)
            self._socket.sendall(data)
        except TimeoutError as late:
            raise TimedOut(f"{self._peer} took no command for {self._timeout_s:g} s") from late
        except OSError as trouble:
            raise lost(self._peer, trouble) from trouble
        return ticket

    def wait(self, ticket: InFlight, timeout_s: float | None = None) -> None:
        """Receive until a ticket is complete.

        Args:
            timeout_s: longest time from one answer to the next; None: as the connection has it.

        Raises:
            ClientError: the connection broke, or no answer came; it is of no further use.
        """
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        left = -1
        while ticket.left:
            if ticket.left != left:
                left, deadline = ticket.left, time.monotonic() + timeout_s
            self._receive(deadline, timeout_s)

    def close(self) -> None:
        """Close at once."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def _receive(self, deadline: float, timeout_s: float) -> None:
        conversation = self._conversation
        if conversation.end is not None:
            raise conversation.end
        late = TimedOut(f"{self._peer} did not answer within {timeout_s:g} s")
        try:
            self._socket.settimeout(left(deadline))
            data = self._socket.recv(RECEIVE_BYTES)
            if data:
                conversation.feed(data)
            if conversation.outgoing:
                self._socket.sendall(conversation.outgoing)
                conversation.outgoing = b""
        except TimeoutError as trouble:
            raise late from trouble
        except OSError as trouble:
            raise lost(self._peer, trouble) from trouble
        if not data:
            raise ConnectionLost(f"{self._peer} closed the connection without an answer")


def left(deadline: float) -> float:
    """Return the seconds until `deadline`, of time.monotonic(). Raises TimeoutError if there are none."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def connected(address: Address, deadline: float) -> socket.socket:
    """Return a socket that is connected to a server, with TLS where it is asked for; nothing is said yet.

    Raises:
        TimeoutError: that took until `deadline`.
        OSError: nobody listens there, or TLS failed.
    """
    if address.unix is not None:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(left(deadline))
            connection.connect(str(address.unix))
        except OSError:
            connection.close()
            raise
        return connection
    connection = _connected_by_tcp(address, deadline)
    # A line is written with one call; it shall not wait for others.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    keep_alive(connection)
    if address.tls is None:
        return connection
    with connection:  # moved into the one that is returned, or closed
        connection.settimeout(left(deadline))
        return address.tls.wrap_socket(connection, server_hostname=address.host)


def _connected_by_tcp(address: Address, deadline: float) -> socket.socket:
    *others, last = address.hosts
    for host in others:
        with contextlib.suppress(OSError):
            return socket.create_connection((host, address.port), left(deadline))
    return socket.create_connection((last, address.port), left(deadline))
