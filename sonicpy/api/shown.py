"""Titles, texts and links of objects, from `http.hits`, or --show of a query.

    a URL template       https://shop.example/{object}, with {collection} and {bucket}
    a file of rows       JSONL or CSV with the columns id (or object), title, text, link, or with others whose names
                         `sonicpy import` proposes; rows with a collection, and with a bucket, are for its objects alone
    a function           package.module:function or /path/to/file.py:function; it gets a collection, a bucket and a list
                         of names of objects, and returns a mapping from names to mappings with these keys

The page escapes all of it. Links other than http, https and relative ones are left out. Of a long text only the
beginning is shown, and CUT after it.
"""

import csv
import importlib
import importlib.util
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from sonicpy.api.columns import FIELD_CHARACTERS_MAX, ID_NAMES, OBJECT_COLUMNS, columns_like, columns_of_texts
from sonicpy.errors import ConfigError

TEXT_MAX = 500
"""The most characters of a text that are shown, to people."""
LONG_TEXT_MAX = 4_000
"""The same to assistants, which answer from the text."""
CUT = "\u2026"
"""The sign that the rest of a text is not shown."""
SCHEMES = frozenset(("", "http", "https"))


class Shown(NamedTuple):
    """A title, a text and a link of an object, each None if the object has none."""

    title: str | None = None
    text: str | None = None
    link: str | None = None


Show = Callable[[str, str, Sequence[str]], list[Shown]]
"""Returns a display of each object, in their order; the arguments are collection, bucket and names of objects."""


Function = Callable[[str, str, list[str]], Mapping[str, Mapping[str, Any]]]
"""A function of a program that returns, by name of an object, a mapping with the keys title, text and link."""


def shows(setting: str | Function, text_max: int = TEXT_MAX) -> Show:
    """Return the function that shows objects, for a setting or a function of a program.

    Args:
        text_max: the most characters of a text that are shown.

    Raises:
        ConfigError: the setting is neither a template nor a file nor a function, or its file cannot be read.
    """
    if callable(setting):
        return _calling(setting, text_max)
    if "{object}" in setting:
        return _template(setting)
    if Path(setting).suffix in READERS:
        return _rows(Path(setting), text_max)
    if ":" in setting and "://" not in setting:
        return _function(setting, text_max)
    raise ConfigError(
        f"{setting!r} shows no objects; allowed are a URL with {{object}}, a .jsonl or .csv file, or module:function."
    )


def shown_of(value: Mapping[str, Any], text_max: int) -> Shown:
    """Return the display of an object, from the keys title, text and link of a mapping; each may be missing."""
    title, text, link = (None if value.get(key) in (None, "") else _encodable(value[key]) for key in Shown._fields)
    if text is not None and len(text) > text_max:
        text = text[:text_max].rstrip() + CUT
    return Shown(title, text, safe(link))


def _encodable(value: Any) -> str:
    """Return a value as text, with `?` for half a surrogate pair, as a program leaves it that cuts texts in UTF-16."""
    return str(value).encode(errors="replace").decode()


def safe(link: str | None) -> str | None:
    """Return a link; None: there is none, or its scheme could run code in a page."""
    if link is None:
        return None
    try:
        parts = urlsplit("".join(link.split()))
    except ValueError:
        return None
    return link if parts.scheme.lower() in SCHEMES and not link.startswith("//") else None


def _template(setting: str) -> Show:
    if safe(setting) is None:
        raise ConfigError(f"{setting!r} shows no objects; allowed are links that begin with http:, https: or a path.")

    def show(collection: str, bucket: str, objects: Sequence[str]) -> list[Shown]:
        named = {"{collection}": collection, "{bucket}": bucket}
        return [Shown(link=_filled(setting, {**named, "{object}": each})) for each in objects]

    return show


def _filled(template: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        template = template.replace(name, quote(value, safe=""))
    return template


def _rows(path: Path, text_max: int) -> Show:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            held = dict(_held(READERS[path.suffix](file), text_max))
    except (OSError, ValueError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{path} cannot be read as rows that show objects: {reason}.") from error
    except RecursionError as error:
        raise ConfigError(f"{path} cannot be read as rows that show objects: a row is nested too deeply.") from error

    def show(collection: str, bucket: str, objects: Sequence[str]) -> list[Shown]:
        scopes = ((collection, bucket), (collection, None), (None, bucket), (None, None))
        return [next((held[*scope, each] for scope in scopes if (*scope, each) in held), Shown()) for each in objects]

    return show


def _scope_of(row: Any) -> tuple[str | None, str | None]:
    """Return the collection and bucket that a row is for; None: for any."""
    if not isinstance(row, dict):
        return None, None
    return row.get("collection") or None, row.get("bucket") or None


def _held(rows: Iterator[Any], text_max: int) -> Iterator[tuple[tuple[str | None, str | None, str], Shown]]:
    """Yield collection, bucket and object of each row, with its display. Raises ValueError for a row without an id.

    If the first row has none of the keys of `Shown`, columns whose names resemble a title and a text are used.
    """
    likely: list[str] | None = None
    for row in rows:
        columns = [column for column in row if isinstance(column, str)] if isinstance(row, dict) else []
        exact = [column for column in OBJECT_COLUMNS if column in columns]
        identifier = next(iter(exact or columns_like(columns, ID_NAMES)), None)
        if identifier is None or row[identifier] is None:
            has = f"; it has {', '.join(columns)}" if columns else ""
            raise ValueError(f"a row has no column {' or '.join(OBJECT_COLUMNS)}{has}")
        if likely is None:
            is_named = any(key in row for key in Shown._fields)
            likely = [] if is_named else [column for column in columns_of_texts(columns) if column != identifier]
        named = dict(zip(("title", "text"), map(row.get, likely), strict=False)) if likely else row
        yield (*_scope_of(row), str(row[identifier])), shown_of(named, text_max)


def _json_rows(file: Any) -> Iterator[Any]:
    return (json.loads(line) for line in file if line.strip())


def _csv_rows(file: Any) -> Iterator[Any]:
    csv.field_size_limit(FIELD_CHARACTERS_MAX)
    return csv.DictReader(file)


READERS: dict[str, Callable[[Any], Iterator[Any]]] = {".jsonl": _json_rows, ".csv": _csv_rows}
"""Ending of a file's name -> function that reads its rows."""


def _function(setting: str, text_max: int) -> Show:
    place, _, name = setting.rpartition(":")
    try:
        call = getattr(module_at(place), name)
    except Exception as error:  # noqa: BLE001 - of a module that the setting names
        raise ConfigError(f"{setting!r}, which shows objects, cannot be imported: {error}.") from error
    return _calling(call, text_max)


def _calling(call: Function, text_max: int) -> Show:
    def show(collection: str, bucket: str, objects: Sequence[str]) -> list[Shown]:
        found = call(collection, bucket, list(objects))
        return [shown_of(found.get(each) or {}, text_max) for each in objects]

    return show


def module_at(place: str) -> Any:
    """Return a module by its name, or by the absolute path of its file. Raises ImportError, and the errors of the
    module.
    """
    if not place.startswith("/"):
        return importlib.import_module(place)
    spec = importlib.util.spec_from_file_location(Path(place).stem, place)
    if spec is None or spec.loader is None:
        raise ImportError(f"{place} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
