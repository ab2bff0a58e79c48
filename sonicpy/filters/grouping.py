"""The argument of GROUP as an object: the tags or the values by which hits are grouped."""

from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from sonicpy.filters.refusal import refused
from sonicpy.ids import shown
from sonicpy.tags import tag_in
from sonicpy.values import is_name

TAG_ENDS = (":", "*")
"""The characters with which a text for groups of tags ends."""

GroupKey = int | str
"""The key of a group: the value, or the tag, that its objects have in common."""

ALONE = "-"
"""The text of an object without a group."""


class Group(NamedTuple):
    """A division of objects into groups.

    Attributes:
        name: the name of the values, or the beginning of the tags.
        is_tags: True: objects with the same tag are a group; False: objects with the same value.
    """

    name: str
    is_tags: bool


@lru_cache(maxsize=256)
def parse_group(text: str) -> Group:
    """Return the groups that a text names: by values such as `author`, or by tags such as `size:` or `size:*`.

    Raises:
        InvalidArgument: the text names no groups.
    """
    if text.endswith(TAG_ENDS) and "*" not in text[:-1]:
        beginning = text.removesuffix("*")
        return Group(tag_in("group", beginning) if beginning else "", is_tags=True)
    if not is_name(text):
        raise refused(
            f"group is {shown(text)}; allowed are a name of values such as author, and the beginning of tags such as "
            "size:"
        )
    return Group(text, is_tags=False)


def group_text(value: Any) -> str:
    """Return the text for groups that a program gave. Raises InvalidArgument if it names no groups."""
    if not isinstance(value, str):
        raise refused(f"group is {shown(value)}; allowed is a str")
    parse_group(value)
    return value


def pack_group(key: GroupKey | None) -> str:
    """Return the key of a group as a text, percent-encoded. The key None belongs to an object without a group."""
    return ALONE if key is None else "%2D" if key == ALONE else quote(str(key), safe="")


def in_group(key: GroupKey | None, object: str) -> str:
    """Return the names of an object and its group, as `<group>/<object>`."""
    return f"{pack_group(key)}/{object}"


def behind_group(group: Any, key: GroupKey | None, object: str) -> str:
    """Return the text of AFTER for a hit behind which a page begins: its object, with its group if that is a tag.

    Args:
        group: the groups that a program gave.
        key: the group of the hit.

    Raises:
        InvalidArgument: `group` names no groups.
    """
    return in_group(key, object) if parse_group(group_text(group)).is_tags else object


def split_group(item: str) -> tuple[str | None, str]:
    """Return the tag and the object in a text that `in_group` returned. Raises InvalidArgument if it has no slash."""
    packed, slash, object = item.partition("/")
    if not slash:
        raise refused(
            f"after is {shown(item)}; allowed with groups of tags are the tag of a hit (percent-encoded; - if it has "
            "none), a slash, and its object, such as size%3Am/o1"
        )
    return (None if packed == ALONE else unquote(packed)), object
