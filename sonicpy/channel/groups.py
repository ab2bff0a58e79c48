"""The groups of hits, each at the end of an item of an answer: values as numbers, tags and points percent-encoded."""

from urllib.parse import unquote

from sonicpy.filters.grouping import ALONE, GroupKey, pack_group, parse_group

__all__ = ["pack_group", "unpack_group"]


def unpack_group(packed: str, group: str) -> GroupKey | None:
    """Return the group that `pack_group` packed; None: the object is in no group.

    Args:
        group: the value of GROUP in the query.
    """
    if packed == ALONE:
        return None
    text = unquote(packed)
    is_number = not parse_group(group).is_tags and "/" not in text  # else a tag, or a point
    return int(text) if is_number else text
