"""Servers as subprocesses, as `python -m sonicpy serve` starts them, each on a free port, with a folder of its own.

Every server ends with the test that started it. Tests signal only processes that they started.
"""

import contextlib
import errno
import io
import logging
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self
from unittest import mock

import pytest

from sonicpy.cli.main import main
from tests.support.forked import Running, can_fork, fork_server
from tests.support.patience import WAIT_S, is_within

HOST = "127.0.0.1"
KEPT_VARIABLE = "SONIC_SERVER__SEARCH_PROCESSES"
"""The variable that, if set, gives search processes to all servers of the tests."""
FREE_PORTS = (10_000, 22_000)
"""Below those of `sonicpy cluster dev`."""
drawn: deque[int] = deque(maxlen=100)
"""The ports that `free_port` returned last."""
WORKERS = 32
"""The largest number of test processes beside each other that draw different ports."""
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
START_S = WAIT_S
STOP_S = 5.0
"""The longest time in seconds that a server may take to stop, on a machine that is not slow."""


class Server:
    """A server that runs inside a `with` block. Leaving the block stops it, and fails if its log holds a traceback.

    Args:
        folder: gets the index and the captured log; it is not deleted, so that another server can use it.
        settings: dotted keys and their values, set by environment variables.
        password: the password that clients must send with START.
        host: the address to listen on.
        is_fresh: start it with `python -m sonicpy serve`; otherwise it is forked (`tests/support/forked.py`).
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, object] | None = None,
        *,
        password: str | None = None,
        host: str = HOST,
        is_fresh: bool = False,
    ) -> None:
        self.folder = folder
        self._is_fresh = is_fresh
        self.password = password
        self.host = host
        self.port = free_port(host)
        self._settings = dict(settings or {})
        self._is_encrypted = False
        if password is not None:
            self._settings["channel.auth_password"] = password
        self._log = folder / f"stderr-{self.port}.txt"
        self._starts = 0
        self._process: Running | None = None

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        return self._running().pid

    def start(self, settings: Mapping[str, object] | None = None) -> None:
        """Start the server and wait until it accepts connections; `settings` also apply to later starts.

        Raises:
            RuntimeError: the server ended instead; the message holds its log.
        """
        self._settings.update(settings or {})
        self._is_encrypted = "channel.tls_certificate" in self._settings
        self.folder.mkdir(parents=True, exist_ok=True)
        address = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
        arguments = ["--inet", address, "--data", str(self.folder / "store")]
        self._starts += 1  # a worker of a killed server may still write to the file that it had
        self._log = self.folder / f"stderr-{self.port}-{self._starts}.txt"
        self._process = self._begin(["serve", *arguments], environment(self._settings))
        self._wait_until_it_accepts()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a stop signal and return the exit status; fail the test if the server takes too long."""
        process = self._running()
        process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end of a server that got a stop signal, and return its exit status."""
        process = self._running()
        began_s = time.monotonic()
        while is_within(STOP_S, began_s):
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(STOP_S)
        process.kill()
        process.wait()
        pytest.fail(f"the server was still there {time.monotonic() - began_s:.0f} s after it was asked to stop")

    def kill(self) -> None:
        """Kill the server, as a crash would."""
        process = self._running()
        process.kill()
        process.wait()

    def log(self) -> str:
        """Return the output of the server to stderr since its last start."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def rss_bytes(self) -> int:
        """Return the resident memory of the server; skip the test on systems without /proc."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            pytest.skip("needs /proc to read the memory of a process")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found, status
        return int(found[1]) * 1024

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            if error is not None:
                self.kill()
                return
            status = self.stop()
            assert status == 0, f"exit status {status}:\n{self.log()}"
        if error is None:
            assert "Traceback" not in self.log(), self.log()

    def _begin(self, arguments: list[str], variables: dict[str, str]) -> Running:
        if not self._is_fresh and can_fork(variables):
            return fork_server(arguments, self.folder, variables, self._log)
        with open(self._log, "wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "sonicpy", *arguments],
                cwd=self.folder,
                env=variables,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def _running(self) -> Running:
        assert self._process is not None, "the server was not started"
        return self._process

    def _wait_until_it_accepts(self) -> None:
        process = self._running()
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with status {process.returncode}:\n{self.log()}")
            try:
                with socket.create_connection((self.host, self.port), START_S) as connection:
                    if self._is_encrypted or connection.recv(1):  # the greeting, which only a server sends
                        return
            except OSError:
                pass
            time.sleep(0.005)
        process.kill()
        process.wait()
        raise RuntimeError(f"the server did not listen within {START_S} s:\n{self.log()}")


def serve_command(*arguments: str) -> list[str]:
    """Return the command line of a server."""
    return [sys.executable, "-m", "sonicpy", "serve", *arguments]


def run_serve(arguments: Sequence[str], folder: Path, settings: Mapping[str, object] | None = None) -> tuple[int, str]:
    """Run a server that must not start, as a process; return its exit status and its output to stderr."""
    done = subprocess.run(
        serve_command(*arguments),
        cwd=folder,
        env=environment(settings or {}),
        capture_output=True,
        timeout=START_S,
        check=False,
    )
    return done.returncode, done.stderr.decode()


def refused_start(
    arguments: Sequence[str], folder: Path, settings: Mapping[str, object] | None = None
) -> tuple[int, str]:
    """Run a server that must not start, as `run_serve` does, but within this process, which is quicker."""
    status, _, said = run_here(["serve", *arguments], folder, settings)
    return status, said


def run_here(
    arguments: Sequence[str], folder: Path, settings: Mapping[str, object] | None = None
) -> tuple[int, str, str]:
    """Run a verb of the command line within this process; return its exit status and its output to both streams."""
    out, said = io.StringIO(), io.StringIO()
    root = logging.getLogger()
    before = root.level, root.handlers[:]
    try:
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(said),
            mock.patch.dict(os.environ, environment(settings or {}), clear=True),
        ):
            return main(list(arguments)), out.getvalue(), said.getvalue()
    finally:
        root.level, root.handlers[:] = before


def environment(settings: Mapping[str, object]) -> dict[str, str]:
    """Return the environment of this process, with these settings instead of any others."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("SONIC_") or name == KEPT_VARIABLE
    }
    given = {f"SONIC_{key.upper().replace('.', '__')}": str(value) for key, value in settings.items()}
    return {**inherited, **given}


def free_port(host: str = HOST) -> int:
    """Return a port that no process listens on. Raises OSError if the machine has no such address.

    The port is below those that systems give to outgoing connections and to servers that ask for any port, so that no
    other process takes it before the server does. Each test process draws from ports of its own, and none again soon:
    the server listens some time after the draw.
    """
    first, end = FREE_PORTS
    while True:
        port = random.randrange(first + WORKER, end, WORKERS)
        if port in drawn:
            continue
        try:
            with socket.create_server((host, port), family=family(host)):
                drawn.append(port)
                return port
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise


def family(host: str) -> socket.AddressFamily:
    """Return the address family of `host`."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET
