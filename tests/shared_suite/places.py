"""All places where an index can be, with the same methods: a folder, memory, a sonicpy server in both modes, a node of
a cluster, Sonic itself.

A method that a place lacks raises NotOffered. The tests name those methods, so that every difference is noticed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from tests.client.ways import WAYS
from tests.processes import HOST, Server
from tests.support import server_process
from tests.support.server_process import SonicProcess, find_sonic

LIBRARY = ("folder", "memory")
SERVERS = ("ours", "compat", "cluster", "Sonic")
NAMES = [*LIBRARY, *(f"{server}, {way}" for server in SERVERS for way in WAYS)]
PASSWORD = "p@ss/word:%"


@dataclass(frozen=True)
class Place:
    """An index in one of the places.

    Attributes:
        index: Index, Client, or an AsyncClient whose methods block.
        kind: "folder", "memory", "ours", "compat", "cluster" or "Sonic".
        name: one of NAMES.
        folder: a folder where the place may write.
    """

    index: Any
    kind: str
    folder: Path
    name: str

    @property
    def is_wire(self) -> bool:
        """Whether the index is behind a server."""
        return self.kind in SERVERS

    @property
    def is_default(self) -> bool:
        """Whether the index is one of sonicpy in the default mode, with scores, totals, statistics and explanations."""
        return self.kind not in ("compat", "Sonic")


@contextmanager
def opened(name: str, folder: Path) -> Iterator[Place]:
    """Open the place with a name inside a `with` block; skip the test if it needs Sonic, which is not installed."""
    kind, _, way = name.partition(", ")
    if not way:
        path = ":memory:" if kind == "memory" else folder / "store"
        with sonicpy.open(path) as index:
            yield Place(index, kind, folder, name)
        return
    with _serving(kind, folder) as url, WAYS[way](url) as client:
        yield Place(client, kind, folder, name)


@contextmanager
def _serving(kind: str, folder: Path) -> Iterator[str]:
    if kind == "Sonic":
        binary = find_sonic()
        if binary is None:
            pytest.skip("no Sonic: neither SONIC_BIN nor sonic on the PATH")
        with SonicProcess("Sonic", folder / "sonic", binary) as sonic:
            yield f"sonic://:{server_process.PASSWORD}@{HOST}:{sonic.port}"
        return
    if kind == "cluster":
        yield from _a_node(folder)
        return
    settings = {"server.compat": "sonic"} if kind == "compat" else {}
    with Server(folder, settings, password=PASSWORD) as server:
        yield f"sonic://:p%40ss%2Fword%3A%25@{server.host}:{server.port}"


def _a_node(folder: Path) -> Iterator[str]:
    """Yield the URL of a node that holds a third of the partitions, and asks other nodes about the rest."""
    clusters = pytest.importorskip("tests.cluster.clusters", reason="needs nats-py: pip install nats-py")
    with clusters.running(clusters.DevCluster(folder / "cluster", partitions=6, copies=1)) as cluster:
        yield f"sonic://{HOST}:{cluster.node_ports['n1']}"
