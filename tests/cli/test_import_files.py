"""Tests of inputs of `sonicpy import`: JSON arrays, compressed files, delimiters, encodings, and columns that no row
has.
"""

import bz2
import gzip
import json
import lzma
import math
import os
import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy import Index
from sonicpy.cli.importing import json_array, row_sources
from sonicpy.cli.importing.json_array import BrokenArray, elements
from sonicpy.cli.importing.progress import ProgressBar
from sonicpy.cli.importing.row_sources import Source
from sonicpy.cli.main import main
from sonicpy.errors import SonicError
from tests.cli.conftest import Run
from tests.support.patience import WAIT_S

ROWS = [{"id": 1, "text": "amber birch"}, {"id": "2", "text": 'grün [tab], "x"'}, {"id": 3, "text": "cedar"}]
HELD = {"1": {"amber", "birch"}, "2": {"grün", "tab", "x"}, "3": {"cedar"}}
CSV = 'id;text\n1;amber birch\n2;"grün [tab], ""x"""\n3;cedar\n'
TABS = b"id\ttext\n1\tamber birch\n2\tgr\xc3\xbcn tab x\n3\tcedar\n"
COMMAS = CSV.replace(";", ",")
TO_C = ["--collection", "c", "--data", "d"]


def held() -> dict[str, set[str]]:
    with Index("d") as index:
        return {holding.object: set(holding.terms) for holding in index.holdings("c", "default")}


def dumped(**options: int) -> bytes:
    return json.dumps(ROWS, ensure_ascii=False, **options).encode()


FILES: list[tuple[str, bytes, list[str], str]] = [
    ("rows.json", dumped(), [], "an array on one line"),
    ("rows.json", dumped(indent=2), [], "an array on many"),
    ("rows.json", b"\xef\xbb\xbf\n \n" + dumped(indent=1) + b"\n\n", [], "white space and a byte order mark"),
    ("rows.json", b"\n".join(json.dumps(row).encode() for row in ROWS), [], "lines, as before"),
    ("rows.json", json.dumps(ROWS, indent=1).encode("utf-16"), ["--encoding", "UTF-16"], "another encoding"),
    ("rows.json.gz", gzip.compress(dumped(indent=2), mtime=0), [], "compressed"),
    ("rows.csv.gz", gzip.compress(COMMAS.encode(), mtime=0), [], "compressed"),
    ("rows.tsv.GZ", gzip.compress(TABS, mtime=0), [], "compressed"),
    ("rows.csv", CSV.encode(), ["--delimiter", ";"], "semicolons"),
    ("rows.csv", CSV.replace(";", "\t").encode(), ["--delimiter", "tab"], "tabs with quotes"),
    ("rows.csv", COMMAS.encode("latin-1"), ["--encoding", "latin-1"], "Latin-1"),
    ("rows.csv", COMMAS.encode("utf-16"), ["--encoding", "utf-16"], "UTF-16, as spreadsheets write it"),
    ("rows", dumped(), ["--format", "json"], "the format is given"),
    ("rows.csv", gzip.compress(COMMAS.encode(), mtime=0), [], "compressed, whatever its name is"),
    ("rows.json", gzip.compress(dumped(), mtime=0), [], "compressed, whatever its name is"),
    ("rows", gzip.compress(TABS, mtime=0), ["--format", "tsv"], "compressed, whatever its name is"),
    ("rows.csv", gzip.compress(COMMAS.encode("utf-16"), mtime=0), ["--encoding", "utf-16"], "compressed and encoded"),
]


@pytest.mark.parametrize(("name", "content", "flags", "why"), FILES)
def test_files(run: Run, name: str, content: bytes, flags: list[str], why: str) -> None:
    Path(name).write_bytes(content)
    report = json.loads(run("import", name, *TO_C, "--json", *flags))
    assert (report["rows"], report["indexed"]) == (3, 3), why
    assert held() == HELD, why


ARRAYS: list[tuple[str, list[object] | str]] = [
    ("[]", []),
    (" [ ] \n", []),
    ('[1, "a]b", {"c": [2]}, null]', [1, "a]b", {"c": [2]}, None]),
    ("[1", "it ends before ']'"),
    ("[1, ]", "Expecting value"),
    ("[1 2]", "found '2' instead of ']'"),
    ("[1] 2", "'2' follows the array: line 1 column 5"),
    ('["a', "Unterminated string starting at: line 1 column 2 (row 1)"),
    ('[1,\n {"a": 2 "b": 3}]', "Expecting ',' delimiter: line 2 column 10 (row 2)"),
    ('[1,\n{"a":\ntru}, 4, 5, 6, 7]', "Expecting value: line 3 column 1 (row 2)"),
    (f"[1,\n {'9' * 5_000}, 2]", "a number has too many digits: line 2 column 2 (row 2)"),
    (f"[1, {'[' * 100_000}", "its brackets are nested too deeply: line 1 column 5 (row 2)"),
]


