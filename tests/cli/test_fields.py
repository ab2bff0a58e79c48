"""Tests of named texts on the command line and over HTTP: the index is the one that the library makes."""

import csv
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from tests.cli.conftest import Run
from tests.processes import Server

ROWS: list[dict[str, Any]] = [
    {"id": "1", "head": "Java", "body": "An island of Indonesia", "more": "coffee"},
    {"id": "2", "head": "Tools", "body": "Java tools, and java again", "more": None},
    {"id": "3", "head": None, "body": "Nothing but été", "more": "Java"},
]
NAMED = {"title": "head", "body": "body"}
FLAGS = ["--field", "title=head", "--field", "body", "--collection", "c"]


def held(index: sonicpy.Index) -> dict[str, Any]:
    return {one.object: (one.terms, one.hidden, one.fields.get("texts")) for one in index.holdings()}


@pytest.fixture
def expected(tmp_path: Path) -> dict[str, Any]:
    """The objects that the library makes: with named texts by their names, and with the column `more` beside them."""
    with sonicpy.open(tmp_path / "library") as index:
        index.push_many(ROWS, collection="c", bucket="default", text={**NAMED, "": "more"}, upsert=True)
        assert list(index.query("c", "default", "java", fields="title")) == ["1"]
        return held(index)


def written(kind: str) -> str:
    if kind == "csv":
        with open("rows.csv", "w", newline="", encoding="utf-8") as file:
            rows = csv.DictWriter(file, ROWS[0])
            rows.writeheader()
            rows.writerows({name: value or "" for name, value in row.items()} for row in ROWS)
    elif kind == "db":
        with sqlite3.connect("rows.db") as table:
            table.execute("CREATE TABLE rows (id, head, body, more)")
            table.executemany("INSERT INTO rows VALUES (:id, :head, :body, :more)", ROWS)
        return "sqlite:///rows.db?table=rows"
    else:
        Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return f"rows.{kind}"


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@pytest.mark.parametrize("more", [[], ["--replace"]])
def test_import(run: Run, expected: dict[str, Any], kind: str, more: list[str]) -> None:
    file = written(kind)
    assert "3 indexed, 0 refused" in run("import", file, *FLAGS, "--text", "more", "--data", "d", *more)
    with sonicpy.open("d") as index:
        assert held(index) == expected
        assert index.verify() == []
    assert run("query", "c", "java", "--fields", "title", "--data", "d").split() == ["1"]
    run(
        "import",
        file,
        *FLAGS,
        "--field",
        "x=nope",
        "--data",
        "d",
        status=2,
        said="no column 'nope', which --field names",
    )


@pytest.mark.full
def test_import_into_a_server(run: Run, tmp_path: Path) -> None:
    with Server(tmp_path / "server") as server:
        url = f"sonic://{server.host}:{server.port}"
        assert "3 indexed, 0 refused" in run("import", written("jsonl"), *FLAGS, "--server", url)
        assert run("query", "c", "java", "--fields", "title", "--server", url).split() == ["1"]
        assert run("query", "c", "java", "--fields", "body", "--server", url).split() == ["2"]
        assert "3 rows" in run("mirror", written("jsonl"), *FLAGS, "--text", "more", "--server", url)
        assert run("query", "c", "coffee", "--server", url).split() == ["1"]


@pytest.mark.full
def test_an_export_reaches_a_server_with_its_fields(run: Run, tmp_path: Path, expected: dict[str, Any]) -> None:
    with sonicpy.open(tmp_path / "library") as index:
        index.upsert("c", "default", "4", {"title": "many words " + " ".join(map(chr, range(97, 123)))})
        expected = held(index)
    run("export", "-o", "e.jsonl", "--data", str(tmp_path / "library"))
    with Server(tmp_path / "server") as server:
        assert "4 indexed, 0 refused" in run("import", "e.jsonl", "--server", f"sonic://{server.host}:{server.port}")
    folder = next((tmp_path / "server").rglob("data.mdb")).parent
    with sonicpy.open(folder) as index:
        assert held(index) == expected


@pytest.mark.parametrize("kind", ["jsonl", "db"])
def test_mirror(run: Run, expected: dict[str, Any], kind: str) -> None:
    source, flags = written(kind), [*FLAGS, "--text", "more", "--data", "d"]
    assert "3 changed, 0 unchanged" in run("mirror", source, *flags)
    assert "0 changed, 3 unchanged" in run("mirror", source, *flags)
    assert "in step" in run("mirror", source, *flags, "--check")
    with sonicpy.open("d") as index:
        assert {name: texts for name, (_, _, texts) in held(index).items()} == {
            name: texts for name, (_, _, texts) in expected.items()
        }
        assert index.upsert("c", "default", "1", {"title": "Jav", "body": "An island of Indonesia"})
    assert "changed: 1, such as 1" in run("mirror", source, *flags, "--check", status=1)


