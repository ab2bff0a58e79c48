"""Tags of objects: their rules, and their form in commands and filters, such as TAGS(red,"Ben & Jerry's").

The tags of a list are separated by commas; blanks may follow a comma. A tag is in quotes, in which \\" is a quote and
\\\\ a backslash, unless it consists of letters, digits, `_ - . : /`, and is no keyword of filters.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from unicodedata import normalize

from sonicpy.errors import InvalidArgument
from sonicpy.ids import is_iterable, plain_str, shown, shown_part

TAGS_MAX: Final = 64
"""The most tags of an object."""
TAG_BYTES_MAX: Final = 128
TAG_LETTERS_MAX: Final = TAG_BYTES_MAX * 3 // 2
"""The most characters of a text whose NFC is a tag: no character of n bytes decomposes into more than 1.5 n."""
TAG: Final = f"1 to {TAG_BYTES_MAX} bytes of UTF-8 without control characters"

GRAMMAR_WORDS: Final = frozenset(("AND", "OR", "NOT", "IN", "HAS", "WITHIN", "OF"))
"""The keywords of filters; a tag that equals one is written in quotes."""

_UNFIT = r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]"
_PLAIN = r"[\w\-.:/]+"
_ITEM: Final = r"""(?:"(?:[^"\\]|\\.)*"|[^\s"(),]+)"""
_LIST: Final = rf"(?s:\(((?:{_ITEM}(?:,[ ]*{_ITEM})*)?)\))"
LIST: Final = _LIST.encode()
"""The pattern of a list in brackets, in the bytes of a line."""


def tag_of(tag: Any) -> str:
    """Return a tag in its canonical form, Unicode's NFC.

    Raises:
        InvalidArgument: the argument is no tag.
    """
    if isinstance(tag, str) and (tag.isprintable() or not re.search(_UNFIT, tag)):
        plain = plain_str(tag)
        # A longer one is not normalized, because that sorts its marks, and sorting n marks takes n * n steps.
        normal = normalize("NFC", plain) if len(plain) <= TAG_LETTERS_MAX else ""
        if 0 < len(normal) <= TAG_BYTES_MAX and len(normal.encode()) <= TAG_BYTES_MAX:
            return normal
    raise InvalidArgument(
        f"tags is a list with {shown_part(tag)}; allowed are tags of {TAG}", "invalid_meta_value", f"TAGS[{shown(tag)}]"
    )


def tag_in(argument: str, tag: str) -> str:
    """Return a tag of a filter, a group or facets in its canonical form. Raises InvalidArgument if it is no tag."""
    try:
        return tag_of(tag)
    except InvalidArgument:
        message = f"{argument} has {shown_part(tag)} as a tag; allowed are {TAG}"
        raise InvalidArgument(message, "invalid_meta_value", message) from None


def tags_of(tags: Any) -> list[str]:
    """Return the tags of an object, sorted by their bytes, without duplicates.

    Raises:
        InvalidArgument: an element is no tag, or there are too many.
    """
    found = sorted({tag_of(tag) for tag in elements_of(tags)}, key=str.encode)
    if len(found) > TAGS_MAX:
        raise InvalidArgument(
            f"tags is a list of {len(found)} tags; allowed are up to {TAGS_MAX}",
            "invalid_meta_value",
            f"TAGS, at most {TAGS_MAX}",
        )
    return found


def elements_of(tags: Any) -> Iterable[Any]:
    """Return the elements of a list of tags, not checked.

    Raises:
        InvalidArgument: the argument is no list, but for example a text or a dict, whose keys are names and not tags;
            or its elements cannot be read.
    """
    if type(tags) is list:
        return tags
    if isinstance(tags, str | bytes | Mapping) or not is_iterable(tags):
        raise InvalidArgument(f"tags is {shown(tags)}; allowed is a list of tags", "invalid_meta_value", "TAGS")
    try:
        return list(tags)
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RuntimeError) as error:
        # Of a kind of array or tensor that has no elements. A failing source, an OSError, is no fault of the value.
        raise InvalidArgument(
            f"tags is {shown(tags)}, from which no elements can be read ({error}); allowed is a list of tags",
            "invalid_meta_value",
            "TAGS",
        ) from error


def is_plain(tag: str) -> bool:
    """Return whether commands and filters write a tag without quotes."""
    return re.fullmatch(_PLAIN, tag) is not None and tag not in GRAMMAR_WORDS


def shown_tag(tag: str) -> str:
    """Return a tag in the form for commands and filters: in quotes if it needs them."""
    return tag if is_plain(tag) else '"' + tag.replace("\\", "\\\\").replace('"', '\\"') + '"'


class TagList:
    """The kind of option whose value is all tags of an object."""

    is_text = False
    is_list = True

    def read(self, value: str, languages: object) -> list[str]:
        """Return the tags of a list on the wire. Raises ValueError if it cannot be read."""
        if re.fullmatch(_LIST, f"({value})") is None:  # the bytes of a line know no blanks but those of ASCII
            raise ValueError(value)
        return tags_of([_read(item) for item in re.findall(_ITEM, value, re.DOTALL)])

    def write(self, value: Iterable[str]) -> str:
        """Return the form of tags between brackets on the wire."""
        return ",".join(map(shown_tag, tags_of(value)))

    def check(self, name: str, value: Any) -> list[str] | None:
        """Return the tags that a program gave, sorted, or None for None. Raises InvalidArgument if one is not
        allowed.
        """
        return None if value is None else tags_of(value)


def _read(item: str) -> str:
    """Return the tag that an item of a list on the wire means. Raises InvalidArgument if it is no tag."""
    if item[0] == '"':
        return re.sub(r"\\(.)", r"\1", item[1:-1], flags=re.DOTALL)
    if not is_plain(item):
        raise InvalidArgument(f"the tag {item} needs quotes", "invalid_meta_value", f"TAGS[{item}]")
    return item
