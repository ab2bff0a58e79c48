"""The recorder of a node: it turns texts into terms, and changes into records of the cluster's log."""

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from sonicpy._native.terms import Terms
from sonicpy.errors import InvalidArgument, StoreError
from sonicpy.index.changing import Changing
from sonicpy.index.search.fitting import Typed
from sonicpy.index.search.matching import Matching
from sonicpy.index.text_engine import TextEngine
from sonicpy.index.texts import TextReader, check_scope
from sonicpy.lexer.lexer import Lexer
from sonicpy.rules import FIRST
from sonicpy.search import Search
from sonicpy.store.changing.mutations import Fields, Mutation, UpsertTerms, pack_mutation, pack_push, pack_push_with

if TYPE_CHECKING:
    from sonicpy.config import Config

RECORD_BYTES_MAX = 900 << 10
"""The most bytes of a record, because a broker takes messages of at most 1 MiB."""


class RecordTooLong(InvalidArgument):
    """A change is too long for the cluster's log."""


class RecorderEngine(TextEngine):
    """An engine without a folder: `push` and `apply` keep the record of a change.

    Attributes:
        record: the record of the last change.
        notes_order: whether the nodes have agreed to keep the order of words.
    """

    record = b""
    notes_order = False

    def __init__(self, config: "Config") -> None:
        super().__init__(config)
        self.lexer = self.lexer.under(FIRST)
        self._cutter = self.lexer

    def push(self, collection: str, bucket: str, oid: str, terms: Terms, rules: int) -> None:
        """Keep the record of a PUSH.

        Raises:
            StoreError: as `apply`; or nodes that are not upgraded would not have the rules of the text.
        """
        self._check_rules(oid, rules)
        self._keep(pack_push(collection, bucket, oid, terms, rules))

    def push_with(self, collection: str, bucket: str, oid: str, terms: Terms, fields: Fields, rules: int) -> None:
        """Keep the record of a PUSH with other fields. Raises as `push`."""
        self._check_rules(oid, rules)
        self._keep(pack_push_with(collection, bucket, oid, terms, fields, rules))

    def has_digest(self, collection: str, bucket: str, oid: str, digest: bytes) -> bool:
        """Return False: the replicas compare the digests."""
        return False

    def apply(self, mutation: Mutation) -> int:
        """Keep the record of a change; return 0.

        Raises:
            RecordTooLong: the record is too long for the cluster's log.
        """
        if isinstance(mutation, UpsertTerms):
            self._check_rules(mutation.oid, mutation.rules)
        self._keep(pack_mutation(mutation))
        return 0

    def read_lexer(self, collection: str, bucket: str) -> Lexer:
        """Return the lexer of the rules that the bucket of the next change has; see `cut_by`."""
        return self._cutter

    def lexer_of(self, collection: str, bucket: str) -> Lexer:
        """Return the lexer for the next PUSH into a bucket: it notes the order of terms if `store.order` names the
        bucket.
        """
        is_kept = self.notes_order and self.keeps_order(collection, bucket)
        return self._cutter.ordered() if is_kept else self._cutter

    def take_rules(self, rules: int) -> None:
        """Cut texts of new buckets by these rules from now on; compat mode stays with the first rules."""
        if not self.is_compat:
            self.lexer = self._cutter = self.lexer.under(rules)

    def cut_by(self, rules: int | None) -> None:
        """Cut the texts of changes by these rules until the next call; None: by those of a new bucket."""
        self._cutter = self.lexer if rules is None else self.lexer.under(rules)

    def follow(self, made: Mapping[str, str]) -> None:
        """Cut all texts as the cluster was made; see `TextEngine.follow`."""
        super().follow(made)
        self._cutter = self.lexer

    def _check_rules(self, oid: str, rules: int) -> None:
        if rules > self.lexer.rules:  # an import, too, waits for the upgrade
            raise StoreError(
                f"the terms of {oid} were cut by the rules {rules}, the cluster writes the rules {self.lexer.rules}: "
                "upgrade every node, then run sonicpy cluster upgrade"
            )

    def _keep(self, record: bytes) -> None:
        if len(record) > RECORD_BYTES_MAX:
            raise RecordTooLong(
                f"a change of {len(record)} bytes of terms is refused: a cluster accepts at most {RECORD_BYTES_MAX}; "
                "split the text"
            )
        self.record = record


class Recorder(TextReader, Changing):
    """The methods of an index that read texts, and those that change something, which only check their arguments and
    make a record: call one, then `take_record`.
    """

    _engine: RecorderEngine

    def __init__(self, config: "Config") -> None:
        self._engine = RecorderEngine(config)
        self.config = self._config = config

    @property
    def lexer(self) -> Lexer:
        """The lexer of new buckets; replicas of the same node share it, because its tables take memory."""
        return self._engine.lexer

    def take_rules(self, rules: int, *, notes_order: bool = False) -> None:
        """Cut texts of new buckets by these rules from now on, which every node must have.

        Args:
            notes_order: whether every node can store the order of words.
        """
        self._engine.take_rules(rules)
        self._engine.notes_order = notes_order

    def cut_by(self, rules: int | None) -> None:
        """Cut the text of the next change by the rules of its bucket; None: by the rules for new buckets."""
        self._engine.cut_by(rules)

    def analyzer(self) -> dict[str, str]:
        """Return the settings that decide the stored terms of a text; see `TextEngine.analyzer`."""
        return self._engine.analyzer()

    def older_analyzer(self) -> dict[str, str]:
        """Return the settings, as `analyzer`, of clusters of 1.0 whose Chinese is not cut into words."""
        return self._engine.older_analyzer()

    def follow(self, made: Mapping[str, str]) -> None:
        """Cut all texts as the cluster was made; see `TextEngine.follow`."""
        self._engine.follow(made)

    def read_query(
        self, search: Search, rules: int | None = None, fields: Container[str] = ()
    ) -> tuple[Terms, Matching | None]:
        """Return the terms of a search, and the Matching by which they find their families. Raises like `Index.query`.

        Args:
            rules: the rules of the bucket; None: those of a new bucket.
            fields: the names of texts that the bucket has.
        """
        check_scope(search)
        return self._query_terms(search, self._lexer_under(rules), fields)

    def read_typed(self, text: str, rules: int | None = None) -> Typed:
        """Return the words of a text for SUGGEST. Raises as `Index.suggest`."""
        return self._typed(text, self._lexer_under(rules))

    def take_record(self) -> bytes:
        """Return the record of the last change."""
        return self._engine.record

    def record_of(self, mutation: Mutation) -> bytes:
        """Return the record of a change for which there is no method. Raises RecordTooLong."""
        self._engine.apply(mutation)
        return self._engine.record
