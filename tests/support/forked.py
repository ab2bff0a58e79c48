"""Servers that one process forks after it has imported sonicpy, because imports are most of the time of a start.

Hundreds of tests start a server. A forked server differs from `python -m sonicpy serve` only in the time of its
imports, and in the command line that the system shows. This works only on Linux; elsewhere, and with
SONICPY_FRESH_SERVERS=1, each server is started anew.
"""

import contextlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.support.patience import WAIT_S

PROGRAM = Path(__file__).with_name("template.py")
ALLOWED = sys.platform == "linux" and os.environ.get("SONICPY_FRESH_SERVERS") != "1"
UNCHANGED = dict(os.environ)
"""The environment before any test changes it: the first server of all may be that of a test that does."""
HTTP_VARIABLE, HTTP_MODULE = "SONIC_HTTP__INET", "sonicpy.server.web.http"
"""The variable of servers of HTTP, and the module that they import: it takes four times as long as all else of a start.
Other servers come from a process without it, since tests compare their memory.
"""
OWN = ("SONIC_", "PYTEST_")
"""The prefixes of variables that only a server, or no program, reads after its start. All other variables must equal
those of the template.
"""


class Running(Protocol):
    """The interface of a process for tests; subprocess.Popen has it, too."""

    pid: int

    @property
    def returncode(self) -> int | Any: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class Template:
    """A process that forks servers. It ends when the process that has made this object ends.

    Args:
        modules: the names of the modules that it imports before it forks.
    """

    def __init__(self, *modules: str) -> None:
        self._lock = threading.Lock()
        self.inherited = inherited(UNCHANGED)
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(theirs.fileno()), *modules],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=UNCHANGED,
            )
        self._messages = ours.makefile("rwb")
        ours.close()  # the file keeps it open

    def ask(self, message: Mapping[str, object]) -> int | None:
        """Send a message to the process; return its answer, a number or None."""
        with self._lock:
            self._messages.write(json.dumps(message).encode() + b"\n")
            self._messages.flush()
            answer: int | None = json.loads(self._messages.readline())
            return answer

    def close(self) -> None:
        """End the process, and with it the servers that it forked and that no test has ended."""
        with contextlib.suppress(OSError):
            self._messages.close()
        self._process.wait(WAIT_S)


class ForkedServer:
    """A server that the template has forked, with the methods of subprocess.Popen that tests use."""

    def __init__(self, parent: Template, pid: int) -> None:
        self._parent = parent
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status; None: the server runs."""
        if self.returncode is None:
            self.returncode = self._parent.ask({"wait": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait at most `timeout` seconds for the end of the server; return the exit status.

        Raises:
            subprocess.TimeoutExpired: the server still runs.
        """
        if self.poll() is None:
            descriptor = os.pidfd_open(self.pid)
            try:
                select.select([descriptor], [], [], timeout)
            finally:
                os.close(descriptor)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired("sonicpy serve", timeout or 0.0)
        return status

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless the server is known to have ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        """Kill the server, as a crash would."""
        self.send_signal(signal.SIGKILL)


_making = threading.Lock()
_made: dict[bool, Template] = {}
"""Whether its servers serve HTTP -> the process that forks them."""


def can_fork(environment: Mapping[str, str]) -> bool:
    """Return whether a forked process would behave like a process started with this environment."""
    return ALLOWED and inherited(environment) == _template(environment).inherited


def fork_server(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path) -> ForkedServer:
    """Fork a server: `python -m sonicpy` with these arguments, in `folder`, with stderr at the end of `log`."""
    parent = _template(environment)
    message = {
        "arguments": list(arguments),
        "folder": str(folder),
        "environment": dict(environment),
        "log": str(log),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
    }
    pid = parent.ask(message)
    assert pid is not None
    return ForkedServer(parent, pid)


def end_template() -> None:
    """End the processes that fork, if there are any."""
    while _made:
        _made.popitem()[1].close()


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an interpreter or a library may read while it starts."""
    return {name: value for name, value in environment.items() if not name.upper().startswith(OWN)}


def _template(environment: Mapping[str, str]) -> Template:
    serves_http = HTTP_VARIABLE in environment
    with _making:
        if serves_http not in _made:
            _made[serves_http] = Template(*[HTTP_MODULE] * serves_http)
        return _made[serves_http]