def test_mirror_of_the_library_and_batches(tmp_path: Path, expected: dict[str, Any]) -> None:
    with sonicpy.open(tmp_path / "m") as index:
        report = index.mirror(ROWS, collection="c", bucket="default", text={**NAMED, "": "more"}, owner="rows")
        assert (report.changed, report.refused_count) == (3, 0)
        assert held(index) == expected
        again = index.mirror(ROWS, collection="c", bucket="default", text={**NAMED, "": "more"}, owner="rows")
        assert (again.changed, again.unchanged) == (0, 3)
    with sonicpy.open(tmp_path / "b") as index:
        with index.batch():
            for row in ROWS:
                for name, column in {**NAMED, "": "more"}.items():
                    if row[column] is not None:
                        index.push("c", "default", row["id"], row[column], field=name or None)
        assert {name: texts for name, (_, _, texts) in held(index).items()} == {
            name: texts for name, (_, _, texts) in expected.items()
        }


def test_push_and_upsert(run: Run) -> None:
    run("push", "c", "1", "Java", "--field", "title", "--data", "d")
    run("push", "c", "2", "java tools", "--data", "d")
    assert run("query", "c", "java", "--fields", "title", "--data", "d").split() == ["1"]
    run("upsert", "c", "1", "Berlin", "--field", "title", "--and", "body=java", "--data", "d")
    assert run("query", "c", "java", "--fields", "body", "--data", "d").split() == ["1"]
    assert run("query", "c", "java", "--fields", "title", "--data", "d").split() == []
    with pytest.raises(SystemExit):
        run("import", "rows.jsonl", "--field", "1x", "--collection", "c")


def test_a_name_is_given_once(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("upsert", "c", "1", "a", "--field", "t", "--and", "t=b", "--data", "d", status=2, said="name the field t")
    written("csv")
    for arguments in (
        ("upsert", "c", "1", "a", "--and", "t=one", "--and", "t=two"),
        ("push", "c", "1", "a", "--value", "t=1", "--value", "t=2"),
        ("import", "rows.csv", "--collection", "c", "--field", "t=head", "--field", "t=body"),
        ("import", "rows.csv", "--collection", "c", "--value", "t=head", "--value", "t=body"),
        ("mirror", "rows.csv", "--collection", "c", "--field", "t=head", "--field", "t=body"),
    ):
        with pytest.raises(SystemExit):
            run(*arguments, "--data", "d")
        assert "t is named twice" in capsys.readouterr().err


def test_http() -> None:
    pytest.importorskip("fastapi", reason="needs the extra [http]")
    from starlette.testclient import TestClient  # noqa: PLC0415

    from sonicpy.http import app  # noqa: PLC0415

    where = {"collection": "c", "bucket": "b"}
    with sonicpy.open(":memory:") as index:
        client = TestClient(app(index))
        for oid, text, more in (("1", "Java", {"field": "title"}), ("2", "Java tools", {})):
            pushed = client.post("/v1/push", json={**where, "object": oid, "text": text, "tags": ["red"], **more})
            assert pushed.status_code == 200, pushed.text
        texts = {"title": "Tools", "body": "java"}
        assert client.post("/v1/upsert", json={**where, "object": "3", "text": texts, "tags": ["red"]}).is_success
        asked = {**where, "text": "java", "of": "*"}
        found = client.get("/v1/query", params={**asked, "fields": "title"}).json()
        assert [hit["object"] for hit in found["hits"]] == ["1"]
        assert found["facets"]["tags"] == {"": {"red": 1}}
        posted = client.post("/v1/query", json={**asked, "fields": "title"}).json()
        assert (posted["hits"], posted["facets"]) == (found["hits"], found["facets"])
        for fields, count in (("title,body", 2), ("title^5,body", 3), ("body", 1)):
            counted = client.get("/v1/facets", params={**asked, "fields": fields}).json()
            assert (counted["total"], counted["tags"]) == (count, {"": {"red": count}})
        assert client.post("/v1/push", json={**where, "object": "4", "text": "x", "field": "1x"}).status_code == 400


def test_http_says_of_no_field_that_it_is_none() -> None:
    pytest.importorskip("fastapi", reason="needs the extra [http]")
    from starlette.testclient import TestClient  # noqa: PLC0415

    from sonicpy.http import app  # noqa: PLC0415

    with sonicpy.open(":memory:") as index:
        client = TestClient(app(index))
        rows = [{"object": "a b", "text": "x"}, {"object": "1", "text": {"title": "Java"}}, {"object": 2}]
        body = "".join(json.dumps({"collection": "c", "bucket": "b", **row}) + "\n" for row in rows)
        refused = client.post("/v1/bulk?upsert=true", content=body.encode()).json()["first_refused"]
        assert [one["row"] for one in refused] == [1, 3]
        asked = {"collection": "c", "bucket": "b", "text": "title:java", "syntax": "web"}
        found = client.get("/v1/query", params=asked).json()
        assert [hit["object"] for hit in found["hits"]] == ["1"]
        assert found["notes"] == []
