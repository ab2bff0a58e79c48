"""Every command as a type: the result of reading a line.

Numbers are final, texts have no quotes and escapes, names are as written and may be invalid. Compare the types of
commands, not the commands: they are tuples, so two of different types can be equal.
"""

from enum import StrEnum
from typing import NamedTuple

from sonicpy.search import Search


class Mode(StrEnum):
    """The rights of a connection; START chooses them for as long as the connection lives."""

    SEARCH = "search"
    INGEST = "ingest"
    CONTROL = "control"


class Query(Search):
    """Find objects by text."""

    __slots__ = ()


class Explain(Search):
    """Explain the result of a query."""

    __slots__ = ()


class Suggest(NamedTuple):
    """Complete a word."""

    collection: str
    bucket: str
    word: str
    limit: int
    buckets: tuple[str, ...] = ()
    """Other buckets; see `sonicpy.bucket_names`."""


class List(NamedTuple):
    """List the words of a bucket."""

    collection: str
    bucket: str
    limit: int
    offset: int
    prefix: str = ""
    """Only words that begin with it."""
    after: str | None = None
    """Only words behind this one; None: from the first on."""
    buckets: tuple[str, ...] = ()
    """As in Suggest."""


class Collections(NamedTuple):
    """List the collections."""

    limit: int
    after: str | None
    """As in List."""


class Buckets(NamedTuple):
    """List the buckets of a collection."""

    collection: str
    limit: int
    after: str | None
    """As in List."""


class Objects(NamedTuple):
    """List the objects of a bucket."""

    collection: str
    bucket: str
    limit: int
    prefix: str
    """As in List."""
    after: str | None
    """As in List."""
    position: int | None
    """The position at which the previous page ended; replaces `after`."""


class Exists(NamedTuple):
    """Say whether there is an object."""

    collection: str
    bucket: str
    object: str


class Similar(NamedTuple):
    """Find objects that are like one."""

    collection: str
    bucket: str
    object: str
    limit: int
    offset: int
    scores: bool = False


class Push(NamedTuple):
    """Add a text to an object."""

    collection: str
    bucket: str
    object: str
    text: str
    lang: str | None
    """A code in lower case; "none": the text is in no language; None: guess."""


class Pop(NamedTuple):
    """Remove the words of a text from an object."""

    collection: str
    bucket: str
    object: str
    text: str


class Count(NamedTuple):
    """Count the buckets of a collection, the words of a bucket or those of an object: the names given decide."""

    collection: str
    bucket: str | None = None
    object: str | None = None
    buckets: tuple[str, ...] = ()
    """As in Suggest."""


class CountC(NamedTuple):
    """Count the buckets of a collection."""

    collection: str


class CountB(NamedTuple):
    """Count the objects of a bucket."""

    collection: str
    bucket: str
    buckets: tuple[str, ...] = ()
    """As in Suggest."""


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
    """List the actions of TRIGGER."""


class Info(NamedTuple):
    """Show the figures of the server."""


class Stats(NamedTuple):
    """Show how much the index, a collection or a bucket holds."""

    collection: str | None = None
    bucket: str | None = None


class Verify(NamedTuple):
    """Check every table against every other."""


class Ping(NamedTuple):
    """Answer PONG."""


class Help(NamedTuple):
    """Show a manual, or list the manuals."""

    manual: str | None = None


class Quit(NamedTuple):
    """End the session."""


Command = (
    Query
    | Suggest
    | List
    | Collections
    | Buckets
    | Objects
    | Exists
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
    | Similar
)
"""The commands that a session leaves to the server."""

SessionCommand = Ping | Help | Quit | Actions
"""The commands that a session answers itself."""