@pytest.mark.parametrize(("text", "expected"), ARRAYS)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_arrays(text: str, expected: list[object] | str, size: int) -> None:
    parts = (text[start : start + size] for start in range(0, len(text), size))
    if isinstance(expected, list):
        assert list(elements(parts)) == expected
        return
    with pytest.raises(BrokenArray, match=re.escape(expected)):
        list(elements(parts))


TRICKY = (
    '[1, -2.5e+3, 0.1E-7, 1e5, -0, "", "\\\\", "\\"]", "\\u00e9\\ud83d\\ude00\\ud83d", true, false, null]',
    '[NaN, -Infinity, Infinity, -1, 12, {"a": [1.5, {"b\\\\": "]}"}], "c" : -Infinity}, [], {}, [[]], 7]',
    '\t[\r\n {"a" :\n1e10 }\n,\n"grün 😀 \\ud83d\\ude00"\n, 123456789012345678901234567890 , 2.0 ]\n ',
    f"[{'1' * 5_000}.5, {'2' * 5_000}e-4990]",
)
SIGNS = '[]{},:"\\ue+-.0195tfn \n😀'


def taken(text: str, *cuts: int) -> tuple[list[object], str]:
    """Return the elements of an array that is cut at some places, and the reason for which it is refused."""
    found: list[object] = []
    try:
        found.extend(elements(text[start:end] for start, end in pairwise((0, *cuts, len(text)))))
    except BrokenArray as error:
        return found, str(error)
    return found, ""


def odd_array(dice: random.Random, depth: int = 0) -> list[Any]:
    """Return a list of values whose form in JSON can be cut at many places."""
    plain = (
        lambda: dice.choice([True, False, None, 0, -7, 10**25, math.inf, -math.inf, math.nan]),
        lambda: dice.uniform(-1, 1) * 10 ** dice.randint(-30, 30),
        lambda: "".join(dice.choices('ab"\\/\n\t\0é😀\ud83d\ude00[]{},:', k=dice.randint(0, 6))),
    )
    deep = (lambda: odd_array(dice, depth + 1), lambda: {str(one): one for one in odd_array(dice, depth + 1)})
    return [dice.choice(plain if depth > 2 else (*plain, *deep))() for _ in range(dice.randint(0, 4))]


def odd_texts() -> Iterator[str]:
    yield from TRICKY
    for seed in range(25):
        dice = random.Random(seed)
        indent = dice.choice([None, None, 1])
        yield json.dumps(odd_array(dice), ensure_ascii=dice.random() < 0.5, indent=indent)


def test_an_array_may_be_cut_anywhere() -> None:
    for text in odd_texts():
        wanted = repr((json.loads(text), ""))  # in which NaN equals itself
        sizes = range(1, len(text) + 1) if len(text) < 1_000 else (1, 7, 4_999, 5_000, 5_001, 5_002, 5_003)
        for size in sizes:
            assert repr(taken(text, *range(size, len(text), size))) == wanted, (text, size)
            assert repr(taken(text, size)) == wanted, (text, size)


@pytest.mark.full
def test_a_broken_array_is_refused_as_if_it_were_not_cut() -> None:
    dice = random.Random(1)
    for text in (text for text in odd_texts() if len(text) < 1_000):
        for place in range(len(text)):
            broken = dice.choice([text[:place], text[:place] + dice.choice(SIGNS) + text[place + dice.randint(0, 1) :]])
            try:
                wanted = json.loads(broken)
            except ValueError:
                wanted = None
            found = taken(broken)
            if not broken.lstrip(" \t\r\n").startswith("["):
                continue
            assert bool(found[1]) == (wanted is None) and (found[1] or repr(found[0]) == repr(wanted)), broken
            for size in (1, 2, 3, dice.randint(1, len(broken))):
                assert repr(taken(broken, *range(size, len(broken), size))) == repr(found), (broken, size)


