"""Every command of the channel as a type, as the reader of lines makes it.

Numbers are within their bounds, texts without quotes and escapes; names are as written and may be invalid. Compare the
types of commands, not the commands: they are tuples, so two commands of different types can be equal.
"""

from enum import StrEnum
from typing import NamedTuple

from sonicpy.channel.quoting import as_meant
from sonicpy.errors import CommandError
from sonicpy.search import FacetSearch, Search


class Mode(StrEnum):
    """The mode of a session, which decides the allowed commands; START chooses it once."""

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
    """Other buckets to search, too; see `sonicpy.bucket_names`."""


class List(NamedTuple):
    """List the words of a bucket."""

    collection: str
    bucket: str
    limit: int
    offset: int
    prefix: str = ""
    """Only words that begin with it."""
    after: str | None = None
    """Only words after this one; None: from the first on."""
    buckets: tuple[str, ...] = ()
    """Other buckets to search, too; see `sonicpy.bucket_names`."""


class Collections(NamedTuple):
    """List the collections."""

    limit: int
    after: str | None
    """Only names after this one; None: from the first on."""


class Buckets(NamedTuple):
    """List the buckets of a collection."""

    collection: str
    limit: int
    after: str | None
    """Only names after this one; None: from the first on."""


class Objects(NamedTuple):
    """List the objects of a bucket."""

    collection: str
    bucket: str
    limit: int
    prefix: str
    """Only names that begin with it."""
    after: str | None
    """Only names after this one; None: from the first on."""
    position: int | None
    """The position at which the previous page ended; replaces `after`."""


class Exists(NamedTuple):
    """Return whether an object exists."""

    collection: str
    bucket: str
    object: str


class Similar(NamedTuple):
    """Find the objects that are similar to one."""

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
    """The language as a code in lower case; "none": the text is in no language; None: guess."""
    vector: str | None = None
    """Bits of vectors, in the form of `sonicpy.vectors`; None: there are none."""
    tags: list[str] | None = None
    """All tags of the object; None: the tags do not change."""
    values: dict[str, int | str | None] | None = None
    """Values by name, points as text; a value of None removes the value under its name."""
    field: str | None = None
    """The name of the text; None: the text has no name."""


class Upsert(NamedTuple):
    """Replace the words of an object by those of a text."""

    collection: str
    bucket: str
    object: str
    text: str
    lang: str | None = None
    """The language as a code in lower case; "none": the text is in no language; None: guess."""
    more: int = 0
    """1: the text continues in the next UPSERT of the object, after a blank; 2: it continues without a blank; 0: it
    ends.
    """
    vector: str | None = None
    """Bits of vectors, in the form of `sonicpy.vectors`; None: there are none."""
    tags: list[str] | None = None
    """All tags of the object; None: the tags do not change."""
    values: dict[str, int | str | None] | None = None
    """Values by name, points as text; a value of None removes the value under its name."""
    field: str | dict[str, str] | None = None
    """The name of the text; None: the text has no name. Once all pieces are together, a dict of named texts if a text
    has a name; then `text` is empty.
    """

    @property
    def meant(self) -> str | dict[str, str]:
        """The text as its sender meant it, or the named texts: in `text`, a backslash that was escaped is still
        doubled, as in Sonic.
        """
        if isinstance(self.field, dict):
            return {name: as_meant(text) for name, text in self.field.items()}
        text = as_meant(self.text)
        return text if self.field is None else {self.field: text}


class Tag(NamedTuple):
    """Change the tags or values of an object."""

    collection: str
    bucket: str
    object: str
    tags: list[str] | None = None
    """All tags of the object; None: the tags do not change."""
    values: dict[str, int | str | None] | None = None
    """Values by name, points as text; a value of None removes the value under its name."""


class Pop(NamedTuple):
    """Remove the words of a text from an object."""

    collection: str
    bucket: str
    object: str
    text: str


class Count(NamedTuple):
    """Count the buckets of a collection, or the words of a bucket or of an object, depending on the names given."""

    collection: str
    bucket: str | None = None
    object: str | None = None
    buckets: tuple[str, ...] = ()
    """Other buckets to count, too; see `sonicpy.bucket_names`."""


class CountC(NamedTuple):
    """Count the buckets of a collection."""

    collection: str


class CountB(NamedTuple):
    """Count the objects of a bucket."""

    collection: str
    bucket: str
    buckets: tuple[str, ...] = ()
    """Other buckets to count, too; see `sonicpy.bucket_names`."""


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
    """Remove a column of vectors, or all columns, from the objects of a bucket."""

    collection: str
    bucket: str
    column: str = ""


class FlushPassing(NamedTuple):
    """Erase the objects of a bucket that pass a filter."""

    collection: str
    bucket: str
    filter: str | None = None
    """The filter; None: it is missing in the line, which `filter_of` refuses."""


def filter_of(command: FlushPassing) -> str:
    """Return the filter of a FLUSH. Raises CommandError if it is missing, because only FLUSHB erases a whole bucket."""
    if command.filter is None:
        raise CommandError("invalid_format", "FLUSH <collection> <bucket> FILTER(<conditions>)")
    return command.filter


class Synonyms(NamedTuple):
    """List the rules of synonyms of a collection from a position on, at most SYNONYMS_PAGE."""

    collection: str
    position: int = 0


class SetSynonyms(NamedTuple):
    """Change the synonyms of a collection.

    Attributes:
        add: whether the rules are added to the present ones.
    """

    collection: str
    rules: tuple[str, ...]
    add: bool = False

    @property
    def meant(self) -> list[str]:
        """The rules as their sender meant them; see `Upsert.meant`."""
        return [*map(as_meant, self.rules)]


class Claim(NamedTuple):
    """Note the source that a bucket, or a part of it, is the mirror of."""

    collection: str
    bucket: str
    owner: str
    prefix: str = ""
    """The beginning of the names of the mirror's objects."""

    @property
    def meant(self) -> str:
        """The owner as its sender meant it; see `Upsert.meant`."""
        return as_meant(self.owner)


class Trigger(NamedTuple):
    """Start maintenance: `action` is a key of ACTIONS, `argument` the path for backup and restore."""

    action: str
    argument: str | None = None


class Actions(NamedTuple):
    """List the actions of TRIGGER."""


class Info(NamedTuple):
    """Show the figures of the server."""


class Stats(NamedTuple):
    """Show the figures of the index, a collection or a bucket."""

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
    | Claim
)
"""The commands that a session leaves to the server."""

SessionCommand = Ping | Help | Quit | Actions
"""The commands that a session answers itself."""
