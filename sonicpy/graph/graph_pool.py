"""The open word graphs of a store: the pool opens a graph at its first use and closes it when it is idle.

<folder>/<bucket>-<version>.graph     both numbers in decimal; written under another name, renamed when complete
"""

import contextlib
import os
import re
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

from sonicpy.disk import sync_file, sync_file_system, sync_folder
from sonicpy.errors import GraphError, StoreError
from sonicpy.files import PRIVATE, Access, make_all, new_bytes
from sonicpy.graph.word_graph import WordGraph
from sonicpy.late_logger import LateLogger

logger = LateLogger(__name__)

FILES_ENOUGH = 100
"""The number of files up to which small buckets get graphs, too."""
SYNCED_TOGETHER = 16
"""The number of files from which on one call syncs the whole file system, instead of each file."""
FILE_NAME = r"(\d+)-(\d+)\.graph(\.new)?"


class GraphName(NamedTuple):
    """The name of a file: the graph of a bucket at one lexicon version."""

    bucket: int
    version: int


class Unwanted(NamedTuple):
    """A file to delete once the disk holds the commit that no longer needs it: a loss of power undoes later commits."""

    commit: int
    name: GraphName


class OpenGraph:
    """A graph (None: the pool has closed it) and the time of its last use."""

    __slots__ = ("graph", "used_s", "version")

    def __init__(self, version: int, graph: WordGraph) -> None:
        self.version = version
        self.graph: WordGraph | None = graph
        self.used_s = 0.0


