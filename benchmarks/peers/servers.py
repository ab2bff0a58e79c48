"""The servers that the harness compares, with their default settings."""

import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks import accounting
from benchmarks.client import connect
from tests.processes import HOST, environment
from tests.support.paths import ROOT
from tests.support.server_process import PASSWORD, ServerProcess, SonicProcess, find_sonic


class Server(ServerProcess):
    """A server that can be measured."""

    def connect(self, mode: str) -> socket.socket:
        """Return a connection in a mode of the channel.

        Raises:
            ConnectionError: the server refused START.
        """
        connection = self.open_socket()
        greeting = read_lines(connection, 1)
        connection.sendall(f"START {mode} {PASSWORD}\r\n".encode())
        started = read_lines(connection, 1)
        if not started.startswith(f"STARTED {mode} "):
            raise ConnectionError(f"{self.name} said {greeting!r} and {started!r}")
        return connection

    def open_socket(self) -> socket.socket:
        """Return a connection whose greeting is not read yet."""
        return connect(HOST, self.port)

    def say(self, mode: str, line: bytes, reply_lines: int = 1) -> str:
        """Send one line over a connection of its own, in a mode of the channel; return the reply, which has
        `reply_lines` lines."""
        with self.connect(mode) as connection:
            return ask(connection, line, reply_lines)

    def consolidate(self) -> None:
        """Build the word graphs of the server now."""
        self.say("control", b"TRIGGER consolidate\n")

    def version(self) -> str:
        """Return the version in the greeting of the server."""
        with self.open_socket() as connection:
            return read_lines(connection, 1).removeprefix("CONNECTED ").strip().strip("<>")

    def cpu_s(self) -> float:
        """Return the CPU seconds that the server has used."""
        return accounting.cpu_s(self.pid)

    def memory_bytes(self) -> int:
        """Return the anonymous memory of the server in bytes."""
        return accounting.anonymous_bytes(self.pid)

    def disk_bytes(self) -> int:
        """Return the size of the server's files on disk in bytes."""
        return accounting.allocated_bytes(self.folder)


class Sonicpy(Server):
    """A sonicpy server.

    Args:
        settings: values other than the defaults, by dotted key.
        checkout: the folder of another version of this project, built in place; None for this one.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        settings: Mapping[str, object] | None = None,
        *,
        checkout: Path | None = None,
    ) -> None:
        super().__init__(name, folder)
        self._settings = {"channel.auth_password": PASSWORD, **(settings or {})}
        self._checkout = checkout or ROOT

    def command(self) -> list[str]:
        store = str(self.folder / "store")
        return [sys.executable, "-m", "sonicpy", "serve", "--inet", f"{HOST}:{self.port}", "--data", store]

    def table_bytes(self) -> int:
        """Return the size of the server's files on disk in bytes, without the log, whose size keeps changing."""
        return self.disk_bytes() - accounting.allocated_bytes(self.folder / "store" / "log")

    def variables(self) -> dict[str, str]:
        return {**environment(self._settings), "PYTHONPATH": str(self._checkout)}


class Sonic(Server, SonicProcess):
    """The original Sonic."""


class Redis(Server):
    """Redis, as the lower limit of the cost of a round trip and a write to memory."""

    def __init__(self, name: str, folder: Path, binary: str) -> None:
        super().__init__(name, folder)
        self._binary = binary

    def command(self) -> list[str]:
        return [self._binary, "--bind", HOST, "--port", str(self.port), "--dir", str(self.folder)]

    def connect(self, mode: str) -> socket.socket:
        return connect(HOST, self.port)


def find_redis() -> str | None:
    """Return the path of Redis's executable, or None."""
    return shutil.which("redis-server")


def open_sonic(name: str, folder: Path) -> list[Server]:
    """Return the original Sonic, not started yet, in a list; an empty list if it is not installed."""
    binary = find_sonic()
    return [Sonic(name, folder, binary)] if binary else []


def open_redis(name: str, folder: Path) -> list[Server]:
    """Return Redis, not started yet, in a list; an empty list if it is not installed."""
    binary = find_redis()
    return [Redis(name, folder, binary)] if binary else []


def read_lines(connection: socket.socket, count: int) -> str:
    """Return the next `count` lines with their line ends; no other reply may be outstanding.

    Raises:
        ConnectionError: the server closed the connection.
    """
    received = b""
    while received.count(b"\n") < count:
        data = connection.recv(1 << 16)
        if not data:
            raise ConnectionError(f"closed after {received!r}")
        received += data
    return received.decode()


def ask(connection: socket.socket, line: bytes, reply_lines: int = 1) -> str:
    """Send one line and return its reply of `reply_lines` lines; an error is always one line."""
    connection.sendall(line)
    answer = read_lines(connection, 1)
    if reply_lines > answer.count("\n") and not answer.startswith("ERR "):
        answer += read_lines(connection, reply_lines - answer.count("\n"))
    return answer
