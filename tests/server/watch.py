"""The cost of an attack for a server and its other peers, measured from outside: its memory, and the times of PINGs."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.processes import Server

ROOT = Path(__file__).parents[2]
LOOK_S = 0.01


@dataclass(slots=True)
class Seen:
    """The measurements; the times are set at the end of the watch.

    Attributes:
        rss_bytes: the largest memory of the server in bytes.
        ping_s: the slowest PING, without the time for which the server had no core.
        busy_s: the longest time for which the busy machine delayed a process that was ready to run.
    """

    rss_bytes: int = 0
    ping_s: float = 0.0
    busy_s: float = 0.0


@contextmanager
def watch(server: Server) -> Iterator[Seen]:
    """Measure the largest memory of a server and its slowest PING inside a `with` block."""
    seen = Seen(server.rss_bytes())
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_S):
            seen.rss_bytes = max(seen.rss_bytes, server.rss_bytes())

    where = [server.host, str(server.port), server.password or "-", str(server.pid)]
    command = [sys.executable, "-m", "tests.server.watcher", *where]
    looking = threading.Thread(target=look)
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        try:
            assert process.stdout.readline() == b"watching\n"
            looking.start()
            yield seen
            process.stdin.close()
            seen.ping_s, seen.busy_s = map(float, process.stdout.readline().split())
        finally:
            ended.set()
            process.kill()
    looking.join()
    assert server.rss_bytes() > 0, "it is still there"
