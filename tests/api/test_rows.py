"""Tests of rows of any kind: the meaning of each shape, refusals and their reasons, and tables of other libraries."""

import datetime
import subprocess
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID
from xml.etree.ElementTree import Element

import pytest

from sonicpy.api.rows import REFUSED_MAX, PushReport, Refused, Row, Shape, read_rows
from sonicpy.arguments import LANGUAGES
from sonicpy.errors import CommandError, InvalidArgument
from tests.processes import environment
from tests.support.patience import WAIT_S

BOUND = Shape("c", "b")
FREE = Shape()
A = Row("c", "b", "o1", "hello", None)
B = Row("c", "b", "o2", "world", None)

READ = [
    (("o1", "hello"), BOUND, A, "object and text"),
    (["o1", "hello"], BOUND, A, "a list, as JSON gives it"),
    (("o1", "hello", "fra"), BOUND, A._replace(lang="fra"), "with its language"),
    (("o1", "hello", None), BOUND, A, "no language"),
    (("c", "b", "o1", "hello"), FREE, A, "its own names"),
    (("x", "y", "o1", "hello"), BOUND, Row("x", "y", "o1", "hello", None), "its own names win"),
    (("c", "b", "o1", "hello", "none"), FREE, A._replace(lang="none"), "all five"),
    (("o1", "hello"), Shape("c", "b", lang="deu"), A._replace(lang="deu"), "the language of all"),
    ((7, "hello"), BOUND, A._replace(object="7"), "whole numbers name objects"),
    ((7.0, "hello"), BOUND, A._replace(object="7"), "a column with missing values has floats"),
    ((Decimal("42"), "hello"), BOUND, A._replace(object="42"), "a whole Decimal"),
    ((Decimal("42.00"), "hello"), BOUND, A._replace(object="42"), "an equal number is the same object"),
    ((Decimal("-0.0"), "hello"), BOUND, A._replace(object="0"), "as 0 is"),
    ((Decimal("1e3"), "hello"), BOUND, A._replace(object="1000"), "all digits"),
    (
        (Decimal("12345678901234567890123456789012"), "hello"),
        BOUND,
        A._replace(object="12345678901234567890123456789012"),
        "",
    ),
    ((Fraction(10**30), "hello"), BOUND, A._replace(object=f"1{'0' * 30}"), "no float between"),
    (
        (UUID("{12345678-1234-5678-1234-567812345678}".upper()), "hello"),
        BOUND,
        A._replace(object=str(UUID(int=0x12345678123456781234567812345678))),
        "",
    ),
    (("é", "hello"), BOUND, A._replace(object="é"), "any letters"),
    (("o1", "hello", "fr-CA"), BOUND, A._replace(lang="fra"), "a tag of a language"),
    (("o1", "hello", ""), BOUND, A, "an empty field of a language"),
    ((-7, ""), BOUND, A._replace(object="-7", text=""), "an empty text is a text"),
    ({"id": "o1", "text": "hello"}, BOUND, A, "a dict"),
    ({"object": "o1", "text": "hello", "more": 1}, BOUND, A, "another name for the object"),
    ({"id": "o1", "object": "o2", "text": "hello"}, BOUND, A, "id comes first"),
    ({"key": "o1", "body": "hello"}, Shape("c", "b", "key", "body"), A, "columns by name"),
    ({"id": "o1", "title": "a", "body": "b"}, Shape("c", "b", text=("title", "body")), A._replace(text="a\nb"), "two"),
    ({"id": "o1", "title": None, "body": "b"}, Shape("c", "b", text=["title", "body"]), A._replace(text="b"), "one"),
    ({"id": "o1", "text": "hello", "collection": "c", "bucket": "b", "lang": "fra"}, FREE, A._replace(lang="fra"), ""),
    ({"id": "o1", "text": "hello", "collection": "x", "bucket": "y"}, BOUND, A, "the names of all win"),
]


class Several:
    """Several values, like an array of numpy: neither true nor false, and not a number."""

    def __eq__(self, other: object) -> Any:
        return self

    def __ne__(self, other: object) -> Any:
        return self

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")

    def __index__(self) -> int:
        raise TypeError("only arrays of one number can be converted to an index")


