"""TextEngine: the part of an engine that needs no folder: settings, lexers, names."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from sonicpy._native.ids import are_names
from sonicpy._native.terms import Terms
from sonicpy.ids import ObjectName, check_names, object_name
from sonicpy.lexer.lexer import Lexer
from sonicpy.lexer.segmenters import CHINESE
from sonicpy.store.changing.mutations import Fields, Mutation, RulesDiffer, UpsertTerms
from sonicpy.store.fields.all_fields import ORDER as WORD_ORDER
from sonicpy.store.rows.meta import ANALYZER, BY_ASSOCIATION, BY_OBJECT, ORDER

if TYPE_CHECKING:
    from sonicpy.config import Config

OLDER_MAX = 10_000
"""The most buckets with older rules that are remembered."""


class TextEngine(ABC):
    """Reads texts, and takes changes.

    Args:
        config: the settings.
        lexer: the lexer of an engine with the same settings, to share its tables; None: make a new one.
    """

    def __init__(self, config: "Config", lexer: Lexer | None = None) -> None:
        self.config = config
        self.is_compat = config.server.compat == "sonic"
        self.lexer = lexer or Lexer(config.normalization, config.tokenization, config.stopwords, compat=self.is_compat)
        """The lexer of the rules that a new bucket gets."""
        self._ordered = frozenset(() if self.is_compat else config.store.order)
        self._older: dict[tuple[str, str], Lexer] = {}
        """(collection, bucket) -> its lexer, for buckets that are known to have other rules."""

    def analyzer(self) -> dict[str, str]:
        """Return the settings that decide the stored terms of a text and the order of postings lists, by key."""
        return self._analyzer_of(self.lexer)

    def older_analyzer(self) -> dict[str, str]:
        """Return the settings, as `analyzer`, of stores of 1.0 whose Chinese is not cut into words."""
        return self._analyzer_of(self.lexer.by_letters())

    def _analyzer_of(self, lexer: Lexer) -> dict[str, str]:
        return {**lexer.analyser(), ORDER: BY_ASSOCIATION if self.is_compat else BY_OBJECT}

    def follow(self, made: Mapping[str, str]) -> None:
        """Cut all texts as a store was made, by its settings: they differ from those of `analyzer` at most in Chinese
        words.
        """
        if made.get(CHINESE) == str(False):
            self.lexer = self.lexer.by_letters()
            self.packed_analyzer = ANALYZER.pack(self.analyzer())

    @cached_property
    def packed_analyzer(self) -> bytes:
        """The settings of `analyzer`, packed as a store holds them."""
        return ANALYZER.pack(self.analyzer())

    def known_name(self, collection: str, bucket: str, object: ObjectName) -> str:
        """Return the name of an object that is to be read or removed. Raises InvalidArgument if a name is not valid."""
        oid = object if type(object) is str else object_name(object)
        if not are_names(collection, bucket, oid):
            check_names(collection, bucket, oid, compat=self.is_compat)
        return oid

    def lexer_of(self, collection: str, bucket: str) -> Lexer:
        """Return the lexer of the rules that a bucket had when it was last pushed to; the newest ones if it is new."""
        lexer = self.lexer if not self._older else self._older.get((collection, bucket), self.lexer)
        return lexer.ordered() if self._ordered and self.keeps_order(collection, bucket) else lexer

    def keeps_order(self, collection: str, bucket: str) -> bool:
        """Return whether `store.order` says that the order of the words of a bucket is kept."""
        ordered = self._ordered
        return bool(ordered) and ("*" in ordered or collection in ordered or f"{collection} {bucket}" in ordered)

    def note_rules(self, other: RulesDiffer) -> None:
        """Note the rules of a bucket that a change found, for `lexer_of`."""
        if len(self._older) >= OLDER_MAX:
            self._older.clear()
        self._older[other.scope] = self.lexer.under(other.rules)

    @abstractmethod
    def read_lexer(self, collection: str, bucket: str) -> Lexer:
        """Return the lexer of the rules that a bucket has; of the newest ones if it does not exist."""

    @abstractmethod
    def push(self, collection: str, bucket: str, oid: str, terms: Terms, rules: int) -> None:
        """Take a PUSH of terms, as `apply` does.

        Args:
            rules: the version of the rules that cut the text into words.

        Raises:
            RulesDiffer: the bucket has others; nothing was changed.
        """

    @abstractmethod
    def has_digest(self, collection: str, bucket: str, oid: str, digest: bytes) -> bool:
        """Return whether an object is known to hold the text of a digest, so that an UPSERT of it changes nothing."""

    def have_digests(self, collection: str, bucket: str, asked: Sequence[tuple[str, bytes]]) -> list[bool]:
        """Return whether each of some objects, by its name, is known to hold the text of a digest."""
        return [self.has_digest(collection, bucket, oid, digest) for oid, digest in asked]

    @abstractmethod
    def push_with(self, collection: str, bucket: str, oid: str, terms: Terms, fields: Fields, rules: int) -> None:
        """Take a PUSH of terms and other fields, as one change; `fields` as in PushWith.

        Raises:
            RulesDiffer: as `push`.
            InvalidArgument: the bucket does not take a field; nothing was changed.
        """

    def push_with_order(self, collection: str, bucket: str, oid: str, terms: Terms, order: bytes, rules: int) -> None:
        """Take a PUSH of terms with their order, in the bytes of records of the log; see `push_with`."""
        self.push_with(collection, bucket, oid, terms, ((WORD_ORDER.id, order),), rules)

    def upsert(
        self, collection: str, bucket: str, oid: str, terms: Terms, rules: int, fields: tuple[tuple[int, bytes], ...]
    ) -> None:
        """Take an UPSERT, as `apply` does; `fields` as in UpsertTerms."""
        self.apply(UpsertTerms(collection, bucket, oid, terms, rules, fields))

    @abstractmethod
    def apply(self, mutation: Mutation) -> int:
        """Take a change; return its result, such as the number of words removed.

        Raises:
            StoreError: the change was not taken.
        """
