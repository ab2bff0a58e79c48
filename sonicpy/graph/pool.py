"""The open word graphs of a store: opened when first asked for, closed when idle.

<folder>/<bucket>-<version>.graph     both in decimal; written under another name and renamed when whole
"""

import contextlib
import logging
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sonicpy.errors import GraphError
from sonicpy.graph.word_graph import WordGraph

logger = logging.getLogger(__name__)

FILE_NAME = re.compile(r"(\d+)-(\d+)\.graph(\.new)?")


class Name(NamedTuple):
    """Which graph a file holds."""

    bucket: int
    version: int


@dataclass(slots=True)
class OpenGraph:
    """A graph and when it was last asked for."""

    version: int
    graph: WordGraph
    used_s: float


class GraphPool:
    """Graphs by bucket.

    Args:
        folder: where the files are; created when the first is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.broken: set[int] = set()
        """Buckets whose graph could not be opened: to be consolidated again."""
        self.unwanted: list[Name] = []
        """Graphs of flushed buckets whose files are still to be deleted."""
        self._open: dict[int, OpenGraph] = {}

    def __len__(self) -> int:
        return len(self._open)

    def get(self, bucket: int, version: int) -> WordGraph | None:
        """Return the graph of a bucket; None: there is none (version 0), or it is broken and noted as that.

        Whoever still looks at an older version of the bucket gets the newer graph, since the older file is gone.
        """
        held = self._open.get(bucket)
        if held is None or held.version < version:
            graph = self._read(bucket, version)
            if graph is None:
                return None
            held = self._open[bucket] = OpenGraph(version, graph, 0.0)
        held.used_s = time.monotonic()
        return held.graph

    def path(self, bucket: int, version: int) -> Path:
        """Return where the graph of a bucket is."""
        return self.folder / f"{bucket}-{version}.graph"

    def write(self, bucket: int, version: int, content: bytes) -> None:
        """Write a graph so that it is there as a whole or not at all.

        Raises:
            GraphError: it could not be written.
        """
        path = self.path(bucket, version)
        fresh = path.with_name(f"{path.name}.new")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(fresh, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
        except OSError as error:
            raise GraphError(f"cannot write the word graph {path}: {error.strerror}") from error

    def remove(self, bucket: int, version: int) -> None:
        """Delete a graph that is not needed any more; whoever still reads it can go on."""
        with contextlib.suppress(OSError):  # the next start tries again
            self.path(bucket, version).unlink()

    def forget(self, bucket: int, version: int) -> None:
        """Close the graph of a bucket that was flushed and leave its file to `sweep`; version 0: there is none."""
        self.broken.discard(bucket)
        self.close(bucket)
        if version:
            self.unwanted.append(Name(bucket, version))

    def sweep(self, files: int) -> None:
        """Delete at most so many files of flushed buckets."""
        for _ in range(min(files, len(self.unwanted))):
            self.remove(*self.unwanted.pop())

    def close(self, bucket: int) -> None:
        """Forget the open graph of a bucket."""
        self._open.pop(bucket, None)

    def close_idle(self, seconds: float) -> None:
        """Forget the graphs that nobody has asked for in so long."""
        limit = time.monotonic() - seconds
        for bucket in [bucket for bucket, held in self._open.items() if held.used_s < limit]:
            del self._open[bucket]

    def tidy(self, named: set[Name]) -> None:
        """Delete files of graphs that are not in `named`, and note the buckets whose graph is missing."""
        present = set()
        for path in self.folder.glob("*.graph*"):
            found = FILE_NAME.fullmatch(path.name)
            if found is None:
                continue  # a file of somebody else
            name = Name(int(found[1]), int(found[2]))
            if found[3] or name not in named:
                with contextlib.suppress(OSError):  # the next start tries again
                    path.unlink()
            else:
                present.add(name)
        self.broken |= {name.bucket for name in named - present}

    def _read(self, bucket: int, version: int) -> WordGraph | None:
        if version == 0 or bucket in self.broken:
            return None
        try:
            return WordGraph(self.path(bucket, version))
        except GraphError as error:
            logger.error("%s: it is built again", error)
            self.broken.add(bucket)
            return None


def graph_folder(store: Path) -> Path:
    """Return the folder that holds the graphs of a store."""
    return store / "graph"
