"""A mirror is a bucket that follows a table: after random changes of the table, both are proved to agree."""

import json
import random
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sonicpy
from sonicpy.cli.main import main
from sonicpy.errors import InvalidArgument
from sonicpy.index import known_objects
from sonicpy.index.claims import claim_of
from sonicpy.index.ingest import push_many
from tests.index.shorthand import B, C
from tests.processes import Server
from tests.server.peer import Peer

WORDS = [f"word{number}" for number in range(40)]
PLACE: dict[str, Any] = {"collection": C, "bucket": B}


def held(index: sonicpy.Index) -> dict[str, frozenset[str]]:
    """Return the words of every object, as a reference for a table, in whatever way the changes came."""
    return {name: frozenset(index.words_of_objects(C, B, [name])[0]) for name in index.iterate_objects(C, B)}


def wanted(table: dict[str, str], prefix: str = "") -> dict[str, frozenset[str]]:
    return {f"{prefix}{name}": frozenset(text.split()) for name, text in table.items()}


def change(table: dict[str, str], chance: random.Random, times: int) -> None:
    for _ in range(times):
        name = str(chance.randrange(60))
        if chance.random() < 0.3:
            table.pop(name, None)
        else:
            table[name] = " ".join(chance.choices(WORDS, k=chance.randint(0, 5)))


@pytest.fixture
def index(tmp_path: Path) -> Iterator[sonicpy.Index]:
    with sonicpy.open(tmp_path / "index") as opened:
        yield opened


def test_a_bucket_follows_a_table(index: sonicpy.Index) -> None:
    chance, table = random.Random(5), dict[str, str]()
    for turn in range(12):
        change(table, chance, 25)
        rows = [{"id": name, "text": text} for name, text in table.items()]
        before = held(index)
        drift = index.check_mirror(rows, **PLACE)
        after = wanted(table)
        assert drift.missing == len(after.keys() - before.keys())
        assert drift.extra == len(before.keys() - after.keys())
        report = index.mirror(rows, **PLACE)
        assert held(index) == after, turn
        assert (report.rows, report.gone) == (len(table), len(before.keys() - after.keys()))
        assert report.changed >= sum(before.get(name) != words for name, words in after.items())
        assert not index.check_mirror(rows, **PLACE)
        assert index.mirror(rows, **PLACE).unchanged == len(table), "the same again"
        if table:  # other programs change an object behind the back of the mirror
            index.push(C, B, chance.choice(list(table)), "stray")
            index.push(C, B, "999", "stray")
            found = index.check_mirror(rows, **PLACE)
            assert (found.changed, found.extra, found.samples["extra"]) == (1, 1, ["999"])
    assert index.verify() == []


def test_objects_pushed_beside_a_pass_stay(index: sonicpy.Index) -> None:
    index.mirror([("1", "one"), ("2", "two")], **PLACE)

    def rows() -> Iterator[tuple[str, str]]:
        yield "1", "one"
        index.upsert(C, B, "3", "three")

    assert index.mirror(rows(), **PLACE).gone == 1
    assert held(index).keys() == {"1", "3"}


def test_the_last_row_of_an_object_counts(index: sonicpy.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_many, "CHUNK_ROWS", 3)
    chance = random.Random(6)
    for turn in range(30):
        rows = [(str(chance.randrange(8)), chance.choice(WORDS[:2])) for _ in range(chance.randrange(25))]
        report = index.mirror(rows, **PLACE)
        assert held(index) == wanted(dict(rows)), turn
        assert report.changed + report.unchanged == report.rows == len(rows)
        if chance.random() < 0.3:
            index.push(C, B, str(chance.randrange(12)), "stray")
    assert index.verify() == []


