"""Forms in which programs give vectors: buffers of other kinds, Series, packed bits in structs and tables."""

import ctypes
from binascii import b2a_base64
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import sonicpy
from sonicpy.index.index import Index

NUMBERS = [0.5, -2.0, 0.0, 1.0] * 4
BITS = bytes([0b10011001, 0b10011001])
IN_BASE64 = "mZk="


@pytest.fixture
def index() -> Iterator[Index]:
    with sonicpy.open(":memory:") as opened:
        yield opened


def held(index: Index) -> dict[str, dict[str, str]]:
    return {one.object: one.fields.get("vectors", {}) for one in index.holdings()}


def check_taken(index: Index, forms: dict[str, Any]) -> None:
    """Check that each way to give a vector takes each of some forms, which all mean NUMBERS or BITS."""
    for name, form in forms.items():
        index.push("c", "b", f"pushed-{name}", "red", vector=form)
        index.upsert("c", "b", f"upserted-{name}", "red", vector=form)
        rows = [{"id": f"row-{name}", "text": "red", "v": form}]
        assert index.push_many(rows, collection="c", bucket="b", vector="v").refused == []
        assert len(index.query("c", "b", "red", vector=form, limit=1)) == 1
    assert len(held(index)) == 3 * len(forms)
    assert {oid: vectors for oid, vectors in held(index).items() if vectors != {"vector": IN_BASE64}} == {}


def test_arrays_whose_numbers_do_not_lie_side_by_side(index: Index) -> None:
    numpy = pytest.importorskip("numpy")
    given = numpy.array(NUMBERS, "float32")
    forms = {
        "fortran": numpy.asfortranarray(numpy.stack([given, -given]))[0],
        "reversed": given[::-1].copy()[::-1],
        "step": numpy.repeat(given, 2)[::2],
        "int8": numpy.repeat(numpy.sign(given).astype("int8"), 2)[::2],
        "bits": numpy.repeat(numpy.frombuffer(BITS, "uint8"), 2)[::2],
    }
    check_taken(index, {**forms, **{f"named-{name}": {"vector": form} for name, form in forms.items()}})


def test_arrays_of_ctypes(index: Index) -> None:
    length = len(NUMBERS)
    forms: dict[str, Any] = {
        "float": (ctypes.c_float * length)(*NUMBERS),
        "double": (ctypes.c_double * length)(*NUMBERS),
    }
    forms |= {"int": (ctypes.c_int * length)(*[int(2 * one) for one in NUMBERS]), "bits": (ctypes.c_ubyte * 2)(*BITS)}
    check_taken(index, {**forms, "view-of-bits": memoryview(forms["bits"])})


def test_series_of_unsigned_bytes_are_packed_bits(index: Index) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    kinds = ("uint8", "UInt8", "uint8[pyarrow]")
    forms = {kind: pandas.Series(list(BITS), dtype=kind) for kind in kinds}
    forms |= {"polars": polars.Series(list(BITS), dtype=polars.UInt8), "numbers": polars.Series(NUMBERS)}
    check_taken(index, {**forms, **{f"numbers-{kind}": pandas.Series(NUMBERS, dtype=kind) for kind in ("f4", "f8")}})


