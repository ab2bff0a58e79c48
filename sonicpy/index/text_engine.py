"""TextEngine: the part of an engine that needs no folder: settings, the lexer, names."""

from abc import ABC, abstractmethod

from sonicpy._native.ids import are_names
from sonicpy._native.terms import Terms
from sonicpy.config import Config
from sonicpy.ids import ObjectName, check_names, object_name
from sonicpy.lexer.lexer import Lexer
from sonicpy.store.changing.mutations import Mutation
from sonicpy.store.rows.meta import BY_ASSOCIATION, BY_OBJECT, ORDER


class TextEngine(ABC):
    """Reads texts, and takes changes.

    Args:
        config: the settings.
        lexer: of an engine with the same settings, whose tables take memory; None: a new one.
    """

    def __init__(self, config: Config, lexer: Lexer | None = None) -> None:
        self.config = config
        self.is_compat = config.server.compat == "sonic"
        self.lexer = lexer or Lexer(config.normalization, config.tokenization, config.stopwords, compat=self.is_compat)

    def analyzer(self) -> dict[str, str]:
        """Return what decides which terms of a text are stored, and in which order their postings lists are, by key."""
        return {**self.lexer.analyser(), ORDER: BY_ASSOCIATION if self.is_compat else BY_OBJECT}

    def known_name(self, collection: str, bucket: str, object: ObjectName) -> str:
        """Return the name of an object that is to be read or removed. Raises InvalidArgument if a name is not valid."""
        oid = object if type(object) is str else object_name(object)
        if not are_names(collection, bucket, oid):
            check_names(collection, bucket, oid, compat=self.is_compat)
        return oid

    @abstractmethod
    def push(self, collection: str, bucket: str, oid: str, terms: Terms) -> None:
        """Take a PUSH of terms, as `apply` does."""

    @abstractmethod
    def apply(self, mutation: Mutation) -> int:
        """Take a change; return the number that it answers.

        Raises:
            StoreError: the change was not taken.
        """
