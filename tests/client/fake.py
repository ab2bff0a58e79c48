"""Fake: a server that follows a script, to test the reactions of clients."""

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tests.support.patience import WAIT_S


class Caller:
    """One connection that a client has made to the fake."""

    def __init__(self, connection: socket.socket, number: int) -> None:
        self.socket = connection
        self.number = number
        """The number of the connection, counted from 0."""
        self.mode = ""
        self._received = b""

    def say(self, *lines: str) -> None:
        """Send whole lines."""
        self.socket.sendall("".join(f"{line}\r\n" for line in lines).encode())

    def line(self) -> str:
        """Return the next line; "" when the client has gone."""
        while b"\n" not in self._received:
            try:
                data = self.socket.recv(1 << 16)
            except OSError:
                return ""
            if not data:
                return ""
            self._received += data
        line, self._received = self._received.split(b"\n", 1)
        return line.decode()

    def greet(self, name: str = "sonic-server v1.4.9", buffer_bytes: int = 20_000) -> str:
        """Send the greeting and accept START; return the START line."""
        self.say(f"CONNECTED <{name}>")
        start = self.line()
        self.mode = start.split()[1] if start else ""
        self.say(f"STARTED {self.mode} protocol(1) buffer({buffer_bytes})")
        return start

    def reset(self) -> None:
        """Close the connection so that the client gets a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()


Script = Callable[[Caller], None]


class Fake:
    """A server that carries out `script` for each connection, in a thread of its own, and then closes it.

    Leaving the `with` block ends the server, and raises the exception of a script, if there was one.
    """

    def __init__(self, script: Script) -> None:
        self.lines: list[str] = []
        """The lines that a script saves for the test."""
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._errors: list[BaseException] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"sonic://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def connections(self) -> int:
        """The number of connections made."""
        return len(self._sockets)

    @property
    def open_connections(self) -> int:
        """The number of connections that the script has not ended yet."""
        return sum(thread.is_alive() for thread in self._threads)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.settimeout(WAIT_S)
                caller = Caller(connection, len(self._sockets))
                self._sockets.append(connection)
                thread = threading.Thread(target=self._serve, args=(caller,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, caller: Caller) -> None:
        try:
            self._script(caller)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client closed the connection
        except BaseException as error:
            self._errors.append(error)
            raise
        finally:
            caller.socket.close()

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(WAIT_S)
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(WAIT_S)
        if error is None and self._errors:
            raise self._errors[0]
