"""HTTP and JSON over an index in this process and over a client: answers, errors, limits, caching, passwords."""

import asyncio
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import HOST, Server

httpx = pytest.importorskip("httpx", reason="needs httpx")
pytest.importorskip("fastapi", reason="needs the extra [http]")
from starlette.testclient import TestClient  # noqa: E402

import sonicpy  # noqa: E402
from sonicpy.http import app  # noqa: E402
from sonicpy.http.bodies import BODY_BYTES_MAX  # noqa: E402

PASSWORD = "secret"
BEARER = {"Authorization": f"Bearer {PASSWORD}"}
SCOPE = {"collection": "messages", "bucket": "default"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def index() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:") as opened:
        opened.push("messages", "default", "message:1", "Hello from Nantes, how is the weather?")
        opened.push("messages", "default", "message:2", "Sunny weather in Lisbon")
        yield opened


@pytest.fixture
def client(index: sonicpy.Index) -> TestClient:
    return TestClient(app(index))


def test_answers_are_those_of_the_library(index: sonicpy.Index, client: TestClient) -> None:
    found = client.get("/v1/query", params={**SCOPE, "text": "weather nantes", "total": True}).json()
    hits = index.query("messages", "default", "weather nantes", total=True)
    assert found == {"hits": hits.to_dicts(), "total": hits.total, "whole": hits.whole}
    body = {**SCOPE, "text": "weather nantes", "limit": 1, "offset": 1, "total": True}
    assert client.post("/v1/query", json=body).json() == {"hits": hits.to_dicts()[1:2], "total": 2, "whole": 2}
    assert client.get("/v1/suggest", params={**SCOPE, "word": "wea"}).json() == {"words": ["weather"]}
    assert client.get("/v1/words", params=SCOPE).json() == {"words": index.words("messages", "default")}
    assert client.get("/v1/words", params={**SCOPE, "prefix": "we", "after": "wea"}).json() == {"words": ["weather"]}
    assert client.get("/v1/collections").json() == {"names": ["messages"]}
    assert client.get("/v1/collections", params={"after": "messages"}).json() == {"names": []}
    assert client.get("/v1/buckets", params={"collection": "messages"}).json() == {"names": ["default"]}
    assert client.get("/v1/objects", params={**SCOPE, "after": "message:1"}).json() == {"names": ["message:2"]}
    assert client.get("/v1/exists", params={**SCOPE, "object": "message:3"}).json() == {"exists": False}
    for more, count in (({}, index.count_words("messages", "default")), ({"objects": True}, 2),
                        ({"object": "message:2"}, 4)):  # fmt: skip
        assert client.get("/v1/count", params={**SCOPE, **more}).json() == {"count": count}
    for more, count in (({}, 1), ({"objects": True}, 2)):
        assert client.get("/v1/count", params={"collection": "messages", **more}).json() == {"count": count}
    explained = client.get("/v1/explain", params={**SCOPE, "text": "wether"}).json()
    assert explained == json.loads(index.explain("messages", "default", "wether").to_json())
    assert client.get("/v1/stats").json()["objects"] == 2
    assert client.get("/health").json() == {"status": "ok"}


def test_one_request_is_enough_for_a_search_box(client: TestClient) -> None:
    found = client.get("/v1/search", params={**SCOPE, "text": "suny wea"}).json()
    assert [hit["object"] for hit in found["hits"]] == ["message:2", "message:1"]
    assert found["suggestions"] == ["weather"]
    assert found["did_you_mean"] == "sunny wea"
    assert client.get("/v1/search", params={**SCOPE, "text": "  "}).json()["hits"] == []


def test_titles_and_texts_come_as_html_with_marks(index: sonicpy.Index) -> None:
    def shown(collection: str, bucket: str, objects: list[str]) -> dict[str, dict[str, str]]:
        assert objects == ["message:1", "message:2"]
        also = {"text": "The Weather & more", "link": "/x"}
        return {"message:1": {"title": "Hello <b>Nantes</b>", **also}, "message:2": also}

    asked = {**SCOPE, "text": "wether nantes", "marked": True}
    first, second = TestClient(app(index, hits=shown)).get("/v1/search", params=asked).json()["shown"]
    assert first["title"] == "Hello &lt;b&gt;<mark>Nantes</mark>&lt;/b&gt;"
    assert first["text"] == second["text"] == "The <mark>Weather</mark> &amp; more"
    assert (first["link"], second["title"]) == ("/x", None)


def test_changes_are_seen_at_once(index: sonicpy.Index, client: TestClient) -> None:
    body = {**SCOPE, "object": 3, "text": "a third message", "lang": "en"}
    assert client.post("/v1/push", json=body).json() == {"done": True}
    assert index.query("messages", "default", "third") == ["3"]
    assert client.post("/v1/pop", json={**SCOPE, "object": "3", "text": "third"}).json() == {"removed": 1}
    assert client.post("/v1/flush", json={**SCOPE, "object": "3"}).json() == {"removed": 2}
    assert client.post("/v1/flush", json={"collection": "messages"}).json() == {"removed": 1}
    assert index.collections() == []


def test_bulk_takes_rows_and_names_the_wrong_ones(index: sonicpy.Index, client: TestClient) -> None:
    rows = [json.dumps({**SCOPE, "object": f"bulk:{number}", "text": f"row number{number}"}) for number in range(1200)]
    rows[700] = '{"collection": "messages"}'
    rows[900] = "[" * 100_000
    rows[1100] = json.dumps({"collection": "a b", "bucket": "b", "object": "o", "text": "t"})
    found = client.post("/v1/bulk", content="\n".join(rows)).json()
    assert (found["pushed"], found["refused"]) == (1197, 3)
    assert [row["row"] for row in found["first_refused"]] == [701, 901, 1101]
    reasons = [row["reason"] for row in found["first_refused"]]
    assert reasons[0] == "the line is no JSON object with collection, bucket, object, text"
    assert reasons[1].startswith("the line is no JSON object: ")
    assert "a b" in reasons[2]
    assert index.query("messages", "default", "number1199") == ["bulk:1199"]
    long = client.post("/v1/bulk", content="x" * (512 << 10))
    assert long.status_code == 400
    assert long.json()["detail"] == "a line of the body has more than 262144 bytes"


def test_bytes_that_are_not_utf8_are_named_by_line_and_byte(client: TestClient) -> None:
    row = json.dumps({**SCOPE, "object": "o", "text": "é" * 2_000}, ensure_ascii=False).encode()
    for wrong in (b'{"collection": "\xff"}', b'{"text": "\xc3\xa9----\xff"}'):
        found = client.post("/v1/bulk", content=b"\n".join((row, b"", wrong))).json()
        assert found["first_refused"] == [{"row": 2, "reason": "the line is not UTF-8 at byte 17"}]
        answer = client.post("/v1/push", content=wrong, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["detail"]) == (422, "the body is not UTF-8 at byte 17")


MARK = b"\xef\xbb\xbf"


def test_bodies_may_begin_with_the_mark_of_utf8(index: sonicpy.Index, client: TestClient) -> None:
    """A body may begin with the byte order mark, as files for `sonicpy import` may."""
    body = json.dumps({**SCOPE, "object": "marked", "text": "programs of windows"}).encode()
    assert client.post("/v1/push", content=MARK + body, headers=JSON).json() == {"done": True}
    long = json.dumps({**SCOPE, "object": "long", "text": "windows " * 1_000}).encode()
    assert client.post("/v1/push", content=MARK + long, headers=JSON).json() == {"done": True}
    rows = MARK + body.replace(b"marked", b"first") + b"\n" + body.replace(b"marked", b"second")
    assert client.post("/v1/bulk", content=rows).json()["pushed"] == 2
    assert client.post("/v1/bulk", content=iter([rows[:1], rows[1:2], rows[2:]])).json()["pushed"] == 2
    assert client.post("/v1/bulk", content=MARK + b"\n" + body).json()["pushed"] == 1
    assert client.post("/v1/query", content=MARK + json.dumps({**SCOPE, "text": "windows"}).encode(), headers=JSON)
    assert sorted(index.query("messages", "default", "windows")) == ["first", "long", "marked", "second"]
    wrong = client.post("/v1/push", content=MARK + b'{"text": "\xff"}', headers=JSON)
    assert wrong.json()["detail"] == "the body is not UTF-8 at byte 14"


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


EXACT = "allowed are strings and whole numbers, those above 2**53 as digits alone"


@pytest.mark.parametrize(
    ("path", "wrong", "says"),
    [
        ("push", {"object": True}, "object is true; allowed are strings and whole numbers"),
        ("push", {"object": 3.5}, "object is 3.5; allowed are strings and whole numbers"),
        ("push", {"object": ["x"]}, "object is ['x']; allowed are strings and whole numbers"),
        ("pop", {"object": None}, "object is null; allowed are strings and whole numbers"),
        ("flush", {"object": False}, "object is false; allowed are strings and whole numbers"),
        ("push", {"object": 1e300}, f"object is 1e+300; {EXACT}"),
        ("flush", {"object": -1e17}, f"object is -1e+17; {EXACT}"),
        ("push", {"text": None}, "text is null; allowed are strings"),
        ("query", {"limit": 1.5}, "limit is 1.5; allowed are whole numbers"),
        ("query", {"match": "most"}, "match is 'most'; allowed are all, any, auto"),
        ("query", {"meaning": "x"}, "meaning is 'x'; allowed are numbers"),
        ("push", {"tags": "red"}, "tags is 'red'; allowed are lists"),
        ("push", {"tags": ["red", 1]}, "tags[1] is 1; allowed are strings"),
        ("push", {"values": {"price": 1.5}}, "values.price is 1.5; allowed are whole numbers"),
    ],
)
def test_a_wrong_value_is_a_sentence(client: TestClient, path: str, wrong: dict[str, Any], says: str) -> None:
    body: dict[str, Any] = {**SCOPE, "object": "o", "text": "x"}
    body = {key: body[key] for key in body if (path, key) not in (("query", "object"), ("flush", "text"))}
    answer = client.post(f"/v1/{path}", json={**body, **wrong})
    assert (answer.status_code, answer.json()["detail"]) == (422, says)


def test_what_utf8_and_paths_cannot_hold(client: TestClient) -> None:
    half = '{"collection": "c", "bucket": "b", "object": "o", "text": "\\ud800"}'
    answer = client.post("/v1/push", content=half, headers={"Content-Type": "application/json"})
    assert answer.json()["detail"] == "text is no Unicode text: it holds half of a surrogate pair"
    answer = client.post("/v1/backup", json={"folder": "a\0b"})
    assert answer.json()["detail"] == "folder is 'a\\x00b'; allowed are texts without the character NUL"


def test_a_whole_float_names_an_object_as_in_the_library(index: sonicpy.Index, client: TestClient) -> None:
    assert client.post("/v1/push", json={**SCOPE, "object": 7.0, "text": "seven"}).status_code == 200
    assert index.exists("messages", "default", "7")
    for exact in (2.0**53, 2**53 + 1, 10**30):
        assert client.post("/v1/push", json={**SCOPE, "object": exact, "text": "many"}).status_code == 200
        assert index.exists("messages", "default", str(int(exact)))


def test_head_is_get_without_the_content(client: TestClient) -> None:
    for path, parameters in (("/health", {}), ("/", {}), ("/v1/query", {**SCOPE, "text": "weather"})):
        whole = client.get(path, params=parameters)
        answer = client.head(path, params=parameters)
        assert (answer.status_code, answer.content) == (200, b"")
        assert {**answer.headers, "x-request-id": ""} == {**whole.headers, "x-request-id": ""}
    assert client.head("/v1/nothing").status_code == 404
    assert client.head("/v1/push").status_code == 405


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


def test_an_answer_that_did_not_change_is_not_sent_again(index: sonicpy.Index, client: TestClient) -> None:
    asked = {"params": {**SCOPE, "text": "weather"}}
    first = client.get("/v1/query", **asked)
    again = client.get("/v1/query", **asked, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    index.push("messages", "default", "message:4", "weather weather")
    later = client.get("/v1/query", **asked, headers={"If-None-Match": first.headers["etag"]})
    assert later.status_code == 200
    assert len(later.json()["hits"]) == 3


def test_long_answers_are_compressed(index: sonicpy.Index, client: TestClient) -> None:
    with index.batch():
        for number in range(500):
            index.push("messages", "default", f"object:{number}", "common")
    with client.stream("GET", "/v1/objects", params={**SCOPE, "limit": 500}) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        assert len(json.loads(gzip.decompress(b"".join(answer.iter_raw())))["names"]) == 500
    asked = {"params": {**SCOPE, "text": "common", "limit": 100}}
    first = client.get("/v1/query", **asked)
    assert first.headers["content-encoding"] == "gzip"
    assert len(first.json()["hits"]) == 100
    known = {"If-None-Match": first.headers["etag"]}
    for more in ({}, {"Accept-Encoding": "identity"}):
        assert client.get("/v1/query", **asked, headers={**known, **more}).status_code == 304


def test_an_answer_is_not_compressed_for_whom_says_so(client: TestClient) -> None:
    for refused in ("gzip;q=0", "deflate, GZIP ; q=0.000, br"):
        answer = client.get("/openapi.json", headers={"Accept-Encoding": refused})
        assert "content-encoding" not in answer.headers
    assert "content-encoding" in client.get("/openapi.json", headers={"Accept-Encoding": "gzip;q=0.5"}).headers


def test_a_password_is_asked_for_and_the_page_is_not(index: sonicpy.Index) -> None:
    client = TestClient(app(index, password=PASSWORD))
    for headers, says in (({}, "missing"), ({"Authorization": "Bearer secre"}, "wrong"),
                          ({"Authorization": "Bearer secrett"}, "wrong"),
                          ({"Authorization": f"Basic {PASSWORD}"}, "missing: send it as")):  # fmt: skip
        answer = client.get("/v1/collections", headers=headers)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert says in answer.json()["detail"]
    assert client.get("/v1/collections", headers=BEARER).status_code == 200
    for path in ("/", "/page/main.js", "/health"):
        assert client.get(path).status_code == 200
    for path in ("/openapi.json", "/v1/figures", "/page/../v1/stats"):
        assert client.get(path).status_code == 401


def test_a_read_only_address_changes_nothing(index: sonicpy.Index) -> None:
    client = TestClient(app(index, read_only=True))
    for verb in ("push", "pop", "flush", "bulk", "consolidate", "backup", "restore"):
        assert client.post(f"/v1/{verb}", json={}).status_code == 403
    answer = client.post("/v1/nothing")
    assert (answer.status_code, answer.json()["detail"]) == (403, "this address is read-only")
    assert client.post("/v1/query", json={**SCOPE, "text": "weather"}).status_code == 200


def test_pages_of_other_origins_may_ask_where_allowed(index: sonicpy.Index) -> None:
    client = TestClient(app(index, password=PASSWORD, origins=["https://example.com"]))
    ask = {"Origin": "https://example.com", "Access-Control-Request-Method": "GET",
           "Access-Control-Request-Headers": "authorization"}  # fmt: skip
    assert client.options("/v1/query", headers=ask).headers["access-control-allow-origin"] == "https://example.com"
    assert client.options("/v1/query", headers={**ask, "Origin": "https://evil.example"}).status_code == 400
    assert "access-control-allow-origin" not in TestClient(app(index)).get("/health", headers=ask).headers


def test_pages_of_other_origins_change_nothing(index: sonicpy.Index) -> None:
    row = json.dumps({**SCOPE, "object": "o", "text": "forged"})
    for origins, origin, status in (
        ((), "https://evil.example", 403),
        ((), "null", 403),
        ((), "http://testserver", 200),
        (["https://a.example"], "https://a.example", 200),
        ("*", "https://b.example", 200),
    ):
        client = TestClient(app(index, origins=origins))
        headers = {"Origin": origin, "Content-Type": "text/plain"}
        assert client.post("/v1/bulk", content=row, headers=headers).status_code == status
        assert client.get("/v1/collections", headers=headers).status_code == 200


def test_headers_protect_the_page(client: TestClient) -> None:
    headers = client.get("/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert "set-cookie" not in headers


def test_it_can_be_mounted(index: sonicpy.Index) -> None:
    fastapi = pytest.importorskip("fastapi")
    outer = fastapi.FastAPI()
    outer.mount("/search", app(index, password=PASSWORD))
    client = TestClient(outer)
    assert client.get("/search/v1/collections", headers=BEARER).json() == {"names": ["messages"]}
    assert client.get("/search/v1/collections").status_code == 401
    assert "page/main.js" in client.get("/search/").text
    assert client.get("/search/page/main.js").status_code == 200


def test_something_else_cannot_be_served() -> None:
    with pytest.raises(TypeError, match="an Index or an AsyncClient, not str"):
        app("./data")


def test_the_schema_names_every_operation(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()
    assert schema["openapi"].startswith("3.1")
    operations = [operation for path in schema["paths"].values() for operation in path.values()]
    assert all("422" in operation["responses"] and operation["description"] for operation in operations)
    text = json.dumps(schema)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in schema["components"]["schemas"]


REFUSED = [
    ("/v1/query", {"text": "x", "after": "o"}),
    ("/v1/query", {"text": "x", "phrase": "a b"}),
    ("/v1/query", {"text": "x", "filter": "a AND"}),
    ("/v1/suggest", {"word": "!!!"}),
    ("/v1/objects", {"after": "gone"}),
]


def test_a_client_of_a_server_is_served_too(index: sonicpy.Index, client: TestClient, tmp_path: Path) -> None:
    async def ask(port: int) -> list[Any]:
        async with await sonicpy.connect_async(f"sonic://{HOST}:{port}") as client:
            transport = httpx.ASGITransport(app=app(client))
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as http:
                body = {**SCOPE, "object": "o", "text": "over the wire"}
                rows = "\n".join(json.dumps({**body, "object": f"o{number}"}) for number in range(5))
                answers = [
                    await http.post("/v1/push", json=body),
                    await http.post("/v1/bulk", content=rows),
                    await http.get("/v1/query", params={**SCOPE, "text": "wire"}),
                    await http.get("/v1/figures"),
                    await http.get("/health"),
                ]
                answers += [await http.get(path, params={**SCOPE, **wrong}) for path, wrong in REFUSED]
                answers.append(await http.post("/v1/backup", json={"folder": "/proc/nowhere"}))
                return [answer.json() for answer in answers]

    with Server(tmp_path) as server:
        pushed, bulk, found, figures, health, *refused, failed = asyncio.run(ask(server.port))
    for (path, wrong), answer in zip(REFUSED, refused, strict=True):  # the same sentences as without a server between
        twin = client.get(path, params={**SCOPE, **wrong}).json()
        assert (answer.get("status"), answer.get("detail")) == (twin["status"], twin["detail"]), (path, wrong)
    assert (failed["status"], failed["detail"]) == (500, "the server failed; its log has the reason")
    assert pushed == {"done": True}
    assert bulk["pushed"] == 5
    assert len(found["hits"]) == 6
    assert figures["info"]["clients_connected"] >= 1
    assert health == {"status": "ok"}


def test_a_text_replaces(index: sonicpy.Index, client: TestClient) -> None:
    body = {**SCOPE, "object": "message:1", "text": " Rain\nin Nantes ", "lang": "en"}
    assert client.post("/v1/upsert", json=body).json() == {"done": True}
    assert index.query("messages", "default", "weather") == ["message:2"]
    digest = index.digest("messages", "default", "message:1", "Rain in Nantes", "en")
    assert index.digests("messages", "default", ["message:1"]) == [digest]
    lines = "\n".join(json.dumps({**SCOPE, "object": f"message:{number}", "text": "Snow"}) for number in (1, 2, 3))
    answer = client.post("/v1/bulk?upsert=true", content=lines).json()
    assert (answer["pushed"], answer["refused"]) == (3, 0)
    assert index.query("messages", "default", "rain") == []
    assert sorted(index.query("messages", "default", "snow")) == ["message:1", "message:2", "message:3"]
    assert client.post("/v1/bulk", content=lines.replace("Snow", "Ice")).json()["pushed"] == 3
    assert len(index.query("messages", "default", "snow ice")) == 3


def test_bulk_takes_the_fields_that_push_takes(index: sonicpy.Index, client: TestClient) -> None:
    rows = [
        {**SCOPE, "object": "o1", "text": "Java", "field": "title", "tags": ["red"]},
        {**SCOPE, "object": "o2", "text": {"title": "Ruby", "": "A stone"}, "values": {"price": 3}},
        {**SCOPE, "object": "o3", "text": "Java stone"},
        {**SCOPE, "object": "o4", "text": "x", "field": "no name"},
    ]
    for path, ways, kept in (("/v1/push", "/v1/bulk", (0, 2)), ("/v1/upsert", "/v1/bulk?upsert=true", (0, 1, 2))):
        held = []
        for together in (False, True):
            index.flush("messages")
            if together:
                answer = client.post(ways, content="\n".join(map(json.dumps, rows))).json()
                assert (answer["pushed"], answer["refused"]) == (len(kept), 4 - len(kept))
                assert "no name" in answer["first_refused"][-1]["reason"]
            else:
                statuses = [client.post(path, json=row).status_code for row in rows]
                assert [place for place, status in enumerate(statuses) if status == 200] == list(kept)
            held.append([*index.holdings()])
        assert held[0] == held[1]
        assert held[0][0].fields["texts"].keys() == {"title"}
    answer = client.post("/v1/bulk", content=json.dumps({**rows[0], "field": ["title"]})).json()
    assert answer["first_refused"][0]["reason"] == "field is of type list; allowed is a str"


def test_synonyms(index: sonicpy.Index, client: TestClient) -> None:
    rules = ["climate => weather", "lisboa, lisbon"]
    assert client.post("/v1/synonyms", json={"collection": "messages", "rules": rules[:1]}).json() == {"rules": 1}
    more = {"collection": "messages", "rules": rules[1:], "add": True}
    assert client.post("/v1/synonyms", json=more).json() == {"rules": 2}
    assert client.get("/v1/synonyms", params={"collection": "messages"}).json() == {"rules": rules}
    found = client.get("/v1/query", params={**SCOPE, "text": "climate lisboa", "limit": 1, "how": True}).json()
    assert [(word["how"], word["word"]) for word in found["hits"][0]["how"]] == [
        ("synonym", "weather"),
        ("synonym", "lisbon"),
    ]
    assert client.post("/v1/synonyms", json={"collection": "messages", "rules": ["alone"]}).status_code == 400
    assert index.synonyms("messages") == rules