def test_the_tags_and_values_of_the_last_row_of_an_object_count(
    index: sonicpy.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"id": "1", "text": "shirt", "kind": "a", "price": 1},
        {"id": "1", "text": "shirt", "kind": "b", "price": 2},
        {"id": "2", "text": "hat", "kind": "c", "price": 3},
    ]
    for chunk in (push_many.CHUNK_ROWS, 1, 2):
        monkeypatch.setattr(push_many, "CHUNK_ROWS", chunk)
        for _ in range(3):
            index.mirror(rows, collection=C, bucket=B, tags="kind", values=["price"])
            assert [index.query(C, B, "", filter=kind) for kind in "abc"] == [[], ["1"], ["2"]]
            assert index.values_of_objects(C, B, ["1", "2"]) == [{"price": 2}, {"price": 3}]
    last = rows[1:]
    stamp = index.engine.store.log_position
    report = index.mirror(last, collection=C, bucket=B, tags="kind", values=["price"])
    assert (report.changed, report.unchanged) == (0, 2)
    assert index.engine.store.log_position == stamp, "nothing is written"


def test_rows_that_did_not_change_are_not_looked_up(index: sonicpy.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(str(number), f"word{number}") for number in range(100)]
    index.mirror(rows, **PLACE)
    asked: list[str] = []

    def have_digests(collection: str, bucket: str, digests: list[tuple[str, bytes]]) -> list[bool]:
        asked.extend(name for name, _ in digests)
        return [False] * len(digests)

    monkeypatch.setattr(index.engine, "have_digests", have_digests)
    random.Random(7).shuffle(rows)
    rows[50] = (rows[50][0], "new")
    assert index.mirror(rows, **PLACE).unchanged == 99
    assert asked == [rows[50][0]]


def test_more_objects_than_are_held_in_memory(index: sonicpy.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_objects, "KNOWN_MAX", 10)
    rows = [(str(number), f"word{number}") for number in range(50)]
    index.mirror(rows, **PLACE)
    assert index.check_mirror(rows[1:], **PLACE).extra == 1
    report = index.mirror([*rows[2:], ("50", "new")], **PLACE)
    assert (report.changed, report.unchanged, report.gone) == (1, 48, 2)
    assert held(index) == wanted(dict([*rows[2:], ("50", "new")]))


def test_a_bucket_that_is_flushed_during_a_pass_loses_nothing_more(index: sonicpy.Index) -> None:
    index.mirror([("1", "one"), ("2", "two")], **PLACE)

    def rows() -> Iterator[tuple[str, str]]:
        index.flush_bucket(C, B)
        for name in "345":
            index.upsert(C, B, name, "other")
        yield "1", "one"

    assert index.mirror(rows(), **PLACE).gone == 0
    assert held(index).keys() == {"3", "4", "5"}
    index.mirror([("1", "one")], **PLACE)
    assert held(index) == {"1": {"one"}}


def test_sources_share_a_bucket_by_prefixes(index: sonicpy.Index) -> None:
    index.push(C, B, "other", "else")
    for owner in ("a", "b"):
        index.mirror([("1", owner), ("2", owner)], **PLACE, owner=owner, prefix=f"{owner}:")
    index.mirror([("2", "a")], **PLACE, owner="a", prefix="a:")
    assert held(index).keys() == {"other", "a:2", "b:1", "b:2"}
    for owner, prefix in (("b", "a:"), ("c", ""), ("c", "a"), ("c", "a:b"), ("a", "a")):
        with pytest.raises(InvalidArgument, match="are the mirror of 'a'|are the mirror of 'b'"):
            index.mirror([], **PLACE, owner=owner, prefix=prefix)
    index.flush_bucket(C, B)
    index.mirror([("1", "c")], **PLACE, owner="c")
    with pytest.raises(InvalidArgument, match=f"^the bucket '{B}' is the mirror of 'c'"):
        index.mirror([], **PLACE, owner="a")


def test_refused_rows_keep_their_objects(index: sonicpy.Index) -> None:
    index.mirror([("1", "one"), ("2", "two")], **PLACE)
    report = index.mirror([("1", None), ("2", "two"), (None, "x")], **PLACE)
    assert (report.refused_count, report.gone) == (2, 0)
    assert held(index).keys() == {"1", "2"}


def test_a_part_of_the_rows_erases_nothing(index: sonicpy.Index) -> None:
    index.mirror([("1", "one"), ("2", "two")], **PLACE)
    assert index.mirror([("2", "new")], **PLACE, whole=False).gone == 0
    assert held(index) == {"1": {"one"}, "2": {"new"}}


