"""A server that measures how long its event loop is blocked: python -m tests.attacks.watched_server [FLAG OF SERVE ...]

It writes its announcement; then, for each line on its standard input, it writes the longest CPU time in seconds between
two turns of the loop since the line before. Between two turns no connection is served. CPU time is measured because a
busy machine may stop the process anywhere.
"""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from sonicpy.cli.main import main
from sonicpy.server.server import Server
from tests.processes import HOST, environment, free_port
from tests.support.patience import WAIT_S


class Watched:
    """A server that runs in a process of its own, and measures its event loop.

    Args:
        settings: dotted keys and their values.
    """

    def __init__(self, folder: Path, settings: Mapping[str, object]) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", __name__, "--inet", f"{HOST}:{self.port}", "--data", str(folder / "store")]
        self._process = subprocess.Popen(
            command, env=environment(settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert "listens on" in self._answer()

    def longest_hold_s(self) -> float:
        """Return the longest CPU time between two turns of the loop since the call before."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._answer())

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Stop the process inside a `with` block, so that bytes sent meanwhile arrive together."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """End the server."""
        self._process.terminate()
        self._process.communicate(timeout=WAIT_S)

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@contextmanager
def watched(folder: Path, settings: Mapping[str, object]) -> Iterator[Watched]:
    """Run a watched server for the length of a `with` block, and yield it."""
    server = Watched(folder, settings)
    try:
        yield server
    finally:
        server.end()


class Ticker:
    """A callback that runs once in each turn of the present loop, and measures the CPU time between turns."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._longest_s = 0.0
        self._last_s = time.thread_time()
        self._loop.add_reader(sys.stdin.fileno(), self._report)
        self._tick()

    def _tick(self) -> None:
        now_s = time.thread_time()
        self._longest_s = max(self._longest_s, now_s - self._last_s)
        self._last_s = now_s
        self._loop.call_soon(self._tick)

    def _report(self) -> None:
        if not sys.stdin.readline():
            self._loop.remove_reader(sys.stdin.fileno())
            return
        print(self._longest_s, flush=True)
        self._longest_s = 0.0


def serve() -> int:
    """Serve until a signal; return the exit status."""
    run = Server.run

    async def run_watched(server: Server) -> None:
        Ticker()
        await run(server)

    with mock.patch.object(Server, "run", run_watched):
        return main(["serve", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(serve())
