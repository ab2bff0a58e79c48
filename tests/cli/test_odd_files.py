"""Odd files and flags of `sonicpy import`: nothing is lost, and every message is a sentence of sonicpy."""

import bisect
import datetime
import json
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.cli.importing.row_sources import Source
from sonicpy.errors import SonicError
from tests.cli.conftest import Run

TO_C = ["--collection", "c", "--data", "d"]
DEEP = "[" * 100_000


@pytest.mark.parametrize("link", [None, Path.symlink_to, Path.hardlink_to])
def test_refused_rows_do_not_empty_the_source(run: Run, link: object) -> None:
    source = Path("rows.csv")
    source.write_text(content := "id,text\na b,x\n1,amber\n")
    bad = source
    if callable(link):
        bad = Path("bad.jsonl")
        link(bad, source.absolute())
    run("import", "rows.csv", "--bad", str(bad), *TO_C, status=2, said="--bad names rows.csv")
    assert source.read_text() == content


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
def test_lines_without_a_line_feed_are_not_lost_silently(run: Run, name: str) -> None:
    comma = "," if name.endswith("csv") else "\t"
    Path(name).write_bytes(f"id{comma}text\r1{comma}amber\r".encode())
    said = "it holds a carriage return; allowed is that lines end with a line feed"
    run("import", name, *TO_C, status=1, said=said)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv"])
def test_blank_lines_before_the_header(run: Run, name: str) -> None:
    comma = "," if name.endswith("csv") else "\t"
    Path(name).write_bytes(f"\r\n\nid{comma}text\n1{comma}amber\n".encode())
    run("import", name, *TO_C)
    with Index("d") as index:
        assert index.query("c", "default", "amber") == ["1"]


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", "tsv"])
def test_an_empty_file_has_no_rows(run: Run, kind: str) -> None:
    Path(f"rows.{kind}").touch()
    assert run("import", f"rows.{kind}", *TO_C).startswith("0 rows")


def test_values_that_python_cannot_hold_refuse_their_row_alone(run: Run) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    far = arrow.array([2**31 - 1, 1], arrow.date32())
    text = arrow.StringArray.from_buffers(
        2, arrow.py_buffer(b"\0\0\0\0\5\0\0\0\6\0\0\0"), arrow.py_buffer(b"amber\xff")
    )
    table = arrow.table({"id": ["1", "2"], "text": text, "day": far})
    parquet.write_table(table, "rows.parquet")
    run("import", "rows.parquet", "--bad", "bad", *TO_C, status=3, said="row 2 is refused")
    said = "the value day is of type OutOfRange"
    assert "2 refused" in run("import", "rows.parquet", "--value", "day", "--bad", "bad", *TO_C, status=3, said=said)
    with Index("d") as index:
        assert index.query("c", "default", "amber") == ["1"]
        report = index.push_many(table, collection="l", bucket="b")
        assert report.indexed == 1 and [row.row for row in report.refused] == [1]
        report = index.push_many(table, collection="l", bucket="b", values=["day"], text="id")
        assert [(row.row, "OutOfRange" in row.reason) for row in report.refused] == [(0, True)]
        (held,) = index.values_of_objects("l", "b", ["2"])
        assert held == {"day": int((datetime.date(1970, 1, 2) - datetime.date(1970, 1, 1)).total_seconds())}


@pytest.mark.parametrize("flag", ["price=price", "price=price*100"])
@pytest.mark.parametrize("number", ["1e999999", "-1e999999", "1E+999999999999999", "sNaN", "Infinity", "9" * 5_000])
def test_a_number_beyond_all_values_refuses_its_row_alone(run: Run, flag: str, number: str) -> None:
    Path("rows.csv").write_text(f"id,text,price\n1,amber,{number}\n2,birch,7\n3,cedar,nan\n")
    said = "row 1 is refused: the value price is Decimal('"
    report = run("import", "rows.csv", "--value", flag, *TO_C, "--json", status=3, said=said)
    assert '"indexed": 2, "refused": 1' in report
    said = "row 1 was refused: the value price is Decimal('"
    report = run("mirror", "rows.csv", "--value", flag, "--bucket", "b", *TO_C, "--json", status=3, said=said)
    assert '"changed": 2' in report


