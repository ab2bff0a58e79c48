"""ReadOnlyIndex: an index that another process writes; every call shows its last commit."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sonicpy.errors import GraphError
from sonicpy.files import PRIVATE, Access
from sonicpy.graph.graph_pool import GraphPool, OpenGraph, graph_folder
from sonicpy.index.engine import Engine
from sonicpy.index.index import Index
from sonicpy.late_logger import LateLogger
from sonicpy.store.changing.any_store import AnyStore
from sonicpy.store.disk.open_folders import FolderClaim
from sonicpy.store.read_only_store import ReadOnlyStore

logger = LateLogger(__name__)

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")

TRIES = 5
"""The most attempts of a read: a missing graph was replaced by a later commit, and its successor may be replaced,
too.
"""


class GraphReplaced(GraphError):
    """The file of a graph is gone: it was replaced after the snapshot that names it."""

    def __init__(self, path: Path, bucket: int, version: int) -> None:
        super().__init__(f"the word graph {path} is gone")
        self.bucket = bucket
        self.version = version


class ReaderGraphPool(GraphPool):
    """Graphs that another process writes, replaces and deletes."""

    def __init__(self, folder: Path, access: Access = PRIVATE) -> None:
        super().__init__(folder, access)
        self._unreadable: dict[int, int] = {}
        self._missing: set[int] = set()

    def opened(self, bucket: int, version: int) -> OpenGraph | None:
        """Return the graph of a bucket as the pool has it; None: there is none, or it cannot be read.

        Raises:
            GraphReplaced: a later commit has another graph.
        """
        if version <= self._unreadable.get(bucket, -1):
            return None
        opened = super().opened(bucket, version)
        if opened is None and version and not self.path(bucket, version).exists():
            self.broken.discard(bucket)
            raise GraphReplaced(self.path(bucket, version), bucket, version)
        return opened

    def go_without(self, bucket: int, version: int) -> None:
        """Stop using a graph up to this version: words are found, but typing errors are not corrected."""
        logger.error("the word graph %s is missing; until the writer builds it again, words are not corrected",
                     self.path(bucket, version))  # fmt: skip
        self._unreadable[bucket] = version
        self._missing.add(bucket)

    def take_broken(self) -> set[int]:
        """Return the buckets whose graph could not be read or is missing, and forget them."""
        missing, self._missing = self._missing, set()
        return missing | super().take_broken()


class ReadOnlyEngine(Engine):
    """A folder that another process may write; every change raises ReadOnly."""

    graphs: ReaderGraphPool
    read_only = True

    def _open_store(self, folder: Path, claim: FolderClaim) -> AnyStore:
        self.graphs = ReaderGraphPool(graph_folder(folder), self.access)
        kv = self.config.store.kv
        store = claim.open(
            ReadOnlyStore,
            folder,
            self.analyzer(),
            older=self.older_analyzer(),
            map_bytes=kv.map_size_mb << 20,
            postings_max_bytes=kv.query_cache_mb << 20,
            access=self.access,
        )
        self.follow(store.made_with())
        return store.any_store()

    def _drop_leftovers(self) -> None:
        """Do nothing: leftovers belong to the process that writes the folder."""

    def commit_before_reading(self) -> None:
        """Do nothing: there is nothing to commit."""


def retried(method: Callable[Concatenate["ReadOnlyIndex", Arguments], Value]) -> Callable[..., Any]:
    """Return a method of Index, wrapped so that it starts again in a newer snapshot if a graph was replaced while it
    ran."""

    @functools.wraps(method)
    def retrying(index: "ReadOnlyIndex", *args: Arguments.args, **kwargs: Arguments.kwargs) -> Value:
        for _ in range(TRIES):
            try:
                return method(index, *args, **kwargs)
            except GraphReplaced as error:
                gone = error
        while True:  # several buckets may lack theirs
            index._engine.graphs.go_without(gone.bucket, gone.version)
            try:
                return method(index, *args, **kwargs)
            except GraphReplaced as error:
                gone = error

    return retrying


class ReadOnlyIndex(Index):
    """An index in a folder that this process does not change; every change raises ReadOnly."""

    _engine_class = ReadOnlyEngine
    _engine: ReadOnlyEngine
    read_only = True

    # The methods that look into word graphs.
    find_facets = retried(Index.find_facets)
    find_hits = retried(Index.find_hits)
    find_ids = retried(Index.find_ids)
    find_reasons = retried(Index.find_reasons)
    similar = retried(Index.similar)
    suggest = retried(Index.suggest)
    words = retried(Index.words)
