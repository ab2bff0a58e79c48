"""The counters of the tags of a bucket: a fact of it."""

from typing import Final, NamedTuple

from sonicpy._native.varint import DamagedBytes, pack_varints, unpack_varints
from sonicpy.errors import StoreDamaged

TAG_COUNTS: Final = 41
"""The kind of the fact."""


class TagCounts(NamedTuple):
    """Counters of tags.

    Attributes:
        next_id: the id of the next new tag.
        live: number of tags that objects have.
        held: number of pairs of an object and a tag.
    """

    next_id: int = 0
    live: int = 0
    held: int = 0


def pack_tag_counts(counts: TagCounts) -> bytes:
    """Return the fact."""
    return pack_varints(counts)


def unpack_tag_counts(fact: bytes | None) -> TagCounts:
    """Return the counters of a fact; None: no object ever had a tag. Raises StoreDamaged."""
    if fact is None:
        return TagCounts()
    try:
        return TagCounts(*unpack_varints(fact))
    except (DamagedBytes, TypeError) as error:
        raise StoreDamaged(f"the counters of tags cannot be read: {error}") from error