@pytest.mark.parametrize(
    "wrong",
    ['{"id": 3 "text": "x"}', '{"id": 3, "text": "x\n"}', '{"id": tru}', '{"id": "\\x"}', "{3}", "[1}", "]", "9a"],
)
def test_an_error_ends_an_array_at_once(wrong: str) -> None:
    read = 0

    def parts() -> Iterator[str]:
        nonlocal read
        for part in ('[{"id": 1},\n', '{"id": 2},\n', f"{wrong},\n", *['{"id": 4},\n'] * 1_000):
            read += 1
            yield part

    with pytest.raises(BrokenArray, match="line 3 column"):
        list(elements(parts()))
    assert read <= 6


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_an_element_has_an_upper_bound(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(json_array, "ELEMENT_CHARACTERS_MAX", 500)
    longest = "x" * 498
    text = f'[1, "{longest}", 2]'
    assert taken(text, *range(size, len(text), size)) == ([1, longest, 2], "")
    for open_bracket in (f'"{longest}x", ', '"', '{"a": [', "9" * 600, "["):
        text = f"[1,\n {open_bracket}{'{}, ' * 10_000}]"
        held = (text[start : start + size] for start in range(0, len(text), size))
        with pytest.raises(BrokenArray, match=r"^it has more than 500 characters: line 2 column 2 \(row 2\)$"):
            list(elements(held))
        assert len(text) - sum(map(len, held)) < 550 + size, "how much was read"


def test_an_array_on_one_line_is_read_as_it_is_needed(here: Path) -> None:
    rows = [{"id": number, "text": "é" * 500} for number in range(2_000)]
    for encoding in ("utf-8", "utf-16"):
        Path("rows.json").write_text(json.dumps(rows, ensure_ascii=False), encoding=encoding)
        with closing(Source("rows.json", encoding=encoding)) as source:
            reading = source.rows()
            assert next(reading) == rows[0]
            assert source.size is not None and source.done(1) < source.size / 2
            assert list(reading) == rows[1:]


def test_long_lines_of_a_file_without_an_array(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_sources, "READ_BYTES", 16)
    rows = [{"id": number, "text": "é" * 10 * number} for number in range(5)]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    Path("rows.json").write_text(f"\n{' ' * 40}\n{' ' * 40}" + "\n".join(lines))
    with closing(Source("rows.json")) as source:
        assert list(source.rows()) == [None, None, *rows]
    with closing(Source("rows.json")) as source:
        assert list(source.rows(4)) == rows[2:]


def test_an_error_in_an_array_ends_its_import(run: Run) -> None:
    rows = "".join(f'{{"id": {number}, "text": "cedar"}},\n' for number in range(4, 50_000))
    start = '\n[{"id": 1, "text": "amber"},\n{"id": 2, "text": "birch"},\n{"id": 3 "text": "x"},\n'
    Path("rows.json").write_text(f"{start}{rows}]")
    said = "rows.json is not an array of JSON: Expecting ',' delimiter: line 4 column 10 (row 3)\n"
    run("import", "rows.json", *TO_C, status=1, said=said)
    with closing(Source("rows.json")) as source:
        with pytest.raises(SonicError, match="row 3"):
            list(source.rows())
        assert source.done(0) <= 1_000


def test_an_array_is_read_as_it_is_needed() -> None:
    taken = []

    def parts() -> Iterator[str]:
        for part in ("[1,\n", "2,\n", "3]"):
            taken.append(part)
            yield part

    found = elements(parts())
    assert next(found) == 1
    assert taken == ["[1,\n"]


READ = "allowed are JSON, JSONL, CSV and TSV, plain or compressed with gzip."
WRONG: list[tuple[str, bytes, list[str], int, str]] = [
    ("rows.json", b'[{"id": 1, "text": "x"}, 7', [], 1, "rows.json is not an array of JSON: it ends before ']'"),
    ("rows.json.gz", b"no gzip", [], 1, "rows.json.gz cannot be read: Not a gzipped file"),
    ("rows.csv.gz", gzip.compress(COMMAS.encode(), mtime=0)[:-9], [], 1, "its compressed content is damaged"),
    ("rows.parquet.gz", b"", [], 2, "Parquet cannot be read from .gz; allowed are json, jsonl, csv and tsv."),
    ("rows.xyz.gz", b"", [], 2, "or one of these and .gz; --format names the format."),
    ("rows.csv", COMMAS.encode("utf-16"), [], 2, "rows.csv begins like UTF-16; allowed is UTF-8, or the encoding"),
    ("rows.jsonl", b"{}", ["--delimiter", ";"], 2, "flag --delimiter is for CSV, and rows.jsonl is JSONL."),
    ("rows.csv", b"id,te", ["--encoding", "utf-16"], 1, "rows.csv is not utf-16: UTF-16 stream does not"),
    (
        "rows.json", json.dumps(ROWS, indent=1).encode("utf-16")[:-1], ["--encoding", "utf-16"], 1,
        "rows.json is not utf-16: 'utf-16-le' codec can't decode byte 0x5d in position 0: truncated data; --encoding",
    ),
    ("rows.csv", bz2.compress(b"id,text"), [], 2, f"rows.csv is compressed with bzip2; {READ}"),
    ("rows.jsonl", bz2.compress(b""), [], 2, f"rows.jsonl is compressed with bzip2; {READ}"),
    ("rows.json", lzma.compress(b"[]"), [], 2, f"rows.json is compressed with xz; {READ}"),
    ("rows.tsv", b"\x28\xb5\x2f\xfd\x04\x00\x09\x00\x00abc", [], 2, f"rows.tsv is compressed with Zstandard; {READ}"),
    ("rows.csv", b"PK\x03\x04\x14\x00", [], 2, f"rows.csv is a ZIP archive or a spreadsheet; {READ}"),
    ("rows.csv", b"PAR1\x15\x04\x15\x20", [], 2, "rows.csv is Parquet; --format parquet reads it."),
    ("rows.csv.gz", gzip.compress(lzma.compress(b""), mtime=0), [], 2, f"rows.csv.gz is compressed with xz; {READ}"),
    ("rows.csv", b"SQLite format 3" + bytes(85), [], 2, f"because every few bytes one is zero; {READ}"),
    ("rows.jsonl", "id".encode("utf-16-le"), [], 2, "rows.jsonl is no text in UTF-8, because every few bytes one is"),
    ("rows.csv", b"\x1f\x8bid,text", [], 1, "rows.csv cannot be read: its compressed content is damaged"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "flags", "status", "said"), WRONG)
def test_files_that_cannot_be_read(
    run: Run, name: str, content: bytes, flags: list[str], status: int, said: str
) -> None:
    Path(name).write_bytes(content)
    run("import", name, *TO_C, *flags, status=status, said=said)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--delimiter", "ab"], "'ab' is not a delimiter; allowed is one character"),
        (["--encoding", "klingon"], "'klingon' is not an encoding"),
        (["--encoding", "rot13"], "'rot13' is not an encoding"),
    ],
)
def test_wrong_options(here: Path, capsys: pytest.CaptureFixture[str], flags: list[str], said: str) -> None:
    with pytest.raises(SystemExit):
        main(["import", "rows.csv", *flags])
    assert said in capsys.readouterr().err


