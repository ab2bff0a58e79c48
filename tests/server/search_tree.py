"""The search processes of a server that a test started, and what they serve. Linux only."""

import os
import ssl
import time
from pathlib import Path

import pytest

from tests.processes import Server
from tests.server.peer import Peer

WAIT_S = 15.0


def search_processes(server: Server) -> list[int]:
    """Return the ids of the search processes."""
    found = []
    for children in Path(f"/proc/{server.pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            if b"spawn_main" in command_line(child):
                found.append(child)
    return found


def command_line(process: int) -> bytes:
    """Return how a process was started; empty if it is gone."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def is_running(process: int) -> bool:
    """Whether a process is there and no zombie."""
    return bool(command_line(process))


def sockets(process: int) -> int:
    """Return how many sockets a process has open."""
    count = 0
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        try:
            count += os.readlink(descriptor).startswith("socket:")
        except OSError:
            continue
    return count


def wait_for(server: Server, count: int = 1) -> list[int]:
    """Wait until a server has so many search processes, all of them ready; return their ids."""
    deadline = time.monotonic() + WAIT_S
    while True:
        found = [process for process in search_processes(server) if b"change" in opened(process)]
        if len(found) == count:
            time.sleep(0.1)  # until the main process has read that they are ready
            return found
        assert time.monotonic() < deadline, f"{found} are ready, not {count}"
        time.sleep(0.02)


def opened(process: int) -> bytes:
    """Return the names of the files that a process has mapped, once it has opened a store; empty before."""
    try:
        maps = Path(f"/proc/{process}/maps").read_bytes()
    except OSError:
        return b""
    return maps if b"data.mdb" in maps else b""


def moved(server: Server, process: int, unix: Path | None = None, tls: ssl.SSLContext | None = None) -> Peer:
    """Return a connection that the search process serves."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        before = sockets(process)
        peer = Peer(server, "search", unix=unix, tls=tls)
        if sockets(process) > before:
            return peer
        peer.close()
        time.sleep(0.02)
    pytest.fail("no connection went to the search process")
