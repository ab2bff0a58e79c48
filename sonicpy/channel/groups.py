"""The groups of hits, as items of an answer end in them: values as numbers, tags and points percent-encoded."""

from urllib.parse import quote, unquote

from sonicpy.filters.grouping import GroupKey, parse_group

ALONE = "-"
"""The item of an object without a group."""


def pack_group(key: GroupKey | None) -> str:
    """Return a group as the end of an item; None: the object is one of its own."""
    return ALONE if key is None else quote(str(key), safe="")


def unpack_group(packed: str, group: str) -> GroupKey | None:
    """Return the group that `pack_group` packed.

    Args:
        group: the groups of the query, as in GROUP.
    """
    if packed == ALONE:
        return None
    text = unquote(packed)
    is_number = not parse_group(group).is_tags and "/" not in text  # else a tag, or a point
    return int(text) if is_number else text
