"""Rows to push, read from tuples, dicts, and tables of Arrow, pandas and Polars.

This file imports no table library, except pyarrow for tables of other libraries. Columns become lists a few thousand
rows at a time, so a generator or a stream of batches is never in memory as a whole.
"""

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, cast

from sonicpy._native.ids import are_names
from sonicpy.arguments import language_of
from sonicpy.errors import InvalidArgument
from sonicpy.ids import check_bucket, check_collection, check_names, object_name, shown

OBJECT_COLUMNS = ("id", "object")
"""Columns with the name of the object, if no column is given; the first that exists is used."""
TEXT_COLUMN = "text"
BATCH_ROWS = 4_096
"""Rows of a table that are turned into Python objects at once."""
REFUSED_MAX = 10_000
"""Refused rows that a report lists one by one, at most."""

Progress = Callable[[int], object]
"""Called after each chunk with the number of rows that are done, refused ones included."""


class Row(NamedTuple):
    """A text to push; the names are valid."""

    collection: str
    bucket: str
    object: str
    text: str
    lang: str | None


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
        refused: the first 10,000 rows that were refused.
        refused_count: how many rows were refused.
    """

    indexed: int = 0
    refused: list[Refused] = field(default_factory=list)
    refused_count: int = 0

    def refuse(self, row: Refused) -> None:
        """Note a refused row."""
        self.refused_count += 1
        if len(self.refused) < REFUSED_MAX:
            self.refused.append(row)

    def __str__(self) -> str:
        first = f"; the first: row {self.refused[0].row}, {self.refused[0].reason}" if self.refused else ""
        return f"{self.indexed} rows indexed, {self.refused_count} refused{first}"


@dataclass(frozen=True, slots=True)
class Shape:
    """The places of the parts of a row.

    Attributes:
        collection, bucket: of all rows; None: each row names its own, in the column of that name.
        object: the column with the name of the object; None: `id`, else `object`.
        text: the column with the text, or several whose texts are joined.
        lang: of all rows; None: each row's column `lang`, or a guess if there is none.
        compat: names of objects are those of compat mode.

    Raises:
        InvalidArgument: one of them is not valid.
    """

    collection: str | None = None
    bucket: str | None = None
    object: str | None = None
    text: str | Sequence[str] = TEXT_COLUMN
    lang: str | None = None
    compat: bool = False

    def __post_init__(self) -> None:
        if self.collection is not None:
            check_collection(self.collection)
        if self.bucket is not None:
            check_bucket(self.bucket)
        if not isinstance(self.object, str | None):
            raise InvalidArgument(f"object is {shown(self.object)}; allowed is the name of a column")
        if not isinstance(self.text, str) and not _are_columns(self.text):
            raise InvalidArgument(f"text is {shown(self.text)}; allowed are the name of a column, and several names")
        object.__setattr__(self, "lang", language_of(self.lang))

    @property
    def object_columns(self) -> tuple[str, ...]:
        """The columns that may hold the name of the object; the first one that is there does."""
        return OBJECT_COLUMNS if self.object is None else (self.object,)

    @property
    def text_columns(self) -> Sequence[str]:
        """The columns whose texts are joined."""
        return (self.text,) if isinstance(self.text, str) else self.text


def read_rows(rows: Any, shape: Shape) -> Iterator[Row | Refused]:
    """Yield the rows to push and those that cannot be pushed, in order.

    Args:
        rows: an iterable of tuples (object, text), (object, text, lang), (collection, bucket, object, text) or
            (collection, bucket, object, text, lang), of dicts, and of rows of a database, such as sqlite3.Row, which
            count as dicts if they have the columns, and else as tuples; or a table: pyarrow Table, RecordBatch or
            RecordBatchReader, pandas or Polars DataFrame, or anything with `__arrow_c_stream__` or `__dataframe__`.

    Raises:
        InvalidArgument: `rows` is none of these, or a table lacks a column.
    """
    batches = _batches(rows)
    if batches is not None:
        return _checked(_table_rows(batches, shape), compat=shape.compat)
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise InvalidArgument(
            f"rows is of type {type(rows).__name__}; allowed are an iterable of tuples or dicts, and a table"
        )
    return _checked((_parts(row, shape) for row in rows), compat=shape.compat)


Parts = tuple[Any, Any, Any, Any, Any] | str
"""Collection, bucket, object, text and language of a row; or the reason why it is no row."""


def _checked(rows: Iterable[Parts], *, compat: bool) -> Iterator[Row | Refused]:
    """Check the parts of rows: yield valid rows, and the others as refused."""
    for number, parts in enumerate(rows):
        if isinstance(parts, str):
            yield Refused(number, "", parts)
            continue
        collection, bucket, oid, text, lang = parts
        try:
            name = oid if type(oid) is str else object_name(oid)
            if not are_names(collection, bucket, name):
                check_names(collection, bucket, name, compat=compat, new=True)
            if lang is not None:
                lang = None if _is_missing(lang) or (isinstance(lang, str) and not lang) else language_of(lang)
        except InvalidArgument as error:
            reason = "the name of the object is missing" if _is_missing(oid) else str(error)
            yield Refused(number, str(oid) if isinstance(oid, str) else "", reason)
            continue
        if type(text) is not str:
            if not isinstance(text, str):
                yield Refused(number, name, _wrong_text(text))
                continue
            text = str(text)
        yield Row(collection, bucket, name, text, lang)


def _wrong_text(text: object) -> str:
    return (
        "the text is missing" if _is_missing(text) else f"the text is of type {type(text).__name__}; allowed is a str"
    )


def _is_missing(value: object) -> bool:
    """Return whether a value is missing: None, NaN, or a missing value of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):  # an array of several values, or a number that cannot be compared
        return False


