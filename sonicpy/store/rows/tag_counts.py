"""The counters of the tags of a bucket, which are a fact of the bucket."""

from collections.abc import Callable
from typing import Final, NamedTuple

from sonicpy._native.tag_rows import OBJECTS_PER_TAG_ROW, TagRow
from sonicpy._native.varint import DamagedBytes, pack_varints, unpack_varints
from sonicpy.errors import StoreDamaged
from sonicpy.store.rows import uses
from sonicpy.store.rows.id_row import IdRow
from sonicpy.store.rows.marks import TAGS_MARK, TEXTS_MARK
from sonicpy.store.rows.named_words import frequency_of

TAG_COUNTS: Final = 41
"""The kind of the fact with the counters of tags."""
TEXT_COUNTS: Final = 44
"""The kind of the fact with the counters of named texts."""


class Beside(NamedTuple):
    """A kind of terms that objects have beside their words, with rows and postings under a number of their own.

    Attributes:
        mark: the bits that are set in the number of the bucket.
        row_mark: the bits that are set in the number of the bucket in the keys of `tags`, whose rows hold the ids of
            the terms of objects.
        counts: the kind of the fact with the counters.
        use: the name in `uses.KNOWN`.
        row: the class that reads and changes a row of ids.
        per_row: the number of objects per row.
        frequency_of: a function that returns the frequency in the postings of a term.
    """

    mark: int
    row_mark: int
    counts: int
    use: str
    row: type[TagRow] | type[IdRow]
    per_row: int
    frequency_of: Callable[[bytes], int]


def _once(term: bytes) -> int:
    return 1


OF_TAGS: Final = Beside(TAGS_MARK, 0, TAG_COUNTS, uses.TAGS, TagRow, OBJECTS_PER_TAG_ROW, _once)
OF_TEXTS: Final = Beside(TEXTS_MARK, TEXTS_MARK, TEXT_COUNTS, uses.TEXTS, IdRow, 1, frequency_of)


class TagCounts(NamedTuple):
    """The counters of the tags of a bucket, or of the terms of its named texts.

    Attributes:
        next_id: the id of the next new tag.
        live: the number of tags that objects have.
        held: the number of pairs of an object and one of its tags.
    """

    next_id: int = 0
    live: int = 0
    held: int = 0


def pack_tag_counts(counts: TagCounts) -> bytes:
    """Return the fact that holds counters."""
    return pack_varints(counts)


def unpack_tag_counts(fact: bytes | None) -> TagCounts:
    """Return the counters of a fact, or new ones for None: no object ever had a tag. Raises StoreDamaged."""
    if fact is None:
        return TagCounts()
    try:
        return TagCounts(*unpack_varints(fact))
    except (DamagedBytes, TypeError) as error:
        raise StoreDamaged(f"the counters of tags cannot be read: {error}") from error
