"""Rows to push, read from tuples, dicts, rows with names, and tables.

A generator or a stream of batches is never in memory as a whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypedDict

from sonicpy._native.ids import are_names
from sonicpy.api.columns import RowsOfBucket
from sonicpy.api.missing import is_missing
from sonicpy.api.row_parts import NoParts, RowParts, RowReader, no_row, reader_of, text_of_columns
from sonicpy.api.shape import OBJECT_COLUMNS, TEXT_COLUMN, Shape
from sonicpy.api.tables import Columns, batches, is_table
from sonicpy.arguments import language_of
from sonicpy.errors import InvalidArgument
from sonicpy.ids import check_names, is_iterable, object_name, plain_str, shown
from sonicpy.tags import elements_of, tags_of
from sonicpy.text_names import texts_of
from sonicpy.values import plain_values
from sonicpy.vectors import bits_of

__all__ = [
    "OBJECT_COLUMNS",
    "TEXT_COLUMN",
    "OnProgress",
    "PushReport",
    "Refused",
    "Row",
    "Shape",
    "read_rows",
    "report_of",
]

REFUSED_MAX = 10_000
"""The most refused rows that a report lists one by one."""

NONE: Final[Mapping[str, Any]] = MappingProxyType({})
OnProgress = Callable[[int], object]
"""A function that is called after each chunk with the number of rows that are done, refused ones included."""


class Row(NamedTuple):
    """A text to push, with valid names."""

    collection: str
    bucket: str
    object: str
    text: str
    lang: str | None
    vector: str | None = None
    """Bits of vectors, in the form of `sonicpy.vectors`."""
    tags: list[str] | None = None
    """All tags of the object; None: the tags do not change."""
    values: dict[str, int | str | None] | None = None
    """Values by name, points as text; None: the values do not change."""
    texts: dict[str, str] | None = None
    """Named texts, with "" for the part without a name; None: the text has no named parts."""


class Refused(NamedTuple):
    """A row that was not pushed.

    Attributes:
        row: its place in the input, from 0.
        object: the name of its object, or "" if it has none.
        reason: the reason, as half a sentence.
    """

    row: int
    object: str
    reason: str


@dataclass(slots=True)
class PushReport:
    """The result of pushing many rows.

    Attributes:
        indexed: how many rows were pushed.
        rows: how many rows were handled: pushed or refused. After an error, these are the first rows of the input.
        refused: the first 10,000 rows that were refused.
        refused_count: how many rows were refused.
        unchanged: how many of the indexed rows changed nothing, because with `upsert` their object held just their
            text.
        failed_count: how many of the refused rows a server failed with, so that it may take them later.
    """

    indexed: int = 0
    refused: list[Refused] = field(default_factory=list)
    refused_count: int = 0
    rows: int = 0
    unchanged: int = 0
    failed_count: int = 0

    def refuse(self, row: Refused) -> None:
        """Note a refused row."""
        self.refused_count += 1
        if len(self.refused) < REFUSED_MAX:
            self.refused.append(row)

    def __str__(self) -> str:
        first = f"; the first: row {self.refused[0].row}, {self.refused[0].reason}" if self.refused else ""
        return f"{self.indexed} rows indexed, {self.refused_count} refused{first}"


def report_of(given: Any) -> PushReport:
    """Return a given report, or a new one instead of None. Raises InvalidArgument if it is anything else."""
    if given is None:
        return PushReport()
    if not isinstance(given, PushReport):
        raise InvalidArgument(f"report is {shown(given)}; allowed are None and a PushReport")
    return given


def read_rows(rows: Any, shape: Shape) -> Iterator[Row | Refused]:
    """Yield the rows to push and those that cannot be pushed, in order.

    Args:
        rows: a table that `sonicpy.api.tables` reads; or an iterable of tables, and of rows: tuples and lists (object,
            text), (object, text, lang), (collection, bucket, object, text), (collection, bucket, object, text, lang) or
            (collection, bucket, object, text, lang, vector), dicts, and rows that have names, as
            `sonicpy.api.row_parts` reads them. Or a RowsOfBucket with one of these.

    Raises:
        InvalidArgument: `rows` is none of these, or a table lacks a column.
    """
    if isinstance(rows, RowsOfBucket):
        rows, shape = rows.rows, replace(shape, is_one_bucket=True)
    table = batches(rows)
    if table is not None:
        return _checked(_table_rows(table, shape), compat=shape.compat)
    if isinstance(rows, str | bytes | Mapping) or not is_iterable(rows):
        raise InvalidArgument(
            f"rows is of type {type(rows).__name__}; allowed are an iterable of tuples or dicts, and a table"
        )
    return _checked(_rows(rows, shape), compat=shape.compat)


def _rows(rows: Iterable[Any], shape: Shape) -> Iterator[RowParts | NoParts]:
    readers: dict[type, RowReader | None] = {Refused: _refused}  # of a program that passes rows on
    for row in rows:
        kind = type(row)
        if kind is Row:
            yield _of_row(row, shape)
            continue
        if kind not in readers:
            readers[kind] = None if is_table(kind) else reader_of(kind)
        reader = readers[kind]
        if reader is not None:
            yield reader(row, shape)
        elif (table := batches(row)) is not None:
            yield from _table_rows(table, shape)
        else:
            yield no_row(row)


def _refused(row: Refused, _: Shape) -> NoParts:
    return NoParts(row.reason, row.object)


def _of_row(row: Row, shape: Shape) -> RowParts:
    """Return the parts of a Row, which has its own tags, values and vectors."""
    collection, bucket, lang = shape.collection or row.collection, shape.bucket or row.bucket, shape.lang or row.lang
    return (
        collection,
        bucket,
        row.object,
        row.texts or row.text,
        lang,
        [row.tags],
        row.values or {},
        {"": row.vector},
        not shape.compat,
    )


def _checked(rows: Iterable[RowParts | NoParts], *, compat: bool) -> Iterator[Row | Refused]:
    """Check the parts of rows: yield valid rows, and the others as refused. `compat`: as in `Shape`."""
    new_row = tuple.__new__  # in half the time of Row()
    for number, parts in enumerate(rows):
        if isinstance(parts, NoParts):
            yield Refused(number, parts.object, parts.reason)
            continue
        collection, bucket, oid, text, lang = parts[:5]
        more: RowExtras = {}
        texts: dict[str, str] | None = None
        name = ""
        try:
            name = oid if type(oid) is str else object_name(oid)
            if not are_names(collection, bucket, name):
                check_names(collection, bucket, name, compat=compat, new=True)
                collection, bucket = plain_str(collection), plain_str(bucket)
            if lang is not None:
                lang = None if is_missing(lang) or (isinstance(lang, str) and not lang) else language_of(lang)
            if len(parts) > 5:
                more = extras_of_row(*parts[5:])
                if compat and more:
                    raise InvalidArgument("tags, values or vectors are given in compat mode; Sonic lacks them")
            if type(text) is not str and isinstance(text, Mapping) and text:
                texts = _named_texts(text, compat=compat)
                text = " ".join(filter(None, texts.values()))
        except InvalidArgument as error:
            reason = "the name of the object is missing" if is_missing(oid) else str(error)
            yield Refused(number, plain_str(oid) if isinstance(oid, str) else name, reason)
            continue
        if type(text) is not str:
            if not isinstance(text, str):
                yield Refused(number, name, _wrong_text(text))
                continue
            text = plain_str(text)
        if more or texts:
            yield Row(collection, bucket, name, text, lang, **more, texts=texts)
        else:
            yield new_row(Row, (collection, bucket, name, text, lang, None, None, None, None))


class RowExtras(TypedDict, total=False):
    """The tags, values and vectors of a Row."""

    tags: list[str]
    values: dict[str, int | str | None]
    vector: str | None


def extras_of_row(
    tags: Iterable[Any], values: Mapping[str, Any], vectors: Mapping[str, Any] = NONE, has_removed: bool = False
) -> RowExtras:
    """Return the tags, values and vectors of a row, without missing ones.

    Args:
        tags: the values of the row's columns with tags: a tag, or several in a list.
        values: name -> value.
        vectors: column -> vector.
        has_removed: a value None removes that of the object; else it is missing.

    Raises:
        InvalidArgument: one of them is not allowed.
    """
    found: RowExtras = {}
    if type(values) is not dict and not isinstance(values, Mapping):
        raise InvalidArgument(f"values is {shown(values)}; allowed is a dict")
    there = [one for one in tags if not is_missing(one)]
    if there:
        lists = [[one] if isinstance(one, str) or not is_iterable(one) else elements_of(one) for one in there]
        found["tags"] = tags_of(list(chain.from_iterable(lists)))
    if given := {
        name: value for name, value in values.items() if (has_removed and value is None) or not is_missing(value)
    }:
        found["values"] = plain_values(given)
    if there_too := {name: vector for name, vector in vectors.items() if not is_missing(vector)}:
        found["vector"] = bits_of("vector", there_too.get("", there_too))
    return found


def _named_texts(texts: Mapping[Any, Any], *, compat: bool) -> dict[str, str]:
    if compat:
        raise InvalidArgument("texts with names are not offered in compat mode: Sonic lacks them")
    return texts_of(texts)


def _wrong_text(text: object) -> str:
    if isinstance(text, Mapping) or is_missing(text):
        return "the text is missing"
    return f"the text is of type {type(text).__name__}; allowed is a str"


def _table_rows(table: Iterator[Columns], shape: Shape) -> Iterator[RowParts]:
    for columns in table:
        oids = _column(columns, shape.object_columns)
        if isinstance(shape.text, str):
            texts: Iterable[object] = _column(columns, (shape.text,))
        else:
            several = [_column(columns, (name,)) for name in shape.text_columns]
            texts = (text_of_columns(row, shape) for row in zip(*several, strict=True))
        count = len(oids)
        yield from zip(
            _all(columns, "collection", shape.collection, count),
            _all(columns, "bucket", shape.bucket, count),
            oids,
            texts,
            _all(columns, "lang", shape.lang, count) if "lang" in columns else [shape.lang] * count,
            *_tagging(columns, shape, count),
            strict=True,
        )


def _tagging(columns: Columns, shape: Shape, count: int) -> list[Iterable[Any]]:
    """Return the tags, values and vectors of rows, as their last parts; []: the shape has no such columns.

    Args:
        count: the number of rows.
    """
    if not shape.extra_columns:
        return []
    tags = [_column(columns, (name,)) for name in shape.tag_columns]
    values = _by_names(columns, shape.value_columns, count)
    return [zip(*tags, strict=True) if tags else [()] * count, values, _by_names(columns, dict(shape.vectors), count)]


def _by_names(columns: Columns, named: Mapping[str, str], count: int) -> Iterable[dict[str, Any]]:
    """Return, for each of `count` rows, the values of some columns by the names that `named` gives them."""
    if not named:
        return [{}] * count
    several = [_column(columns, (column,)) for column in named.values()]
    return (dict(zip(named, row, strict=True)) for row in zip(*several, strict=True))


def _all(columns: Columns, name: str, value: str | None, count: int) -> list[Any]:
    """Return a column with `value` for all `count` rows; if `value` is None, the column with the name `name`."""
    return _column(columns, (name,)) if value is None else [value] * count


def _column(columns: Columns, names: Sequence[str]) -> list[Any]:
    for name in names:
        if name in columns:
            return columns[name]()
    there = ", ".join(map(str, columns)) or "no column"
    raise InvalidArgument(f"the table has no column {' and no '.join(names)}; it has {there}")
