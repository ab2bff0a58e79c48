"""Connection: one conversation over a blocking socket, for one thread at a time."""

import contextlib
import select
import socket
import time
from collections.abc import Sequence

from sonicpy.channel.commands import Mode
from sonicpy.client.address import Address
from sonicpy.client.conversation import AnswerKind, Conversation, InFlight, ServerInfo
from sonicpy.client.exchange import LINES_IN_FLIGHT_MAX, Exchange, Reply, accepted, encoded
from sonicpy.client.transport import keep_alive, lost, unopened, unreachable
from sonicpy.errors import ConnectionLost, TimedOut

RECEIVE_BYTES = 1 << 16


class BlockingConnection:
    """A session in one mode, open when the constructor returns.

    Args:
        timeout_s: the longest time in seconds for connecting, TLS and START together, and then for each answer.

    Raises:
        ConnectionLost, TimedOut, WrongPassword, NotSonic: the session could not be opened.
    """

    def __init__(self, address: Address, mode: Mode, timeout_s: float) -> None:
        self.address = address
        self._peer = str(address)
        self._timeout_s = timeout_s
        self._conversation = Conversation(mode, address.password, self._peer)
        deadline = time.monotonic() + timeout_s
        try:
            self._socket = connect_socket(address, deadline)
        except TimeoutError as late:
            raise TimedOut(f"{self._peer} accepted no connection within {timeout_s:g} s") from late
        except OSError as error:
            raise unreachable(self._peer, error) from error
        began = time.monotonic()
        try:
            while not self._conversation.is_open:
                self._receive(deadline, timeout_s)
        except ConnectionLost as error:
            self.close()
            silent_s = 0.0 if self._conversation.has_received else time.monotonic() - began
            raise unopened(self._peer, error, silent_s) from error.__cause__
        except BaseException:
            self.close()
            raise

    @property
    def server(self) -> ServerInfo:
        """The properties of the server that are known so far."""
        return self._conversation.server

    @property
    def is_usable(self) -> bool:
        """Whether every command is answered and no error has occurred."""
        conversation = self._conversation
        return conversation.end is None and conversation.is_idle and not conversation.is_stopping

    def is_fresh(self) -> bool:
        """Return whether the connection is usable: the server has neither closed it nor sent unexpected bytes."""
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
        lines = exchange.lines(self.server)
        answers = []
        for start in range(0, len(lines), LINES_IN_FLIGHT_MAX):
            in_flight = self.submit(lines[start : start + LINES_IN_FLIGHT_MAX], exchange.kind, exchange.command)
            self.wait(in_flight, exchange.timeout_s)
            answers += in_flight.answers
        return Reply(accepted(answers), self.server)

    def submit(self, lines: Sequence[str], kind: AnswerKind, command: str) -> InFlight:
        """Send lines, and return them with their answers, which `wait` receives.

        Raises:
            ConnectionLost, TimedOut: the lines could not be sent; the connection must be closed.
        """
        data = encoded(lines)
        in_flight = self._conversation.submit(len(lines), kind, command)
        try:
            self._socket.settimeout(self._timeout_s)
            self._socket.sendall(data)
        except TimeoutError as late:
            raise TimedOut(f"{self._peer} accepted no command for {self._timeout_s:g} s") from late
        except OSError as error:
            raise lost(self._peer, error) from error
        return in_flight

    def wait(self, in_flight: InFlight, timeout_s: float | None = None) -> None:
        """Receive until all answers have arrived.

        Args:
            timeout_s: the longest time in seconds from one answer to the next; None: that of the connection.

        Raises:
            ClientError: the connection broke, or no answer came; the connection must be closed.
        """
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        left = -1
        while in_flight.left:
            if in_flight.left != left:
                left, deadline = in_flight.left, time.monotonic() + timeout_s
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
            self._socket.settimeout(seconds_left(deadline))
            data = self._socket.recv(RECEIVE_BYTES)
            if data:
                conversation.feed(data)
            if conversation.outgoing:
                self._socket.sendall(conversation.outgoing)
                conversation.outgoing = b""
        except TimeoutError as error:
            raise late from error
        except OSError as error:
            raise lost(self._peer, error) from error
        if not data:
            raise ConnectionLost(f"{self._peer} closed the connection without an answer")


def seconds_left(deadline: float) -> float:
    """Return the time in seconds until `deadline`, by time.monotonic(). Raises TimeoutError if it has passed."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def connect_socket(address: Address, deadline: float) -> socket.socket:
    """Return a socket connected to a server, with TLS if the address says so; nothing is sent over it yet.

    Raises:
        TimeoutError: `deadline` has passed.
        OSError: no process listens there, or TLS failed.
    """
    if address.unix is not None:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(seconds_left(deadline))
            connection.connect(str(address.unix))
        except BaseException:
            connection.close()
            raise
        return connection
    connection = _connected_by_tcp(address, deadline)
    try:
        # Each write holds whole lines; none should wait for the next write.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        keep_alive(connection)
        if address.tls is None:
            return connection
        connection.settimeout(seconds_left(deadline))
        return address.tls.wrap_socket(connection, server_hostname=address.host)  # takes over the descriptor
    except BaseException:
        connection.close()
        raise


def _connected_by_tcp(address: Address, deadline: float) -> socket.socket:
    *others, last = address.hosts
    for host in others:
        with contextlib.suppress(OSError):
            return socket.create_connection((host, address.port), seconds_left(deadline))
    return socket.create_connection((last, address.port), seconds_left(deadline))
