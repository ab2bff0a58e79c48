"""Every command as a type: the result of reading a line.

Numbers are final, texts have no quotes and escapes, names are as written and may be invalid. Compare the types of
commands, not the commands: they are tuples, so two of different types can be equal.
"""

from enum import StrEnum
from typing import NamedTuple

from sonicpy.errors import CommandError
from sonicpy.search import FacetSearch, Search


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


class CountFacets(FacetSearch):
    """Count the objects of an answer by tags and values."""

    __slots__ = ()


class Suggest(NamedTuple):
    """Complete a word."""

    collection: str
    bucket: str
    word: str
    limit: int
    filter: str | None = None
    """Only words of objects that meet these conditions; None: all."""
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


def _unescaped(text: str) -> str:
    return text.replace("\\\\", "\\") if "\\" in text else text


class Push(NamedTuple):
    """Add a text to an object."""

    collection: str
    bucket: str
    object: str
    text: str
    lang: str | None
    """A code in lower case; "none": the text is in no language; None: guess."""
    vector: str | None = None
    """Bits of vectors, in the form of `sonicpy.vectors`; None: there are none."""
    tags: list[str] | None = None
    """All tags of the object; None: they stay."""
    values: dict[str, int | str | None] | None = None
    """Values by name, points as text; a value of None removes the value under its name."""
    field: str | None = None
    """The name of the text; None: it has none."""


class Upsert(NamedTuple):
    """Give an object just this text."""

    collection: str
    bucket: str
    object: str
    text: str
    lang: str | None = None
    """As in Push."""
    more: int = 0
    """1: the text goes on in the next UPSERT of the object, behind a blank; 2: at once; 0: it ends."""
    vector: str | None = None
    """As in Push."""
    tags: list[str] | None = None
    """As in Push."""
    values: dict[str, int | str | None] | None = None
    """As in Push."""
    field: str | dict[str, str] | None = None
    """As in Push; once all pieces are together, the texts by name if one has a name, and `text` is empty."""

    @property
    def meant(self) -> str | dict[str, str]:
        """The text as its sender has it, or the texts by name: as in Sonic, a backslash that was escaped is still
        doubled in `text`."""
        if isinstance(self.field, dict):
            return {name: _unescaped(text) for name, text in self.field.items()}
        text = _unescaped(self.text)
        return text if self.field is None else {self.field: text}


class Tag(NamedTuple):
    """Change the tags or values of an object."""

    collection: str
    bucket: str
    object: str
    tags: list[str] | None = None
    """As in Push."""
    values: dict[str, int | str | None] | None = None
    """As in Push."""


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


class FlushV(NamedTuple):
    """Take a column of vectors, or all columns, from the objects of a bucket."""

    collection: str
    bucket: str
    column: str = ""


class FlushPassing(NamedTuple):
    """Erase the objects of a bucket that pass a filter."""

    collection: str
    bucket: str
    filter: str | None = None
    """None: it was forgotten, see `filter_of`."""


def filter_of(command: FlushPassing) -> str:
    """Return the filter of a FLUSH. Raises CommandError if it was forgotten: FLUSHB erases a whole bucket."""
    if command.filter is None:
        raise CommandError("invalid_format", "FLUSH <collection> <bucket> FILTER(<conditions>)")
    return command.filter


class Synonyms(NamedTuple):
    """List rules of synonyms of a collection, from a position on, at most SYNONYMS_PAGE."""

    collection: str
    position: int = 0


class SetSynonyms(NamedTuple):
    """Change the synonyms of a collection.

    Attributes:
        add: the rules are added to those that are there.
    """

    collection: str
    rules: tuple[str, ...]
    add: bool = False


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
    | Tag
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
    | Upsert
    | FlushV
    | CountFacets
    | FlushPassing
    | Similar
    | Synonyms
    | SetSynonyms
)
"""The commands that a session leaves to the server."""

SessionCommand = Ping | Help | Quit | Actions
"""The commands that a session answers itself."""
