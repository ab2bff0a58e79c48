"""Tests of tables in files and streams, tables in an iterable, and columns of UUIDs and decimals."""

import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sonicpy.api.rows import Refused, Row, Shape, read_rows
from sonicpy.errors import InvalidArgument

BOUND = Shape("c", "b")
COLUMNS = {"text": ["hello", "world"], "id": ["o1", "o2"]}
ROWS = [Row("c", "b", "o1", "hello", None), Row("c", "b", "o2", "world", None)]
UUIDS = [uuid.UUID(int=n) for n in (7, 2**127)]
DECIMALS = [Decimal("42.00"), Decimal("12345678901234567890.00")]
NEED_TABLES = "needs the extra [tables]"

pyarrow = pytest.importorskip("pyarrow", reason=NEED_TABLES)
dataset = pytest.importorskip("pyarrow.dataset", reason=NEED_TABLES)
ipc = pytest.importorskip("pyarrow.ipc", reason=NEED_TABLES)
parquet = pytest.importorskip("pyarrow.parquet", reason=NEED_TABLES)

FILES: dict[str, Callable[[Path], Any]] = {
    "Dataset": lambda path: dataset.dataset(path / "rows.parquet"),
    "Dataset of a folder": lambda path: dataset.dataset(path, format="parquet", exclude_invalid_files=True),
    "Dataset in memory": lambda path: dataset.dataset(pyarrow.table(COLUMNS)),
    "Scanner": lambda path: dataset.dataset(path / "rows.parquet").scanner(),
    "Scanner of a column less": lambda path: dataset.dataset(path / "more.parquet").scanner(columns=["text", "id"]),
    "Fragment": lambda path: next(dataset.dataset(path / "rows.parquet").get_fragments()),
    "ParquetFile": lambda path: parquet.ParquetFile(path / "rows.parquet"),
    "file of Arrow": lambda path: ipc.open_file(path / "rows.arrow"),
    "stream of Arrow": lambda path: ipc.open_stream(path / "rows.stream"),
    "StructArray": lambda path: pyarrow.table(COLUMNS).to_struct_array(),
    "list of batches": lambda path: pyarrow.table(COLUMNS).to_batches(max_chunksize=1),
    "generator of batches": lambda path: parquet.ParquetFile(path / "rows.parquet").iter_batches(1),
    "tables and rows": lambda path: iter([pyarrow.table(COLUMNS).slice(0, 1), ("o2", "world")]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("tables")
    table = pyarrow.table(COLUMNS)
    parquet.write_table(table, path / "rows.parquet")
    more = path / "more.parquet"
    parquet.write_table(table.append_column("more", [["x", "y"]]), more)
    for name, new in (("rows.arrow", ipc.new_file), ("rows.stream", ipc.new_stream)):
        with new(path / name, table.schema) as file:
            file.write_table(table)
    return path


@pytest.mark.parametrize("kind", FILES)
def test_tables_in_files_and_streams(folder: Path, kind: str) -> None:
    rows = list(read_rows(FILES[kind](folder), BOUND))
    assert rows[:2] == ROWS
    assert len(rows) == (4 if kind == "Dataset of a folder" else 2)


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind not in ("tables and rows", "StructArray")])
def test_a_column_that_is_missing_is_named(folder: Path, kind: str) -> None:
    for shape, said in (
        (Shape("c", "b", text="body"), "the table has no column body; it has text, id"),
        (Shape("c"), "the table has no column bucket; it has text, id"),
        (Shape(), "the table has no column collection; it has text, id"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            list(read_rows(FILES[kind](folder), shape))


def test_other_things_of_pyarrow_get_a_sentence(folder: Path) -> None:
    with pytest.raises(
        InvalidArgument, match="rows is of type ParquetDataset; allowed are an iterable of tuples or di"
    ):
        read_rows(parquet.ParquetDataset(folder / "rows.parquet"), BOUND)
    refused = list(read_rows(pyarrow.array(["o1"]), BOUND))
    assert refused == [
        Refused(0, "", "a row is of type StringScalar; allowed are tuples, dicts, and rows that have names")
    ]


def test_a_large_dataset_is_read_in_parts(tmp_path: Path) -> None:
    many = pyarrow.table({"id": range(10_000), "text": ["x"] * 10_000})
    parquet.write_table(many, tmp_path / "many.parquet")
    rows = read_rows(dataset.dataset(tmp_path / "many.parquet"), BOUND)
    assert {row.object for row in rows if isinstance(row, Row)} == {str(n) for n in range(10_000)}


def test_frames_that_an_iterable_yields() -> None:
    pandas = pytest.importorskip("pandas", reason=NEED_TABLES)
    polars = pytest.importorskip("polars", reason=NEED_TABLES)
    frame = pandas.DataFrame(COLUMNS)
    assert list(read_rows((frame.iloc[n : n + 1] for n in range(2)), BOUND)) == ROWS, "as read_csv(chunksize=) does"
    assert list(read_rows([frame.set_index("id")], BOUND)) == ROWS
    assert list(read_rows(polars.DataFrame(COLUMNS).iter_slices(1), BOUND)) == ROWS
    assert list(read_rows((row for _, row in frame.iterrows()), BOUND)) == ROWS, "a Series is a row there"
    bad = frame.assign(id=["o1", "a b"])
    numbers = [row.row for row in read_rows([bad, bad], BOUND) if isinstance(row, Refused)]
    assert numbers == [1, 3], "rows are counted across tables"


def test_a_frame_of_a_derived_class() -> None:
    pandas = pytest.importorskip("pandas", reason=NEED_TABLES)
    derived = type("Books", (pandas.DataFrame,), {})
    assert list(read_rows(derived(COLUMNS).set_index("id"), BOUND)) == ROWS


def test_relations_of_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb", reason=NEED_TABLES)
    with duckdb.connect() as connection:
        rows = connection.sql("SELECT 'hello' AS text, uuid '00000000-0000-0000-0000-000000000007' AS id")
        assert list(read_rows(rows, BOUND)) == [ROWS[0]._replace(object=str(UUIDS[0]))]
        with pytest.raises(InvalidArgument, match="rows is of type DuckDBPyConnection; allowed are"):
            read_rows(connection, BOUND)


def objects(rows: Any) -> list[str]:
    return [row.object for row in read_rows(rows, BOUND)]


NAMES = [*map(str, UUIDS)], ["42", "12345678901234567890"]


def test_uuids_and_decimals_of_arrow() -> None:
    text = ["hello", "world"]
    assert objects(pyarrow.table({"id": DECIMALS, "text": text})) == NAMES[1]
    wide = pyarrow.array(DECIMALS, pyarrow.decimal256(40, 2))
    assert objects(pyarrow.table({"id": wide, "text": text})) == NAMES[1]
    halves = pyarrow.table({"id": [Decimal("42.5"), None], "text": text})
    reasons = [row.reason for row in read_rows(halves, BOUND) if isinstance(row, Refused)]
    assert reasons[0].startswith("object is Decimal('42.5'); allowed are ")
    assert reasons[1] == "the name of the object is missing"
    if not hasattr(pyarrow, "uuid"):
        pytest.skip("pyarrow has a type of UUIDs from 18 on")
    assert (
        objects(pyarrow.table({"id": pyarrow.array([u.bytes for u in UUIDS], pyarrow.uuid()), "text": text}))
        == NAMES[0]
    )


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_uuids_and_decimals_of_frames(package: str) -> None:
    frame = pytest.importorskip(package, reason=NEED_TABLES).DataFrame
    for values, names in zip((UUIDS, DECIMALS), NAMES, strict=True):
        assert objects(frame({"id": values, "text": ["hello", "world"]})) == names
