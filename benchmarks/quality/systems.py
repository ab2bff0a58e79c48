"""What is compared: our server, plain BM25, and a real Sonic where there is one (SONIC_BIN)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.quality.bm25 import PlainBm25
from benchmarks.versus.servers import HOST, PASSWORD, Server, Sonic, Sonicpy, find_sonic
from sonicpy.client.blocking.connect import connect
from sonicpy.evaluation.searched import Searched

OURS, BM25, SONIC = "sonicpy", "plain BM25", "Sonic"
TIMEOUT_S = 600.0
"""A server may take minutes to consolidate."""


def servers(folder: Path) -> list[Server]:
    """Return the servers to compare, not started, each in a folder of its own below `folder`."""
    found: list[Server] = [Sonicpy(OURS, folder / "ours")]
    if binary := find_sonic():
        found.append(Sonic(SONIC, folder / "sonic", binary))
    return found


@contextmanager
def asked(server: Server) -> Iterator[Searched]:
    """Start a server and connect to it."""
    with server, connect(f"sonic://:{PASSWORD}@{HOST}:{server.port}", timeout_s=TIMEOUT_S) as client:
        yield client


@contextmanager
def all_systems(folder: Path) -> Iterator[Mapping[str, Searched]]:
    """Yield every system by name, servers started."""
    found = servers(folder)
    with asked(found[0]) as ours:
        systems: dict[str, Searched] = {OURS: ours, BM25: PlainBm25()}
        if len(found) == 1:
            yield systems
            return
        with asked(found[1]) as sonic:
            yield systems | {SONIC: sonic}
