"""Error messages about settings, one sentence each: place of the key, value found, values allowed.

No key is named here, so that the models can import this module.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import get_args

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from rapidfuzz import fuzz, process

from sonicpy.config.kinds import Allowed
from sonicpy.errors import ConfigError

SHOWN_LENGTH = 60
NEAR_ENOUGH = 60.0
"""The least similarity of a name to suggest, from 0 to 100. Names with a few typing errors are above it, unrelated ones
below."""


def describe(error: ValidationError, fields: Mapping[str, FieldInfo], origins: Mapping[str, str]) -> str:
    """Return a sentence about the first of the errors that pydantic found.

    Args:
        error: the error of pydantic.
        fields: every known key.
        origins: key -> its place, such as "sonicpy.cfg:3: search.ranking"; a key that is missing has no place but
            itself.
    """
    first = error.errors(include_url=False, include_context=False)[0]
    path = [str(part) for part in first["loc"]]
    key = _known_part(path, fields)
    if key is None:
        return _describe_structure(".".join(path), first["type"], first["input"], fields)
    # A path longer than the key leads into a list, one of whose elements is wrong.
    verb = "is" if key == ".".join(path) else "holds"
    return f"{origins.get(key, key)} {verb} {_found(fields[key], first['input'])}; allowed is {allowed(fields[key])}."


def allowed(field: FieldInfo) -> str:
    """Return the end of the sentence "allowed is ..." for `field`."""
    for mark in field.metadata:
        if isinstance(mark, Allowed):
            return mark.text
    *others, last = [show(choice) for choice in get_args(field.annotation)]
    return f"{', '.join(others)} or {last}"


def show(value: object) -> str:
    """Return `value` as a settings file writes it, cut to SHOWN_LENGTH characters; of one that no file can hold, such
    as a list in itself, its type.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return f"a value of type {type(value).__name__}"
    text = text.encode(errors="backslashreplace").decode()  # bytes of the environment that are not UTF-8
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}..."


def show_whole(value: object) -> str:
    """Return `value`, found in the place of a section, as `show` does; of a list or a table with values its type,
    because it may hold a password.
    """
    return f"a value of type {type(value).__name__}" if value and isinstance(value, list | dict) else show(value)


def hint(key: str, known: Iterable[str]) -> str:
    """Return the part of a sentence that names the known key most similar to `key`; empty if no key is similar."""
    best = process.extractOne(key, list(known), scorer=fuzz.ratio, score_cutoff=NEAR_ENOUGH)
    return "" if best is None else f"; the nearest known key is {best[0]}"


@contextmanager
def naming(key: str) -> Iterator[None]:
    """Put `key` before the message of a ConfigError inside a `with` block."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from error


def is_secret(field: FieldInfo) -> bool:
    """Return whether messages must not show the value of `field`."""
    return any(isinstance(mark, Allowed) and mark.secret for mark in field.metadata)


def _known_part(path: Sequence[str], fields: Mapping[str, FieldInfo]) -> str | None:
    starts = [".".join(path[:length]) for length in range(len(path), 0, -1)]
    return next((start for start in starts if start in fields), None)


def _describe_structure(path: str, kind: str, value: object, fields: Mapping[str, FieldInfo]) -> str:
    if kind == "extra_forbidden":
        return f"{path or show(path)} is not a known key{hint(path, fields)}."
    return f"{path or 'the configuration'} is {show_whole(value)}; allowed is a section with keys."


def _found(field: FieldInfo, value: object) -> str:
    if is_secret(field):
        return f"a value of type {type(value).__name__}"
    return show(value)