SCOPES = "allowed are 1 to 128 ASCII characters without white space"
OBJECTS = "allowed are 1 to 128 bytes of UTF-8 without white space and control characters, or a whole number"
ROWS = "allowed are tuples, dicts, and rows that have names"
MISSING = "the name of the object is missing"
REFUSED = [
    (("o", "x"), FREE, "o", f"collection is None; {SCOPES}"),
    (("c", None, "o", "x"), FREE, "o", f"bucket is None; {SCOPES}"),
    (("two words", "x"), BOUND, "two words", f"object is 'two words'; {OBJECTS}"),
    (("", "x"), BOUND, "", f"object is ''; {OBJECTS}"),
    ((None, "x"), BOUND, "", MISSING),
    ((float("nan"), "x"), BOUND, "", MISSING),
    ((1.5, "x"), BOUND, "", f"object is 1.5; {OBJECTS}"),
    ((2.0**60, "x"), BOUND, "", f"object is 1.152921504606847e+18; {OBJECTS}"),
    ((True, "x"), BOUND, "", f"object is True; {OBJECTS}"),
    ((datetime.date(2024, 1, 1), "x"), BOUND, "", f"object is of type date; {OBJECTS}"),
    ((10**129, "x"), BOUND, "", f"object is a number of more than 128 digits; {OBJECTS}"),
    ((10**5000, "x"), BOUND, "", f"object is a number of more than 128 digits; {OBJECTS}"),
    ((Decimal("NaN"), "x"), BOUND, "", MISSING),
    ((Decimal("sNaN"), "x"), BOUND, "", f"object is Decimal('sNaN'); {OBJECTS}"),
    ((Decimal("42.5"), "x"), BOUND, "", f"object is Decimal('42.5'); {OBJECTS}"),
    ((Decimal("1e999999"), "x"), BOUND, "", f"object is Decimal('1E+999999'); {OBJECTS}"),
    ((Fraction(10**400, 3), "x"), BOUND, "", f"object is of type Fraction; {OBJECTS}"),
    ((Several(), "x"), BOUND, "", f"object is of type Several; {OBJECTS}"),
    (("o", Several()), BOUND, "o", "the text is of type Several; allowed is a str"),
    (("o", "x", Several()), BOUND, "o", f"lang is of type Several; allowed are {LANGUAGES}"),
    (("o\x00", "x"), BOUND, "o\x00", rf"object is 'o\x00'; {OBJECTS}"),
    (("é" * 65, "x"), BOUND, "é" * 65, f"object is '{'é' * 59}...; {OBJECTS}"),
    (("o", None), BOUND, "o", "the text is missing"),
    (("o", float("nan")), BOUND, "o", "the text is missing"),
    (("o", b"x"), BOUND, "o", "the text is of type bytes; allowed is a str"),
    (("o", datetime.date(2024, 1, 1)), BOUND, "o", "the text is of type date; allowed is a str"),
    (("o", "x", "klingon"), BOUND, "o", f"lang is 'klingon'; allowed are {LANGUAGES}"),
    (("o",), BOUND, "", "the row has 1 value; allowed are 2 to 6"),
    (
        ("c", "b", "o", "x", None, 6),
        BOUND,
        "o",
        "vector is refused, it is 6; allowed are numbers, int8 or packed bits, perhaps by the name of a column",
    ),
    (("c", "b", "o", "x", None, None, 7), BOUND, "", "the row has 7 values; allowed are 2 to 6"),
    ("ox", BOUND, "", f"a row is of type str; {ROWS}"),
    (None, BOUND, "", f"a row is of type NoneType; {ROWS}"),
    (Element("a", id="1", text="x"), BOUND, "", f"a row is of type Element; {ROWS}"),
    ({"text": "x"}, BOUND, "", "the row has no id and no object; it has text"),
    ({}, BOUND, "", "the row has no id and no object; it has no column"),
    ({"id": "o"}, BOUND, "o", "the row has no text; it has id"),
    ({"id": 7, "Text": "x"}, BOUND, "7", "the row has no text; it has id, Text"),
    ({"id": "o", "text": None}, BOUND, "o", "the text is missing"),
    ({"id": "o"}, Shape("c", "b", text=("a", "b")), "o", "the row has no a and no b; it has id"),
    ({"id": "o", "text": "x", "bucket": "b"}, FREE, "o", "the row has no collection; it has id, text, bucket"),
    ({"id": "o", "text": "x"}, FREE, "o", "the row has no collection and no bucket; it has id, text"),
    (
        {n: n for n in range(30)},
        BOUND,
        "",
        f"the row has no id and no object; it has {', '.join(map(str, range(20)))}, ...",
    ),
    ({"id": "o", "a": 1, "b": "x"}, Shape("c", "b", text=("a", "b")), "o", "the text is of type int; allowed is a str"),
]