def _are_columns(names: object) -> bool:
    return isinstance(names, Sequence) and len(names) > 0 and all(isinstance(name, str) for name in names)


# -- tuples and dicts ---------------------------------------------------------------------------------------------


def _parts(row: Any, shape: Shape) -> Parts:
    if isinstance(row, tuple | list):
        return _tuple_parts(row, shape)
    if isinstance(row, Mapping):
        return _dict_parts(row, shape)
    if hasattr(row, "keys") and hasattr(row, "__iter__"):  # of a database: sqlite3.Row, asyncpg.Record
        named = dict(zip(row.keys(), row, strict=True))
        return _dict_parts(named, shape) if _has_columns(named, shape) else _tuple_parts(tuple(row), shape)
    if isinstance(row, Sequence) and not isinstance(row, str | bytes | bytearray | memoryview):
        return _tuple_parts(tuple(row), shape)
    return f"a row is of type {type(row).__name__}; allowed are tuples and dicts"


def _has_columns(row: Mapping[str, object], shape: Shape) -> bool:
    return any(name in row for name in shape.object_columns) and all(name in row for name in shape.text_columns)


def _tuple_parts(row: Sequence[Any], shape: Shape) -> Parts:
    match len(row):
        case 2:
            return (shape.collection, shape.bucket, row[0], row[1], shape.lang)
        case 3:
            return (shape.collection, shape.bucket, row[0], row[1], row[2])
        case 4:
            return (row[0], row[1], row[2], row[3], shape.lang)
        case 5:
            return (row[0], row[1], row[2], row[3], row[4])
    return f"a row of {len(row)} values instead of 2 to 5"


def _dict_parts(row: Mapping[str, object], shape: Shape) -> Parts:
    column = next((name for name in shape.object_columns if name in row), None)
    if column is None:
        return f"the row has no {' and no '.join(shape.object_columns)}"
    several = None if isinstance(shape.text, str) else [row.get(name) for name in shape.text]
    return (
        row.get("collection") if shape.collection is None else shape.collection,
        row.get("bucket") if shape.bucket is None else shape.bucket,
        row[column],
        row.get(str(shape.text)) if several is None else _joined(several),
        row.get("lang") if shape.lang is None else shape.lang,
    )


def _joined(texts: Iterable[object]) -> object:
    """Return the texts of several columns as one, without missing ones; or a value that is no text, to be refused."""
    there = [text for text in texts if not _is_missing(text)]
    wrong = next((text for text in there if not isinstance(text, str)), None)
    if wrong is not None or not there:
        return wrong
    return "\n".join(cast(list[str], there))


# -- tables -------------------------------------------------------------------------------------------------------

Columns = dict[str, Callable[[], list[Any]]]
"""Some rows of a table: by name of the column, a function that returns its values."""


def _batches(rows: Any) -> Iterator[Columns] | None:
    """Return the rows of a table in batches; None: it is no table."""
    package = type(rows).__module__.partition(".")[0]
    if package == "pandas" and hasattr(rows, "iloc"):
        return _pandas_batches(rows)
    if package == "polars" and hasattr(rows, "iter_slices"):
        parts = rows.iter_slices(BATCH_ROWS) if rows.height else [rows]  # then missing columns are reported
        return ({c: part.get_column(c).to_list for c in part.columns} for part in parts)
    if package == "polars" and hasattr(rows, "collect"):
        return _batches(rows.collect())
    if package == "pyarrow" and hasattr(rows, "schema"):
        return _arrow_batches(rows)
    if hasattr(rows, "__arrow_c_stream__"):
        return _arrow_batches(_stream(rows))
    if hasattr(rows, "__dataframe__"):
        return _arrow_batches(_pyarrow(rows, ".interchange").from_dataframe(rows))
    return None


