"""The index of a replica at a node of a cluster: it changes by the cluster's log alone."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sonicpy.graph.graph_pool import GraphPool, graph_folder, sync_names
from sonicpy.index.engine import Engine
from sonicpy.index.index import Index
from sonicpy.index.recorder import Recorder
from sonicpy.index.spread_parts import SpreadParts
from sonicpy.store.changing.any_store import AnyStore
from sonicpy.store.disk.open_folders import FolderClaim
from sonicpy.store.replica_store import ReplicaStore
from sonicpy.store.rows.log_progress import LogProgress


class ReplicaEngine(Engine):
    """The folder of a replica."""

    def _open_store(self, folder: Path, claim: FolderClaim) -> AnyStore:
        self.graphs = GraphPool(graph_folder(folder), self.access)
        kv = self.config.store.kv
        self.replica = claim.open(
            ReplicaStore,
            folder,
            self.analyzer(),
            map_bytes=kv.map_size_mb << 20,
            postings_max_bytes=kv.query_cache_mb << 20,
            access=self.access,
            begins_small=self.live_words,
        )
        self.replica.sync_before(partial(sync_names, self.graphs.folder))
        return self.replica


class ReplicaIndex(SpreadParts, Index):
    """An index that answers as any other, and changes by `apply_batch` alone.

    Args:
        path: the folder, created if it is missing.
        recorder: the recorder of the same node.

    Raises:
        StoreError: like `Index`, or the folder is no replica.
    """

    _engine: ReplicaEngine

    def __init__(self, path: Path, recorder: Recorder) -> None:
        self._engine_class = partial(ReplicaEngine, lexer=recorder.lexer)
        super().__init__(path, recorder.config, autocommit=False)
        self.questions = None  # a node answers for others, which would each count the same questions

    @property
    def progress(self) -> LogProgress:
        """The position of this replica in the cluster's log."""
        return self._engine.replica.progress

    def bucket_rules(self, collection: str, bucket: str) -> int | None:
        """Return the rules of a bucket; None: it does not exist."""
        with self._engine.read() as view:
            state = view.bucket(collection, bucket)
            return None if state is None else view.rules(state.bucket)

    def adopt(self, position: int, epoch: str) -> None:
        """Continue with another log; see `ReplicaStore.adopt`."""
        with self._engine.changing():
            self._engine.replica.adopt(position, epoch)

    def apply_batch(self, records: Sequence[bytes], progress: LogProgress) -> list[int]:
        """Carry out the next entry of the cluster's log; return its results; see `ReplicaStore.apply_batch`."""
        with self._engine.changing():
            return self._engine.replica.apply_batch(records, progress)

    def note_position(self, position: int, epoch: str) -> None:
        """Note, with the next commit, a later position of the cluster's log; see `ReplicaStore.note_position`."""
        with self._engine.changing():
            self._engine.replica.note_position(position, epoch)
