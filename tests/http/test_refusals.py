"""HTTP and JSON: requests that are refused, each with a sentence."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

httpx = pytest.importorskip("httpx", reason="needs httpx")
pytest.importorskip("fastapi", reason="needs the extra [http]")
from starlette.testclient import TestClient  # noqa: E402

import sonicpy  # noqa: E402
from sonicpy.http.bodies import BODY_BYTES_MAX  # noqa: E402

SCOPE = {"collection": "messages", "bucket": "default"}
JSON = {"Content-Type": "application/json"}


def test_bytes_that_are_not_utf8_are_named_by_line_and_byte(client: TestClient) -> None:
    row = json.dumps({**SCOPE, "object": "o", "text": "é" * 2_000}, ensure_ascii=False).encode()
    for wrong in (b'{"collection": "\xff"}', b'{"text": "\xc3\xa9----\xff"}'):
        found = client.post("/v1/bulk", content=b"\n".join((row, b"", wrong))).json()
        assert found["first_refused"] == [{"row": 2, "reason": "the line is not UTF-8 at byte 17"}]
        answer = client.post("/v1/push", content=wrong, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["detail"]) == (422, "the body is not UTF-8 at byte 17")


def test_a_body_that_begins_as_utf16_is_refused_in_a_sentence(client: TestClient) -> None:
    body = json.dumps({**SCOPE, "object": "o", "text": "wide"})
    for encoding in ("utf-16", "utf-32"):
        wide = body.encode(encoding)
        says = "the body begins as UTF-16 does; allowed is UTF-8"
        for path, status in (("/v1/push", 422), ("/v1/bulk", 400)):
            answer = client.post(path, content=wide, headers=JSON)
            assert (answer.status_code, answer.json()["detail"]) == (status, says)


def test_every_operation_refuses_parameters_that_it_does_not_know(index: sonicpy.Index, client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    operations = [(method.upper(), path) for path, methods in paths.items() for method in methods if path != "/health"]
    assert ("POST", "/v1/bulk") in operations
    for method, path in operations:
        answer = client.request(method, path, params={"x": "1"}, json=None if method == "GET" else {"text": "y"})
        assert answer.status_code == 422, path
        assert answer.json()["detail"].startswith("x is not known here; "), path
    for path in ("/health", "/", "/page/main.js", "/openapi.json"):
        assert client.get(path, params={"x": "1"}).status_code == 200
    for path in ("/v1/query?text=weather&collection=messages&bucket=default", "/v1/stats?collection=messages"):
        answer = client.get(f"{path}&collection=other")
        assert answer.status_code == 422
        assert answer.json()["detail"] == "collection is given more than once in the address; allowed is once"
    for said, answer in (
        ("limit is not known here; POST /v1/query takes no parameters in its address",
         client.post("/v1/query?limit=3", json={**SCOPE, "text": "weather"})),
        ("lang is not known here; POST /v1/push takes no parameters in its address",
         client.post("/v1/push?lang=eng", json={**SCOPE, "object": "o", "text": "unseen"})),
        ("x is not known here; GET /v1/figures takes no parameters in its address", client.head("/v1/figures?x=1")),
        ("x is not known here; allowed are collection, bucket", client.get("/v1/stats?x=1")),
    ):  # fmt: skip
        assert answer.status_code == 422
        assert answer.request.method == "HEAD" or answer.json()["detail"] == said
    assert not index.exists("messages", "default", "o")


@pytest.mark.parametrize(
    ("path", "parameters", "status", "says"),
    [
        ("/v1/query", {**SCOPE, "collection": "a b", "text": "x"}, 400, "'a b'"),
        ("/v1/query", {"collection": "a", "text": "x"}, 422, "bucket is missing"),
        ("/v1/query", {**SCOPE, "text": "x", "limit": -1}, 422, "limit is '-1'; allowed are numbers from 0 on"),
        ("/v1/query", {**SCOPE, "text": "x", "lang": "klingon"}, 400, "klingon"),
        ("/v1/suggest", {**SCOPE, "word": "!"}, 400, "word"),
        ("/v1/count", {"collection": "a", "object": "o"}, 400, "without its bucket"),
        ("/v1/count", {**SCOPE, "object": "o", "objects": True}, 400, "objects is true and object is given"),
        (
            "/v1/query",
            {**SCOPE, "text": "x", "limt": 3},
            422,
            "limt is not known here; allowed are collection, bucket,",
        ),
        ("/v1/objects", {**SCOPE, "after": "gone"}, 400, "gone"),
        ("/v1/nothing", {}, 404, "there is nothing at /v1/nothing; /openapi.json lists the operations"),
        ("/page/secret.txt", {}, 404, "there is nothing at /page/secret.txt"),
        ("/v1/query%0A", {}, 404, "there is nothing at /v1/query%0A; /openapi.json lists the operations"),
    ],
)
def test_an_error_is_a_problem_with_a_sentence(
    client: TestClient, path: str, parameters: dict[str, Any], status: int, says: str
) -> None:
    answer = client.get(path, params=parameters, headers={"X-Request-ID": "mine:1"})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    held = answer.json()
    assert (held["status"], held["request_id"]) == (status, "mine:1")
    assert says in held["detail"]


@pytest.mark.parametrize(
    ("content", "media_type", "says"),
    [
        ('{"collection": "m"', "application/json", "the body is not JSON: Expecting ',' delimiter at character 18"),
        ("{}", "text/plain", "the body has to be a JSON object, sent as Content-Type: application/json"),
        ("[1]", "application/json", "the body has to be a JSON object, sent as Content-Type: application/json"),
        (json.dumps({**SCOPE, "object": "o"}), "application/json", "text is missing"),
        (json.dumps({**SCOPE, "object": "o", "text": 5}), "application/json", "text is 5; allowed are strings"),
        (
            json.dumps({**SCOPE, "object": "", "text": ""}),
            "application/json",
            "object is ''; allowed are at least 1 char",
        ),
        (json.dumps({**SCOPE, "object": "o", "text": "", "x": 1}), "application/json", "x is not known here"),
    ],
)
def test_a_wrong_body_is_a_sentence(client: TestClient, content: str, media_type: str, says: str) -> None:
    answer = client.post("/v1/push", content=content, headers={"Content-Type": media_type})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(says)


VECTORS = "allowed are at most 1,024 numbers, base 64, and objects of these by column"
EXACT = "allowed are strings and whole numbers, those from 2**53 on as digits alone"
EXACT_VALUE = "allowed are whole numbers, those from 2**53 on as digits alone"


@pytest.mark.parametrize(
    ("path", "wrong", "says"),
    [
        ("push", {"object": True}, "object is true; allowed are strings and whole numbers"),
        ("push", {"object": 3.5}, "object is 3.5; allowed are strings and whole numbers"),
        ("push", {"object": ["x"]}, "object is ['x']; allowed are strings and whole numbers"),
        ("pop", {"object": None}, "object is null; allowed are strings and whole numbers"),
        ("flush", {"object": False}, "object is false; allowed are strings and whole numbers"),
        ("flush", {"object": None}, "object is null; allowed are strings and whole numbers"),
        ("flush", {"bucket": None}, "bucket is null; allowed are strings"),
        ("flush", {"filter": None}, "filter is null; allowed are strings"),
        ("push", {"object": 1e300}, f"object is 1e+300; {EXACT}"),
        ("flush", {"object": -1e17}, f"object is -1e+17; {EXACT}"),
        ("push", {"object": 2.0**53}, f"object is 9007199254740992.0; {EXACT}"),
        ("push", {"text": None}, "text is null; allowed are strings"),
        ("query", {"limit": 1.5}, "limit is 1.5; allowed are whole numbers"),
        ("query", {"match": "most"}, "match is 'most'; allowed are all, any, auto"),
        ("query", {"meaning": "x"}, "meaning is 'x'; allowed are numbers"),
        ("push", {"tags": "red"}, "tags is 'red'; allowed are lists"),
        ("push", {"tags": ["red", 1]}, "tags[1] is 1; allowed are strings"),
        ("push", {"vector": 5}, f"vector is 5; {VECTORS}"),
        ("push", {"vector": [None]}, f"vector is [None]; {VECTORS}"),
        ("push", {"vector": {"m": 5}}, f"vector is {{'m': 5}}; {VECTORS}"),
        ("push", {"values": {"price": 1.5}}, "values.price is 1.5; allowed are whole numbers"),
        ("push", {"values": {"key": 2.0**53}}, f"values.key is 9007199254740992.0; {EXACT_VALUE}"),
    ],
)
def test_a_wrong_value_is_a_sentence(client: TestClient, path: str, wrong: dict[str, Any], says: str) -> None:
    body: dict[str, Any] = {**SCOPE, "object": "o", "text": "x"}
    body = {key: body[key] for key in body if (path, key) not in (("query", "object"), ("flush", "text"))}
    answer = client.post(f"/v1/{path}", json={**body, **wrong})
    assert (answer.status_code, answer.json()["detail"]) == (422, says)


@pytest.mark.parametrize(
    "long", ["0" * 127 + "42", "42" + " " * 127, "42." + "0" * 126], ids=["zeros", "blanks", "dot"]
)
def test_a_too_long_name_of_digits_is_no_other_object(index: sonicpy.Index, client: TestClient, long: str) -> None:
    index.push("messages", "default", "42", "weather", tags=["old"])
    for path, more in (
        ("push", {"text": "other"}),
        ("upsert", {"text": "other"}),
        ("tag", {"tags": ["new"]}),
        ("pop", {"text": "weather"}),
        ("flush", {}),
    ):
        answer = client.post(f"/v1/{path}", json={**SCOPE, "object": long, **more})
        assert (answer.status_code, answer.json()["detail"]) == (422, "object is longer than 128 characters"), path
    assert index.query("messages", "default", "weather", filter="old").objects == ["42"]
    assert not index.query("messages", "default", "other")


def test_what_utf8_and_paths_cannot_hold(client: TestClient) -> None:
    half = '{"collection": "c", "bucket": "b", "object": "o", "text": "\\ud800"}'
    answer = client.post("/v1/push", content=half, headers={"Content-Type": "application/json"})
    assert answer.json()["detail"] == "text is no Unicode text: it holds half of a surrogate pair"
    answer = client.post("/v1/backup", json={"folder": "a\0b"})
    assert answer.json()["detail"] == "folder is 'a\\x00b'; allowed are texts without the character NUL"


def test_a_compressed_body_is_refused(client: TestClient) -> None:
    row = gzip.compress(json.dumps({**SCOPE, "object": "o", "text": "x"}).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    for path in ("/v1/push", "/v1/bulk"):
        answer = client.post(path, content=row, headers=headers)
        assert answer.status_code == 415
        assert answer.headers["accept-encoding"] == "identity"
        assert answer.json()["detail"] == "the body has Content-Encoding gzip; allowed is none: send it as it is"


def test_an_empty_encoding_is_none(client: TestClient) -> None:
    for encoding in ("", " ", "Identity"):
        answer = client.post(
            "/v1/push", json={**SCOPE, "object": "o", "text": "x"}, headers={"Content-Encoding": encoding}
        )
        assert answer.status_code == 200


def test_a_method_that_a_path_does_not_answer(client: TestClient) -> None:
    answer = client.delete("/v1/query")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, POST"
    assert answer.json()["detail"] == "/v1/query does not answer DELETE; it answers GET, POST"


def test_bodies_have_limits(client: TestClient) -> None:
    large = {**SCOPE, "object": "o", "text": "x" * BODY_BYTES_MAX}
    answer = client.post("/v1/push", json=large)
    assert answer.status_code == 413
    assert "/v1/bulk" in answer.json()["detail"]

    def chunks() -> Iterator[bytes]:
        for _ in range(5):
            yield b" " * 65536

    assert client.post("/v1/push", content=chunks()).status_code == 413
    for wrong in ("[" * 100_000, '{"a":' * 40_000, "{", "1", "\x00"):
        answer = client.post("/v1/push", content=wrong, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422)
        assert answer.json()["detail"]
    assert client.post("/v1/push", json={**SCOPE, "object": "o", "text": "x", "colour": 1}).status_code == 422


def test_tags_and_values_that_mean_something_else_refuse_their_row(index: sonicpy.Index, client: TestClient) -> None:
    wrong = ({"tags": {"red": 1}}, {"values": {"key": 2.0**53}}, {"tags": ["red"], "values": {"key": 7.0}})
    rows = [json.dumps({**SCOPE, "object": f"row:{place}", "text": "tagged", **one}) for place, one in enumerate(wrong)]
    for ways in ("", "?upsert=true"):
        found = client.post(f"/v1/bulk{ways}", content="\n".join(rows)).json()
        assert (found["pushed"], found["refused"]) == (1, 2)
        reasons = [row["reason"].partition(",")[0] for row in found["first_refused"]]
        assert reasons[0] == "tags is of type dict; allowed is a list of tags"
        assert reasons[1].startswith("the value key is 9007199254740992.0; allowed are a whole number of 64 bits")
    assert index.query("messages", "default", "tagged") == ["row:2"]
    answer = client.post("/v1/push", json={**SCOPE, "object": "o", "text": "t", "tags": {"red": 1}})
    assert (answer.status_code, answer.json()["detail"]) == (422, "tags is {'red': 1}; allowed are lists")