@pytest.mark.parametrize(("row", "shape", "expected", "why"), READ)
def test_read(row: Any, shape: Shape, expected: Row, why: str) -> None:
    assert list(read_rows([row], shape)) == [expected], why


@pytest.mark.parametrize(("row", "shape", "name", "reason"), REFUSED)
def test_refused(row: Any, shape: Shape, name: str, reason: str) -> None:
    assert list(read_rows([("c", "b", "ok", "x"), row], shape))[1] == Refused(1, name, reason)


class Nameless(Sequence[Any]):
    """A sequence without names."""

    def __init__(self, *values: Any) -> None:
        self._values = values

    def __getitem__(self, place: Any) -> Any:
        return self._values[place]

    def __len__(self) -> int:
        return len(self._values)


def test_rows_that_are_sequences_without_names() -> None:
    assert list(read_rows([Nameless("o1", "hello"), Nameless("o")], BOUND)) == [
        A,
        Refused(1, "", "the row has 1 value; allowed are 2 to 6"),
    ]
    (refused,) = read_rows([b"ox"], BOUND)
    assert refused == Refused(0, "", f"a row is of type bytes; {ROWS}")


@pytest.mark.parametrize("rows", ["text", b"bytes", {"id": "o", "text": "x"}, 7, None])
def test_what_are_no_rows(rows: Any) -> None:
    with pytest.raises(TypeError, match=f"rows is of type {type(rows).__name__}; allowed are an iterable"):
        read_rows(rows, BOUND)


def test_names_of_all_rows_are_checked_first() -> None:
    for arguments in (("two words", "b"), ("c", ""), ("c", "b", None, "text", "klingon")):
        with pytest.raises(CommandError):
            Shape(*arguments)


def test_a_generator_is_read_one_row_at_a_time() -> None:
    read = 0

    def endless() -> Iterator[tuple[str, str]]:
        nonlocal read
        while True:
            read += 1
            yield f"o{read}", "x"

    rows = read_rows(endless(), BOUND)
    assert [next(rows).object for _ in range(3)] == ["o1", "o2", "o3"]
    assert read == 3


def test_a_report_keeps_the_first_refusals_and_counts_all() -> None:
    report = PushReport(indexed=5)
    for number in range(REFUSED_MAX + 5):
        report.refuse(Refused(number, "o", "why"))
    assert (len(report.refused), report.refused_count) == (REFUSED_MAX, REFUSED_MAX + 5)
    assert str(report) == f"5 rows indexed, {REFUSED_MAX + 5} refused; the first: row 0, why"


# -- tables ---------------------------------------------------------------------------------------------------------

COLUMNS = {"id": ["o1", "o2"], "text": ["hello", "world"]}


def test_tables_of_arrow() -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs the extra [tables]")
    table = arrow.table(COLUMNS)
    assert list(read_rows(table, BOUND)) == [A, B]
    assert list(read_rows(table.to_batches()[0], BOUND)) == [A, B]
    assert list(read_rows(table.to_reader(max_chunksize=1), BOUND)) == [A, B]
    assert list(read_rows(Stream(table), BOUND)) == [A, B]
    numbers = arrow.table({"id": arrow.array([1, None]), "text": arrow.array(["hello", None], arrow.large_string())})
    assert list(read_rows(numbers, BOUND)) == [
        A._replace(object="1"), Refused(1, "", MISSING),
    ]  # fmt: skip
    assert list(read_rows(table.slice(0, 0), BOUND)) == []
    many = arrow.table({"id": [f"o{n}" for n in range(10_000)], "text": ["x"] * 10_000})
    assert [row.object for row in read_rows(many, BOUND)] == [f"o{n}" for n in range(10_000)]


