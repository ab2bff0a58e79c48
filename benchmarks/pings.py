"""The delays of PINGs while a server answers something else."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import sonicpy
from benchmarks.measure import percentile
from tests.processes import HOST, Server

PAUSE_S = 0.005
Ask = Callable[[sonicpy.Client], object]


class Pinging:
    """A thread that sends a PING every few milliseconds inside a `with` block.

    The machine may let the thread wait, too: `late_ms` is the time by which its pauses are too long.
    """

    def __init__(self, server: Server) -> None:
        self.times_ms: list[float] = []
        self.late_ms: list[float] = []
        self._server = server
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with sonicpy.connect(f"sonic://{HOST}:{self._server.port}") as client:
            paused = time.perf_counter()
            while not self._ended.wait(PAUSE_S):
                began = time.perf_counter()
                self.late_ms.append((began - paused - PAUSE_S) * 1e3)
                client.ping()
                paused = time.perf_counter()
                self.times_ms.append((paused - began) * 1e3)

    def __enter__(self) -> "Pinging":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def __str__(self) -> str:
        held = sorted(self.times_ms)
        late = percentile(sorted(self.late_ms), 99)
        return (
            f"PING p50 {percentile(held, 50):.1f}, p99 {percentile(held, 99):.1f}, worst {held[-1]:.1f} ms, "
            f"machine late by {late:.1f} ms"
        )


def print_pings(folder: Path, asked: Mapping[str, Iterable[Ask]], settings: Mapping[str, object] | None = None) -> None:
    """Print the delays of PINGs beside questions that one connection asks one after the other.

    Args:
        folder: a folder with an index in its folder `store`, which is not open.
        asked: the questions by their kind.
        settings: those of the server, as dotted keys.
    """
    with Server(folder, settings) as server, sonicpy.connect(f"sonic://{HOST}:{server.port}") as client:
        for kind, asks in asked.items():
            with Pinging(server) as pinging:
                for ask in asks:
                    ask(client)
            print(f"  beside {kind:33}{pinging}", flush=True)