COLUMNS: list[tuple[str, list[str], str]] = [
    (
        "rows.csv",
        ["--id", "number", "--text", "body"],
        "rows.csv has no column 'body', which --text names; it has 'number', 'subject', 'text'.",
    ),
    ("rows.csv", ["--id", "nr"], "rows.csv has no column 'nr', which --id names; it has 'number', 'subject', 'text'."),
    ("rows.csv", ["--text", "text"], "rows.csv has no column 'id' or 'object' (--id names another); it has 'number'"),
    ("rows.csv", ["--id", "number", "--lang-field", "tongue"], "no column 'tongue', which --lang-field names; it has"),
    ("rows.csv", ["--id", "number", "--bucket-field", "room"], "no column 'room', which --bucket-field names; it has"),
    ("rows.jsonl", ["--text", "bdy"], "rows.jsonl has no column 'bdy', which --text names; it has 'id', 'text'."),
    (
        "semi.csv",
        [],
        "semi.csv has no column 'id' or 'object' (--id names another); it has 'id;text'; --delimiter ';' ",
    ),
    (
        "rows.csv",
        ["--id", "number", "--text", "subject,text"],
        "it has 'number', 'subject', 'text'; each column has its own flag: --text subject --text text\n",
    ),
]


@pytest.mark.parametrize(("name", "flags", "said"), COLUMNS)
def test_a_column_that_no_row_has_stops_the_import(run: Run, name: str, flags: list[str], said: str) -> None:
    Path("rows.csv").write_text("number,subject,text\n" + "1,amber,birch\n" * 10)
    Path("rows.jsonl").write_text('{"id": 1, "text": "x"}\n' * 10)
    Path("semi.csv").write_text(CSV)
    assert run("import", name, *TO_C, *flags, status=2, said=said) == ""
    assert held() == {}


