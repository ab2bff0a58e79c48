"""Names of several buckets of a collection: `b1,forum:*,"a,b"`, and objects with the names of their buckets.

An element is a name; a beginning of names with a star behind it; or, in quotes, a name that holds a comma, a star, a
bracket or a quote, in which `\\"` is a quote and `\\\\` a backslash.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from sonicpy.errors import InvalidArgument
from sonicpy.ids import NAME_MAX_BYTES, check_bucket, plain_str, shown

STAR = "*"
_ELEMENT = r'"(?:[^"\\]|\\.)*"|[^",]+'
_ODD = frozenset('",*()')
_ESCAPE = r"\\(.)"
ALLOWED = "a name, or a beginning of names with * after it; put a name with , * ( ) or a quote in quotes"

AnyBucket = str | Sequence[str]
"""A bucket as an argument of methods that search: its name, or the elements of several."""


def read_buckets(text: str) -> tuple[str, ...]:
    """Return the elements of a list of buckets, separated by commas. Raises ValueError if the list is empty, or an
    element is not allowed."""
    found: list[str] = []
    at = 0
    elements = re.compile(_ELEMENT)
    while True:
        element = elements.match(text, at)
        if element is None:
            raise ValueError(text)
        found.append(checked_element(element[0]))
        at = element.end()
        if at == len(text):
            return tuple(found)
        if text[at] != ",":
            raise ValueError(text)
        at += 1


def checked_element(element: str) -> str:
    """Return an element in its canonical form. Raises ValueError if the element is not allowed."""
    if element.startswith('"'):
        if len(element) < 2 or not element.endswith('"'):
            raise ValueError(element)
        return quoted_bucket(re.sub(_ESCAPE, r"\1", element[1:-1]))
    name = element.removesuffix(STAR)
    if not _ODD.isdisjoint(name) or (element != STAR and not _is_name(name)):
        raise ValueError(element)
    return element


def quoted_bucket(name: str) -> str:
    """Return the element for one bucket, in quotes if needed. Raises ValueError if `name` is no name of a bucket."""
    if not _is_name(name):
        raise ValueError(name)
    if _ODD.isdisjoint(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def buckets_of(argument: str, given: Any) -> tuple[str, ...]:
    """Return the elements that a program gave, each in its canonical form.

    Args:
        argument: the name of the argument, for the message.

    Raises:
        InvalidArgument: no elements are given, or one is not allowed.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArgument(f"{argument} is {shown(given)}; allowed is a list of buckets: each is {ALLOWED}")
    found = []
    for element in given:
        try:
            found.append(checked_element(plain_str(element)) if isinstance(element, str) else _refuse(element))
        except ValueError as error:
            raise InvalidArgument(
                f"{argument} has the element {shown(element)}; allowed is {ALLOWED}", detail="InvalidBucket"
            ) from error
    if not found:
        raise InvalidArgument(f"{argument} is empty; allowed is a list of at least one bucket", detail="InvalidBucket")
    return tuple(found)


def one_or_several(bucket: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the name of the first bucket, and the elements of all; the second is empty if only one name was given."""
    if isinstance(bucket, str) or not isinstance(bucket, list | tuple):
        return bucket, ()
    elements = buckets_of("bucket", bucket)
    return first_name(elements), elements


def only_one(bucket: Any) -> Any:
    """Return the name of a bucket. Raises InvalidArgument if several are given."""
    first, elements = one_or_several(bucket)
    if elements:
        raise InvalidArgument(f"bucket is {shown(bucket)}; allowed is the name of one bucket", detail="InvalidBucket")
    return first


def first_name(elements: Sequence[str]) -> str:
    """Return the first element as the name of a bucket. A line names it apart from the other buckets."""
    return name_of(elements[0])[0]


def name_of(element: str) -> tuple[str, bool]:
    """Return the name in an element, and whether it is the beginning of names; a beginning keeps its star."""
    if element.startswith('"'):
        return re.sub(_ESCAPE, r"\1", element[1:-1]), False
    return element, element.endswith(STAR)


def with_others(bucket: str, others: str) -> AnyBucket:
    """Return the argument of a method for the buckets on the wire: a name, and a list of other buckets, which may be
    empty.

    Raises:
        InvalidArgument: the list is not allowed, or the name beside it.
    """
    if not others:
        return bucket
    try:
        elements = read_buckets(others)
    except ValueError as error:
        reason = f"buckets is {shown(others)}; allowed are buckets with commas between: each is {ALLOWED}"
        raise InvalidArgument(reason, detail="InvalidBucket") from error
    return as_given(bucket, elements)


def as_given(bucket: str, elements: Sequence[str]) -> AnyBucket:
    """Return the argument of a method for the buckets of a command: a name, and the elements if there are several.
    Raises InvalidArgument if there are several, and `bucket` is not the name of one."""
    if not elements:
        return bucket
    check_bucket(bucket)
    return [quoted_bucket(bucket), *elements]


def in_bucket(bucket: str, object: str) -> str:
    """Return the names of an object and its bucket, as `<bucket>/<object>`. The first slash ends the name of the
    bucket, in which `%` is written `%25`, and `/` is `%2F`."""
    return f"{bucket.replace('%', '%25').replace('/', '%2F')}/{object}"


def behind_hit(after: Any) -> Any:
    """Return the object that a page of several buckets follows: a hit in the form of `in_bucket`, a text as it is."""
    bucket = getattr(after, "bucket", None)
    return after if bucket is None else in_bucket(bucket, str(after))


def split_bucket(item: str) -> tuple[str, str]:
    """Return the bucket and the object in a text that `in_bucket` returned."""
    bucket, _, object = item.partition("/")
    return bucket.replace("%2F", "/").replace("%25", "%"), object


def _refuse(element: object) -> str:
    raise ValueError(element)


def _is_name(name: str) -> bool:
    try:
        check_bucket(name)
    except InvalidArgument:
        return False
    return len(name) <= NAME_MAX_BYTES
