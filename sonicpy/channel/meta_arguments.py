"""META arguments: the `KEY(VALUE)` parts that may follow the fixed arguments of a command.

A value that is a text may be in quotes: `KEY("...")`, in which white space, brackets and commas are free; `\\"` is a
quote, `\\\\` a backslash, `\\n` a line feed and `\\r` a carriage return. Without quotes, a text goes to the end of the
word and may hold brackets. A list may hold texts in quotes: `KEY(red,"two words")`, see `sonicpy.tags`.

All parts are read, even after a wrong one: the last error is reported, and the last value of a repeated key counts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sonicpy._native.quoting import take_words
from sonicpy.errors import CommandError, InvalidArgument
from sonicpy.option_kinds import ESCAPES, BucketNames, Languages, Spec
from sonicpy.options import Option
from sonicpy.tags import LIST

_QUOTED = re.compile(rb'\("((?:[^"\\]|\\.)*)"\)', re.DOTALL)
"""The rest of an argument behind its key, if the value is in quotes."""
_LIST = re.compile(LIST)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_UNESCAPED = {escape[1]: character for character, escape in ESCAPES.items()}

MetaPart = tuple[str, str] | CommandError
"""A key and its value, or the error of a part that has none."""


def read_meta(line: bytes, offset: int, options: Mapping[str, Option], languages: Languages) -> dict[str, Any]:
    """Return the values of META arguments by the names of their options.

    Args:
        line: the line of a command.
        offset: the place in the line at which its META arguments begin, in bytes.
        options: the options of the command, by META key.

    Raises:
        CommandError: `invalid_meta_key` or `invalid_meta_value`, for the last wrong part.
        UnicodeDecodeError: a part is not UTF-8.
    """
    values: dict[str, Any] = {}
    last: CommandError | None = None
    for _, part in _parts(line, offset, options):
        try:
            if isinstance(part, CommandError):
                raise part
            key, value = part
            if key not in options:
                raise CommandError("invalid_meta_key", f"{key}[{value}]")
            values[options[key].name] = _value(options[key], value, languages)
        except CommandError as error:
            last = error
    if last is not None:
        raise last
    return values


def keys_given(line: bytes, offset: int, options: Mapping[str, Option]) -> Iterator[str]:
    """Yield the keys that META arguments begin with, also those whose values are wrong. Arguments as in `read_meta`.

    Raises:
        UnicodeDecodeError: a part is not UTF-8.
    """
    return (key for key, _ in _parts(line, offset, options) if key in options)


def _value(option: Option, value: str, languages: Languages) -> Any:
    try:
        return option.kind.read(value, languages)
    except ValueError as error:
        if isinstance(option.kind, Spec) and isinstance(error, InvalidArgument):
            raise  # its sentence names the place
        raise CommandError("invalid_meta_value", f"{option.key}[{value}]") from None


def _parts(line: bytes, offset: int, options: Mapping[str, Option]) -> Iterator[tuple[str, MetaPart]]:
    """Yield each argument, behind the text before the next bracket: its key, if it has one."""
    _, offset = take_words(line, offset, 0)
    while offset < len(line):
        key = line[offset : max(line.find(b"(", offset), offset)].decode("latin-1")
        option, quoted = options.get(key), None
        # Names of buckets hold no white space, and each may be in quotes.
        if option is not None and option.kind.is_text and not isinstance(option.kind, BucketNames):
            quoted = _quoted(line, offset, key)
        if quoted is None and option is not None and getattr(option.kind, "is_list", False):
            quoted = _listed(line, offset, key)
        if quoted is None:
            (word,), offset = take_words(line, offset, 1)
            yield key, _split(word, options)
        else:
            part, offset = quoted
            yield key, part


def _quoted(line: bytes, offset: int, key: str) -> tuple[MetaPart, int] | None:
    """Return the argument at `offset` and the offset of the next one; None: its value is not in quotes.

    Args:
        key: the key of the argument.
    """
    found = _QUOTED.match(line, offset + len(key))
    if found is None:
        return None
    _, following = take_words(line, found.end(), 0)
    if following == found.end() < len(line):
        return None  # something is glued to it
    return (key, _ESCAPE.sub(_unescaped, found[1].decode())), following


def _listed(line: bytes, offset: int, key: str) -> tuple[MetaPart, int]:
    """Return the argument at `offset`, a list, and the offset of the next one. A list that cannot be read takes the
    rest of the line.

    Args:
        key: the key of the argument.
    """
    found = _LIST.match(line, offset + len(key))
    following = 0 if found is None else take_words(line, found.end(), 0)[1]
    if found is None or found.end() == following < len(line):
        rest = line[offset + len(key) + 1 :].decode().rstrip()
        return CommandError("invalid_meta_value", f"{key}[{rest.removesuffix(')')}]"), len(line)
    return (key, found[1].decode()), following


def _unescaped(escape: re.Match[str]) -> str:
    return _UNESCAPED.get(escape[1], escape[0])


def _split(part: str, options: Mapping[str, Option]) -> MetaPart:
    key, bracket, rest = part.partition("(")
    if not bracket:
        return part, ""
    if not rest.endswith(")"):
        return CommandError("invalid_meta_key", f"?[{part}]")
    value = rest[:-1]
    if key in options and options[key].kind.is_text:
        return key, value
    if ")" in key or "(" in value or ")" in value:
        return CommandError("invalid_meta_key", f"{key}[{value}]")
    return key, value
