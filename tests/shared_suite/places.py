"""Every place an index can be, behind the same methods: a folder, memory, our server in both modes, Sonic itself.

What a place does not offer raises NotOffered, which the tests of the suite ask for by name: nothing is passed over.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from benchmarks.versus import servers
from tests.client.ways import WAYS
from tests.processes import Server

LIBRARY = ("folder", "memory")
SERVERS = ("ours", "compat", "Sonic")
NAMES = [*LIBRARY, *(f"{server}, {way}" for server in SERVERS for way in WAYS)]
PASSWORD = "p@ss/word:%"


@dataclass(frozen=True)
class Place:
    """An index somewhere.

    Attributes:
        index: Index, Client, or an AsyncClient whose methods block.
        kind: "folder", "memory", "ours", "compat" or "Sonic".
        folder: where it may write, if it runs on this machine.
    """

    index: Any
    kind: str
    folder: Path

    @property
    def is_wire(self) -> bool:
        """Whether there is a server in between."""
        return self.kind in SERVERS

    @property
    def is_default(self) -> bool:
        """Whether it is ours in the default mode: with scores, totals, figures and explanations."""
        return self.kind not in ("compat", "Sonic")


@contextmanager
def opened(name: str, folder: Path) -> Iterator[Place]:
    """The place of a name, while a `with` block lasts; skip where there is no binary of Sonic."""
    kind, _, way = name.partition(", ")
    if not way:
        path = ":memory:" if kind == "memory" else folder / "store"
        with sonicpy.open(path) as index:
            yield Place(index, kind, folder)
        return
    with _serving(kind, folder) as url, WAYS[way](url) as client:
        yield Place(client, kind, folder)


@contextmanager
def _serving(kind: str, folder: Path) -> Iterator[str]:
    if kind == "Sonic":
        binary = servers.find_sonic()
        if binary is None:
            pytest.skip("no Sonic: neither SONIC_BIN nor sonic on the PATH")
        with servers.Sonic("Sonic", folder / "sonic", binary) as sonic:
            yield f"sonic://:{servers.PASSWORD}@{servers.HOST}:{sonic.port}"
        return
    settings = {"server.compat": "sonic"} if kind == "compat" else {}
    with Server(folder, settings, password=PASSWORD) as server:
        yield f"sonic://:p%40ss%2Fword%3A%25@{server.host}:{server.port}"
