"""META arguments: the `KEY(VALUE)` parts that may follow the fixed arguments of a command.

All parts are read, even behind a wrong one: the last error is the one reported, and of a key given twice the last value
holds.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from sonicpy.errors import CommandError
from sonicpy.langcodes import NO_LANGUAGE, language_code

LIMIT_CEILING = 2**16 - 1
OFFSET_CEILING = 2**32 - 1
POSITION_CEILING = 2**53 - 1
"""The largest number that every reader of JSON takes: answers name positions."""
LANG_NONE = NO_LANGUAGE


class Meta(NamedTuple):
    """The META arguments of one command; each field is named like its key, in lower case."""

    limit: int | None = None
    offset: int = 0
    lang: str | None = None
    """A language code in lower case; LANG_NONE; or None: guess."""
    scores: bool = False
    stem: bool = True
    total: bool = False
    prefix: str = ""
    after: str | None = None
    position: int | None = None


NO_META = Meta()


class Languages(NamedTuple):
    """The values of LANG beside LANG_NONE."""

    codes: frozenset[str]
    """In lower case."""
    has_tags: bool = False
    """Also every other tag that names a language (BCP 47)."""


Reader = Callable[[str, str, Languages], object]
"""Makes the field of a key from the key, its value and the values of LANG."""

NAME_KEYS = frozenset({"AFTER", "PREFIX"})
"""Keys whose value may hold brackets: everything between the first one and the end of the word."""


def read_meta(
    parts: Iterable[str], allowed: frozenset[str], lang_codes: frozenset[str], *, has_tags: bool = False
) -> Meta:
    """Return the META arguments in `parts`.

    Args:
        parts: the words of the line from the first META argument on.
        allowed: the keys that this command takes.
        lang_codes: the values of LANG beside LANG_NONE, in lower case.
        has_tags: LANG also takes every other tag of these languages, as ISO 639-1 and BCP 47 have them.

    Raises:
        CommandError: `invalid_meta_key` or `invalid_meta_value`, for the last wrong part.
    """
    values: dict[str, Any] = {}
    last: CommandError | None = None
    languages = Languages(lang_codes, has_tags)
    for part in parts:
        try:
            key, value = _split(part, allowed)
            if key not in allowed:
                raise CommandError("invalid_meta_key", f"{key}[{value}]")
            values[key.lower()] = READERS[key](key, value, languages)
        except CommandError as error:
            last = error
    if last is not None:
        raise last
    return Meta(**values)


def _split(part: str, allowed: frozenset[str]) -> tuple[str, str]:
    key, bracket, rest = part.partition("(")
    if not bracket:
        return part, ""
    if not rest.endswith(")"):
        raise CommandError("invalid_meta_key", f"?[{part}]")
    value = rest[:-1]
    if key in NAME_KEYS and key in allowed:
        return key, value
    if ")" in key or "(" in value or ")" in value:
        raise CommandError("invalid_meta_key", f"{key}[{value}]")
    return key, value


def _number(key: str, value: str, ceiling: int) -> int:
    digits = value.removeprefix("+")
    if digits.isascii() and digits.isdigit():
        significant = digits.lstrip("0") or "0"
        if len(significant) <= len(str(ceiling)):  # int() refuses thousands of digits
            number = int(significant)
            if number <= ceiling:
                return number
    raise CommandError("invalid_meta_value", f"{key}[{value}]")


def _lang(key: str, value: str, languages: Languages) -> str:
    if value == LANG_NONE:
        return value
    code: str | None = value.lower()
    if code not in languages.codes:
        code = language_code(value) if languages.has_tags else None
    if code is None:
        raise CommandError("invalid_meta_value", f"{key}[{value}]")
    return code


def _name(key: str, value: str, languages: Languages) -> str:
    if not value:
        raise CommandError("invalid_meta_value", f"{key}[]")
    return value


READERS: dict[str, Reader] = {
    "LIMIT": lambda key, value, languages: _number(key, value, LIMIT_CEILING),
    "OFFSET": lambda key, value, languages: _number(key, value, OFFSET_CEILING),
    "LANG": _lang,
    "SCORES": lambda key, value, languages: _number(key, value, 1) == 1,
    "STEM": lambda key, value, languages: _number(key, value, 1) == 1,
    "TOTAL": lambda key, value, languages: _number(key, value, 1) == 1,
    "PREFIX": _name,
    "AFTER": _name,
    "POSITION": lambda key, value, languages: _number(key, value, POSITION_CEILING),
}
"""How the value of each key is read."""