@pytest.mark.parametrize("flag", ["price=price", "price=price*100"])
def test_a_float_that_may_mean_several_numbers_refuses_its_row_alone(run: Run, flag: str) -> None:
    """A column of keys with a missing one is written as floats: 2**53 and 2**53 + 1 are the same one."""
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    prices = arrow.array([float(2**53 + 1), 7.0, None])
    table = arrow.table({"id": ["1", "2", "3"], "text": ["amber", "birch", "cedar"], "price": prices})
    parquet.write_table(table, "rows.parquet")
    for verb, said in (("import", "row 1 is refused"), ("mirror", "row 1 was refused")):
        said += (
            ": the value price is 9007199254740992.0; allowed are a whole number of 64 bits (a float only below 2**53)"
        )
        report = run(verb, "rows.parquet", "--value", flag, "--bucket", verb, *TO_C, "--json", status=3, said=said)
        assert '"refused": 1' in report or '"refused_count": 1' in report


def test_a_factor_of_many_digits(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("import", "mirror"):
        with pytest.raises(SystemExit):
            run(verb, "rows.csv", "--value", f"price*{'9' * 5_000}", *TO_C)
        assert "argument --value: the number behind * has 5000 digits; allowed are 100" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id":1,"text":' + DEEP + "}", "nested too deeply"),
        ('{"id":' + "9" * 5_000 + "}", "a number has too many digits"),
    ],
)
def test_reasons_name_no_function_of_python(run: Run, line: str, reason: str) -> None:
    Path("rows.jsonl").write_text(f'{line}\n{{"id":2,"text":"amber"}}\n')
    run("import", "rows.jsonl", *TO_C, status=3, said=reason)


def test_a_damaged_parquet_file_is_a_sentence(run: Run) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    text = arrow.array(["amber", "coral", "topaz"]).dictionary_encode()
    parquet.write_table(arrow.table({"id": ["1", "2", "3"], "text": text}), "rows.parquet", compression="none")
    sound, damages = Path("rows.parquet").read_bytes(), set()
    for place in range(4, sound.index(b"ARROW:schema")):
        Path("rows.parquet").write_bytes(sound[:place] + b"\xff" + sound[place + 1 :])
        try:
            list(Source("rows.parquet").rows())
        except SonicError as error:
            assert str(error).startswith("rows.parquet cannot be read as Parquet: ")
            damages.add(type(error.__cause__).__name__)
            last = place
    assert {"OSError", "ArrowInvalid", "UnicodeDecodeError"} <= damages
    Path("rows.parquet").write_bytes(sound[:last] + b"\xff" + sound[last + 1 :])
    for verb in ("import", "mirror"):
        run(verb, "rows.parquet", *TO_C, status=1, said="rows.parquet cannot be read as Parquet: ")


def test_a_row_nested_almost_too_deeply_to_be_read(run: Run) -> None:
    def can_be_read(depth: int) -> bool:
        try:
            json.loads("[" * depth + "]" * depth)
        except RecursionError:
            return False
        return True

    limit = bisect.bisect_left(range(100_000), x=True, key=lambda depth: not can_be_read(depth))
    depths = range(limit - 90, limit + 10)
    lines = [f'{{"id": "1", "text": {"[" * depth}{"]" * depth}}}\n' for depth in depths]
    Path("rows.jsonl").write_text("".join(lines))
    run("import", "rows.jsonl", "--bad", "bad", *TO_C, status=3, said="row 1 is refused")
    bad = Path("bad").read_text().splitlines()
    assert [line.partition(",")[0] for line in bad] == [f'{{"row": {row}' for row in range(1, len(lines) + 1)]
    assert any(line.endswith('"content": "(the row is nested too deeply to be written here)"}') for line in bad)


