"""The sources of a mirror: queries as written, odd names, watermarks of every kind, rows of other buckets."""

import contextlib
import json
import re
import sqlite3
import time
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.cli.importing.tables import TableSource
from sonicpy.cli.main import main
from sonicpy.cli.mirror import is_marked, plain_value
from sonicpy.database_urls import without_password
from sonicpy.errors import ConfigError, InvalidArgument, SonicError
from sonicpy.index.claims import notes_in
from tests.index.shorthand import B, C
from tests.processes import Server

PLACE: dict[str, Any] = {"collection": C, "bucket": B}
ROWS = [(1, "cafe one", 3), (2, "a+b two", 2), (3, "three", 1)]


class Source:
    """A table of SQLite, and the index that follows it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.database = sqlite3.connect(folder / "a.db")
        self.database.execute("CREATE TABLE t (id, text, at, gone DEFAULT 0)")
        self.fill(*ROWS)
        self.url = f"sqlite:///{folder / 'a.db'}"
        self.folder = folder / "index"
        self._capsys = capsys

    def fill(self, *rows: tuple[Any, ...]) -> None:
        self.database.execute("DELETE FROM t")
        for row in rows:
            self.database.execute(f"INSERT INTO t VALUES ({', '.join('?' * 4)})", (*row, 0)[:4])
        self.database.commit()

    def mirror(self, source: str, *flags: str, status: int = 0) -> str:
        """Run a pass; return its output."""
        at = ["--collection", C, "--bucket", B, "--data", str(self.folder)]
        assert main(["mirror", self.url + source, *at, *flags]) == status
        said = self._capsys.readouterr()
        return said.out + said.err

    def objects(self) -> set[str]:
        with sonicpy.open(self.folder, read_only=True) as index:
            return set(index.iterate_objects(C, B))


@pytest.fixture
def source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Source]:
    made = Source(tmp_path, capsys)
    yield made
    made.database.close()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[sonicpy.Index]:
    with sonicpy.open(tmp_path / "index") as opened:
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, text FROM t WHERE text LIKE '%cafe%'",
        "SELECT id, text FROM t WHERE text = 'a+b two'",
        "SELECT id, text FROM t WHERE id & 1",
        "SELECT id + 100 AS id, text FROM t",
        "SELECT id,\n text FROM t;\n",
        "SELECT id, text FROM t -- all of them",
    ],
)
def test_a_query_means_what_it_says(source: Source, query: str) -> None:
    wanted = {str(id) for id, _ in source.database.execute(query)}
    source.mirror(f"?query={query}")
    assert source.objects() == wanted
    assert "in step" in source.mirror(f"?query={query}", "--check")


def test_signs_in_a_query_of_sqlalchemy(source: Source) -> None:
    pytest.importorskip("sqlalchemy", reason="needs SQLAlchemy")
    source.url = source.url.replace("sqlite:", "sqlite+pysqlite:")
    source.fill((1, "50% off: now", 1), (2, "a:since b", 2), (3, "back\\:slash", 3))
    for number, text in ((1, "%50% off:%"), (2, "%:since%"), (3, "back\\:slash")):
        query = f"?query=SELECT id, text, at FROM t WHERE text LIKE '{text}'"
        for _ in range(2):
            source.mirror(query, "--owner", "o", "--watermark", "at")
            assert str(number) in source.objects()
        source.mirror(query, "--owner", "o", "--whole")
        assert source.objects() == {str(number)}


@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pysqlite"])
def test_a_value_that_a_driver_cannot_send_is_a_sentence(source: Source, scheme: str) -> None:
    if "+" in scheme:
        pytest.importorskip("sqlalchemy", reason="needs SQLAlchemy")
    url = source.url.replace("sqlite", scheme, 1)
    for table, since in (("t", 2**70), ("\udcff", None)):
        with contextlib.closing(TableSource(f"{url}?table={table}", "at")) as rows:
            with pytest.raises(SonicError, match="cannot be read: "):
                rows.count(since)
            with pytest.raises(SonicError, match="cannot be read: "):
                list(rows.rows(since))


def test_an_encoded_query_is_decoded(source: Source) -> None:
    source.mirror("?query=SELECT%20id,text+FROM%20t%20WHERE%20text%20LIKE%20%27%25cafe%25%27")
    assert source.objects() == {"1"}


def test_other_parameters_come_before_a_query() -> None:
    with pytest.raises(ConfigError, match="one of"):
        TableSource("sqlite:///x?table=t&query=SELECT 1")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("pg://h/d?user=me&password=secret&query=SELECT 1", "pg://h/d?user=me&password=...&query=SELECT 1"),
        ("pg+psycopg://me:sec/ret@h/d?table=p", "pg+psycopg://me:...@h/d?table=p"),
        ("pg://me@srv:secret@srv.example:5432/d?table=p", "pg://me@srv:...@srv.example:5432/d?table=p"),
        ("pg://me:sec?ret@h/d?table=p", "pg://me:...@h/d?table=p"),
        ("pg://me:12?secret@h/d?table=p", "pg://me:...@h/d?table=p"),
        ("pg://me:sec@secret@h/d?table=p", "pg://me:...@h/d?table=p"),
        ("pg://me:secret@[::1]:5432/d?table=p", "pg://me:...@[::1]:5432/d?table=p"),
        ("ms:///?odbc_connect=UID%3Dme%3BPWD%3Dsecret%3BDB%3Dd", "ms:///?odbc_connect=UID%3Dme%3BPWD%3D...%3BDB%3Dd"),
        ("ms:///?odbc_connect=PWD={sec;ret};DB=d&table=t", "ms:///?odbc_connect=PWD=...;DB=d&table=t"),
        ("pg://h:5432/d?query=SELECT 'a@b'", "pg://h:5432/d?query=SELECT 'a@b'"),
        ("pg://[::1]/d?query=SELECT 'a@b'", "pg://[::1]/d?query=SELECT 'a@b'"),
        ("sqlite:////srv/a:b@c/shop.db?table=t", "sqlite:////srv/a:b@c/shop.db?table=t"),
        ("rows:1@2.csv", "rows:1@2.csv"),
    ],
)
def test_urls_are_shown_without_passwords(url: str, shown: str) -> None:
    assert without_password(url) == shown == without_password(shown)


def test_a_port_that_is_no_number_is_not_shown() -> None:
    pytest.importorskip("sqlalchemy", reason="needs SQLAlchemy")
    with pytest.raises(ConfigError, match="its port is no number") as raised:
        TableSource("sqlite+pysqlite://me:secret@host:ab/d?table=t")
    assert "secret" not in str(raised.value)


def owner(index: sonicpy.Index) -> str:
    with index.engine.read() as view:
        noted: str = notes_in(view, C, B)[""]["owner"]
    return noted


def test_an_owner_is_noted_without_its_password(index: sonicpy.Index) -> None:
    url = "pg://me@srv:secret@h/d?table=p"
    index.claim(C, B, url)
    index.claim(C, B, without_password(url))
    index.claim(C, B, url.replace("secret", "newer"))
    assert owner(index) == without_password(url)
    with pytest.raises(InvalidArgument, match=re.escape(without_password(url))):
        index.claim(C, B, "pg://me@srv:secret@h/d?table=q")


def test_a_password_that_an_older_version_noted_is_forgotten(
    index: sonicpy.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "pg://me@srv:secret@h/d?table=p"
    with monkeypatch.context() as patched:
        patched.setattr("sonicpy.index.claims.without_password", str)
        index.claim(C, B, url)
    assert owner(index) == url
    with pytest.raises(InvalidArgument, match="mirror of") as raised:
        index.claim(C, B, "another")
    assert "secret" not in str(raised.value)
    index.claim(C, B, without_password(url))
    assert owner(index) == without_password(url)


def test_the_names_of_deleted_rows(source: Source) -> None:
    flags = ["--watermark", "at", "--deleted", "gone"]
    source.fill(("None", "named so", 1), (7.0, "seven", 2), (8, "eight", 3), ("9", "nine", 4))
    source.mirror("?table=t", *flags)
    assert source.objects() == {"None", "7", "8", "9"}
    source.fill(
        (None, "x", 5, 1), (7.0, "x", 6, 1), ("two words", "x", 7, 1), (b"9", "x", 8, 1), ("x" * 129, "x", 9, 1)
    )
    assert "1 gone" in source.mirror("?table=t", *flags)
    assert source.objects() == {"None", "8", "9"}


LIVE: tuple[Any, ...] = (
    None, float("nan"), Decimal("NaN"), Decimal("sNaN"), "", " ", "0", "0.0", "False", "no", "NULL", 0, "0.00",
    "0000-00-00 00:00:00", "0000-00-00T00:00:00", "00:00", b"0000-00-00", 0.0, -0.0,
    False, Decimal("0.00"), Decimal("0E+7"), Decimal("-0"), b"", b"\0", bytes(3), bytearray(1), memoryview(b"\0"), b"0",
    b"0\0\0", b"f", b"false", b"No ",
)  # fmt: skip
GONE: tuple[Any, ...] = (
    1, -1, 0.5, True, Decimal("0.01"), Decimal("Infinity"), "1", "t", "yes", "2026-01-31", "0.01",
    "no one", "nn", "0 no yes", "t0", date(2026, 1, 31),
    datetime(1970, 1, 1), b"\1", b"\x80", b"\0\1", b"\1\0", b"\xff\xff", memoryview(b"\1"), b"1", b"t", b"true",
    b"\xa0", [], [0],
)  # fmt: skip


def test_values_that_mark_a_deleted_row() -> None:
    assert [value for value in LIVE if is_marked(value)] == []
    assert [value for value in GONE if not is_marked(value)] == []


@pytest.mark.parametrize("filled", [b" ", b"0", b"0 ", b"\n\t", b"0T0"])
def test_long_texts_of_blanks_and_zeros_are_read_at_once(filled: bytes) -> None:
    """20,000 blanks and a word took 10^12 steps."""
    long, began = filled * 20_000, time.process_time()
    for value in (long + b"x", (long + b"x").decode(), b"x" + long, long + b"x" + long):
        assert is_marked(value)
    assert is_marked(long) == is_marked(long.decode()) == (filled == b"0T0")
    assert not is_marked(b" " * 20_000 + b"false" + b" " * 20_000 + bytes(9))
    assert time.process_time() - began < 5


def test_values_of_numpy_and_pandas_that_mark_a_deleted_row() -> None:
    numpy = pytest.importorskip("numpy")
    for kind in (numpy.bool_, numpy.int8, numpy.uint64, numpy.float32, numpy.float64):
        assert (is_marked(kind(0)), is_marked(kind(1))) == (False, True), kind
    assert not any(map(is_marked, (numpy.float32("nan"), numpy.datetime64("NaT"), numpy.bytes_(b"\0"))))
    assert is_marked(numpy.datetime64("2026-01-31")) and is_marked(numpy.array([0, 0]))
    pandas = pytest.importorskip("pandas")
    assert not is_marked(pandas.NaT) and not is_marked(pandas.NA) and is_marked(pandas.Timestamp(0))


@pytest.mark.parametrize("flags", [["--whole"], ["--watermark", "at"]])
def test_live_rows_of_a_column_of_bits_stay(source: Source, flags: list[str]) -> None:
    names = [f"o{number}" for number, _ in enumerate(LIVE)]
    live = [value for value in LIVE if not isinstance(value, Decimal)]  # SQLite has none
    source.fill(*((name, "live", 1, value) for name, value in zip(names, live, strict=False)), ("gone", "x", 1, b"\1"))
    source.mirror("?table=t", *flags, "--deleted", "gone")
    assert source.objects() == set(names[: len(live)])


def test_a_watermark_has_an_order(source: Source) -> None:
    source.fill((1, "one", 1), (2, "two", "b"))
    said = source.mirror("?table=t", "--watermark", "at", status=2)
    assert "the watermark 'at' is 'b' after 1; allowed are numbers alone" in said
    source.fill((1, "one", b"a"))
    assert "is of type bytes; allowed are" in source.mirror("?table=t", "--watermark", "at", status=2)


def test_a_watermark_is_never_noted_above_its_value() -> None:
    for text in ("9007199254740995", "0.1", "1764250000.123456789012345678", "-5.3", "1E+30", "0.3000000000000000166"):
        value = Decimal(text)
        noted = json.loads(json.dumps(plain_value(value)))
        assert Decimal(noted) <= value
        assert abs(Decimal(noted) - value) <= abs(value) / 2**51


def test_a_missing_watermark_is_none() -> None:
    assert [plain_value(value) for value in (None, float("nan"), Decimal("NaN"))] == [None] * 3


def test_a_watermark_is_not_beyond_all_floats() -> None:
    class Watched(Decimal):
        def __int__(self) -> int:
            raise AssertionError("its zeros are written out")

    for text in ("1e308", "-1e9999999", "123456789.5e400"):
        with pytest.raises(ConfigError, match=r"the watermark is .*; allowed are numbers below 1e308, texts, dates"):
            plain_value(Watched(text))
    assert (plain_value(Decimal("1e307")), plain_value(Decimal("0e9999999"))) == (10**307, 0)


def test_prefixes_begin_names(index: sonicpy.Index) -> None:
    for prefix in ("two words", "line\n", "nul\x00", "\ud800", 5):
        with pytest.raises(InvalidArgument, match="prefix is .*; allowed is (the beginning of a name|a str)"):
            index.mirror([("1", "one")], **PLACE, prefix=prefix)  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument, match="prefix is"):
            index.check_mirror([("1", "one")], **PLACE, prefix=prefix)  # type: ignore[arg-type]
    report = index.mirror([("1", "one"), ("22", "two")], **PLACE, prefix="p" * 127)
    assert [(one.row, one.object) for one in report.refused] == [(1, "22")]
    assert index.objects(C, B) == ["p" * 127 + "1"]


def test_rows_of_other_buckets_are_refused(index: sonicpy.Index) -> None:
    rows = [(C, B, "1", "one"), (C, "another", "2", "two"), ("other", B, "3", "three")]
    for prefix in ("", "p:"):
        report = index.mirror(rows, collection=C, bucket=B, prefix=prefix)
        assert [(one.row, one.reason) for one in report.refused] == [
            (1, f"the row is of the bucket 'another' of {C!r}; allowed is {B!r} of {C!r}"),
            (2, f"the row is of the bucket {B!r} of 'other'; allowed is {B!r} of {C!r}"),
        ]
        assert index.objects(C, B) == [f"{prefix}1"]
        assert (index.collections(), index.buckets(C)) == ([C], [B])
        index.flush(C)
    for names in ({"collection": None}, {"bucket": None}):
        for way in (index.mirror, index.check_mirror):
            with pytest.raises(InvalidArgument, match=f"^{next(iter(names))} is None; allowed are "):
                way(rows, **{**PLACE, **names})


def test_a_server_names_refused_rows_by_their_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": "a b", "text": "x"},
        {"id": 1, "text": "one"},
        {"id": 1, "text": "more"},
        {"id": "y" * 127, "text": "y"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Server(tmp_path / "server") as server:
        at = ["--collection", C, "--prefix", "p:", "--server", f"sonic://{server.host}:{server.port}"]
        assert main(["mirror", str(path), *at]) == 3
    said = capsys.readouterr()
    assert "4 rows in" in said.out and "2 changed" in said.out and "2 refused" in said.out
    assert "row 1 was refused" in said.err and "row 4 was refused" in said.err


ODD = [
    {"id": 1, "title": "Red shirt", "body": "cotton"},
    {"id": 2, "title": "Blue shirt", "body": None},
    {"id": 3, "title": None, "body": "only a body"},
    {"id": 4, "title": 1984, "body": 2.5},
    {"id": 5, "title": ["a list", "of texts"], "body": ""},
    {"id": 6, "title": "", "body": ""},
]


@pytest.mark.parametrize(
    ("imported", "mirrored"),
    [
        (["--text", "title", "--text", "body"], ["--text", "title,body"]),
        (["--field", "title", "--field", "body"],) * 2,
        (["--field", "title", "--text", "body"],) * 2,
    ],
)
def test_rows_mean_what_they_mean_to_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], imported: list[str], mirrored: list[str]
) -> None:
    path, at = tmp_path / "rows.jsonl", ["--collection", C, "--data", str(tmp_path / "index")]
    path.write_text("".join(json.dumps(row) + "\n" for row in ODD))
    assert main(["import", str(path), *imported, "--replace", *at]) == 0
    capsys.readouterr()
    assert main(["mirror", str(path), *mirrored, "--check", *at]) == 0
    assert main(["mirror", str(path), *mirrored, *at]) == 0
    assert "0 changed, 6 unchanged" in capsys.readouterr().out
    path.write_text('{"id": 1, "title": null, "body": null}\n{"id": 2}\n')
    assert main(["mirror", str(path), *mirrored, *at]) == 3
    assert "1 changed, 0 unchanged, 4 gone, 1 refused" in capsys.readouterr().out
    with sonicpy.open(tmp_path / "index", read_only=True) as index:
        assert (index.count(C, "default", "1"), index.count(C, "default", "2")) == (0, 2)


def test_files_are_read_in_the_format_that_flags_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, at = tmp_path / "rows.csv", ["--collection", C, "--data", str(tmp_path / "index")]
    path.write_bytes("1;Äpfel\n2;Birnen\n".encode("latin-1"))
    flags = ["--delimiter", ";", "--encoding", "latin-1", "--no-header", "--id", "1", "--text", "2", *at]
    assert main(["mirror", str(path), *flags]) == 0
    assert main(["mirror", str(path), *flags, "--check"]) == 0
    assert main(["query", C, "äpfel", "--data", str(tmp_path / "index")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1"
    for flags in (["--delimiter", ";"], ["--no-header"], ["--format", "csv"], ["--encoding", "latin-1"]):
        assert main(["mirror", f"sqlite:///{tmp_path}/a.db?table=t", *flags, *at, "--bucket", B]) == 2
        assert "are for files, and sqlite:///" in capsys.readouterr().err
    path.write_text("id,text,text\n1,a,b\n")
    assert main(["mirror", str(path), *at]) == 2
    assert "has several columns 'text'; rename all but one" in capsys.readouterr().err


def test_a_check_is_refused_in_compat_mode() -> None:
    with (
        sonicpy.open(":memory:", {"server.compat": "sonic"}) as index,
        pytest.raises(InvalidArgument, match="Sonic lacks it"),
    ):
        index.check_mirror([("1", "one")], **PLACE)


def test_the_bar_counts_changed_rows_and_gone_objects(
    source: Source, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source.mirror("?table=t")
    source.fill((1, "changed", 1), *ROWS[1:])
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    said = source.mirror("?table=t")
    assert "3/3" in said and "3 rows, " in said and ", 1 changed, 0 gone" in said
    source.fill(*ROWS[:1])
    assert ", 1 changed, 2 gone" in source.mirror("?table=t")
