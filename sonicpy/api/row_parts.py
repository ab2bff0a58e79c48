"""The parts of one row: a tuple or list is read by position, everything that has names by its names.

    dict, and every other Mapping                     its keys; several text columns may lack some
    namedtuple, SQLAlchemy's Row, pandas' itertuples  `_fields`
    Row of Spark                                      `__fields__`
    instance of a dataclass, or of an attrs class     its fields
    sqlite3.Row, and DictRow of psycopg2              `keys()`, and its values in the same order
    asyncpg.Record, pandas Series, ...                `keys()`, and the value of each

A row that lacks a column is refused; the value is never taken from another place.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sonicpy.api.missing import is_missing, joined
from sonicpy.api.shape import Shape
from sonicpy.errors import InvalidArgument
from sonicpy.ids import object_name, plain_str, shown, shown_part

RowParts = (
    tuple[Any, Any, Any, Any, Any]
    | tuple[Any, Any, Any, Any, Any, Any, Any, Any]
    | tuple[Any, Any, Any, Any, Any, Any, Any, Any, bool]
)
"""Collection, bucket, object, text and language of a row; where the shape has columns for them, also the values of the
columns with tags, the values by name, and the vectors by column; of a Row, also whether a value None removes one."""

COLUMNS_SHOWN = 20
"""The most names of columns that the refusal of one row lists."""
ALLOWED_ROWS = "allowed are tuples, dicts, and rows that have names"


@dataclasses.dataclass(frozen=True, slots=True)
class NoParts:
    """A row that cannot be read: the reason, as half a sentence, and the name of its object, or ""."""

    reason: str
    object: str = ""


RowReader = Callable[[Any, Shape], RowParts | NoParts]


def reader_of(kind: type) -> RowReader | None:
    """Return the function that reads rows of a type; None: objects of this type are not rows."""
    if kind is tuple or kind is list:
        return _by_position
    if issubclass(kind, Mapping):
        return _by_key
    for has_names, reader in NAMED:
        if has_names(kind):
            return reader
    if issubclass(kind, Sequence) and not issubclass(kind, str | bytes | bytearray | memoryview):
        return _by_position
    return None


def _by_position(row: Sequence[Any], shape: Shape) -> RowParts | NoParts:
    if shape.extra_columns and (len(row) < 6 or shape.tag_columns or shape.value_columns):
        return NoParts("a row without names of columns has no column with tags, values or a vector")
    match len(row):
        case 2:
            return (shape.collection, shape.bucket, row[0], row[1], shape.lang)
        case 3:
            return (shape.collection, shape.bucket, row[0], row[1], row[2])
        case 4 | 5 | 6 if shape.is_one_bucket and not _is_of_bucket(row, shape):
            others = f"the row is of the bucket {shown_part(row[1])} of {shown_part(row[0])}"
            reason = f"{others}; allowed is {shape.bucket!r} of {shape.collection!r}"
            return NoParts(reason, row[2] if isinstance(row[2], str) else "")
        case 4:
            return (row[0], row[1], row[2], row[3], shape.lang)
        case 5:
            return (row[0], row[1], row[2], row[3], row[4])
        case 6:
            return (row[0], row[1], row[2], row[3], row[4], (), {}, {"": row[5]})
    return NoParts(f"the row has {len(row)} value{'' if len(row) == 1 else 's'}; allowed are 2 to 6")


def _is_of_bucket(row: Sequence[Any], shape: Shape) -> bool:
    # A type that compares in its own way, such as an array or a text without regard to capitals, decides nothing.
    pairs = ((row[0], shape.collection), (row[1], shape.bucket))
    return all(isinstance(name, str) and plain_str(name) == plain_str(allowed or "") for name, allowed in pairs)


def _by_key(row: Mapping[Any, Any], shape: Shape) -> RowParts | NoParts:
    if shape.is_plain and shape.text in row:  # as most are
        for column in shape.object_columns:
            if column in row:
                lang = row.get("lang") if shape.lang is None else shape.lang
                return (shape.collection, shape.bucket, row[column], row[shape.text], lang)
    texts = shape.text_columns
    for name in texts:
        if name in row:
            return _parts(row, shape, ())
    return _parts(row, shape, texts)


def _by_fields(row: Any, shape: Shape) -> RowParts | NoParts:
    return _by_name(row._fields, tuple(row), shape)


def _by_fields_of_spark(row: Any, shape: Shape) -> RowParts | NoParts:
    names = getattr(row, "__fields__", None)
    return _by_position(row, shape) if names is None else _by_name(names, tuple(row), shape)


def _by_attributes(row: Any, shape: Shape) -> RowParts | NoParts:
    kind = type(row)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else kind.__attrs_attrs__
    names = [field.name for field in fields]
    return _by_name(names, [getattr(row, name, None) for name in names], shape)


def _by_keys_in_order(row: Any, shape: Shape) -> RowParts | NoParts:
    # A sqlite3.Row asked for "id" may answer with a column "Id" that comes first.
    return _by_name(list(row.keys()), tuple(row), shape)


def _by_keys(row: Any, shape: Shape) -> RowParts | NoParts:
    try:
        names = list(row.keys())
        values = [row[name] for name in names]
    except (TypeError, LookupError):  # such as an element of XML, whose keys() are not those of its items
        return no_row(row)
    return _by_name(names, values, shape)


def _has_keys(kind: type) -> bool:
    return callable(getattr(kind, "keys", None))


NAMED: tuple[tuple[Callable[[type], bool], RowReader], ...] = (
    (lambda kind: issubclass(kind, Sequence) and hasattr(kind, "_fields"), _by_fields),
    (lambda kind: issubclass(kind, tuple) and hasattr(kind, "asDict"), _by_fields_of_spark),
    (lambda kind: dataclasses.is_dataclass(kind) or hasattr(kind, "__attrs_attrs__"), _by_attributes),
    (lambda kind: issubclass(kind, Sequence) and _has_keys(kind), _by_keys_in_order),
    (lambda kind: hasattr(kind, "__getitem__") and _has_keys(kind), _by_keys),
)
"""(function that returns whether rows of a type have names, function that reads such rows); the first match counts."""


def _by_name(names: Sequence[Any], values: Sequence[Any], shape: Shape) -> RowParts | NoParts:
    """Return the parts of a row whose columns are fixed; a row that lacks a column is refused."""
    if len(names) != len(values):
        return NoParts(f"the row has {len(names)} names and {len(values)} values")
    row = dict(zip(names, values, strict=True))
    if len(row) < len(names) and (wrong := _repeated(names, shape)) is not None:
        return wrong
    return _parts(row, shape, (*shape.text_columns, *shape.extra_columns))


def _parts(row: Mapping[Any, Any], shape: Shape, needed: Iterable[str]) -> RowParts | NoParts:
    for column in shape.object_columns:
        if column in row:
            break
    else:
        return NoParts(_lacks(shape.object_columns, row))
    lacking = (needed or shape.scope_columns) and [name for name in (*needed, *shape.scope_columns) if name not in row]
    if lacking:
        return NoParts(_lacks(lacking, row), _name_of(row[column]))
    first = (
        row["collection"] if shape.collection is None else shape.collection,
        row["bucket"] if shape.bucket is None else shape.bucket,
        row[column],
        row[shape.text] if isinstance(shape.text, str) else text_of_columns(map(row.get, shape.text_columns), shape),
        row.get("lang") if shape.lang is None else shape.lang,
    )
    if not shape.tag_columns and not shape.value_columns and not shape.vectors:
        return first
    values = {name: row.get(column) for name, column in shape.value_columns.items()}
    vectors = {name: row.get(column) for name, column in shape.vectors}
    return (*first, [row.get(column) for column in shape.tag_columns], values, vectors)


def text_of_columns(texts: Iterable[Any], shape: Shape) -> Any:
    """Return the text of a row from those of several columns: joined, or by the names of the shape."""
    if not shape.named_columns:
        return joined(texts)
    return {name: text for name, text in zip(shape.named_columns, texts, strict=True) if not is_missing(text)}


def _repeated(names: Sequence[Any], shape: Shape) -> NoParts | None:
    """Return the refusal of a row in which a column to read occurs twice; None: no column does."""
    read = {*shape.object_columns, *shape.text_columns, *shape.scope_columns, *(() if shape.lang else ("lang",))}
    read.update(shape.extra_columns)
    for name, count in Counter(names).items():
        if count > 1 and name in read:
            return NoParts(f"the row has {count} columns with the name {shown(name)}; rename or drop all but one")
    return None


def no_row(row: object) -> NoParts:
    """Return the refusal of an object that is not a row."""
    return NoParts(f"a row is of type {type(row).__name__}; {ALLOWED_ROWS}")


def _lacks(columns: Iterable[str], row: Mapping[Any, Any]) -> str:
    names = [_label(name) for name, _ in zip(row, range(COLUMNS_SHOWN), strict=False)]
    there = f"{', '.join(names)}{', ...' if len(row) > len(names) else ''}" if names else "no column"
    return f"the row has no {' and no '.join(map(_label, columns))}; it has {there}"


def _label(name: object) -> str:
    """Return the name of a column for a message; `shown` shortens it if it is long or not a str."""
    label = shown(name)
    return label[1:-1] if isinstance(name, str) and label == repr(name) else label


def _name_of(oid: object) -> str:
    try:
        return object_name(oid)
    except InvalidArgument:
        return ""
