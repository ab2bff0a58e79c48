"""How long a server takes by itself: without the time for which a busy machine gave nobody a core to run on."""

import contextlib
import time
from pathlib import Path

from tests.processes import Server
from tests.server.peer import Peer

HERE = Path("/proc/thread-self")


def ping_s(server: Server, peer: Peer) -> float:
    """Return the duration of a PING, less the time for which this thread had no core, and the longest for which one of
    the server's had none: that one may hold what the others need."""
    before = _waited_s(server)
    began = time.perf_counter()
    assert peer.ask("PING") == "PONG"
    took = time.perf_counter() - began
    waited = {thread: seconds - before.get(thread, 0.0) for thread, seconds in _waited_s(server).items()}
    return max(0.0, took - waited.pop(HERE, 0.0) - max(waited.values(), default=0.0))


def _waited_s(server: Server) -> dict[Path, float]:
    """Return for how long each thread was ready and had no core since it began; nothing on systems that do not tell."""
    found = {}
    for thread in (HERE, *Path(f"/proc/{server.pid}/task").glob("*")):
        with contextlib.suppress(OSError):  # it has ended, or this system has no such file
            found[thread] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return found
