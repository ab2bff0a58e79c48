"""The recorder: an Index that turns changes into records of a cluster's log, and holds nothing."""

from sonicpy._native.terms import Terms
from sonicpy.config import Config
from sonicpy.errors import StoreError
from sonicpy.index.engine import Engine, PushGroup
from sonicpy.index.index import Index
from sonicpy.index.spread_parts import SpreadReader
from sonicpy.lexer.lexer import Lexer
from sonicpy.store.changing.mutations import Mutation, pack_mutation, pack_push

RECORD_BYTES_MAX = 900 << 10
"""A broker takes messages of at most 1 MiB."""


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

    def apply_pushes(self, change: PushGroup, *, new: bool) -> None:
        """Refuse: a node changes one object at a time. Raises StoreError."""
        raise StoreError(f"{len(change.pushes)} changes at once are refused: a node of a cluster takes them one by one")


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

    def analyzer(self) -> dict[str, str]:
        """Return what decides which terms of a text are stored; see `Engine.analyzer`."""
        return self._engine.analyzer()

    def take_record(self) -> bytes:
        """Return the record of the last change."""
        return self._engine.record
