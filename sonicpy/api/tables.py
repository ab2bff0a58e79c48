"""Tables of Arrow, pandas and Polars, read a few thousand rows at a time.

This file imports no table library, except pyarrow for tables of other libraries.
"""

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from sonicpy.api.shape import TEXT_COLUMN
from sonicpy.errors import InvalidArgument
from sonicpy.ids import shown
from sonicpy.vectors import packed_lists

BATCH_ROWS = 4_096
"""The most rows of a table that are converted to Python objects at once."""

Columns = dict[str, Callable[[], list[Any]]]
"""Some rows of a table: name of a column -> function that returns its values."""


def batches(rows: Any) -> Iterator[Columns] | None:
    """Return the rows of a table in batches; None: `rows` is not a table.

    Raises:
        InvalidArgument: `rows` is a column without names of objects, or needs pyarrow, which is not installed.
    """
    kind = type(rows)
    return next((read(rows) for has, read in TABLES if has(kind)), None)


def is_table(kind: type) -> bool:
    """Return whether an item of an iterable that has this type is a table; a Series of pandas counts as a row."""
    return any(has(kind) for has, _ in TABLES) and (hasattr(kind, "columns") or not hasattr(kind, "iloc"))


def _has(attribute: str, package: str | None = None) -> Callable[[type], bool]:
    """Return a test whether a type has an attribute, and the type or one of its bases is defined in a package."""

    def has(kind: type) -> bool:
        return hasattr(kind, attribute) and (
            package is None or any(base.__module__.partition(".")[0] == package for base in kind.__mro__)
        )

    return has


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
        yield {name: partial(_values_of_pandas, part.iloc[:, place]) for place, name in enumerate(names)} | ambiguous


def _values_of_pandas(column: Any) -> list[Any]:
    return packed_lists(column.tolist(), getattr(column.dtype, "pyarrow_dtype", None))


def _ambiguous(names: Sequence[str], which: str = "") -> Columns:
    """Return the columns whose names occur more than once; reading one raises InvalidArgument.

    Args:
        which: the kind of column, for the message.
    """
    counted = Counter(names).items()
    return {name: partial(_refuse_ambiguous, name, count, which) for name, count in counted if count > 1}


def _refuse_ambiguous(name: str, count: int, which: str) -> list[Any]:
    """Raise InvalidArgument for a column whose name occurs more than once.

    Args:
        name, count: the name, and how many columns have it.
        which: the kind of column, for the message.
    """
    raise InvalidArgument(
        f"the table has {count} columns with the name {shown(name)}{which}; rename or drop all but one"
    )


def _polars_batches(frame: Any) -> Iterator[Columns]:
    parts = frame.iter_slices(BATCH_ROWS) if frame.height else [frame]  # then missing columns are reported
    return ({name: partial(_values_of_polars, part.get_column(name)) for name in part.columns} for part in parts)


def _values_of_polars(column: Any) -> list[Any]:
    return packed_lists(column.to_list(), column.dtype)


def values_of_arrow(column: Any) -> list[Any]:
    """Return the values of a column of Arrow as Python objects; see `packed_lists`. A value that Python cannot hold
    becomes one that refuses its row alone: a text that is no UTF-8 its bytes, any other an OutOfRange.
    """
    try:
        values = column.to_pylist()
    except (ValueError, OverflowError):  # an ArrowInvalid and a UnicodeDecodeError are ValueErrors
        values = [_value_of_arrow(value) for value in column]
    return packed_lists(values, column.type)


def _value_of_arrow(value: Any) -> Any:
    try:
        return value.as_py()
    except UnicodeDecodeError:
        return value.as_buffer().to_pybytes() if hasattr(value, "as_buffer") else OutOfRange()
    except (ValueError, OverflowError):
        return OutOfRange()


class OutOfRange:
    """A value of a table that Python cannot hold, such as a date after the year 9999."""

    def __str__(self) -> str:
        return "out of range"


def _arrow_batches(reader: Any) -> Iterator[Columns]:
    """Yield the columns of each batch of a reader, which is iterable and has a schema."""
    return _batches_of(reader, reader.schema)


def _batches_of(batches: Iterable[Any], schema: Any) -> Iterator[Columns]:
    seen = False
    for batch in batches:
        for start in range(0, max(batch.num_rows, 1), BATCH_ROWS):
            part = batch.slice(start, BATCH_ROWS)
            seen = True
            names = part.schema.names
            columns = {name: partial(values_of_arrow, part.column(place)) for place, name in enumerate(names)}
            yield columns | _ambiguous(names)
    if not seen:  # then missing columns are reported
        yield {name: list for name in schema.names} | _ambiguous(schema.names)


TABLES: tuple[tuple[Callable[[type], bool], Callable[[Any], Iterator[Columns] | None]], ...] = (
    (_has("iloc", "pandas"), _pandas_batches),
    (_has("iter_slices", "polars"), _polars_batches),
    (_has("collect", "polars"), lambda frame: batches(frame.collect())),
    # A dataset, or a fragment of one.
    (_has("scanner", "pyarrow"), lambda data: _arrow_batches(data.scanner(batch_size=BATCH_ROWS).to_reader())),
    (_has("dataset_schema", "pyarrow"), lambda scanner: _arrow_batches(scanner.to_reader())),
    # A file of Parquet, and one of Arrow.
    (_has("iter_batches", "pyarrow"), lambda file: _batches_of(file.iter_batches(BATCH_ROWS), file.schema_arrow)),
    (
        _has("get_batch", "pyarrow"),
        lambda file: _batches_of(map(file.get_batch, range(file.num_record_batches)), file.schema),
    ),
    (_has("__arrow_c_stream__"), lambda rows: _arrow_batches(_stream(rows))),
    (
        _has("__dataframe__"),
        lambda rows: _arrow_batches(_pyarrow(rows, ".interchange").from_dataframe(rows).to_reader()),
    ),
)
"""(test for a type of table, function that reads it); the first match counts."""
