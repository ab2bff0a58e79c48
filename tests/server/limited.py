"""Servers with a low limit of open files, and crowds of idle connections."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from tests.processes import Running, Server


class Limited(Server):
    """A server that starts with a soft limit of open files of half the hard limit.

    Args:
        limit: the hard limit.
    """

    def __init__(self, folder: Path, settings: Mapping[str, object], limit: int) -> None:
        super().__init__(folder, settings, is_fresh=True)
        self._limit = limit

    def _begin(self, arguments: list[str], variables: dict[str, str]) -> Running:
        limits = f"ulimit -S -n {self._limit // 2} && ulimit -H -n {self._limit} && exec"
        command = ["sh", "-c", f'{limits} "$0" -m sonicpy "$@"', sys.executable, *arguments]
        with open(self._log, "wb") as log:
            started = subprocess.Popen(command, cwd=self.folder, env=variables, stdout=subprocess.DEVNULL, stderr=log)
        return cast(Running, started)


@contextlib.contextmanager
def crowd(count: int, addresses: Sequence[tuple[str, int]]) -> Iterator[list[socket.socket]]:
    """Open idle connections, to each address in turn, inside a `with` block."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection(addresses[number % len(addresses)], 20))
            for number in range(count)
        ]


def opened(server: Server) -> int:
    """Return the number of open files of a server process."""
    return len(os.listdir(f"/proc/{server.pid}/fd"))
