"""Tags of objects: their rules, and how they are written in commands and filters."""

import re
from collections.abc import Iterable
from typing import Any, Final
from unicodedata import normalize

from sonicpy.errors import InvalidArgument
from sonicpy.ids import shown

TAGS_MAX: Final = 64
"""Tags of an object, at most."""
TAG_BYTES_MAX: Final = 128
TAG: Final = f"1 to {TAG_BYTES_MAX} bytes of UTF-8 without control characters"

GRAMMAR_WORDS: Final = frozenset(("AND", "OR", "NOT", "IN", "HAS", "WITHIN", "OF"))
"""Words of filters: a tag that reads so stands in quotes."""

_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_PLAIN = re.compile(r"[\w\-.:/]+\Z")


def tag_of(tag: Any) -> str:
    """Return a tag in its only form, Unicode's NFC.

    Raises:
        InvalidArgument: it is none.
    """
    if isinstance(tag, str) and not _UNFIT.search(tag):
        normal = normalize("NFC", tag)
        if 0 < len(normal) <= TAG_BYTES_MAX and len(normal.encode()) <= TAG_BYTES_MAX:
            return normal
    raise InvalidArgument(f"a tag is {shown(tag)}; allowed are {TAG}", "invalid_meta_value", f"TAGS[{shown(tag)}]")


def tags_of(tags: Any) -> list[str]:
    """Return the tags of an object, sorted by their bytes, without duplicates.

    Raises:
        InvalidArgument: one is no tag, or they are too many.
    """
    if isinstance(tags, str | bytes) or not isinstance(tags, Iterable):
        raise InvalidArgument(f"tags is {shown(tags)}; allowed is a list of tags", "invalid_meta_value", "TAGS")
    found = sorted({tag_of(tag) for tag in tags}, key=str.encode)
    if len(found) > TAGS_MAX:
        raise InvalidArgument(
            f"tags holds {len(found)} tags; allowed are {TAGS_MAX} for an object",
            "invalid_meta_value",
            f"TAGS, at most {TAGS_MAX}",
        )
    return found


def is_plain(tag: str) -> bool:
    """Return whether a tag may stand without quotes in a command or a filter."""
    return _PLAIN.match(tag) is not None and tag not in GRAMMAR_WORDS


def shown_tag(tag: str) -> str:
    """Return a tag as commands and filters write it: in quotes if it needs them."""
    return tag if is_plain(tag) else '"' + tag.replace("\\", "\\\\").replace('"', '\\"') + '"'
