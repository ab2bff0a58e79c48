"""The servers that are compared, each in a folder of its own on a free port, on its defaults."""

import os
import shutil
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.versus import accounting
from benchmarks.versus.client import connect
from tests.processes import environment, free_port

HOST = "127.0.0.1"
PASSWORD = "versus"
START_S = 60.0
STOP_S = 30.0

SONIC_CONFIG = """\
[server]
log_level = "error"

[channel]
inet = "{host}:{port}"
auth_password = "{password}"

[store.kv]
path = "{folder}/kv/"

[store.fst]
path = "{folder}/fst/"
"""


class Server(ABC):
    """A server, running inside a `with` block.

    Args:
        name: in tables.
        folder: of its data; kept, so that it can be started again.
    """

    speaks_sonic = True

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command line that listens on `port`; files it needs are written here."""

    def variables(self) -> dict[str, str]:
        """Return its environment."""
        return environment({})

    def beside(self, suffix: str) -> Path:
        """Return the path of a file that does not count as data."""
        return self.folder.with_name(f"{self.folder.name}.{suffix}")

    @property
    def pid(self) -> int:
        """The number of its first process."""
        assert self._process is not None, "it was not started"
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it accepts connections.

        Raises:
            RuntimeError: it does not; the message holds what it said.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port(HOST)
        log = self.beside("log")
        with open(log, "wb") as said:
            self._process = subprocess.Popen(
                self.command(), cwd=self.folder, env=self.variables(), stdout=said, stderr=said
            )
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                connect(HOST, self.port).close()
                return
            except OSError:
                time.sleep(0.002)
        self.stop()
        raise RuntimeError(f"{self.name} did not start:\n{log.read_text(errors='replace')}")

    def stop(self) -> None:
        """Stop it, and kill it if it does not."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def connect(self, mode: str) -> socket.socket:
        """Return a connection that was started in a mode of the channel.

        Raises:
            ConnectionError: the server did not let it in.
        """
        connection = connect(HOST, self.port)
        greeting = read_lines(connection, 1)
        connection.sendall(f"START {mode} {PASSWORD}\r\n".encode())
        started = read_lines(connection, 1)
        if not started.startswith(f"STARTED {mode} "):
            raise ConnectionError(f"{self.name} said {greeting!r} and {started!r}")
        return connection

    def version(self) -> str:
        """Return what it says it is."""
        with connect(HOST, self.port) as connection:
            return read_lines(connection, 1).removeprefix("CONNECTED ").strip().strip("<>")

    def cpu_s(self) -> float:
        """Return the CPU seconds it has taken."""
        return accounting.cpu_s(self.pid)

    def memory_bytes(self) -> int:
        """Return its anonymous memory."""
        return accounting.anonymous_bytes(self.pid)

    def disk_bytes(self) -> int:
        """Return what its files take of the disk."""
        return accounting.allocated_bytes(self.folder)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Sonicpy(Server):
    """Our server.

    Args:
        settings: dotted keys that differ from the defaults.
        checkout: a folder with another version of this project, built in place; None: this one.
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
        self._checkout = checkout or Path(__file__).resolve().parents[2]

    def command(self) -> list[str]:
        store = str(self.folder / "store")
        return [sys.executable, "-m", "sonicpy", "serve", "--inet", f"{HOST}:{self.port}", "--data", store]

    def table_bytes(self) -> int:
        """Return what its files take of the disk, the log left out, which grows and is cut off in turns."""
        return self.disk_bytes() - accounting.allocated_bytes(self.folder / "store" / "log")

    def variables(self) -> dict[str, str]:
        return {**environment(self._settings), "PYTHONPATH": str(self._checkout)}


class Sonic(Server):
    """Sonic itself."""

    def __init__(self, name: str, folder: Path, binary: str) -> None:
        super().__init__(name, folder)
        self._binary = binary

    def command(self) -> list[str]:
        config = self.beside("cfg")
        config.write_text(SONIC_CONFIG.format(host=HOST, port=self.port, password=PASSWORD, folder=self.folder))
        return [self._binary, "-c", str(config)]


class Redis(Server):
    """Redis, as a floor: what a round trip and a write to memory cost."""

    speaks_sonic = False

    def __init__(self, name: str, folder: Path, binary: str) -> None:
        super().__init__(name, folder)
        self._binary = binary

    def command(self) -> list[str]:
        return [self._binary, "--bind", HOST, "--port", str(self.port), "--dir", str(self.folder)]

    def connect(self, mode: str) -> socket.socket:
        return connect(HOST, self.port)


def find_sonic() -> str | None:
    """Return the path of Sonic's binary, or None."""
    return shutil.which(os.environ.get("SONIC_BIN", "sonic"))


def find_redis() -> str | None:
    """Return the path of Redis's binary, or None."""
    return shutil.which("redis-server")


def read_lines(connection: socket.socket, count: int) -> str:
    """Return the next lines, their ends included; nothing else may be under way.

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
    """Send one line and return the lines that answer it; an error is one line."""
    connection.sendall(line)
    answer = read_lines(connection, 1)
    if reply_lines > answer.count("\n") and not answer.startswith("ERR "):
        answer += read_lines(connection, reply_lines - answer.count("\n"))
    return answer
