"""Tests of vectors on the command line (push, query, import and export) and over HTTP."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from tests.cli.conftest import Run
from tests.processes import Server

UP, DOWN = [1.0, 2.0, 3.0, 4.0, -5.0, 6.0, 7.0, 8.0], [-1.0] * 8
ROWS: list[dict[str, Any]] = [
    {"id": "up", "text": "a red kite", "v": UP},
    {"id": "down", "text": "a red mole", "v": DOWN},
    {"id": "none", "text": "a red text", "v": None},
]
SCOPE = ["--collection", "c", "--data", "d"]


def vectors(folder: str) -> dict[str, dict[str, str]]:
    with sonicpy.Index(folder) as index:
        return {held.object: held.fields.get("vectors", {}) for held in index.holdings()}


EXPECTED: dict[str, dict[str, str]] = {"up": {"vector": "9w=="}, "down": {"vector": "AA=="}, "none": {}}


def written(kind: str) -> str:
    """Write the rows as a file; return its name."""
    if kind.endswith("parquet"):
        pyarrow = pytest.importorskip("pyarrow")
        table = pyarrow.Table.from_pylist(ROWS)
        packed = [[0xF7], [0], None], pyarrow.list_(pyarrow.uint8())  # as of numpy.packbits
        if kind == "bits.parquet":
            table = table.set_column(2, "v", pyarrow.array(*packed))
        if kind == "structs.parquet":
            named = [None if one is None else {"vector": one} for one in packed[0]]
            table = table.set_column(2, "v", pyarrow.array(named, pyarrow.struct([("vector", packed[1])])))
        kind = "parquet"
        pytest.importorskip("pyarrow.parquet").write_table(table, "rows.parquet")
    elif kind == "csv":
        with open("rows.csv", "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(ROWS[0])
            rows.writerows([row["id"], row["text"], "" if row["v"] is None else json.dumps(row["v"])] for row in ROWS)
    else:
        Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return f"rows.{kind}"


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "bits.parquet", "structs.parquet"])
def test_imported_rows_have_vectors(run: Run, kind: str) -> None:
    assert "3 indexed, 0 refused" in run("import", written(kind), *SCOPE, "--vector", "v")
    assert vectors("d") == EXPECTED
    Path("all.jsonl").write_text(run("export", "--data", "d"), encoding="utf-8")
    assert "3 indexed, 0 refused" in run("import", "all.jsonl", "--data", "again")
    assert vectors("again") == EXPECTED
    with sonicpy.open("again") as index:
        assert index.verify() == []


@pytest.mark.full
def test_an_export_goes_into_a_server_with_its_vectors(run: Run, tmp_path: Path) -> None:
    run("import", written("jsonl"), *SCOPE, "--vector", "v")
    Path("all.jsonl").write_text(run("export", "--data", "d"), encoding="utf-8")
    with Server(tmp_path / "server") as server:
        url = f"sonic://{server.host}:{server.port}"
        assert "3 indexed, 0 refused" in run("import", "all.jsonl", "--server", url)
        for vector, first in ((UP, "up"), (DOWN, "down")):
            found = run("query", "c", "red", "--server", url, "--vector", json.dumps(vector), "--limit", "1")
            assert found == f"{first}\n"


def test_rows_with_wrong_vectors_are_refused(run: Run) -> None:
    rows = [*ROWS, {"id": "short", "text": "x", "v": [1.0]}, {"id": "other", "text": "x", "v": [1.0] * 16}]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    said = "row 5 is refused: the vector is refused: it has 16 bits, those of vector have 8"
    assert "3 indexed, 2 refused" in run("import", "rows.jsonl", *SCOPE, "--vector", "v", status=3, said=said)
    assert vectors("d") == EXPECTED
    again = ("import", "rows.jsonl", *SCOPE, "--vector", "v", "--replace")
    assert "3 indexed, 2 refused" in run(*again, status=3, said=said)
    assert vectors("d") == EXPECTED


def test_a_number_and_a_column_that_occurs_twice_are_no_vectors(run: Run) -> None:
    Path("rows.jsonl").write_text('{"id": "o", "text": "x", "v": 0.5}', encoding="utf-8")
    run("import", "rows.jsonl", *SCOPE, "--vector", "v", status=3, said="vector is refused, it is 0.5")
    Path("rows.csv").write_text('id,text,v,v\no,x,"[1]","[2]"\n', encoding="utf-8")
    run("import", "rows.csv", *SCOPE, "--vector", "v", status=2, said="several columns 'v'")


def test_push_and_query(run: Run) -> None:
    run("push", "c", "up", "a red kite", "--data", "d", "--vector", ",".join(map(str, UP)))
    run("push", "c", "down", "a red mole", "--data", "d", "--vector", '{"vector": [-1, -1, -1, -1, -1, -1, -1, -1]}')
    for vector, first in (("9w==", "up"), (json.dumps(DOWN), "down")):
        with sonicpy.open("d") as index:
            given = json.loads(vector) if vector.startswith("[") else UP
            assert index.query("c", "default", "red", vector=given)[0] == first
    assert "likeness" in run("explain", "c", "red", "--data", "d", "--vector", json.dumps(UP))
    with pytest.raises(SystemExit):
        run("push", "c", "x", "y", "--data", "d", "--vector", "[1,")


def test_http() -> None:
    pytest.importorskip("fastapi", reason="needs the extra [http]")
    from starlette.testclient import TestClient  # noqa: PLC0415

    from sonicpy.http import app  # noqa: PLC0415

    scope = {"collection": "c", "bucket": "b"}
    with sonicpy.open(":memory:") as index:
        client = TestClient(app(index))
        pushed = [("up", UP), ("down", {"vector": DOWN}), ("bits", "9w=="), ("none", None)]
        for oid, vector in pushed:
            body = {**scope, "object": oid, "text": "a red kite", "vector": vector}
            assert client.post("/v1/push", json=body).status_code == 200
        lines = [json.dumps({**scope, "object": f"r{n}", "text": "red " * 900, "vector": [0.5] * 8}) for n in range(2)]
        assert client.post("/v1/bulk", content="\n".join(lines)).json()["pushed"] == 2
        body = {**scope, "object": "o", "text": "x", "vector": [1.0] * 16}
        for verb in ("push", "upsert"):
            wrong = client.post(f"/v1/{verb}", json=body)
            assert (wrong.status_code, "it has 16 bits" in wrong.json()["detail"]) == (400, True)
        bulk = client.post("/v1/bulk?upsert=true", content=json.dumps(body)).json()
        assert (bulk["pushed"], "it has 16 bits" in bulk["first_refused"][0]["reason"]) == (0, True)
        assert {held.object for held in index.holdings() if held.fields} == {"up", "down", "bits", "r0", "r1"}
        for given in (UP, {"vector": UP}):
            asked = {**scope, "text": "red kite", "vector": given, "meaning": 0.7, "depth": 20}
            found = client.post("/v1/query", json=asked).json()["hits"]
            assert found == index.query("c", "b", "red kite", vector=UP, meaning=0.7, depth=20).to_dicts()
        bounds = client.get("/v1/query", params={**scope, "text": "red", "depth": 1001})
        assert bounds.status_code in (400, 422)
