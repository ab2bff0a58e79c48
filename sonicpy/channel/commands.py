"""Every command as a type: what a line means once it has been read.

Numbers are final, texts are without quotes and escapes, names are as written (whether they are valid is decided by
who uses them). Commands are told apart by their type, never by comparing them: as tuples, two of different types can
be equal.
"""

from enum import StrEnum
from typing import NamedTuple


class Mode(StrEnum):
    """What a connection may do; chosen by START for as long as it lives."""

    SEARCH = "search"
    INGEST = "ingest"
    CONTROL = "control"


class Query(NamedTuple):
    """Find objects by text."""

    collection: str
    bucket: str
    text: str
    limit: int
    offset: int
    lang: str | None
    """None: to be guessed; "none": as if in no language; else a code in lower case."""
    scores: bool = False
    """Tell how well each object answers."""


class Explain(NamedTuple):
    """Tell why a query answers what it does."""

    collection: str
    bucket: str
    text: str
    limit: int
    lang: str | None
    """As in Query."""


class Suggest(NamedTuple):
    """Complete a word."""

    collection: str
    bucket: str
    word: str
    limit: int


class List(NamedTuple):
    """List the words of a bucket."""

    collection: str
    bucket: str
    limit: int
    offset: int


class Push(NamedTuple):
    """Add a text to an object."""

    collection: str
    bucket: str
    object: str
    text: str
    lang: str | None
    """As in Query."""


class Pop(NamedTuple):
    """Take a text's words from an object."""

    collection: str
    bucket: str
    object: str
    text: str


class Count(NamedTuple):
    """Count buckets, or words of a bucket, or words of an object: by how many names are given."""

    collection: str
    bucket: str | None = None
    object: str | None = None


class CountC(NamedTuple):
    """Count the buckets of a collection."""

    collection: str


class CountB(NamedTuple):
    """Count the objects of a bucket."""

    collection: str
    bucket: str


class CountO(NamedTuple):
    """Count the words of an object."""

    collection: str
    bucket: str
    object: str


class FlushC(NamedTuple):
    """Erase a collection."""

    collection: str


class FlushB(NamedTuple):
    """Erase a bucket."""

    collection: str
    bucket: str


class FlushO(NamedTuple):
    """Erase an object."""

    collection: str
    bucket: str
    object: str


class Trigger(NamedTuple):
    """Start maintenance: `action` is a key of ACTIONS, `argument` the path that backup and restore take."""

    action: str
    argument: str | None = None


class Actions(NamedTuple):
    """List what TRIGGER can start."""


class Info(NamedTuple):
    """Tell the server's figures."""


class Stats(NamedTuple):
    """Tell what the index, a collection or a bucket holds."""

    collection: str | None = None
    bucket: str | None = None


class Verify(NamedTuple):
    """Check every table against every other."""


class Ping(NamedTuple):
    """Answer PONG."""


class Help(NamedTuple):
    """Show a manual, or which ones there are."""

    manual: str | None = None


class Quit(NamedTuple):
    """End the session."""


Command = (
    Query
    | Suggest
    | List
    | Push
    | Pop
    | Count
    | CountC
    | CountB
    | CountO
    | FlushC
    | FlushB
    | FlushO
    | Trigger
    | Info
    | Explain
    | Stats
    | Verify
)
"""What a session hands to the server."""

SessionCommand = Ping | Help | Quit | Actions
"""What a session answers by itself."""