class GraphPool:
    """The open graphs of a store, by bucket, and the files of all its graphs.

    Args:
        folder: the folder of the files; `write` creates it.
        access: modes of new files.
    """

    def __init__(self, folder: Path, access: Access = PRIVATE) -> None:
        self.folder = folder
        self._access = access
        self.broken: set[int] = set()
        """The buckets whose graph could not be opened; consolidation builds it again."""
        self.outdated: set[int] = set()
        """The buckets whose graph has an older format, without the parts of words; consolidation builds it again."""
        self._unwanted: deque[Unwanted] = deque()  # by rising commit
        self._open: dict[int, OpenGraph] = {}
        self._files: int | None = None

    def __len__(self) -> int:
        return len(self._open)

    def get(self, bucket: int, version: int) -> WordGraph | None:
        """Return the graph of a bucket; None: the bucket has none (version 0), or is in `broken`.

        A snapshot of an older version gets the newer graph, since the older file is gone.
        """
        opened = self.opened(bucket, version)
        return None if opened is None else opened.graph

    def opened(self, bucket: int, version: int) -> OpenGraph | None:
        """Return the graph that `get` returns, or None, in its OpenGraph: a query that needs it many times keeps
        that.
        """
        opened = self._open.get(bucket)
        if opened is None or opened.version < version:
            graph = self._read(bucket, version)
            if graph is None:
                return None
            self.close(bucket)
            opened = self._open[bucket] = OpenGraph(version, graph)
        opened.used_s = time.monotonic()
        return opened

    @property
    def unusable(self) -> set[int]:
        """The buckets in `broken` and in `outdated`, whose graphs have to be built again."""
        return self.broken | self.outdated

    def take_broken(self) -> set[int]:
        """Return the buckets in `broken` and in `outdated`, and forget them."""
        unusable = self.unusable
        self.broken, self.outdated = set(), set()
        return unusable

    def note_built(self, bucket: int) -> None:
        """Note that the graph of a bucket was built again."""
        self.broken.discard(bucket)
        self.outdated.discard(bucket)

    def path(self, bucket: int, version: int) -> Path:
        """Return the path of the file for the graph of a bucket in this version."""
        return self.folder / f"{bucket}-{version}.graph"

    @property
    def has_room(self) -> bool:
        """Whether a small bucket may get a graph, too. Files that other processes write are noticed late."""
        if self._files is None:
            self._files = sum(1 for _ in self.folder.glob("*.graph"))
        return self._files < FILES_ENOUGH

    def write(self, bucket: int, version: int, content: bytes, *, sync: bool = True) -> None:
        """Write a graph and sync it before it gets its name, so that a file is complete or missing.

        Args:
            version: the version of the graph, a part of the name of the file.
            content: the bytes that `WordGraphBuilder.finish` returned.
            sync: False: the caller calls `sync_all` before it stores a reference to the graph.

        Raises:
            GraphError: the file could not be written.
        """
        path, files = self.path(bucket, version), self._files
        self._files = None if files is None else files + 1
        fresh = path.with_name(f"{path.name}.new") if sync else path
        try:
            with self._opened(fresh) as file:
                file.write(content)
                if sync:
                    file.flush()
                    sync_file(file.fileno())
            if sync:
                os.replace(fresh, path)
        except OSError as error:
            raise GraphError(f"cannot write the word graph {path}: {error.strerror}") from error

    def sync_all(self, written: Iterable[GraphName]) -> None:
        """Wait until the disk holds graphs that were written without `sync`.

        Raises:
            GraphError: the disk failed.
        """
        names = list(written)
        try:
            if len(names) < SYNCED_TOGETHER or not sync_file_system(self.folder):
                for name in names:
                    with open(self.path(*name), "rb") as file:
                        sync_file(file.fileno())
        except OSError as error:
            raise GraphError(f"cannot write the word graphs in {self.folder}: {error.strerror}") from error

    def remove(self, bucket: int, version: int) -> None:
        """Delete the file of a graph that is no longer needed; a search that has the graph open is not disturbed."""
        self._files = None  # it may have been written by another process
        with contextlib.suppress(OSError):  # the next start tries again
            self.path(bucket, version).unlink()

    def leave(self, bucket: int, version: int, commit: int) -> None:
        """Leave the file of a graph to `sweep`.

        Args:
            commit: the first commit that does not refer to the graph.
        """
        self._unwanted.append(Unwanted(commit, GraphName(bucket, version)))

    def forget(self, bucket: int, version: int, commit: int) -> None:
        """Close the graph of a bucket that `commit` flushed and leave its file to `sweep`; version 0: no graph."""
        self.note_built(bucket)
        self.close(bucket)
        if version:
            self.leave(bucket, version, commit)

    def has_unwanted(self, checkpoint: int) -> bool:
        """Return whether `sweep` has files to delete: those to which no commit from `checkpoint` on refers."""
        return bool(self._unwanted) and self._unwanted[0].commit <= checkpoint

    def sweep(self, files: int, checkpoint: int) -> None:
        """Delete at most `files` files to which no commit from `checkpoint` on refers."""
        done = 0
        while done < files and self.has_unwanted(checkpoint):
            self.remove(*self._unwanted[0].name)
            self._unwanted.popleft()
            done += 1

    def close(self, bucket: int) -> None:
        """Close the graph of a bucket."""
        opened = self._open.pop(bucket, None)
        if opened is not None:
            opened.graph = None

    def close_idle(self, seconds: float) -> None:
        """Close the graphs that have not been used for `seconds` seconds."""
        limit = time.monotonic() - seconds
        for bucket in [bucket for bucket, opened in self._open.items() if opened.used_s < limit]:
            self.close(bucket)

    def tidy(self, named: set[GraphName]) -> None:
        """Delete the files of graphs that are not in `named`, and add buckets whose file is missing to `broken`."""
        present = set()
        for path in self.folder.glob("*.graph*"):
            found = re.fullmatch(FILE_NAME, path.name)
            if found is None:
                continue  # not a file of the pool
            name = GraphName(int(found[1]), int(found[2]))
            if found[3] or name not in named:
                with contextlib.suppress(OSError):  # the next start tries again
                    path.unlink()
            else:
                present.add(name)
        self.broken |= {name.bucket for name in named - present}

    def _opened(self, path: Path) -> IO[bytes]:
        """Return a new file, open for writing; create the folder if it is missing."""
        try:
            return new_bytes(path, self._access)
        except FileNotFoundError:
            make_all(self.folder, self._access)
            return new_bytes(path, self._access)

    def _read(self, bucket: int, version: int) -> WordGraph | None:
        if version == 0 or bucket in self.broken:
            return None
        try:
            graph = WordGraph(self.path(bucket, version))
            if not graph.has_aliases:
                self.outdated.add(bucket)
            return graph
        except GraphError as error:
            logger.error("%s; consolidation builds it again", error)
            self.broken.add(bucket)
            return None


def graph_folder(store: Path) -> Path:
    """Return the folder that holds the graphs of a store."""
    return store / "graph"


def sync_names(folder: Path) -> None:
    """Wait until the disk has the folder entries of committed graphs, as it has their content. Raises StoreError."""
    try:
        if folder.is_dir():
            sync_folder(folder)
            sync_folder(folder.parent)
    except OSError as error:
        raise StoreError(f"cannot sync {folder}: {error.strerror}") from error
