"""Where imported entries go: into a folder, or over the wire."""

from collections.abc import Sequence
from typing import Protocol

from sonicpy.cli.fields import Entry
from sonicpy.client.client import Client
from sonicpy.errors import CommandError
from sonicpy.index.index import Index

Refusal = tuple[int, str]
"""The place of an entry among those that were given, from 0 on, and why it was refused."""


class Sink(Protocol):
    """Takes entries."""

    def push(self, entries: Sequence[Entry]) -> list[Refusal]:
        """Push entries; return those that were refused. Raises SonicError if the index takes no more."""

    def settle(self) -> None:
        """Return when everything pushed survives whatever happens. Raises SonicError."""


class FolderSink:
    """Pushes into an index inside a batch."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def push(self, entries: Sequence[Entry]) -> list[Refusal]:
        """Push entries; return those that were refused."""
        refused = []
        for place, entry in enumerate(entries):
            try:
                self._push(entry)
            except CommandError as error:
                refused.append((place, str(error)))
        return refused

    def settle(self) -> None:
        """Commit, and wait for the disk: a position must not outlive its rows."""
        self._index.commit()
        self._index.sync()

    def _push(self, entry: Entry) -> None:
        if entry.terms is None:
            self._index.push(entry.collection, entry.bucket, entry.object, entry.text, entry.lang)
        else:
            self._index.push_terms(entry.collection, entry.bucket, entry.object, entry.terms, entry.hidden)


class ServerSink:
    """Pushes over the wire; terms as a text of them, in no language."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def push(self, entries: Sequence[Entry]) -> list[Refusal]:
        """Push entries; return those that were refused."""
        refused = []
        for place, entry in enumerate(entries):
            try:
                text, lang = (entry.text, entry.lang) if entry.terms is None else (as_text(entry), "none")
                self._client.push(entry.collection, entry.bucket, entry.object, text, lang)
            except CommandError as error:
                refused.append((place, str(error)))
        return refused

    def settle(self) -> None:
        """Do nothing: the server keeps what it said OK to."""


def as_text(entry: Entry) -> str:
    """Return a text that gives the terms of an entry again."""
    terms = {**(entry.terms or {}), **entry.hidden}
    return " ".join(word for word, frequency in terms.items() for _ in range(frequency))
