"""An Index at a node of a cluster: replicas, changed only by the log, and the recorder, which makes its records."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sonicpy._native.terms import Terms
from sonicpy.config import Config
from sonicpy.errors import StoreError
from sonicpy.graph.pool import GraphPool, graph_folder
from sonicpy.index.engine import Engine, Pushes, sync_names
from sonicpy.index.index import Index
from sonicpy.index.maintenance.maintainer import Maintainer
from sonicpy.index.search.answer_cache import AnswerCache
from sonicpy.index.spread import SpreadParts, SpreadReader
from sonicpy.lexer.lexer import Lexer
from sonicpy.store.changing.any_store import AnyStore
from sonicpy.store.changing.mutations import Mutation, pack_mutation, pack_push
from sonicpy.store.disk.registry import Claim
from sonicpy.store.replica import Progress, ReplicaStore

RECORD_BYTES_MAX = 900 << 10
"""Maximum of a record: a broker takes messages of at most 1 MiB."""


class RecorderEngine(Engine):
    """An engine without a folder: `push` and `apply` keep the record of a change."""

    def __init__(self, config: Config) -> None:  # not Engine's: that one opens a folder
        self.config = config
        self.is_compat = config.server.compat == "sonic"
        self.lexer = self._make_lexer()
        self.record = b""

    def push(self, collection: str, bucket: str, oid: str, terms: Terms) -> None:
        """Keep the record of a PUSH. Raises like `apply`."""
        self._keep(pack_push(collection, bucket, oid, terms))

    def apply(self, mutation: Mutation) -> int:
        """Keep the record of a change; return 0.

        Raises:
            StoreError: the record is too long for the cluster's log.
        """
        self._keep(pack_mutation(mutation))
        return 0

    def _keep(self, record: bytes) -> None:
        if len(record) > RECORD_BYTES_MAX:
            raise StoreError(
                f"a change of {len(record)} bytes of terms is refused: a cluster accepts at most {RECORD_BYTES_MAX}; "
                "split the text"
            )
        self.record = record

    def apply_pushes(self, change: Pushes, *, new: bool) -> None:
        """Refuse: a node changes one object at a time. Raises StoreError."""
        raise StoreError(f"{len(change.pushes)} changes at once are refused: a node of a cluster takes them one by one")


class Recorder(SpreadReader, Index):
    """An index without content, whose changing methods check arguments and make a record for `take_record`."""

    _engine: RecorderEngine

    def __init__(self, config: Config) -> None:  # not Index's: that one opens a folder
        self._engine = RecorderEngine(config)
        self.config = config

    @property
    def lexer(self) -> Lexer:
        """The lexer, shared by the replicas of the node because its tables take memory."""
        return self._engine.lexer

    def analyzer(self) -> dict[str, str]:
        """Return the analysis settings; see `Engine.analyzer`."""
        return self._engine.analyzer()

    def take_record(self) -> bytes:
        """Return the record of the last change."""
        return self._engine.record


class ReplicaEngine(Engine):
    """The folder of a replica.

    Args:
        path, config: as `Engine`.
        lexer: the lexer of the node's recorder.
    """

    def __init__(self, path: Path, config: Config, lexer: Lexer) -> None:
        self._shared_lexer = lexer
        super().__init__(path, config, autocommit=False)

    def _make_lexer(self) -> Lexer:
        return self._shared_lexer

    def _open_store(self, folder: Path, claim: Claim) -> AnyStore:
        self.graphs = GraphPool(graph_folder(folder), self.access)
        kv = self.config.store.kv
        self.replica = claim.open(
            ReplicaStore,
            folder,
            self.analyzer(),
            map_bytes=kv.map_size_mb << 20,
            postings_max_bytes=kv.query_cache_mb << 20,
            access=self.access,
        )
        self.replica.sync_before(partial(sync_names, self.graphs.folder))
        return self.replica


class ReplicaIndex(SpreadParts, Index):
    """An index that changes only by `apply_batch`.

    Args:
        path: the folder, created if it is missing.
        recorder: of the same node.

    Raises:
        StoreError: like `Index`, or the folder is no replica.
    """

    _engine: ReplicaEngine

    def __init__(self, path: Path, recorder: Recorder) -> None:  # not Index's: that one makes another engine
        self._engine = ReplicaEngine(path, recorder.config, recorder.lexer)
        self.folder = self._engine.folder
        self.config = self._engine.config
        self.maintainer = Maintainer(self._engine)
        self._kept = AnswerCache()

    @property
    def progress(self) -> Progress:
        """The position of this replica in the cluster's log."""
        return self._engine.replica.progress

    def adopt(self, position: int, epoch: str) -> None:
        """Continue with another log; see `ReplicaStore.adopt`."""
        with self._engine.changing():
            self._engine.replica.adopt(position, epoch)

    def apply_batch(self, records: Sequence[bytes], progress: Progress) -> list[int]:
        """Carry out the next entry of the cluster's log; see `ReplicaStore.apply_batch`."""
        with self._engine.changing():
            return self._engine.replica.apply_batch(records, progress)

    def note_position(self, position: int, epoch: str) -> None:
        """Store a later position of the cluster's log with the next commit; see `ReplicaStore.note_position`."""
        with self._engine.changing():
            self._engine.replica.note_position(position, epoch)
