"""How long a server takes by itself: without the time for which a busy machine gave nobody a core to run on."""

import contextlib
import time
from pathlib import Path

from tests.processes import Server
from tests.server.peer import Peer


def ping_s(server: Server, peer: Peer) -> float:
    """Return the duration of a PING, less the time that this thread and the server's threads waited for a core."""
    waited = _waited_s(server)
    began = time.perf_counter()
    assert peer.ask("PING") == "PONG"
    took = time.perf_counter() - began
    return max(0.0, took - (_waited_s(server) - waited))


def _waited_s(server: Server) -> float:
    """Return for how long threads were ready and had no core since they began; 0.0 on systems that do not tell."""
    threads = [Path("/proc/thread-self"), *Path(f"/proc/{server.pid}/task").glob("*")]
    nanoseconds = 0
    for thread in threads:
        with contextlib.suppress(OSError):  # it has ended, or this system has no such file
            nanoseconds += int((thread / "schedstat").read_text().split()[1])
    return nanoseconds / 1e9
