"""Peer: one raw connection of a test, which sends and reads lines or bytes."""

import re
import socket
import ssl
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.processes import Server, family
from tests.support.patience import WAIT_S

CROWD = "127.0.0.2" if sys.platform == "linux" else ""
"""The address from which crowds connect, so that they take no port that the server of another test is about to use."""
EVENT = re.compile(r"EVENT (QUERY|SUGGEST|LIST) ([A-Za-z0-9]{8}) (.*)", re.DOTALL)


class Peer:
    """A connection to a server.

    Args:
        mode: the mode to START; None: send nothing, and leave the greeting to be read.
        receive_bytes: the size of the receive buffer, for slow readers.
        tls: context that checks the server's certificate; None: no TLS.
        unix: path of a Unix socket to connect to instead of the port.
        source: the local address to bind to, if any.
    """

    def __init__(
        self,
        server: Server,
        mode: str | None = None,
        *,
        receive_bytes: int | None = None,
        tls: ssl.SSLContext | None = None,
        unix: Path | None = None,
        source: str = "",
    ) -> None:
        self._server = server
        self.socket = socket.socket(family(server.host) if unix is None else socket.AF_UNIX)
        self._received = b""
        try:
            self._connect(receive_bytes, tls, unix, source)
            if mode is not None:
                self._start(mode, server.password or "")
        except BaseException:
            self.close()
            raise

    def _connect(self, receive_bytes: int | None, tls: ssl.SSLContext | None, unix: Path | None, source: str) -> None:
        self.socket.settimeout(WAIT_S)
        if receive_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        if source:
            self.socket.bind((source, 0))
        if unix is None:
            self.socket.connect((self._server.host, self._server.port))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            self.socket.connect(str(unix))
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=self._server.host)

    def _start(self, mode: str, password: str) -> None:
        assert self.line().startswith("CONNECTED <")
        started = self.ask(f"START {mode} {password}")
        assert started == f"STARTED {mode} protocol(1) buffer(20000)"

    def send(self, data: bytes) -> None:
        """Send bytes unchanged."""
        self.socket.sendall(data)

    def send_lines(self, *lines: str) -> None:
        """Send lines in one write."""
        self.send("".join(f"{line}\n" for line in lines).encode())

    def line(self) -> str:
        """Return the next line without its end. Raises ConnectionError if the server closes before."""
        while b"\n" not in self._received:
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionError(f"closed after {self._received!r}")
            self._received += data
        line, self._received = self._received.split(b"\n", 1)
        assert line.endswith(b"\r"), line
        return line[:-1].decode()

    def lines(self, count: int) -> list[str]:
        """Return the next `count` lines; quick even for very many. Raises ConnectionError if the connection is closed
        before.
        """
        lines: list[bytes] = []
        rest = self._received
        while len(lines) < count:
            *whole, rest = rest.split(b"\r\n")
            lines += whole
            if len(lines) < count:
                data = self.socket.recv(1 << 20)
                if not data:
                    raise ConnectionError(f"closed after {len(lines)} of {count} lines")
                rest += data
        self._received = b"".join(line + b"\r\n" for line in lines[count:]) + rest
        return [line.decode() for line in lines[:count]]

    def ask(self, line: str) -> str:
        """Send one line and return its answer."""
        self.send_lines(line)
        return self.line()

    def results(self, line: str) -> list[str]:
        """Return the items in the answer to a QUERY, SUGGEST or LIST."""
        return self.items(line, self.ask(line))

    def items(self, line: str, pending: str) -> list[str]:
        """Return the items of the EVENT after the first answer to a line; `pending` is that answer."""
        event = EVENT.fullmatch(self.line() if pending.startswith("PENDING ") else pending)
        assert event, pending
        assert event[1] == line.split()[0]
        assert pending == f"PENDING {event[2]}"
        return event[3].split()

    def rest(self) -> bytes:
        """Return all bytes until the server closes or resets the connection."""
        try:
            while data := self.socket.recv(1 << 16):
                self._received += data
        except ConnectionResetError:
            pass
        rest, self._received = self._received, b""
        return rest

    def half_close(self) -> None:
        """Close the sending side."""
        self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close at once."""
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
