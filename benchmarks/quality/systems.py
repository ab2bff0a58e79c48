"""The servers to compare: ours, and the original Sonic if it is installed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers.servers import Server, Sonic, Sonicpy
from sonicpy.client.blocking.connect import connect
from sonicpy.evaluation.searched import Searched
from tests.processes import HOST
from tests.support.server_process import PASSWORD, find_sonic

OURS, SONIC = "sonicpy", "Sonic"
TIMEOUT_S = 600.0
"""A consolidation may take minutes."""


def servers(folder: Path) -> list[Server]:
    """Return the servers to compare, not started yet, each with its own folder below `folder`."""
    found: list[Server] = [Sonicpy(OURS, folder / "ours")]
    if binary := find_sonic():
        found.append(Sonic(SONIC, folder / "sonic", binary))
    return found


@contextmanager
def asked(server: Server) -> Iterator[Searched]:
    """Start a server and yield a client of it."""
    with server, connect(f"sonic://:{PASSWORD}@{HOST}:{server.port}", timeout_s=TIMEOUT_S) as client:
        yield client


@contextmanager
def all_systems(folder: Path) -> Iterator[Mapping[str, Searched]]:
    """Start the servers and yield every system by name."""
    found = servers(folder)
    with asked(found[0]) as ours:
        systems: dict[str, Searched] = {OURS: ours}
        if len(found) == 1:
            yield systems
            return
        with asked(found[1]) as sonic:
            yield systems | {SONIC: sonic}
