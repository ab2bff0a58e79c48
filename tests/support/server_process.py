"""Servers that benchmarks and tests compare with sonicpy, as subprocesses on a free port."""

import os
import shutil
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.processes import HOST, environment, free_port
from tests.support.patience import WAIT_S

PASSWORD = "versus"
START_S = WAIT_S
STOP_S = WAIT_S

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


class ServerProcess(ABC):
    """A server that runs inside a `with` block.

    Args:
        name: the server's name in tables and errors.
        folder: the folder of its data, which is kept, so that the server can be started again.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command line that listens on `port`, and write the files that it needs."""

    def variables(self) -> dict[str, str]:
        """Return the environment of the process."""
        return environment({})

    def beside(self, suffix: str) -> Path:
        """Return the path of a file beside the folder, which does not count as data."""
        return self.folder.with_name(f"{self.folder.name}.{suffix}")

    @property
    def pid(self) -> int:
        """The id of the server's first process."""
        assert self._process is not None, "it was not started"
        return self._process.pid

    def state(self) -> str:
        """Return whether the process of the server still runs, and its output, for the message of an error."""
        status = None if self._process is None else self._process.poll()
        said = self.beside("log").read_text(errors="replace")
        return f"{self.name} {'runs' if status is None else f'ended with status {status}'}:\n{said}"

    def start(self) -> None:
        """Start the server and wait until it accepts connections.

        Raises:
            RuntimeError: the server does not accept connections; the message holds its output.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port(HOST)
        log = self.beside("log")
        with open(log, "wb") as output:
            self._process = subprocess.Popen(
                self.command(), cwd=self.folder, env=self.variables(), stdout=output, stderr=output
            )
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection((HOST, self.port), START_S).close()
                return
            except OSError:
                time.sleep(0.002)
        self.stop()
        raise RuntimeError(f"{self.name} did not start:\n{log.read_text(errors='replace')}")

    def stop(self) -> None:
        """Ask the server to stop, and kill it after STOP_S seconds."""
        if self._process is not None:
            end(self._process, STOP_S)
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def end(process: subprocess.Popen[bytes], most_s: float) -> None:
    """Ask a process to end; kill it if this takes longer than `most_s` seconds."""
    process.terminate()
    try:
        process.wait(most_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class SonicProcess(ServerProcess):
    """The original Sonic.

    Args:
        binary: the path of its executable.
        password: the password that clients must send with START.
    """

    def __init__(self, name: str, folder: Path, binary: str, password: str = PASSWORD) -> None:
        super().__init__(name, folder)
        self._binary = binary
        self._password = password

    def command(self) -> list[str]:
        config = self.beside("cfg")
        config.write_text(SONIC_CONFIG.format(host=HOST, port=self.port, password=self._password, folder=self.folder))
        return [self._binary, "-c", str(config)]


def find_sonic() -> str | None:
    """Return the path of Sonic's executable ($SONIC_BIN, or `sonic` on the PATH); None: it is not installed."""
    return shutil.which(os.environ.get("SONIC_BIN", "sonic"))
