"""CSV whose quotes are not closed: the message names the line with the quote, and the rows behind it are read."""

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy import Index
from sonicpy.cli.importing import csv_records
from tests.cli.conftest import Run

TO_C = ["--collection", "c", "--data", "d"]
HEADER = "id,text\n"

Found = tuple[str, list[str], list[tuple[int, str, str]]]
"""(content of a file behind the header, objects that are indexed, [(number, end of the reason, content) of other
rows]).
"""

FILES: list[Found] = [
    (
        '1,amber\n2,"open\n3,birch\n4,"x, y"\n5,cedar\n',
        ["1", "3", "4", "5"],
        [(2, "',' expected after '\"' (line 5); the quote in line 3 begins a field that does not end", '2,"open')],
    ),
    (
        '1,"open\n2,birch\n3,cedar',
        ["2", "3"],
        [(1, "unexpected end of data (line 4); the quote in line 2 begins a field that does not end", '1,"open')],
    ),
    (
        '1,"two\nlines"\n2,"doubled ""quotes""\n"\n3,"open\n4,x\n',
        ["1", "2", "4"],
        [(3, "unexpected end of data (line 7); the quote in line 6 begins a field that does not end", '3,"open')],
    ),
    (
        '"1\n1","two\nlines","open\n2,x\n',
        ["2"],
        [(1, "(line 5); the quote in line 4 begins a field that does not end", '"1\n1","two\nlines","open')],
    ),
    (
        '1,"a\n2,"b\n3,"c\n4,x\n',
        ["4"],
        [
            (1, "(line 3); the quote in line 2 begins a field that does not end", '1,"a'),
            (2, "(line 4); the quote in line 3 begins a field that does not end", '2,"b'),
            (3, "(line 5); the quote in line 4 begins a field that does not end", '3,"c'),
        ],
    ),
    (
        '1,"two\nlines"x\n2,birch\n',  # a letter follows the end of the field
        ["2"],
        [
            (1, "(line 3); the quote in line 2 begins a field that does not end", '1,"two'),
            (2, "it has 1 fields, and the header 2", 'lines"x'),
        ],
    ),
    ('1,"a"b\n2,birch\n', ["2"], [(1, "it is not CSV: ',' expected after '\"' (line 2)", '1,"a"b')]),
    (
        '1,"two\nlines",more\n2,birch\n',  # the quotes may be right, so the lines belong together
        ["2"],
        [(1, "it has 3 fields, and the header 2 (lines 2 to 3)", "1 two\nlines more")],
    ),
    ('1,amber\n2,"', ["1"], [(2, "(line 3); the quote in line 3 begins a field that does not end", '2,"')]),
    ('1,"\n\n\n2,amber\n', ["2"], [(1, "the quote in line 2 begins a field that does not end", '1,"')]),
    (
        '1,"a\r\nb"\r\n2,"x\r\n3,y\r\n',
        ["1", "3"],
        [(2, "the quote in line 4 begins a field that does not end", '2,"x')],
    ),
]


@pytest.mark.parametrize(("content", "there", "refused"), FILES)
def test_rows_behind_a_quote_that_is_not_closed(
    run: Run, content: str, there: list[str], refused: list[tuple[int, str, str]]
) -> None:
    Path("rows.csv").write_bytes((HEADER + content).encode())
    run("import", "rows.csv", *TO_C, "--bad", "bad", status=3, said=refused[0][1])
    with Index("d") as index:
        assert index.objects("c", "default") == there
    told = [json.loads(line) for line in Path("bad").read_text().splitlines()]
    assert [bad["row"] for bad in told] == [number for number, _, _ in refused]
    for bad, (_, reason, text) in zip(told, refused, strict=True):
        assert bad["reason"].endswith(reason)
        assert (bad["content"] if isinstance(bad["content"], str) else " ".join(bad["content"])) == text


def test_the_rest_of_a_large_file_does_not_wait_in_memory(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_records, "RECORD_CHARACTERS_MAX", 1_000)
    rows = "".join(f"{number},word{number}\n" for number in range(500))
    long = "x" * 5_000
    Path("rows.csv").write_text(f'{HEADER}a,"open\n{rows}b,"{long}"\nc,"{"y" * 400}\n{"z" * 400}"\n')
    said = "a record of several lines has more than 1000 characters (line "
    run("import", "rows.csv", *TO_C, "--bad", "bad", status=3, said=said)
    (bad,) = [json.loads(line) for line in Path("bad").read_text().splitlines()]
    assert (bad["row"], bad["content"]) == (1, 'a,"open')
    assert bad["reason"].endswith("; the quote in line 2 begins a field that does not end")
    with Index("d") as index:
        assert index.count_objects("c", "default") == 502


def test_many_quotes_that_are_not_closed_take_linear_time(run: Run) -> None:
    rows = "".join(f'{number},"open {number}\n{number}x,fine\n' for number in range(3_000))
    Path("rows.csv").write_text(HEADER + rows)
    report = json.loads(run("import", "rows.csv", *TO_C, "--json", status=3, said="more rows are refused"))
    assert (report["rows"], report["indexed"], report["refused"]) == (6_000, 3_000, 3_000)


TEXTS = st.lists(st.sampled_from(["a", "b", ",", '"', '""', "\n", "\r\n", ";", '","', '"\n', "1,x\n"])).map("".join)


@given(TEXTS)
def test_every_line_is_in_one_record_and_right_csv_is_read_as_csv_reads_it(text: str) -> None:
    lines = text.splitlines(keepends=True)
    records = csv_records.CsvRecords(iter(lines), ",")
    read, covered = [], 0
    for record in records:
        assert records.first_line == covered + 1
        covered = records.last_line
        if isinstance(record, csv_records.BrokenRecord):
            assert record.text == "".join(lines[records.first_line - 1 : records.last_line])
        read.append(record)
    assert covered == len(lines)
    try:
        assert read == list(csv.reader(lines, strict=True))
    except csv.Error:
        assert any(isinstance(record, csv_records.BrokenRecord) for record in read)


def test_other_delimiters_and_no_header(run: Run) -> None:
    Path("rows.csv").write_text('1;"open; x\n2;"a;b"\n3;cedar\n')
    flags = ["--delimiter", ";", "--no-header", "--id", "1", "--text", "2"]
    said = "row 1 is refused: it is not CSV: ';' expected after '\"' (line 2); the quote in line 1 begins a field that"
    run("import", "rows.csv", *TO_C, *flags, status=3, said=said)
    with Index("d") as index:
        assert index.objects("c", "default") == ["2", "3"]
        assert index.query("c", "default", "b") == ["2"]


def test_the_header(run: Run) -> None:
    Path("rows.csv").write_text('id,"text\n1,x\n')
    said = (
        "sonicpy: the header of rows.csv is not CSV: unexpected end of data (line 2); the quote in line 1 begins a fie"
    )
    run("import", "rows.csv", *TO_C, status=1, said=said)
