"""An Index at a node of a cluster: replicas, which change by the cluster's log alone, and the recorder,
which turns changes into records of that log.
"""

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
from sonicpy.rules import FIRST
from sonicpy.store.changing.any_store import AnyStore
from sonicpy.store.changing.mutations import Mutation, pack_mutation, pack_push
from sonicpy.store.disk.registry import Claim
from sonicpy.store.replica import ReplicaStore
from sonicpy.store.rows.progress import Progress

RECORD_BYTES_MAX = 900 << 10
"""A broker takes messages of at most 1 MiB."""


class RecorderEngine(Engine):
    """An engine without a folder: `push` and `apply` keep the record of a change."""

    def __init__(self, config: Config) -> None:  # not Engine's: that one opens a folder
        self.config = config
        self.is_compat = config.server.compat == "sonic"
        self.lexer = self._make_lexer().under(FIRST)
        self._older: dict[tuple[str, str], Lexer] = {}
        self.record = b""
        self.bucket_rules: int | None = None
        """Of the bucket of the next change; None: those of a new one."""

    def push(self, collection: str, bucket: str, oid: str, terms: Terms, rules: int) -> None:
        """Keep the record of a PUSH.

        Raises:
            StoreError: as `apply`; or nodes that are not upgraded would not know the rules of the text.
        """
        if rules > self.lexer.rules:  # an import, too, waits for the upgrade
            raise StoreError(
                f"the terms of {oid} were cut by the rules {rules}, the cluster writes the rules {self.lexer.rules}: "
                "upgrade every node, then run sonicpy cluster upgrade"
            )
        self._keep(pack_push(collection, bucket, oid, terms, rules))

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

    def lexer_of(self, collection: str, bucket: str) -> Lexer:
        """Return the lexer of the rules that the node has found for the bucket of the next change."""
        return self.lexer if self.bucket_rules is None else self.lexer.under(self.bucket_rules)

    read_lexer = lexer_of

    def take_rules(self, rules: int) -> None:
        """Cut texts of new buckets by these rules from now on; compat mode has only one."""
        if not self.is_compat:
            self.lexer = self.lexer.under(rules)


class Recorder(SpreadReader, Index):
    """An index whose methods that change something only check their arguments and make a record: call one, then
    `take_record`. It holds nothing and answers nothing.
    """

    _engine: RecorderEngine

    def __init__(self, config: Config) -> None:  # not Index's: that one opens a folder
        self._engine = RecorderEngine(config)
        self.config = config

    @property
    def lexer(self) -> Lexer:
        """For the replicas of the same node: its tables take memory."""
        return self._engine.lexer

    def take_rules(self, rules: int) -> None:
        """Cut texts of new buckets by these rules from now on, which every node has to know."""
        self._engine.take_rules(rules)

    def take_bucket(self, rules: int | None) -> None:
        """Cut the text of the next change by these rules of its bucket; None: by those of a new one."""
        self._engine.bucket_rules = rules

    def analyzer(self) -> dict[str, str]:
        """Return what decides which terms of a text are stored; see `Engine.analyzer`."""
        return self._engine.analyzer()

    def take_record(self) -> bytes:
        """Return the record of the last change."""
        return self._engine.record


class ReplicaEngine(Engine):
    """The folder of a replica.

    Args:
        path, config: as `Engine`.
        lexer: that of the node's recorder.
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
    """An index that answers as any other, and changes by `apply_batch` alone.

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
        """How far this replica is in the cluster's log."""
        return self._engine.replica.progress

    def bucket_rules(self, collection: str, bucket: str) -> int | None:
        """Return the rules of a bucket; None: it does not exist."""
        with self._engine.read() as view:
            state = view.bucket(collection, bucket)
            return None if state is None else view.rules(state.bucket)

    def adopt(self, position: int, epoch: str) -> None:
        """Go on with another log; see `ReplicaStore.adopt`."""
        with self._engine.changing():
            self._engine.replica.adopt(position, epoch)

    def apply_batch(self, records: Sequence[bytes], progress: Progress) -> list[int]:
        """Carry out the next entry of the cluster's log; see `ReplicaStore.apply_batch`."""
        with self._engine.changing():
            return self._engine.replica.apply_batch(records, progress)

    def note_position(self, position: int, epoch: str) -> None:
        """Let the next commit note a later position of the cluster's log; see `ReplicaStore.note_position`."""
        with self._engine.changing():
            self._engine.replica.note_position(position, epoch)
