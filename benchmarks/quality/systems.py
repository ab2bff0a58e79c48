"""The servers to compare: sonicpy, and the original Sonic if it is installed."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.peers.ours import connect
from benchmarks.peers.servers import Sonicpy, open_sonic
from sonicpy.evaluation.searched import Searched

OURS, SONIC = "sonicpy", "Sonic"
TIMEOUT_S = 600.0
"""The longest wait for an answer in seconds, because a consolidation may take minutes."""


@contextmanager
def all_systems(folder: Path) -> Iterator[Mapping[str, Searched]]:
    """Start the servers that are installed, each with a folder of its own; yield their clients by name."""
    with ExitStack() as stack:
        found: dict[str, Searched] = {}
        for server in (Sonicpy(OURS, folder / "ours"), *open_sonic(SONIC, folder / "sonic")):
            stack.enter_context(server)
            found[server.name] = stack.enter_context(connect(server, timeout_s=TIMEOUT_S))
        yield found