class Stream:
    """A table of an unknown library."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def test_tables_of_pandas() -> None:
    pandas = pytest.importorskip("pandas", reason="needs the extra [tables]")
    frame = pandas.DataFrame(COLUMNS)
    assert list(read_rows(frame, BOUND)) == [A, B]
    assert list(read_rows(frame.set_index("id"), BOUND)) == [A, B], "the index is a column where it has a name"
    assert list(read_rows(frame.set_index("id")["text"], BOUND)) == [A, B], "a series: its index names the objects"
    assert list(read_rows(pandas.Series(["hello"], index=[7]), BOUND)) == [A._replace(object="7")]
    missing = pandas.DataFrame({"id": [1, 2, 3], "text": ["hello", None, float("nan")]})
    assert [getattr(row, "reason", row) for row in read_rows(missing, BOUND)] == [
        A._replace(object="1"), "the text is missing", "the text is missing",
    ]  # fmt: skip
    nullable = pandas.DataFrame({"id": ["o1"], "text": pandas.array([pandas.NA], dtype="string")})
    assert list(read_rows(nullable, BOUND)) == [Refused(0, "o1", "the text is missing")]
    own = frame.assign(collection="c", bucket="b", lang=["fra", None])
    assert list(read_rows(own, FREE)) == [A._replace(lang="fra"), B]
    assert list(read_rows(frame.iloc[:0], BOUND)) == []
    lists = pandas.DataFrame({"id": ["o1", "o2"], "text": [pandas.array(["hello", "world"]).to_numpy(), "world"]})
    assert list(read_rows(lists, BOUND)) == [Refused(0, "o1", "the text is of type ndarray; allowed is a str"), B], (
        "as of Parquet"
    )
    with pytest.raises(InvalidArgument, match="the table has no column id and no object; it has no column"):
        list(read_rows(pandas.DataFrame(), BOUND))


def test_tables_of_pandas_whose_columns_are_numbers() -> None:
    pandas = pytest.importorskip("pandas", reason="needs the extra [tables]")
    frame = pandas.DataFrame([["o1", "hello"], ["o2", "world"]])
    with pytest.raises(InvalidArgument, match="the table has no column id and no object; it has 0, 1"):
        list(read_rows(frame, BOUND))
    assert list(read_rows(frame, Shape("c", "b", object="0", text="1"))) == [A, B]


def test_tables_of_pandas_with_a_name_twice() -> None:
    pandas = pytest.importorskip("pandas", reason="needs the extra [tables]")
    frame = pandas.DataFrame(COLUMNS)
    levels = pandas.MultiIndex.from_product([["o"], [1, 2]])
    for wrong, said in (
        (
            frame.set_index("id", drop=False),
            "the table has 2 columns with the name 'id', its index included; rename or drop",
        ),
        (frame.rename_axis("text"), "2 columns with the name 'text'"),
        (pandas.concat([frame, frame], axis="columns"), "2 columns with the name 'id'"),
        (pandas.Series(["hello", "world"], index=levels), "the index of the Series has 2 levels; allowed is one"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            list(read_rows(wrong, BOUND))


def test_columns_of_pandas_that_share_a_name_are_refused_only_where_one_is_asked_for() -> None:
    pandas = pytest.importorskip("pandas", reason="needs the extra [tables]")
    frame = pandas.DataFrame({**COLUMNS, 0: ["o1", "o2"], "0": ["o3", "o4"]})
    named = frame[["id", "text"]].assign(other="x").set_index("other", drop=False)
    twice = pandas.concat([frame[["id", "text", 0]], frame[[0]]], axis="columns")
    for table in (frame, named, twice, frame.rename_axis("0"), frame.set_index("id")):
        assert list(read_rows(table, BOUND)) == [A, B]
    for table, count in ((frame, 2), (twice, 2), (frame.rename_axis("0"), 3), (frame.iloc[:0], 2)):
        for shape in (Shape("c", "b", object="0"), Shape("c", "b", text=("text", "0"))):
            with pytest.raises(InvalidArgument, match=f"the table has {count} columns with the name '0', its index"):
                list(read_rows(table, shape))


def test_columns_of_arrow_that_share_a_name_are_refused_only_where_one_is_asked_for() -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra [parquet]")
    names = ["id", "text", "more", "more"]
    table = pyarrow.table([["o1", "o2"], ["hello", "world"], ["x", "y"], ["z", "z"]], names=names)
    for rows in (table, table.to_reader(), table.to_batches()[0]):
        assert list(read_rows(rows, BOUND)) == [A, B]
    for rows in (table, table.to_reader(), table.slice(0, 0)):
        with pytest.raises(InvalidArgument, match="^the table has 2 columns with the name 'more'; rename or drop"):
            list(read_rows(rows, Shape("c", "b", text=("text", "more"))))


def test_tables_of_polars() -> None:
    polars = pytest.importorskip("polars", reason="needs the extra [tables]")
    frame = polars.DataFrame(COLUMNS)
    assert list(read_rows(frame, BOUND)) == [A, B]
    assert list(read_rows(frame.lazy(), BOUND)) == [A, B]
    titled = frame.with_columns(title=polars.Series(["one", None]))
    assert list(read_rows(titled, Shape("c", "b", text=("title", "text")))) == [A._replace(text="one\nhello"), B]
    many = polars.DataFrame({"object": list(range(10_000)), "text": ["x"] * 10_000})
    assert [row.object for row in read_rows(many, BOUND)] == [str(n) for n in range(10_000)]
    assert list(read_rows(frame.clear(), BOUND)) == []
    with pytest.raises(InvalidArgument, match="the table has no column id and no object; it has text"):
        list(read_rows(frame.clear().select("text"), BOUND))
    pytest.importorskip("pyarrow", reason="needs the extra [tables]")
    with pytest.raises(InvalidArgument, match="rows is a polars Series, a column without names of objects"):
        list(read_rows(frame["text"], BOUND))


@pytest.mark.parametrize("package", ["pyarrow", "pandas", "polars"])
def test_a_table_without_the_column(package: str) -> None:
    library = pytest.importorskip(package, reason="needs the extra [tables]")
    make = library.table if package == "pyarrow" else library.DataFrame
    with pytest.raises(ValueError, match="the table has no column body; it has id, text"):
        list(read_rows(make(COLUMNS), Shape("c", "b", text="body")))
    with pytest.raises(ValueError, match="the table has no column id and no object; it has key"):
        list(read_rows(make({"key": ["o"]}), BOUND))


class Interchange:
    """A data frame that only offers the interchange protocol."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __dataframe__(self, *arguments: Any, **named: Any) -> Any:
        return self._frame.__dataframe__(*arguments, **named)