def _pyarrow(rows: object, part: str = "") -> Any:
    try:
        return importlib.import_module(f"pyarrow{part}")
    except ImportError as error:
        raise InvalidArgument(
            f"rows is of type {type(rows).__name__}, which pyarrow reads: pip install pyarrow"
        ) from error


def _stream(rows: Any) -> Any:
    pyarrow = _pyarrow(rows)
    try:
        return pyarrow.RecordBatchReader.from_stream(rows)
    except pyarrow.ArrowInvalid as error:  # a stream of values instead of rows
        kind = f"{type(rows).__module__.partition('.')[0]} {type(rows).__name__}"
        raise InvalidArgument(f"rows is a {kind}, a column without names of objects: give a table") from error


def _pandas_batches(frame: Any) -> Iterator[Columns]:
    if frame.ndim == 1:  # a Series: the index names the objects
        if frame.index.nlevels > 1:
            raise InvalidArgument(
                f"the index of the Series has {frame.index.nlevels} levels; allowed is one, the objects"
            )
        frame = frame.to_frame(TEXT_COLUMN).rename_axis("id")
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index(allow_duplicates=True)
    names = [str(name) for name in frame.columns]  # a number in a table that was read without a header
    ambiguous = _ambiguous(names, ", its index included")
    for start in range(0, max(len(frame), 1), BATCH_ROWS):
        part = frame.iloc[start : start + BATCH_ROWS]
        yield {name: part.iloc[:, place].tolist for place, name in enumerate(names)} | ambiguous


def _ambiguous(names: Sequence[str], which: str = "") -> Columns:
    """Return the columns whose names others have, too: asked for, they refuse.

    Args:
        which: what is counted as a column, for the sentence.
    """
    counted = Counter(names).items()
    return {name: partial(_refuse_ambiguous, name, count, which) for name, count in counted if count > 1}


def _refuse_ambiguous(name: str, count: int, which: str) -> list[Any]:
    """Stand for the values of a column whose name others have, too. Raises InvalidArgument."""
    raise InvalidArgument(
        f"the table has {count} columns with the name {shown(name)}{which}; rename or drop all but one"
    )


def _arrow_batches(table: Any) -> Iterator[Columns]:
    batches: Iterable[Any] = table
    if hasattr(table, "to_batches") and not hasattr(table, "read_next_batch"):
        batches = table.to_batches(max_chunksize=BATCH_ROWS)
    elif hasattr(table, "num_rows"):
        batches = [table]
    seen = False
    for batch in batches:
        for start in range(0, max(batch.num_rows, 1), BATCH_ROWS):
            part = batch.slice(start, BATCH_ROWS)
            seen = True
            names = part.schema.names
            yield {name: part.column(place).to_pylist for place, name in enumerate(names)} | _ambiguous(names)
    if not seen:  # then missing columns are reported
        yield {name: list for name in table.schema.names} | _ambiguous(table.schema.names)


def _table_rows(batches: Iterator[Columns], shape: Shape) -> Iterator[Parts]:
    for columns in batches:
        oids = _column(columns, shape.object_columns)
        if isinstance(shape.text, str):
            texts: Iterable[object] = _column(columns, (shape.text,))
        else:
            several = [_column(columns, (name,)) for name in shape.text]
            texts = map(_joined, zip(*several, strict=True))
        count = len(oids)
        yield from zip(
            _all(columns, "collection", shape.collection, count),
            _all(columns, "bucket", shape.bucket, count),
            oids,
            texts,
            _all(columns, "lang", shape.lang, count),
            strict=True,
        )


def _all(columns: Columns, name: str, value: str | None, count: int) -> list[Any]:
    """Return the value of all rows, or else the column of that name if there is one."""
    return columns[name]() if value is None and name in columns else [value] * count


def _column(columns: Columns, names: Sequence[str]) -> list[Any]:
    for name in names:
        if name in columns:
            return columns[name]()
    there = ", ".join(map(str, columns)) or "no column"
    raise InvalidArgument(f"the table has no column {' and no '.join(names)}; it has {there}")