def test_a_vector_of_many_brackets(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.csv").write_text(f"id,text,v\n1,x,{DEEP}\n2,amber,\n")
    said = "its vector is no JSON: its brackets are nested too deeply"
    run("import", "rows.csv", "--vector", "v", *TO_C, status=3, said=said)
    said = "row 1 was refused: vector is refused"
    assert "1 changed" in run("mirror", "rows.csv", "--vector", "v", "--bucket", "m", *TO_C, status=3, said=said)
    with pytest.raises(SystemExit):
        run("push", "c", "1", "x", "--vector", DEEP, "--data", "d")
    err = capsys.readouterr().err
    assert "holds no numbers" in err and len(err) < 1_000


@pytest.mark.parametrize("name", ["idna", "punycode"])
def test_an_encoding_of_host_names_is_none_of_a_file(run: Run, capsys: pytest.CaptureFixture[str], name: str) -> None:
    Path("rows.csv").write_text("id,text\n1,amber\n")
    with pytest.raises(SystemExit):
        run("import", "rows.csv", "--encoding", name, *TO_C)
    assert "is not an encoding" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.json"])
def test_a_mirror_of_a_blank_file_erases_nothing(run: Run, name: str) -> None:
    comma = "\t" if name.endswith("tsv") else ","
    kept, none = f"id{comma}text\n1{comma}amber\n", f"id{comma}text\n"
    if name.endswith("json"):
        kept, none = '[{"id": 1, "text": "amber"}]', "[]"
    Path(name).write_text(kept)
    run("mirror", name, *TO_C)
    for blank in ("", "\n\n"):
        Path(name).write_text(blank)
        run("mirror", name, *TO_C, status=1, said=f"{name} is empty; allowed is a file without rows that has its ")
        assert run("ls", "c", "default", "--data", "d") == "1\n"
    Path(name).write_text(none)
    assert "1 gone" in run("mirror", name, *TO_C)


def test_synonyms_behind_a_byte_order_mark(run: Run) -> None:
    Path("rules").write_bytes(b"\xef\xbb\xbf# rules\r\ntv, television\r\n")
    run("synonyms", "c", "--set", "rules", "--data", "d")
    Path("rules").write_bytes(b"\xef\xbb\xbftv, television\r\n")
    run("synonyms", "c", "--add", "rules", "--data", "d")
    assert run("synonyms", "c", "--data", "d") == "tv, television\n"
    Path("rules").write_bytes(b"tv, t\xe9l\xe9\n")
    run("synonyms", "c", "--set", "rules", "--data", "d", status=2, said="rules cannot be read: it is not UTF-8.")


def test_an_export_to_a_dash_is_the_standard_output(run: Run) -> None:
    run("push", "c", "1", "amber", "--data", "d")
    assert run("export", "-o", "-", "--data", "d") == run("export", "--data", "d") != ""
    assert not Path("-").exists()


def test_an_odd_relevance_is_a_sentence(run: Run) -> None:
    Path("set").mkdir()
    Path("set/docs.jsonl").write_text('{"id": 1, "text": "amber"}\n')
    Path("set/queries.jsonl").write_text('{"id": "q", "text": "amber"}\n')
    Path("set/qrels.tsv").write_text("q\t1\t--5\n")
    run("eval", "set", status=1, said="allowed is query<TAB>document<TAB>relevance, a whole number")


def test_two_dashes_as_the_value_of_a_flag(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("push", "c", "1", "amber", "--data", "d")
    for flag in ("--facets", "--ranges", "--show"):
        run("query", "c", "amber", f"{flag}=--", "--data", "d", status=2, said="sonicpy: ")
    for flag in ("--value", "--field"):
        with pytest.raises(SystemExit):
            run("push", "c", "1", "x", f"{flag}=--", "--data", "d")
        assert f"error: argument {flag}: " in capsys.readouterr().err
    run("synonyms", "c", "--add=--", "--data", "d", status=2, said="-- cannot be read: No such file")
    assert run("query", "--data", "d", "--", "c", "amber") == "1\n"


def test_a_limit_of_many_digits(run: Run) -> None:
    run("push", "c", "1", "amber", "--data", "d")
    assert run("query", "c", "amber", "--limit", "9" * 5_000, "--data", "d") == "1\n"
