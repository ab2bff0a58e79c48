"""Kinds of peers: all peers of a kind have the same methods, so that one row measures all of them."""

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from benchmarks.accounting import allocated_bytes

LIMIT = 10
"""The most objects in an answer."""
WORD, BOTH, EITHER, PREFIX, TYPO = "one word", "both words", "either word", "prefix", "typo"
"""Kinds of questions."""
NOTHING, SYSTEM_CACHE = "nothing is kept", "survives the process, not the machine"
IN_BACKGROUND = "what was written in the background"
"""The promise of a peer that writes in the background: if a process is killed after 200 changes, all of them may be
lost.
"""
MAP_BYTES = 16 << 30
"""The size of the map in bytes, for every peer that maps its file."""

Item = tuple[int, str, int, str]
"""A document: (number, name, year, description)."""
Rows = Sequence[tuple[str, str]]
"""Pairs of a name and a text."""


class Engine(Protocol):
    """An index of texts with names, in this process."""

    def add(self, rows: Iterable[tuple[Any, str]]) -> None:
        """Index (name, text) rows in one commit."""

    def any_of(self, words: Sequence[str], limit: int = LIMIT, offset: int = 0) -> list[Any]:
        """Return the names of the best `limit` texts that hold any of the words, behind the first `offset`."""

    def close(self) -> None:
        """Close the peer."""


class Peer(ABC):
    """A system that is measured."""

    name: str
    module: ClassVar[str | None] = None
    """The modules that must be importable; None: no module is needed."""
    durability = SYSTEM_CACHE
    is_remote = False
    """Whether the peer is called over a socket."""
    pids: Sequence[int] = ()
    """The ids of the processes of the peer, besides this process."""

    @classmethod
    def missing(cls) -> str | None:
        """Return the reason why the peer cannot be measured, or None."""
        if cls.module is None or importlib.util.find_spec(cls.module):
            return None
        return f"not installed: pip install {cls.module}"

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Close the peer."""


class TextPeer(Peer):
    """An index of documents. `find` and `filtered` return None if the peer does not offer such a question."""

    @abstractmethod
    def load(self, items: Sequence[Item]) -> None:
        """Index documents."""

    @abstractmethod
    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        """Return at most LIMIT numbers of documents, best first; None: the peer does not have this kind of query."""

    @abstractmethod
    def point(self, number: int) -> bool:
        """Return whether a document exists."""

    @abstractmethod
    def update(self, number: int, text: str) -> None:
        """Replace a description; the next `find` includes it."""

    def filtered(self, name: str, year: int | None) -> list[int] | None:
        """Return the numbers of at most LIMIT documents with a name and a later year; None if the peer has no
        fields.
        """
        return None


class NamePeer(Peer):
    """A store of objects with names. `add` keeps existing objects; `add_new` may assume that the names are new."""

    @abstractmethod
    def add(self, rows: Rows) -> None:
        """Add rows in one commit."""

    def add_new(self, rows: Rows) -> None:
        """Add rows, all of which are new."""
        self.add(rows)

    @abstractmethod
    def has(self, name: str) -> bool:
        """Return whether a name exists."""


class KeyValuePeer(Peer):
    """Keys and values in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)

    @contextmanager
    def writing(self) -> Iterator[tuple[Callable[[bytes, bytes], object], Callable[[bytes], object]]]:
        """Yield `set` and `delete` inside one commit, if the peer has commits."""
        yield self.set, self.delete

    @contextmanager
    def reading(self) -> Iterator[Callable[[bytes], object]]:
        """Yield `get` inside one open transaction, if the peer has transactions."""
        yield self.get

    @abstractmethod
    def set(self, key: bytes, value: bytes) -> None: ...

    @abstractmethod
    def get(self, key: bytes) -> bytes | None: ...

    @abstractmethod
    def delete(self, key: bytes) -> object: ...

    def size(self) -> int:
        """Return the number of bytes of its files."""
        return allocated_bytes(self.folder)
