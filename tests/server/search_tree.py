"""The search processes of a server that a test has started, and their connections; only on Linux."""

import ssl
import time
from pathlib import Path

from tests.processes import Server
from tests.server.peer import Peer
from tests.support import proc
from tests.support.patience import until


def search_processes(server: Server) -> list[int]:
    """Return the ids of the search processes."""
    return [child for child in proc.children(server.pid) if b"spawn_main" in proc.read(child, "cmdline")]


def wait_for(server: Server, count: int = 1) -> list[int]:
    """Wait until a server has `count` ready search processes; return their ids."""

    def ready() -> list[int]:
        found = [process for process in search_processes(server) if has_opened(process)]
        return found if len(found) == count else []

    found = until(ready, f"{count} search processes are ready", pause_s=0.02)
    time.sleep(0.1)  # until the main process has read that they are ready
    return found


def has_opened(process: int) -> bool:
    """Return whether a process has mapped the files of a store."""
    maps = proc.read(process, "maps")
    return b"data.mdb" in maps and b"change" in maps


def moved(server: Server, process: int, unix: Path | None = None, tls: ssl.SSLContext | None = None) -> Peer:
    """Return a connection that the search process serves."""

    def connected() -> Peer | None:
        before = proc.sockets(process)
        peer = Peer(server, "search", unix=unix, tls=tls)
        if proc.sockets(process) > before:
            return peer
        peer.close()
        return None

    peer = until(connected, "a connection goes to the search process", pause_s=0.02)
    assert peer is not None
    return peer