def test_a_collection_is_needed(run: Run) -> None:
    Path("rows.jsonl").write_text('{"id": 1, "text": "x"}\n')
    said = "no column 'collection' (--collection gives it for all rows); it has 'id', "
    run("import", "rows.jsonl", "--data", "d", status=2, said=said)


def test_a_column_that_some_rows_lack_does_not(run: Run) -> None:
    Path("rows.jsonl").write_text('{"id": 1}\n{"id": 2, "body": "amber"}\n')
    run("import", "rows.jsonl", *TO_C, "--text", "body", status=3, said="row 1 is refused: it has no field 'body'")
    assert held() == {"2": {"amber"}}


@pytest.mark.parametrize("size", [10_000, None])
def test_the_bar_shows_one_rate(capsys: pytest.CaptureFixture[str], size: int | None) -> None:
    with ProgressBar(size, "B", shown=True) as bar:
        bar.advance(5_000, 20)
        bar._bar.refresh()
    shown = capsys.readouterr().err
    assert re.search(r"20 rows, \d+ rows/s", shown)
    assert "B/s" not in shown
    assert re.search(r"/s\b(?!\])", shown.rsplit("\r", 1)[-1].replace("rows/s", "")) is None


def test_a_pipe_is_read_once(here: Path, run: Run) -> None:
    """A pipe as in `import <(zcat rows.gz)` is opened once: a second time, it would lose its first rows, or wait for
    ever.
    """
    os.mkfifo("pipe")

    def write() -> None:
        with Path("pipe").open("w") as pipe:
            pipe.writelines(json.dumps({"id": number, "text": "word"}) + "\n" for number in range(2000))

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    run("import", "pipe", "--format", "jsonl", *TO_C, "-q")
    writer.join(WAIT_S)
    assert len(held()) == 2000
    reading, writing = os.pipe()
    os.close(writing)
    pipe = f"/dev/fd/{reading}"
    run("import", pipe, "--format", "jsonl", *TO_C, "--resume", status=2, said="--resume needs a file: /dev/fd/")
    os.close(reading)


def test_gzip_from_the_standard_input(run: Run, type_in: Callable[[bytes], None]) -> None:
    type_in(gzip.compress(b'{"id": 1, "text": "amber birch"}\n', mtime=0))
    run("import", "-", *TO_C)
    assert held() == {"1": {"amber", "birch"}}


def test_a_zero_byte_alone_makes_no_text_binary(run: Run) -> None:
    Path("rows.csv").write_bytes(b"id,text\n1,amber\x00\n2,birch cedar birch cedar\n")
    run("import", "rows.csv", *TO_C)
    assert held() == {"1": {"amber"}, "2": {"birch", "cedar"}}


def test_lines_that_are_not_utf8_are_told_in_words(run: Run) -> None:
    Path("rows.jsonl").write_bytes('{"id": 1, "text": "é"}\n'.encode("latin-1"))
    said = "row 1 is refused: it is not JSON in UTF-8: byte 20 (--encoding names another)\n"
    run("import", "rows.jsonl", *TO_C, status=3, said=said)


def test_texts_replace(run: Run, here: Path) -> None:
    rows = here / "rows.csv"
    rows.write_text("id,title,body\n1,Rain,in Nantes\n2,Snow,\n")
    given = ("import", "rows.csv", "--text", "title", "--text", "body", "--collection", "c", "-q", "--data", "store")
    run(*given)
    rows.write_text("id,title,body\n1,Wind,in Brest\n2,Snow,\n3,Ice,new\n")
    said = "2 rows were of objects that were there: each holds its last text"
    assert "3 indexed, 0 refused" in run(*given, "--replace", said=said)
    with sonicpy.open(here / "store") as index:
        assert [index.query("c", "default", word) for word in ("rain", "wind", "snow")] == [[], ["1"], ["2"]]
        assert not index.upsert("c", "default", "1", "Wind in Brest"), "the digest is that of the library"
        assert index.verify() == []
    run("export", "-o", "all.jsonl", "--data", "store")
    assert '"digests"' in (here / "all.jsonl").read_text().splitlines()[0], "an older version refuses the export"
    refused = run(
        "import", "all.jsonl", "-q", "--replace", "--data", "copy", status=3, said="import it without --replace"
    )
    assert "0 indexed, 3 refused" in refused
    run("import", "all.jsonl", "-q", "--data", "copy")
    with sonicpy.open(here / "copy") as copy:
        assert copy.query("c", "default", "wind") == ["1"]
        assert not copy.upsert("c", "default", "1", "Wind in Brest"), "the export carries the digest"
