"""Several queries in one request, compared with one request for each."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("httpx", reason="needs httpx")
pytest.importorskip("fastapi", reason="needs the extra [http]")
from starlette.testclient import TestClient  # noqa: E402

import sonicpy  # noqa: E402
from sonicpy.http import app  # noqa: E402
from sonicpy.http.flat import OBJECTS_MAX, PLAIN_BYTES, listed_json  # noqa: E402
from sonicpy.http.many import QUERIES_MAX  # noqa: E402

SCOPE = {"collection": "messages", "bucket": "default"}
WORDS = ["sunny", "weather", "hotel", "lisbon", "nantes", "york"]
MORE: list[dict[str, Any]] = [
    {}, {"limit": 2}, {"offset": 1, "total": True}, {"how": True}, {"filter": "red"}, {"sort": "-price"},
    {"of": "*", "ranges": "price: 0,50"}, {"syntax": "web"}, {"filter": "(red"}, {"boost": "price"},
    {"after": "3"}, {"bucket": "a b"}, {"bucket": "absent"}, {"sort": "price", "after": "nobody"},
]  # fmt: skip


@pytest.fixture(scope="module")
def index() -> Iterator[sonicpy.Index]:
    some = random.Random(1)
    with sonicpy.open(":memory:") as opened:
        for number in range(60):
            text = " ".join(some.sample(WORDS, 3))
            tags = some.sample(["red", "blue", "size:xl"], some.randrange(3))
            opened.push("messages", "default", str(number), text, tags=tags, values={"price": some.randrange(100)})
        yield opened


def test_each_answer_is_that_of_a_request_of_its_own(index: sonicpy.Index) -> None:
    client, some = TestClient(app(index)), random.Random(2)
    queries = [{**SCOPE, "text": " ".join(some.sample(WORDS, 2)), **some.choice(MORE)} for _ in range(40)]
    queries += [{**SCOPE, "text": "", **more} for more in MORE]
    found = client.post("/v1/query/many", json={"queries": queries})
    assert found.status_code == 200
    answers, failed = found.json()["answers"], 0
    assert len(answers) == len(queries)
    for query, answer in zip(queries, answers, strict=True):
        alone = client.post("/v1/query", json=query)
        twin = alone.json()
        twin.pop("request_id", None)
        assert answer == twin, query
        failed += alone.status_code != 200
    assert failed >= 4


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "queries is missing"),
        ({"queries": []}, "queries is empty; allowed are lists from 1 on"),
        (
            {"queries": [{**SCOPE, "text": "a"}] * (QUERIES_MAX + 1)},
            "queries is too long; allowed are lists of at most",
        ),
        ({"queries": [{**SCOPE, "text": "a"}, {**SCOPE, "text": "a", "limit": "x"}]}, "queries[1].limit is 'x'"),
        ({"queries": [{**SCOPE, "text": "a", "colour": 1}]}, "queries[0].colour is not known here"),
        ({"queries": [{**SCOPE, "text": "a"}, 7]}, "queries[1] is 7; allowed are JSON objects"),
    ],
)
def test_a_request_of_a_wrong_form_is_refused_whole(index: sonicpy.Index, body: Any, sentence: str) -> None:
    refused = TestClient(app(index)).post("/v1/query/many", json=body)
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith(sentence)


def test_long_bodies_are_read_as_the_json_module_reads_them() -> None:
    some = random.Random(3)
    values: list[Any] = [None, True, 1.5, -7, "a\n{[", "\u00fc", [], [1, -2, 0.5], {}, {"bge": [1, 2], "other": "AAAA"}]
    for _ in range(200):
        bodies = [{str(key): some.choice(values) for key in range(some.randrange(5))} for _ in range(some.randrange(6))]
        text = json.dumps({"queries": bodies})
        assert listed_json((text + " " * PLAIN_BYTES).encode()) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"queries": [[1]]}', '{"queries": [{"a": [[1]]}]}', '{"queries": [{"a": {"b": {}}}]}', '{"queries": [{}]}x',
        '{"queries": [{"a": ["b"]}]}', '{"queries": 1}', '{"queries": [{}', '{"a": [], "b": []}', "[{}]",
        '{"queries": [' + "{}," * OBJECTS_MAX + "{}]}",
    ],
)  # fmt: skip
def test_other_long_bodies_are_refused(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        listed_json((" " * PLAIN_BYTES + text).encode())
