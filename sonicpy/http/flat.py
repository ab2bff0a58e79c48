"""Reads the JSON of a body: one object whose values are strings, numbers, true, false, null, or lists or objects of
these.

Operations take nothing deeper, and building the deep or wide values of a hostile body would delay all other requests by
milliseconds. Strings are read by the json module, at its speed.
"""

import json
import re
from collections.abc import Callable
from functools import partial
from json import decoder
from typing import Any

scanstring: Callable[[str, int, bool], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined]
KEYS_MAX = 32
INNER_KEYS_MAX = 4
"""The most keys of an inner object, such as vectors by their columns, in a request of several bodies."""
OBJECTS_MAX = 65
"""The most bodies that are read in a long text of several: one more than any operation takes."""
LIST_MAX = 256
"""The most values of a list inside a long body."""
PLAIN_BYTES = 2_000
"""The number of bytes below which the json module alone reads a text, because its values are built quickly."""
SPACE = re.compile(r"[ \t\n\r]*")
SIMPLE = re.compile(
    r"(?:-?(?:0|[1-9]\d{0,299})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?|true|false|null)(?![\w.+-])", re.ASCII
)
"""The pattern of a value that is no string, list or object. A number has more digits than the longest name."""
NUMBERS = re.compile(r"\[[-+.,\deE \t\r\n]{0,32000}\]", re.ASCII)
"""The pattern of a list of numbers, such as a vector."""

ReadValue = Callable[[str, int], tuple[Any, int]]
"""A function that returns the value at a place, and the place after it."""

UTF8_MARK = "\ufeff"
"""The mark with which programs of Windows begin UTF-8."""
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def flat_json(body: bytes, list_max: int = LIST_MAX) -> Any:
    """Return the value of a JSON text, which may begin with UTF8_MARK.

    Args:
        list_max: the most values of a list in a long body, unless it holds numbers alone.

    Raises:
        UnicodeDecodeError: the body is not UTF-8.
        JSONDecodeError: the body is not JSON; or it is long, and not a flat object.
    """
    return _read(body, partial(_object, list_max=list_max))


def listed_json(body: bytes) -> Any:
    """Return the value of a JSON text with several bodies: an object with one key, whose value is the list of bodies.

    Raises:
        UnicodeDecodeError, JSONDecodeError: as `flat_json`.
    """
    return _read(body, _listed)


def _read(body: bytes, read_long: Callable[[str], Any]) -> Any:
    text = body.decode().removeprefix(UTF8_MARK)
    if len(text) <= PLAIN_BYTES:
        try:
            return json.loads(text)
        except RecursionError as error:
            raise json.JSONDecodeError("it is nested too deeply", text, 0) from error
    return read_long(text)


def not_utf8(error: UnicodeDecodeError) -> str:
    """Return the end of the sentence about a text that is not UTF-8."""
    if error.object.startswith(UTF16_MARKS):
        return "begins as UTF-16 does; allowed is UTF-8"
    return f"is not UTF-8 at byte {error.start + 1}"


def _object(text: str, list_max: int) -> dict[str, Any]:
    return _whole(text, *_inside(text, 0, partial(_member, list_max=list_max)))


def _listed(text: str) -> dict[str, Any]:
    return _whole(text, *_inside(text, 0, _bodies, 1))


def _whole(text: str, held: dict[str, Any], place: int) -> dict[str, Any]:
    if _skip(text, place) < len(text):
        raise json.JSONDecodeError("there is text after the object", text, place)
    return held


def _inside(text: str, place: int, value: ReadValue, keys_max: int = KEYS_MAX) -> tuple[dict[str, Any], int]:
    """Return the object at `place`, and the place after it; `value` reads a value. Raises JSONDecodeError, also if the
    object has more than `keys_max` keys."""
    place = _skip(text, place, "{")
    held: dict[str, Any] = {}
    if text[place : place + 1] == "}":
        return held, place + 1
    while True:
        key, place = scanstring(text, _skip(text, place, '"'), True)
        held[key], place = value(text, _skip(text, _skip(text, place, ":")))
        if len(held) > keys_max:
            raise json.JSONDecodeError("it has too many keys", text, place)
        place = _skip(text, place)
        if text[place : place + 1] == "}":
            return held, place + 1
        place = _skip(text, place, ",")


def _member(text: str, place: int, list_max: int) -> tuple[Any, int]:
    """Return the value of a key of the body, and the place after it; an object inside may hold lists of numbers, such
    as vectors by their columns."""
    match text[place : place + 1]:
        case "{":
            return _inside(text, place, _number_or_value)
        case "[":
            found = NUMBERS.match(text, place)
            return _list(text, place + 1, most=list_max) if found is None else (_numbers(found), found.end())
    return _value(text, place)


def _bodies(text: str, place: int) -> tuple[list[Any], int]:
    """Return the list of bodies at `place`, and the place after it."""
    return _list(text, _skip(text, place, "["), partial(_inside, value=_part), OBJECTS_MAX)


def _part(text: str, place: int) -> tuple[Any, int]:
    """Return the value of a key of one of several bodies, and the place after it; lists may hold only numbers."""
    if text[place : place + 1] == "{":
        return _inside(text, place, _number_or_value, INNER_KEYS_MAX)
    return _number_or_value(text, place)


def _number_or_value(text: str, place: int) -> tuple[Any, int]:
    """Return a value, which may be a list of numbers, and the place after it."""
    found = NUMBERS.match(text, place)
    return _value(text, place) if found is None else (_numbers(found), found.end())


def _numbers(found: re.Match[str]) -> list[Any]:
    """Return a list that NUMBERS has found. Raises JSONDecodeError."""
    try:
        numbers: list[Any] = json.loads(found[0])
    except json.JSONDecodeError as error:
        raise json.JSONDecodeError(error.msg, found.string, found.start() + error.pos) from error
    except ValueError as error:  # Python reads no whole number of more than 4,300 digits
        raise json.JSONDecodeError("a number has too many digits", found.string, found.start()) from error
    return numbers


def _list(text: str, place: int, value: ReadValue | None = None, most: int = LIST_MAX) -> tuple[list[Any], int]:
    read = _value if value is None else value
    held: list[Any] = []
    place = _skip(text, place)
    if text[place : place + 1] == "]":
        return held, place + 1
    while True:
        one, place = read(text, _skip(text, place))
        held.append(one)
        if len(held) > most:
            raise json.JSONDecodeError("a list has too many values", text, place)
        place = _skip(text, place)
        if text[place : place + 1] == "]":
            return held, place + 1
        place = _skip(text, place, ",")


def _value(text: str, place: int) -> tuple[Any, int]:
    if text[place : place + 1] == '"':
        return scanstring(text, place + 1, True)
    found = SIMPLE.match(text, place)
    if found is None:
        raise json.JSONDecodeError("a value is none of string, number, true, false and null", text, place)
    return json.loads(found[0]), found.end()


def _skip(text: str, place: int, expected: str = "") -> int:
    """Return the place after white space, and after the expected character. Raises JSONDecodeError if another
    character comes.
    """
    match = SPACE.match(text, place)
    assert match is not None
    place = match.end()
    if expected and text[place : place + 1] != expected:
        raise json.JSONDecodeError(f"expecting {expected}", text, place)
    return place + len(expected)