class Table:
    """A table of SQLite, and the output of `sonicpy mirror` about it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.database = sqlite3.connect(folder / "shop.db")
        self.database.execute(
            "CREATE TABLE p (id INTEGER PRIMARY KEY, title TEXT, body TEXT, at INTEGER, gone INTEGER)"
        )
        self.url = f"sqlite:///{folder / 'shop.db'}?table=p"
        self.folder = folder / "index"
        self._capsys = capsys

    def set(self, number: int, title: str | None, at: int, *, gone: int = 0) -> None:
        self.database.execute("REPLACE INTO p VALUES (?, ?, 'body', ?, ?)", (number, title, at, gone))
        self.database.commit()

    def move(self, name: str) -> None:
        """Continue with a copy of the index, made by an export and an import."""
        copy = self.folder.with_name(name)
        assert main(["export", "-o", f"{copy}.jsonl", "--data", str(self.folder)]) == 0
        assert main(["import", f"{copy}.jsonl", "--data", str(copy)]) == 0
        self._capsys.readouterr()
        self.folder = copy

    def mirror(self, *flags: str, status: int = 0) -> dict[str, Any]:
        at = ["--collection", C, "--bucket", B, "--text", "title,body", "--data", str(self.folder), "--json"]
        assert main(["mirror", self.url, *at, *flags]) == status
        said: dict[str, Any] = json.loads(self._capsys.readouterr().out)
        return {name: value for name, value in said.items() if value and name != "seconds"}


@pytest.fixture
def table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Table:
    return Table(tmp_path, capsys)


def test_the_verb_follows_a_database(table: Table) -> None:
    for number in range(5):
        table.set(number, f"title{number}", number)
    assert table.mirror() == {"rows": 5, "changed": 5}
    assert table.mirror() == {"rows": 5, "unchanged": 5}
    table.set(1, "other", 1)
    table.set(2, None, 2)
    table.database.execute("DELETE FROM p WHERE id = 3")
    table.database.commit()
    drift = table.mirror("--check", status=1)
    assert (drift["changed"], drift["extra"], drift["samples"]["extra"]) == (2, 1, ["3"])
    assert table.mirror() == {"rows": 4, "changed": 2, "unchanged": 2, "gone": 1}
    assert table.mirror("--check") == {"rows": 4, "samples": {"missing": [], "changed": [], "extra": []}}
    with sonicpy.open(table.folder) as index:
        assert held(index)["2"] == {"body"}, "a title that is gone"
    table.move("copy")
    assert table.mirror("--check")["rows"] == 4
    assert table.mirror() == {"rows": 4, "unchanged": 4}


def test_a_watermark_reads_new_rows_alone(table: Table) -> None:
    grows = ("--watermark", "at", "--deleted", "gone")
    for number in range(5):
        table.set(number, f"title{number}", number)
    assert table.mirror(*grows) == {"rows": 5, "changed": 5}
    table.set(1, "other", 7)
    table.set(2, "title2", 8, gone=1)
    table.database.execute("DELETE FROM p WHERE id = 3")
    table.database.commit()
    assert table.mirror(*grows) == {"rows": 2, "changed": 1, "unchanged": 1, "gone": 1}, "4 has the watermark"
    assert table.mirror(*grows, "--check", status=1)["extra"] == 1, "a row that is not marked as deleted"
    assert table.mirror(*grows, "--whole") == {"rows": 3, "unchanged": 3, "gone": 1}
    table.mirror(*grows, "--check")


def test_the_watermark_of_one_column_is_not_compared_with_another(table: Table) -> None:
    for number in range(3):
        table.set(number, f"title{number}", 1_790_000_000_000 + number)
    assert table.mirror("--watermark", "at")["rows"] == 3
    table.set(3, "title3", 1_790_000_000_003)
    assert table.mirror("--watermark", "id")["rows"] == 4, "the greatest `at` is above every `id`"
    table.set(3, "other", 0)
    assert table.mirror("--watermark", "id") == {"rows": 1, "changed": 1}


def test_the_watermark_of_an_older_version_counts_for_any_column(table: Table) -> None:
    for number in range(3):
        table.set(number, f"title{number}", number)
    with sonicpy.open(table.folder) as index:
        index.engine.apply(claim_of(C, B, table.url, "", index.text_rules(C, B), {"watermark": 1}))
    assert table.mirror("--watermark", "at")["rows"] == 2


@pytest.mark.parametrize("flags", [(), ("--whole",)])
def test_the_last_row_of_a_name_is_deleted_or_not(table: Table, flags: tuple[str, ...]) -> None:
    grows = ("--id", "title", "--watermark", "at", "--deleted", "gone")
    for number, name in enumerate(("new", "old", "both")):
        table.set(number, name, 1)
    table.mirror(*grows)
    changes = (("new", 1), ("new", 0), ("old", 0), ("old", 1), ("both", 1), ("both", 0), ("both", 1), ("added", 1))
    for at, (name, gone) in enumerate((*changes, ("added", 0)), 2):
        table.set(at + 10, name, at, gone=gone)
    said = table.mirror(*grows, *flags)
    assert said["gone"] == 2
    with sonicpy.open(table.folder) as index:
        assert {*index.objects(C, B)} == {"new", "added"}


def test_tags_and_values_follow_the_table(table: Table) -> None:
    table.database.execute("ALTER TABLE p ADD COLUMN colours TEXT")
    table.database.execute("ALTER TABLE p ADD COLUMN price REAL")
    flags = ("--tags", "colours", "--tag-separator", ";", "--value", "cents=price*100", "--value", "at")
    rows = {1: ("red;blue", 19.99), 2: (None, None), 3: ("red", 5)}
    for number, (colours, price) in rows.items():
        row = (number, f"title{number}", number, colours, price)
        table.database.execute("INSERT INTO p VALUES (?, ?, 'body', ?, 0, ?, ?)", row)
    table.database.commit()
    assert table.mirror(*flags) == {"rows": 3, "changed": 3}
    assert table.mirror(*flags) == {"rows": 3, "unchanged": 3}
    assert passing(table, "red") == {"1", "3"}
    assert passing(table, "cents >= 500 AND at < 3") == {"1"}
    table.database.execute("UPDATE p SET colours = 'green', price = NULL WHERE id = 1")
    table.database.commit()
    assert table.mirror("--check", *flags, status=1)["samples"]["changed"] == ["1"]
    assert table.mirror(*flags) == {"rows": 3, "changed": 1, "unchanged": 2}
    assert (passing(table, "red"), passing(table, "green"), passing(table, "HAS cents")) == ({"3"}, {"1"}, {"3"})
    assert table.mirror("--check", *flags)["rows"] == 3


def test_vectors_follow_the_table(table: Table) -> None:
    table.database.execute("ALTER TABLE p ADD COLUMN v BLOB")
    for number, vector in enumerate(("[1, -1, 1, -1, 1, -1, 1, -1]", b"\x0f", "8A==", None, "[1", "")):
        table.database.execute("INSERT INTO p VALUES (?, 'title', 'body', 0, 0, ?)", (number, vector))
    table.database.commit()
    flags = ("--vector", "v")
    assert table.mirror(*flags, status=3) == {"rows": 6, "changed": 5, "refused_count": 1}
    assert vectors(table) == {"0": "qg==", "1": "Dw==", "2": "8A==", "3": None, "5": None}
    table.database.execute("DELETE FROM p WHERE id = 4")
    table.database.execute("UPDATE p SET v = x'01' WHERE id = 1")
    table.database.commit()
    assert table.mirror(*flags, "--check", status=1)["samples"]["changed"] == ["1"]
    assert table.mirror(*flags) == {"rows": 5, "changed": 1, "unchanged": 4}
    table.database.execute("UPDATE p SET v = NULL WHERE id = 1")
    table.database.commit()
    assert table.mirror(*flags) == table.mirror() == {"rows": 5, "unchanged": 5}
    assert vectors(table) == {"0": "qg==", "1": "AQ==", "2": "8A==", "3": None, "5": None}


def vectors(table: Table) -> dict[str, str | None]:
    with sonicpy.open(table.folder) as index:
        return {held.object: held.fields.get("vectors", {}).get("vector") for held in index.holdings()}


def test_rows_bring_vectors(index: sonicpy.Index) -> None:
    rows = [{"id": "1", "text": "red", "old": [1] * 8, "new": [-1] * 16}, {"id": "2", "text": "red"}]
    at: dict[str, Any] = {"collection": C, "bucket": B, "vector": {"m1": "old", "m2": "new"}}
    for changed in (2, 0):
        assert index.mirror(rows, **at).changed == changed
    assert {held.object: held.fields.get("vectors") for held in index.holdings()} == {
        "1": {"m1": "/w==", "m2": "AAA="}, "2": None,
    }  # fmt: skip
    rows[0]["old"] = [-1] * 8
    assert index.check_mirror(rows, **at).changed == index.mirror(rows, **at).changed == 1
    assert not index.check_mirror(rows, **at)


def passing(table: Table, condition: str) -> set[str]:
    with sonicpy.open(table.folder) as index:
        return set(index.query(C, B, "", filter=condition, limit=100).objects)


def test_a_server_follows_a_database(table: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(5):
        table.set(number, f"title{number}", number)
    with Server(tmp_path / "server") as server:
        at = ["--collection", C, "--bucket", B, "--text", "title,body", "--tags", "title", "--value", "gone"]
        at += ["--server", f"sonic://{server.host}:{server.port}"]
        assert main(["mirror", table.url, *at]) == 0
        table.set(1, "other", 1)
        table.database.execute("DELETE FROM p WHERE id = 3")
        table.database.execute("UPDATE p SET gone = NULL WHERE id IN (1, 2)")
        table.database.commit()
        assert main(["mirror", table.url, *at, "--json"]) == 0
        assert json.loads(capsys.readouterr().out.splitlines()[-1])["gone"] == 1
        assert main(["mirror", table.url, *at, "--check"]) == 2
        rows = tmp_path / "rows.jsonl"
        for names, status, gone in (([1, 2], 0, 0), ([1, None], 3, 0), ([1], 0, 1)):  # a row without a name keeps all
            rows.write_text("".join(json.dumps({"id": name, "text": "x"}) + "\n" for name in names))
            flags = ["--collection", "rows", "--server", at[-1], "--json"]
            assert main(["mirror", str(rows), *flags]) == status
            assert json.loads(capsys.readouterr().out.splitlines()[-1])["gone"] == gone
        with Peer(server, "search") as peer:
            assert peer.results(f'QUERY {C} {B} "other"') == ["1"]
            assert peer.results(f'QUERY {C} {B} "title1"') == []
            assert set(peer.results(f'QUERY {C} {B} "body"')) == {"0", "1", "2", "4"}
            assert set(peer.results(f'QUERY {C} {B} "" FILTER("HAS gone")')) == {"0", "4"}, "others have no value now"


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("sqlite:///nowhere.db?table=p", "there is no file nowhere.db"),
        ("sqlite:///{}", "has to name one of ?table=NAME and ?query=SELECT"),
        ("sqlite:///{}?table=", "has to name one of ?table=NAME and ?query=SELECT"),
        ("sqlite:///{}?table=absent", "cannot be read: no such table: absent"),
        ("sqlite:///{}?query=SELECT FROM", "syntax error"),
        ("-", "the standard input cannot be"),
        ("nodialect://user:secret@host/db?table=p", "nodialect"),
    ],
)
def test_sources_that_cannot_be_read(
    table: Table, capsys: pytest.CaptureFixture[str], source: str, sentence: str
) -> None:
    source = source.format(table.folder.parent / "shop.db")
    assert main(["mirror", source, "--collection", C, "--data", str(table.folder)]) in (1, 2)
    said = capsys.readouterr().err
    assert sentence in said
    assert "secret" not in said


def test_files_and_other_databases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, at = tmp_path / "rows.jsonl", ["--collection", C, "--data", str(tmp_path / "index")]
    path.write_text('{"id": 1, "text": "one"}\n{"id": 2, "text": "two"}\n')
    assert main(["mirror", str(path), *at]) == 0
    path.write_text('{"id": 2, "text": "two"}\n')
    assert main(["mirror", str(path), *at]) == 0
    assert "1 rows in" in (said := capsys.readouterr().out) and "1 gone" in said
    path.write_text('{"id": 2, "text": "two"}\n{"id": 3, "te')
    assert main(["mirror", str(path), *at]) == 1
    assert "row 2 cannot be read" in capsys.readouterr().err
    pytest.importorskip("sqlalchemy", reason="needs SQLAlchemy")
    database = sqlite3.connect(tmp_path / "a.db")
    database.execute("CREATE TABLE t (id INTEGER, text TEXT, at TEXT)")
    database.execute("INSERT INTO t VALUES (7, 'seven', '2026-01-01 10:00:00')")
    database.commit()
    url = f"sqlite+pysqlite:///{tmp_path / 'a.db'}"
    other = ["--bucket", "other", "--watermark", "at"]
    for rows in ("1 rows", "1 rows"):
        assert main(["mirror", f"{url}?table=t", *at, *other]) == 0
        assert rows in capsys.readouterr().out
    assert main(["mirror", f"{url}?query=SELECT id, 'a:b' AS text FROM t", *at, "--bucket", "third"]) == 0


@pytest.mark.full
def test_a_table_whose_mirror_is_killed_again_and_again(table: Table) -> None:
    """The table changes, and passes are killed at random; then a whole pass leaves no difference."""
    chance, at = random.Random(9), 0
    command = [sys.executable, "-m", "sonicpy", "mirror", table.url, "--collection", C, "--bucket", B]
    command += ["--text", "title,body", "--data", str(table.folder)]
    for number in range(20_000):
        table.database.execute("INSERT INTO p VALUES (?, ?, 'body', 0, 0)", (number, chance.choice(WORDS)))
    table.database.commit()
    for _ in range(25):
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(chance.randrange(20)):
            at += 1
            number = chance.randrange(25_000)
            if chance.random() < 0.3:
                table.database.execute("DELETE FROM p WHERE id = ?", (number,))
                table.database.commit()
            else:
                table.set(number, " ".join(chance.choices(WORDS, k=3)), at)
        time.sleep(chance.random() * 1.5)
        running.kill()
        running.wait()
    table.mirror()
    rows = table.database.execute("SELECT id, title || ' body' FROM p").fetchall()
    with sonicpy.open(table.folder) as index:
        assert held(index) == wanted({str(name): text for name, text in rows})
        assert index.verify() == []
    table.mirror("--check")


MISNAMED = [
    (["--text", "title,typo"], "no column 'typo', which --text names"),
    (["--field", "title=typo"], "no column 'typo', which --field names"),
    (["--tags", "typo"], "no column 'typo', which --tags names"),
    (["--value", "price=at*typo"], "no column 'at*typo', which --value names"),
    (["--id", "typo"], "no column 'typo', which --id names"),
]


def test_a_column_named_terms_hides_no_missing_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.csv").write_text("id,title,terms\n1,amber,net 30\n")
    at = ["--collection", C, "--data", str(tmp_path / "d"), "--text", "title,typo"]
    assert main(["mirror", str(tmp_path / "rows.csv"), *at]) == 2
    assert "has no column 'typo', which --text names" in capsys.readouterr().err


@pytest.mark.parametrize(("flags", "said"), MISNAMED)
def test_a_column_that_is_not_there_changes_nothing(
    table: Table, capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    table.set(1, "title", 1)
    assert table.mirror() == {"rows": 1, "changed": 1}
    for check in ([], ["--check"]):
        at = ["--collection", C, "--bucket", B, "--text", "title,body", "--data", str(table.folder), *check]
        assert main(["mirror", table.url, *at, *flags]) == 2
        assert f"has {said}; it has 'id', 'title', 'body', 'at', 'gone'." in capsys.readouterr().err
    assert table.mirror() == {"rows": 1, "unchanged": 1}


def test_a_row_without_a_name_keeps_all_objects(index: sonicpy.Index) -> None:
    index.mirror([{"id": 1, "text": "one"}, {"id": 2, "text": "two"}], **PLACE)
    for rows in ([{"id": 1, "text": "one"}, {"id": None, "text": "two"}], [{"name": 1, "text": "one"}] * 2):
        report = index.mirror(rows, **PLACE)
        assert report.gone == 0 and report.refused_count
        assert held(index).keys() == {"1", "2"}
    assert index.mirror([{"id": 1, "text": "one"}], **PLACE).gone == 1


def test_a_source_that_fails_is_asked_again(
    table: Table, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def rename(before: str, after: str) -> None:
        table.database.execute(f"ALTER TABLE {before} RENAME TO {after}")
        table.database.commit()

    def end() -> None:
        raise KeyboardInterrupt

    table.set(1, "title", 1)
    file, away = table.folder.with_name("shop.db"), table.folder.with_name("away.db")
    steps = iter(
        [
            lambda: rename("p", "away"),
            lambda: file.rename(away),
            lambda: (away.rename(file), rename("away", "p")),
            end,
        ]
    )
    clock = SimpleNamespace(sleep=lambda _: next(steps)(), monotonic=time.monotonic)
    monkeypatch.setattr("sonicpy.cli.mirror.time", clock)
    at = ["--collection", C, "--bucket", B, "--text", "title,body", "--data", str(table.folder), "--every", "60"]
    assert main(["mirror", table.url, *at]) == 130
    said = capsys.readouterr()
    assert [line.split(": ")[1] for line in said.out.splitlines()] == [
        "1 changed, 0 unchanged, 0 gone, 0 refused", "0 changed, 1 unchanged, 0 gone, 0 refused",
    ]  # fmt: skip
    assert "no such table: p; the next pass begins in 60 s" in said.err
    assert re.search(f"there is no file {file}.*; the next pass begins in 60 s", said.err)


def test_rows_of_an_outbox_are_upserted_in_their_order(index: sonicpy.Index) -> None:
    """Triggers record each change in its transaction; a worker that ends before it deletes rows reads them again."""
    database, chance = sqlite3.connect(":memory:"), random.Random(3)
    database.executescript("""
        CREATE TABLE p (id INTEGER PRIMARY KEY, text TEXT);
        CREATE TABLE outbox (number INTEGER PRIMARY KEY AUTOINCREMENT, id INTEGER, text TEXT);
        CREATE TRIGGER new AFTER INSERT ON p BEGIN INSERT INTO outbox (id, text) VALUES (new.id, new.text); END;
        CREATE TRIGGER other AFTER UPDATE ON p BEGIN INSERT INTO outbox (id, text) VALUES (new.id, new.text); END;
        CREATE TRIGGER gone AFTER DELETE ON p BEGIN INSERT INTO outbox (id) VALUES (old.id); END;
    """)
    for _ in range(40):
        for _ in range(chance.randrange(8)):
            number, text = chance.randrange(20), " ".join(chance.sample(WORDS, 3))
            if chance.random() < 0.3:
                database.execute("DELETE FROM p WHERE id = ?", (number,))
            else:
                database.execute("INSERT INTO p VALUES (?, ?) ON CONFLICT DO UPDATE SET text = ?", (number, text, text))
        if chance.random() < 0.1:
            database.rollback()
        database.commit()
        waiting = database.execute("SELECT number, id, text FROM outbox ORDER BY number").fetchall()
        for _, number, text in waiting:
            if text is None:
                index.flush_object(C, B, str(number))
            else:
                index.upsert(C, B, str(number), text, "none")
        if chance.random() < 0.7:  # else it dies here
            database.executemany("DELETE FROM outbox WHERE number = ?", [row[:1] for row in waiting])
            database.commit()
    rows = database.execute("SELECT id, text FROM p").fetchall()
    assert len(rows) > 5 and held(index) == wanted({str(number): text for number, text in rows})
    assert not index.check_mirror(rows, **PLACE, lang="none")
