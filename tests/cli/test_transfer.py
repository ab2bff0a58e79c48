"""Tests of `sonicpy import` and `export`: formats, fields, refused rows, resuming after an interrupt, and both ways
round.
"""

import json
import os
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import UUID

import pytest

from sonicpy import Index
from sonicpy.cli.main import main
from sonicpy.errors import ConnectionLost, TimedOut
from tests.cli.conftest import Run
from tests.cli.holdings import held
from tests.processes import Server

EXPECTED = {"1": {"amber", "birch"}, "2": {"birch", "cedar"}, "3": {"grün", "tab"}}

FILES: list[tuple[str, str, list[str]]] = [
    (
        "rows.jsonl",
        '{"id": 1, "text": "amber birch"}\n\n{"id": "2", "text": "birch \\"cedar"}\r\n{"id":3,"text":"gr\\u00fcn tab"}',
        [],
    ),
    ("rows.csv", '\ufeffid,text\n1,amber birch\n2,"birch, ""cedar"""\n\n3,"grün\ntab"\n', []),
    ("rows.tsv", 'id\ttext\r\n1\tamber birch\r\n2\t"birch" cedar\r\n\r\n3\tgrün tab\r\n', []),
    ("rows", "1,amber birch\n2,birch cedar\n3,grün tab", "--format csv --no-header --id 1 --text 2".split()),
    ("rows.csv", "object,a,b\n1,amber,birch\n2,birch,cedar\n3,grün,tab\n", ["--text", "a", "--text", "b"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "flags"), FILES)
def test_formats(run: Run, name: str, content: str, flags: list[str]) -> None:
    Path(name).write_bytes(content.encode())
    report = json.loads(run("import", name, "--collection", "c", "--data", "d", "--json", *flags))
    assert (report["indexed"], report["refused"], report["resumed"]) == (3, 0, 0)
    assert held() == EXPECTED


def test_the_standard_input(run: Run, type_in: Callable[[bytes], None]) -> None:
    type_in(b'{"id": 1, "text": "amber"}\n')
    assert "1 indexed, 0 refused in all\n" in run("import", "-", "--collection", "c", "--data", "d")
    type_in(b"id\ttext\n2\tbirch\n")
    run("import", "-", "--format", "tsv", "--collection", "c", "--data", "d")
    assert held() == {"1": {"amber"}, "2": {"birch"}}
    run("import", "-", "--resume", status=2, said="flag --resume needs a file")
    run("import", "-", "--format", "parquet", status=2, said="Parquet cannot be read from the standard input")


def test_parquet(run: Run) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = {
        "id": [1, 2, 3, 4], "text": ["amber birch", "birch cedar", "grün tab", None], "day": [date(2026, 1, 2)] * 4,
    }  # fmt: skip
    parquet.write_table(arrow.table(rows), "rows.parquet", row_group_size=2)
    flags = ["--collection", "c", "--data", "d"]
    run("import", "rows.parquet", *flags, status=3, said="row 4 is refused: its text is missing: 'text' is null")
    assert held() == EXPECTED
    run("import", "rows.parquet", *flags, "--id", "day", "--bad", "bad", "-q", status=3, said="row 1")
    assert json.loads(Path("bad").read_text().splitlines()[2]) == {
        "row": 3,
        "reason": "object is of type date; allowed are 1 to 128 bytes of UTF-8 without white space and control "
        "characters, or a whole number",
        "content": {"id": 3, "text": "grün tab", "day": "2026-01-02"},
    }
    Path("torn.parquet").write_bytes(Path("rows.parquet").read_bytes()[:50])
    run("import", "torn.parquet", *flags, status=1, said="torn.parquet cannot be read as Parquet: ")


def test_parquet_of_a_database(run: Run) -> None:
    """Databases return numbers as decimals and names as UUIDs; pyarrow has a type for UUIDs from version 18 on."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    numbers = [Decimal("7.00"), Decimal("12345678901234567890.00"), Decimal("7.50")]
    rows = {"number": numbers, "text": ["amber", "birch", "cedar"]}
    if hasattr(arrow, "uuid"):
        rows["uuid"] = arrow.array([UUID(int=n).bytes for n in range(3)], arrow.uuid())
    parquet.write_table(arrow.table(rows), "rows.parquet")
    flags = ["rows.parquet", "--collection", "c", "--data", "d"]
    run("import", *flags, "--id", "number", status=3, said="row 3 is refused: object is Decimal('7.50'); allowed are")
    assert held() == {"7": {"amber"}, "12345678901234567890": {"birch"}}
    if hasattr(arrow, "uuid"):
        run("import", *flags, "--id", "uuid", "--text", "number", "--bucket", "u")
        assert held(bucket="u").keys() == {str(UUID(int=n)) for n in range(3)}
        assert held(bucket="u")[str(UUID(int=0))] == {"7", "00"}


def test_rows_say_where_they_belong(run: Run) -> None:
    rows = [
        {"object": "o1", "text": "amber", "collection": "c", "bucket": "b"},
        {"object": "o2", "text": "the amber", "collection": "c", "room": "r", "tongue": "eng"},
        {"object": "o3", "text": ["birch", "cedar"], "collection": "c", "bucket": None, "tongue": ""},
    ]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run("import", "rows.jsonl", "--data", "d", "--lang-field", "tongue")
    assert held(bucket="b") == {"o1": {"amber"}}
    assert held() == {"o2": {"the", "amber"}, "o3": {"birch", "cedar"}}
    with Index("d") as index:
        assert [holding.terms for holding in index.holdings("c", "default")] == [
            {"the": 1, "amber": 1}, {"birch": 1, "cedar": 1},
        ]  # fmt: skip
    run("import", "rows.jsonl", "--data", "e", "--bucket-field", "room", "--collection", "f", "--lang", "none")
    assert held("e", "f", "r") == {"o2": {"the", "amber"}}
    assert held("e", "f").keys() == {"o1", "o3"}


BAD: list[tuple[bytes, str]] = [
    (
        b'{"id": "two words", "text": "x"}',
        "object is 'two words'; allowed are 1 to 128 bytes of UTF-8 without white space and control characters",
    ),
    (b'{"text": "x"}', "it has no field 'id' (--id names another)"),
    (b'{"id": null, "text": "x"}', "it has no field 'id' (--id names another)"),
    (b'{"id": true, "text": "x"}', "object is True; allowed are 1 to 128 bytes of UTF-8"),
    (b'{"id": 1.5, "text": "x"}', "object is 1.5; allowed are 1 to 128 bytes of UTF-8"),
    (b'{"id": NaN, "text": "x"}', "it has no field 'id'"),
    (b'{"id": 1}', "it has no field 'text' (--text names the fields of texts)"),
    (b'{"id": 1, "text": null}', "its text is missing: 'text' is null"),
    (b'{"id": 1, "text": NaN}', "its text is missing: 'text' is null"),
    (b'{"id": 1, "text": {}}', "its field 'text' is neither a text nor a number"),
    (b'{"id": 1, "text": "\\ud800"}', "its text is not UTF-8"),
    (b'{"id": 1, "text": "x", "lang": "x"}', "'x' is not a language: allowed are a code or tag such as en, eng"),
    (b'{"id": 1, "text": "x", "bucket": "a b"}', "bucket is 'a b'; allowed are 1 to 128 ASCII characters"),
    (b'{"id": 1, "terms": {"x": 0}}', "the frequency of 'x' is not 1 to 255"),
    (b'{"id": 1, "terms": {"x": 1}, "hidden": 7}', "its field 'hidden' is not an object of words and numbers"),
    (b"[1]", "it is JSON, but not an object"),
    (b"null", "it is JSON, but not an object"),
    (b"{" + b"[" * 100_000, "it is not JSON"),
    (b'{"id": 1, "text": "\xff"}', "it is not JSON"),
]


def test_bad_rows_do_not_stop_the_import(run: Run) -> None:
    lines = [line for line, _ in BAD]
    first, last = b'{"id": "first", "text": "x"}', b'{"id": "last", "text": "x"}'
    Path("rows.jsonl").write_bytes(b"\n".join([first, *lines, last]))
    flags = ["--collection", "c", "--data", "d", "--bad", "bad.jsonl"]
    said = "sonicpy: row 2 is refused: object is 'two words'; allowed are 1 to 128 bytes of UTF-8"
    report = json.loads(run("import", "rows.jsonl", *flags, "--json", status=3, said=said))
    assert (report["rows"], report["indexed"], report["refused"]) == (len(BAD) + 2, 2, len(BAD))
    assert held().keys() == {"first", "last"}
    written = [json.loads(line) for line in Path("bad.jsonl").read_text().splitlines()]
    assert [bad["row"] for bad in written] == list(range(2, len(BAD) + 2))
    for bad, (_, reason) in zip(written, BAD, strict=True):
        assert bad["reason"].startswith(reason)
    assert written[0]["content"] == {"id": "two words", "text": "x"}
    assert written[-1]["content"] == '{"id": 1, "text": "\udcff"}'


@pytest.mark.parametrize("column", ["terms", "fields"])
@pytest.mark.parametrize(
    ("flags", "missing"),
    [
        (["--text", "title", "--text", "bdy"], "'bdy', which --text"),
        (["--text", "title", "--field", "bdy"], "'bdy', which --field"),
        (["--text", "title", "--vector", "embeding"], "'embeding', which --vector"),
    ],
)
def test_columns_named_like_those_of_an_export_hide_no_missing_one(
    run: Run, column: str, flags: list[str], missing: str
) -> None:
    Path("posts.csv").write_text(f"id,title,body,{column}\n1,amber,birch,net 30\n")
    rows = {"id": 1, "title": "amber", "body": "birch", column: {"terms": {"net": 30}, "net": 30}}
    Path("posts.jsonl").write_text(json.dumps(rows))
    for file in ("posts.csv", "posts.jsonl"):
        said = f"{file} has no column {missing} names; it has 'id', 'title', 'body', '{column}'."
        run("import", file, *flags, "--collection", "c", "--data", "d", status=2, said=said)


def test_a_row_with_a_text_is_of_no_export(run: Run) -> None:
    rows = [{"id": 1, "text": "amber", "terms": {"net": 30}}, {"id": 2, "text": "birch", "fields": {"terms": {"x": 1}}}]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for collection, flags in (("c", []), ("e", ["--text", "text"])):
        run("import", "rows.jsonl", *flags, "--collection", collection, "--data", "d")
        assert held(collection=collection) == {"1": {"amber"}, "2": {"birch"}}


def test_names_and_languages_are_those_of_the_library(run: Run) -> None:
    rows = [
        {"id": 3.0, "text": "amber", "lang": "en-GB"},
        {"id": "größe/7", "text": "birch", "lang": "de"},
        {"id": 12345678901234567890, "text": "cedar"},
    ]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run("import", "rows.jsonl", "--collection", "c", "--data", "d")
    assert held().keys() == {"3", "größe/7", "12345678901234567890"}
    run("push", "c", "default", "ключ", "delta", "--lang", "ru", "--data", "d")
    assert run("query", "c", "default", "delta", "--lang", "en-GB", "--data", "d") == "ключ\n"


def test_only_the_first_bad_rows_are_shown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.jsonl").write_bytes(b"\n".join(line for line, _ in BAD))
    assert main(["import", "rows.jsonl", "--collection", "c", "--data", "d"]) == 3
    assert capsys.readouterr().err.splitlines()[4:] == [
        "sonicpy: row 5 is refused: object is 1.5; allowed are 1 to 128 bytes of UTF-8 without white space and control "
        "characters, or a whole number",
        "sonicpy: more rows are refused, see --bad",
    ]


def test_strict_stops_at_the_first_bad_row(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.csv").write_text("id,text\n1,amber\na b,birch\n3,cedar\n")
    said = "sonicpy: row 2 of rows.csv is refused: object is 'a b'; allowed are 1 to 128 bytes of UTF-8"
    assert run("import", "rows.csv", "--collection", "c", "--data", "d", "--strict", status=1, said=said) == ""
    assert main(["import", "rows.csv", "--collection", "c", "--data", "d", "--strict"]) == 1
    assert capsys.readouterr().err.count("'a b'") == 1, "the row is told once"
    assert held() == {"1": {"amber"}}


def test_strict_sets_aside_the_row_at_which_it_stops(run: Run) -> None:
    Path("rows.csv").write_text("id,text\n1,amber\na b,birch\n3,cedar,more\nc d,elm\n")
    run("import", "rows.csv", "--collection", "c", "--data", "d", "--strict", "--bad", "bad", status=1, said="row 2")
    assert [json.loads(line)["row"] for line in Path("bad").read_text().splitlines()] == [2]


def test_csv_with_faults(run: Run) -> None:
    Path("rows.csv").write_bytes(b'id,text\n1,amber\n2,birch,more\n3,"x"y\n4,\xff\n5,"cedar"\n6,"open')
    run("import", "rows.csv", "--collection", "c", "--data", "d", "--bad", "bad", status=3, said="row 2 is refused")
    assert held() == {"1": {"amber"}, "5": {"cedar"}}
    assert [json.loads(line)["reason"].split(":")[0] for line in Path("bad").read_text().splitlines()] == [
        "it has 3 fields, and the header 2",
        "it is not CSV",
        "its text is not UTF-8 (--encoding names another)",
        "it is not CSV",
    ]


@pytest.mark.parametrize(
    ("header", "error"),
    [("id,text\r1,mac\r", "it holds a carriage return; allowed is"), ('id,"text\n1,x\n', "unexpected end")],
)
def test_a_header_that_is_not_csv_is_a_sentence(run: Run, header: str, error: str) -> None:
    Path("rows.csv").write_bytes(header.encode())
    run("import", "rows.csv", "--data", "d", status=1, said=f"sonicpy: the header of rows.csv is not CSV: {error}")


def test_a_column_that_is_read_has_its_name_alone(run: Run) -> None:
    """A column that is read must have a name of its own: of several columns with one name, only the last would be
    read.
    """
    flags = ["--collection", "c", "--data", "d"]
    for name, mark in (("rows.csv", ","), ("rows.tsv", "\t")):
        Path(name).write_text("id,text,text,note,note\n1,amber,birch,x,x\n".replace(",", mark))
        said = f"sonicpy: {name} has several columns 'text'; rename all but one."
        run("import", name, *flags, status=2, said=said)
        run("import", name, *flags, "--text", "id", "--id", "note", status=2, said="several columns 'note'")
        run("import", name, *flags, "--text", "id", said="" if mark == "," else "1 row was added to objects")
    assert held() == {"1": {"1"}}


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["none.csv"], 1, "sonicpy: none.csv cannot be read: No such file or directory\n"),
        (["."], 2, "sonicpy: . does not end in .jsonl"),
        (["rows.xyz"], 2, "sonicpy: rows.xyz does not end in .jsonl"),
        (["rows.jsonl", "--bad", "no/where"], 1, "sonicpy: cannot write no/where: No such file or directory\n"),
    ],
)
def test_what_cannot_be_imported(run: Run, here: Path, arguments: list[str], status: int, said: str) -> None:
    Path("rows.jsonl").touch()
    run("import", *arguments, "--data", "d", status=status, said=said)


def test_there_and_back_again(run: Run) -> None:
    with Index("d") as index:
        index.push("c", "b", "o1", "the amber amber", "eng")
        for oid, text in (("o2", "birch amber"), ("o3", "東京都庁に行く"), ("o4", "")):
            index.push("c", "b", oid, text)
        index.push("c", "b", "o1", "birch ann@example.org")
        index.push("e", "b", "o1", "amber")
    printed = run("export", "--data", "d")
    run("export", "--data", "d", "-o", "all.jsonl")
    assert Path("all.jsonl").read_text(encoding="utf-8") == printed
    head, *lines = map(json.loads, printed.splitlines())
    assert head == {"uses": ["facts", "rules 8"]}
    scope = {"collection": "c", "bucket": "b", "rules": 8}
    assert lines[1] == {**scope, "object": "o2", "terms": {"birch": 1, "amber": 1}}
    assert lines[0]["languages"] == "eng 1", "the counts of the bucket are on the line of its first object"
    assert (lines[0]["terms"]["amber"], lines[0]["terms"]["the"]) == (2, 1)
    assert lines[2]["hidden"], "parts of the run"
    assert [line["object"] for line in lines] == ["o1", "o2", "o3", "o4", "o1"]
    run("import", "all.jsonl", "--data", "copy")
    assert run("export", "--data", "copy") == printed
    with Index("d") as first, Index("copy") as second:
        for text in ("amber", "birch", "the amber", "東京", "ann@example.org", "birch amber"):
            assert list(first.query("c", "b", text)) == list(second.query("c", "b", text)) != [], text
        assert second.words("c", "b") == first.words("c", "b")
        assert second.verify() == []
    assert {json.loads(line)["collection"] for line in run("export", "e", "--data", "d").splitlines()[1:]} == {"e"}
    assert run("export", "c", "absent", "--data", "d", said="has no bucket 'absent'") == ""
    run("export", "--data", "d", "-o", "no/where", status=1, said="cannot write no/where: No such file")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_refused_rows_go_into_a_pipe(run: Run) -> None:
    Path("rows.csv").write_text("id,text\na b,x\n2,delta\n")
    os.mkfifo("pipe")
    with open(os.open("pipe", os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as pipe:
        run("import", "rows.csv", "--collection", "c", "--data", "d", "--bad", "pipe", status=3, said="row 1")
        assert json.loads(pipe.read())["row"] == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_refused_rows_that_cannot_be_written_end_an_import(run: Run) -> None:
    Path("rows.csv").write_text("id,text\na b,x\n2,delta\n")
    flags = ("rows.csv", "--collection", "c", "--data", "d", "--bad")
    run("import", *flags, "/dev/full", status=1, said="sonicpy: cannot write /dev/full: No space left on device\n")


@pytest.mark.full
@pytest.mark.parametrize("lost", [ConnectionLost("the server is gone"), TimedOut("the server is slow")])
def test_a_lost_server_is_no_fault_of_the_file_of_refused_rows(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch, lost: Exception
) -> None:
    Path("rows.csv").write_text("id,text\n1,x\n")
    monkeypatch.setattr("sonicpy.client.blocking.client.Client.push_many", mock.Mock(side_effect=lost))
    flags = ("--collection", "c", "--server", f"sonic://127.0.0.1:{server.port}", "--bad", "bad.jsonl")
    run("import", "rows.csv", *flags, status=1, said=f"sonicpy: {lost}\n")


OF_OBJECT = {"collection": "c", "bucket": "b", "object": "o"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({**OF_OBJECT, "fields": {"terms": {"a": 1}, "tags": "x"}}, "tags is 'x'; allowed is a list"),
        ({**OF_OBJECT, "fields": {"terms": {"a": 1}, "vectors": 5}}, "vectors is 5; allowed is base 64 by column"),
        ({**OF_OBJECT, "fields": {"terms": {"a": 1}, "vectors": {"a": "!!"}}}, "it is no base 64"),
        ({**OF_OBJECT, "fields": {"terms": {"a": 1}, "texts": 5}}, "texts is 5; allowed are lists of words"),
        ({**OF_OBJECT, "fields": {"terms": {"a": 1}, "order": 5}}, "order is 5; allowed are lists of words"),
        ({"collection": "c", "synonyms": ["a"]}, "allowed"),
        ({"collection": "c", "synonyms": ["\ud800, b"]}, "rule is not Unicode: character 0 is a lone surrogate"),
        ({**OF_OBJECT, "terms": {"a": "x"}}, "the frequency of 'a' is not 1 to 255"),
    ],
)
def test_a_row_of_an_export_is_refused_in_a_sentence(run: Run, row: dict[str, Any], reason: str) -> None:
    Path("rows.jsonl").write_text(json.dumps(row))
    run("import", "rows.jsonl", "--data", "d", "--bad", "bad.jsonl", status=3, said="sonicpy: row 1 is refused: ")
    assert reason in json.loads(Path("bad.jsonl").read_text())["reason"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_an_export_replaces_files_alone(run: Run) -> None:
    """An export replaces only regular files; a pipe or a device gets the lines. Otherwise root could replace /dev/null
    by a file.
    """
    run("push", "c", "b", "o1", "amber", "--data", "d")
    lines = run("export", "--data", "d")
    os.mkfifo("pipe")
    with open(os.open("pipe", os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as pipe:
        run("export", "--data", "d", "-o", "pipe")
        assert pipe.read() == lines
    Path("link").symlink_to("target")
    for _ in range(2):  # there is no target, there is one
        run("export", "--data", "d", "-o", "link")
        assert Path("link").is_symlink()
        assert Path("target").read_text(encoding="utf-8") == lines
    run("export", "--data", "d", "-o", "d", status=1, said="cannot write d: Is a directory")


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_export_that_fails_leaves_nothing(run: Run, monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:
    """A failing export leaves no partial file, which would keep a full disk full."""

    def fail(source: Path, target: Path) -> None:
        if Path(target).name == "all.jsonl":
            raise failure
        replace(source, target)

    replace = os.replace

    run("push", "c", "b", "o1", "amber", "--data", "d")
    Path("all.jsonl").write_text("before")
    monkeypatch.setattr("sonicpy.cli.maintenance.os.replace", fail)
    interrupted = isinstance(failure, KeyboardInterrupt)
    said = "interrupted" if interrupted else "cannot write all.jsonl: No space left"
    run("export", "--data", "d", "-o", "all.jsonl", status=130 if interrupted else 1, said=said)
    assert [path.name for path in Path().glob("all*")] == ["all.jsonl"]
    assert Path("all.jsonl").read_text() == "before"


def test_over_the_wire(run: Run, server: Server) -> None:
    url = f"sonic://127.0.0.1:{server.port}"
    with Index("d") as index:
        index.push("c", "b", "o1", "amber amber birch")
        index.push("c", "b", "o2", "birch ann@example.org")
    run("export", "--data", "d", "-o", "all.jsonl")
    run("import", "all.jsonl", "--server", url)
    with Index("d") as index:
        for text in ("amber", "birch", "ann@example.org"):
            assert run("query", "c", "b", text, "--server", url).split() == list(index.query("c", "b", text))
    Path("all.jsonl").write_text('{"id":1,"collection":"c","terms":{"x":"1"}}\n{"id":2,"collection":"c","text":"x"}')
    said = "row 1 is refused: the frequency of 'x' is not 1 to 255\n"
    run("import", "all.jsonl", "--server", url, status=3, said=said)
    assert run("query", "c", "default", "x", "--server", url) == "2\n"
    Path("rows.csv").write_text("id,text\n1,cedar\na b,x\n2,delta\n")
    said = "row 2 is refused"
    report = run("import", "rows.csv", "--collection", "c", "--bucket", "b", "--server", url, status=3, said=said)
    assert "3 rows in " in report
    assert "2 indexed, 1 refused in all\n" in report
    assert run("query", "c", "b", "delta", "--server", url) == "2\n"
    said = "export is not offered by this server (Sonic Channel does not give the words of objects; export the folder"
    run("export", "--server", url, status=1, said=said)