def test_frames_that_can_only_be_exchanged() -> None:
    arrow = pytest.importorskip("pyarrow", reason="needs the extra [tables]")
    assert list(read_rows(Interchange(arrow.table(COLUMNS)), BOUND)) == [A, B]


def test_what_only_pyarrow_reads_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TypeError, match="rows is of type Stream, which pyarrow reads: pip install pyarrow"):
        read_rows(Stream(None), BOUND)


def test_no_table_library_is_imported_for_tuples() -> None:
    program = (
        "import sys, sonicpy\n"
        "with sonicpy.open(':memory:') as index:\n"
        "    index.push_many([('o', 'x'), {'id': 'p', 'text': 'y'}], collection='c', bucket='b')\n"
        "print(sorted({'pyarrow', 'pandas', 'polars', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment({}), capture_output=True, text=True, timeout=WAIT_S, check=True
    )
    assert done.stdout == "[]\n"


def test_compat_mode_refuses_what_sonic_lacks() -> None:
    row = ("c", "b", "o", "x", None, [1] * 8)
    (refused,) = read_rows([row], Shape(compat=True))
    assert refused == Refused(0, "o", "tags, values or vectors are given in compat mode; Sonic lacks them")
    (taken,) = read_rows([(*row[:5], None)], Shape(compat=True))
    assert taken == Row("c", "b", "o", "x", None)
