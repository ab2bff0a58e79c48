"""Rows with names are read by name in any order, and refused if a name is missing; they are never read by position."""

import collections
import dataclasses
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from sonicpy.api.rows import Refused, Row, Shape, read_rows

Values = dict[str, Any]
Make = Callable[[Values], Any]


def by_sqlite(values: Values) -> Any:
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    named = ", ".join(f'? AS "{name}"' for name in values)
    row = database.execute(f"SELECT {named}", tuple(values.values())).fetchone()
    database.close()
    return row


class Record:
    """A row of asyncpg: no Mapping, `keys()` gives names, iterating gives values."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def keys(self) -> Iterator[str]:
        return iter(self._values)

    def __getitem__(self, key: str | int) -> Any:
        return list(self._values.values())[key] if isinstance(key, int) else self._values[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values.values())


class ListWithKeys(list[Any]):
    """A row of psycopg2.extras.DictCursor: a list of the values that can be indexed by names, too."""

    def __init__(self, values: Values) -> None:
        super().__init__(values.values())
        self._names = list(values)

    def keys(self) -> list[str]:
        return self._names

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._names.index(key) if isinstance(key, str) else key)


class SparkRow(tuple[Any, ...]):
    """A row of Spark: a tuple with names in `__fields__`."""

    __fields__: list[str]

    def asDict(self) -> Values:
        return dict(zip(self.__fields__, self, strict=True))


def by_spark(values: Values) -> SparkRow:
    row = SparkRow(values.values())
    row.__fields__ = list(values)
    return row


def by_sqlalchemy(values: Values) -> Any:
    return sqlalchemy_result(values).one()


def by_sqlalchemy_mapping(values: Values) -> Any:
    return sqlalchemy_result(values).mappings().one()


def sqlalchemy_result(values: Values) -> Any:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs the extra [tables]")
    with sqlalchemy.create_engine("sqlite://").connect() as connection:
        columns = [sqlalchemy.literal(value).label(name) for name, value in values.items()]
        return connection.execute(sqlalchemy.select(*columns)).freeze()()


def by_pandas(values: Values) -> Any:
    pandas = pytest.importorskip("pandas", reason="needs the extra [tables]")
    return next(pandas.DataFrame([values]).itertuples())


def by_series(values: Values) -> Any:
    pandas = pytest.importorskip("pandas", reason="needs the extra [tables]")
    return next(pandas.DataFrame([values]).iterrows())[1]


def by_attrs(values: Values) -> Any:
    attrs = pytest.importorskip("attrs", reason="needs the extra [tables]")
    return attrs.make_class("Book", list(values))(**values)


KINDS: dict[str, Make] = {
    "dict": dict,
    "OrderedDict": collections.OrderedDict,
    "ChainMap": collections.ChainMap,
    "namedtuple": lambda values: collections.namedtuple("Book", values)(**values),  # type: ignore[misc]
    "NamedTuple": lambda values: NamedTuple("Book", [(name, Any) for name in values])(**values),  # type: ignore[misc]
    "dataclass": lambda values: dataclasses.make_dataclass("Book", list(values), slots=True)(**values),
    "sqlite3.Row": by_sqlite,
    "asyncpg": Record,
    "psycopg2": ListWithKeys,
    "spark": by_spark,
    "sqlalchemy": by_sqlalchemy,
    "sqlalchemy mapping": by_sqlalchemy_mapping,
    "itertuples": by_pandas,
    "iterrows": by_series,
    "attrs": by_attrs,
}
FIXED = [name for name in KINDS if name not in ("dict", "OrderedDict", "ChainMap", "sqlalchemy mapping")]
"""The kinds of rows that always have all columns of their source: a missing column is misspelt."""
BOUND = Shape("c", "b")
FREE = Shape()
NAMED = Shape("c", "b", "isbn", "title")
EVERY_KIND = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def read(row: Any, shape: Shape) -> Row | Refused:
    (one,) = read_rows(iter([row]), shape)
    return one


@EVERY_KIND
def test_columns_are_read_by_name_in_any_order(make: Make) -> None:
    book = Row("c", "b", "7", "hello", None)
    assert read(make({"title": "hello", "isbn": "7"}), NAMED) == book
    assert read(make({"title": "hello", "isbn": "7", "shelf": "s", "room": "r"}), NAMED) == book
    assert read(make({"text": "hello", "id": "7"}), BOUND) == book, "the default columns"
    assert read(make({"text": "hello", "more": "x", "object": "7"}), BOUND) == book
    own = {"lang": "fra", "text": "hello", "bucket": "y", "id": "7", "collection": "x"}
    assert read(make(own), FREE) == Row("x", "y", "7", "hello", "fra")
    assert read(make(own), Shape("c", "b", lang="deu")) == book._replace(lang="deu"), "the names of all win"
    assert read(make({"isbn": "7", "title": "hello", "body": "world"}), Shape("c", "b", "isbn", ["body", "title"])) == (
        book._replace(text="world\nhello")
    )


@EVERY_KIND
def test_a_missing_column_is_refused_with_those_that_there_are(make: Make) -> None:
    for values, shape, name, reason in (
        ({"isbn": "7", "title": "hello"}, BOUND, "", "the row has no id and no object; it has "),
        ({"isbn": "7", "title": "hello"}, Shape("c", "b", "isnb", "title"), "", "the row has no isnb; it has "),
        ({"isbn": "7", "title": "hello"}, Shape("c", "b", "isbn", "titel"), "7", "the row has no titel; it has "),
        ({"a": "1", "b": "2", "c": "3", "d": "4"}, FREE, "", "the row has no id and no object; it has "),
        (
            {"id": "7", "text": "hello", "bukket": "x", "lang": "y"},
            FREE,
            "7",
            "the row has no collection and no bucket",
        ),
        ({"Id": "7", "Text": "x"}, BOUND, "", "the row has no id and no object; it has "),
    ):
        refused = read(make(values), shape)
        assert isinstance(refused, Refused) and refused.object == name
        assert refused.reason.startswith(reason) and refused.reason.endswith(", ".join(values)), refused.reason


@pytest.mark.parametrize("kind", KINDS)
def test_one_of_several_text_columns_may_be_missing_only_where_keys_may(kind: str) -> None:
    row = KINDS[kind]({"isbn": "7", "title": "hello"})
    expected: Row | Refused = Row("c", "b", "7", "hello", None)
    if kind in FIXED:
        there = "Index, isbn, title" if kind == "itertuples" else "isbn, title"
        expected = Refused(0, "7", f"the row has no subtitle; it has {there}")
    assert read(row, Shape("c", "b", "isbn", ["title", "subtitle"])) == expected


@pytest.mark.parametrize("kind", ["dict", "dataclass", "namedtuple", "sqlite3.Row", "sqlalchemy", "attrs"])
def test_names_that_are_those_of_methods(kind: str) -> None:
    row = KINDS[kind]({"keys": "k", "count": "hello", "values": "i", "items": "7"})
    assert read(row, Shape("c", "b", "items", "count")) == Row("c", "b", "7", "hello", None)


def test_a_column_that_is_there_twice_is_refused_only_where_it_is_read() -> None:
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    (row,) = database.execute("SELECT 1 AS id, 'hello' AS text, 2 AS more, 3 AS more").fetchall()
    assert read(row, BOUND) == Row("c", "b", "1", "hello", None)
    assert read(row, Shape("c", "b", "more")) == Refused(
        0, "", "the row has 2 columns with the name 'more'; rename or drop all but one"
    )
    (row,) = database.execute("SELECT 1 AS id, 'hello' AS text, 'fra' AS lang, 'deu' AS lang").fetchall()
    database.close()
    assert isinstance(read(row, BOUND), Refused)
    assert read(row, Shape("c", "b", lang="none")) == Row("c", "b", "1", "hello", "none")


def test_columns_of_sqlite_that_differ_in_case_alone() -> None:
    """A sqlite3.Row takes names without regard to case, and answers with the first column that fits."""
    values = {"Id": "6", "TEXT": "world", "id": "7", "text": "hello"}
    for row in (by_sqlite(values), Record(values)):
        assert read(row, BOUND) == Row("c", "b", "7", "hello", None)
        assert read(row, Shape("c", "b", "Id", "TEXT")) == Row("c", "b", "6", "world", None)


def test_a_row_whose_names_and_values_differ_in_number_is_refused() -> None:
    class Odd(collections.namedtuple("Book", "id text")):  # type: ignore[misc]
        def __iter__(self) -> Iterator[Any]:
            return iter(("7",))

    assert read(Odd("7", "hello"), BOUND) == Refused(0, "", "the row has 2 names and 1 values")


def test_a_field_that_was_never_set_is_missing() -> None:
    @dataclasses.dataclass
    class Book:
        id: str
        text: str = dataclasses.field(init=False)

    assert read(Book("7"), BOUND) == Refused(0, "7", "the text is missing")


def test_kinds_may_be_mixed() -> None:
    values = {"text": "hello", "id": "7"}
    rows = [make(values) for name, make in KINDS.items() if name in ("dict", "namedtuple", "asyncpg", "dataclass")]
    rows.insert(2, ("7", "hello"))
    rows.append(Record)
    *done, refused = read_rows(rows, BOUND)
    assert done == [Row("c", "b", "7", "hello", None)] * 5
    assert refused == Refused(5, "", "a row is of type type; allowed are tuples, dicts, and rows that have names")


def test_every_kind_of_row_that_a_query_of_sqlalchemy_gives() -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs the extra [tables]")
    orm = pytest.importorskip("sqlalchemy.orm", reason="needs the extra [tables]")
    table = sqlalchemy.table("books", *map(sqlalchemy.column, ("shelf", "title", "room", "isbn")))
    with orm.Session(sqlalchemy.create_engine("sqlite://")) as session:
        session.execute(sqlalchemy.text("CREATE TABLE books (shelf, title, room, isbn)"))
        session.execute(table.insert(), [{"shelf": "s1", "title": "hello", "room": "r1", "isbn": 7}])
        expected = [Row("s1", "r1", "7", "hello", None)]
        shelf, room = table.c.shelf.label("collection"), table.c.room.label("bucket")
        shelved = sqlalchemy.select(table.c.title, table.c.isbn, shelf, room)
        shape = Shape(object="isbn", text="title")
        assert list(read_rows(session.execute(shelved), shape)) == expected
        assert list(read_rows(session.execute(shelved).mappings(), shape)) == expected
        assert list(read_rows(session.execute(shelved).all(), shape)) == expected
        assert list(read_rows(session.execute(sqlalchemy.select(table)), NAMED)) == [Row("c", "b", "7", "hello", None)]
        (refused,) = read_rows(session.execute(sqlalchemy.select(table)), shape)
        assert refused == Refused(0, "7", "the row has no collection and no bucket; it has shelf, title, room, isbn")
        (refused,) = read_rows(session.execute(sqlalchemy.select(table.c.isbn)).scalars(), BOUND)
        assert refused.reason == "a row is of type int; allowed are tuples, dicts, and rows that have names"


def test_only_nameless_rows_are_read_by_position() -> None:
    for row in (("7", "hello"), ["7", "hello"]):
        assert read(row, BOUND) == read(row, NAMED) == Row("c", "b", "7", "hello", None)
    nameless = SparkRow(("7", "hello"))
    assert read(nameless, BOUND) == Row("c", "b", "7", "hello", None)