def test_what_is_no_vector_is_refused_in_a_sentence(index: Index) -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    wrong = [numpy.array([1] * 8, f"{kind}[{unit}]") for kind in ("datetime64", "timedelta64") for unit in ("s", "ns")]
    wrong += [numpy.repeat(one, 2)[::2] for one in wrong] + [numpy.zeros(8, [("a", "f4")]), numpy.array(["a"] * 8)]
    wrong += [
        numpy.datetime64(1, "s"),
        memoryview((ctypes.c_float * 8)()),
        (ctypes.c_float * 8 * 2)(),
        ctypes.c_float(3),
    ]
    wrong += [pyarrow.table({"a": NUMBERS}), pyarrow.record_batch({"a": NUMBERS}), pandas.DataFrame({"a": NUMBERS})]
    wrong += [pandas.Series([1, None], dtype="UInt8"), pyarrow.array([1, None], pyarrow.uint8())]
    wrong += [pandas.Series([1] * 8, dtype="datetime64[ns]")]
    for one in wrong:
        for call in (
            partial(index.push, "c", "b", "o"),
            partial(index.upsert, "c", "b", "o"),
            partial(index.query, "c", "b"),
        ):
            with pytest.raises(sonicpy.InvalidArgument, match="^vector is refused, .*; allowed are numbers"):
                call("red", vector=one)
        report = index.push_many([{"id": "o", "text": "red", "v": one}], collection="c", bucket="b", vector="v")
        assert [refused.reason[:18] for refused in report.refused] == ["vector is refused,"]
    assert held(index) == {}


def packed_tables() -> dict[str, tuple[Any, str]]:
    """Return tables with packed bits, or with dicts of them by column, in the column v: (table, name of vectors)."""
    pyarrow, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    bytes_kind = pyarrow.list_(pyarrow.uint8())
    column = pyarrow.array([list(BITS), None], bytes_kind)
    kinds = {
        "list": bytes_kind,
        "large": pyarrow.large_list(pyarrow.uint8()),
        "fixed": pyarrow.list_(pyarrow.uint8(), 2),
    }
    tables: dict[str, tuple[Any, str]] = {}
    for kind, packed in kinds.items():
        struct = pyarrow.struct([("m", packed), ("n", pyarrow.list_(pyarrow.float32()))])
        named = pyarrow.array([{"m": list(BITS), "n": NUMBERS}] * 2, struct)
        tables[kind] = pyarrow.table({"id": ["1", "2"], "text": ["red"] * 2, "v": named}), "m,n"
    structs = tables["list"][0]
    tables["polars"] = polars.from_arrow(structs), "m,n"
    tables["polars array"] = polars.from_arrow(tables["fixed"][0]), "m,n"
    tables["polars lazy"] = polars.from_arrow(structs).lazy(), "m,n"
    tables["duckdb"] = duckdb.sql("SELECT * FROM structs"), "m,n"
    tables["pandas"] = structs.to_pandas(), "m,n"
    tables["pandas of Arrow"] = structs.to_pandas(types_mapper=pandas.ArrowDtype), "m,n"
    lists = pyarrow.table({"id": ["1", "2"], "text": ["red"] * 2, "v": column})
    tables["lists in pandas of Arrow"] = lists.to_pandas(types_mapper=pandas.ArrowDtype), "vector"
    tables["lists"] = lists, "vector"
    return tables


def test_packed_bits_of_tables_are_packed_bits_also_by_column(index: Index) -> None:
    for number, (label, (table, names)) in enumerate(packed_tables().items()):
        report = index.push_many(table, collection="c", bucket=f"b{number}", vector="v")
        assert (report.indexed, report.refused) == (2, []), label
        expected = dict.fromkeys(names.split(","), IN_BASE64)
        found = {one.object: one.fields.get("vectors", {}) for one in index.holdings("c", f"b{number}")}
        assert found == {"1": expected, "2": {} if names == "vector" else expected}, label


def test_a_column_has_a_name_that_begins_with_a_letter_or_digit(index: Index) -> None:
    index.push("c", "b", "o", "red", vector={"9.a_b/c-d": NUMBERS})
    for name in ("_m", ".m", "-m", "/m", "é", "m" * 65, ""):
        with pytest.raises(sonicpy.InvalidArgument, match="; allowed are 1 to 64 .*, first a letter or a digit$"):
            index.push("c", "b", "o", "red", vector={name: NUMBERS})


def test_the_numbers_of_a_question_are_of_one_signed_byte(index: Index) -> None:
    index.push("c", "b", "o", "red", vector=[1.0] * 8)
    lowest = b2a_base64(b"\x80" * 8, newline=False).decode()
    assert index.explain("c", "b", "red", vector=lowest).hits[0].likeness == -1
