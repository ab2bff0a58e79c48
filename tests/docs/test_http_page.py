"""The page about HTTP names every operation with the parameters in its OpenAPI document."""

import re

from starlette.testclient import TestClient

import sonicpy
from sonicpy.http import app
from sonicpy.options import ARGUMENTS
from tests.docs.pages import DOCS

TABLE = (DOCS / "http.md").read_text("utf-8").partition("## Operations")[2].partition("\n## ")[0]
ROWS = [line for line in TABLE.splitlines() if line.startswith("| `")]


def test_every_operation_has_a_row_with_its_parameters() -> None:
    with sonicpy.open(":memory:") as index:
        schema = TestClient(app(index)).get("/openapi.json").json()
    missing = []
    for path, operations in schema["paths"].items():
        rows = "".join(row for row in ROWS if re.search(rf"`[A-Z]* ?{path}[?`]", row))
        assert rows, path
        known = {
            *re.findall(r"\w+", rows),
            *(ARGUMENTS["QUERY"] if "options](ask.md)" in rows or "options of a query" in rows else ()),
        }
        (buckets,) = [row for row in ROWS if row.startswith("| `buckets=")]
        known |= {"buckets"} if path.rpartition("/")[2] in buckets else set()
        for operation in operations.values():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            keys = (
                schema["components"]["schemas"].get(body.get("$ref", "").rpartition("/")[2], {}).get("properties", {})
            )
            names = {*keys, *(one["name"] for one in operation.get("parameters", ()) if one["in"] == "query")}
            missing += [(path, name) for name in sorted(names - known - {"collection", "bucket", "object"})]
    assert missing == []
