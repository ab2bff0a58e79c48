"""HTTP and JSON over an index in this process and over a client: answers, caching, passwords."""

import asyncio
import gzip
import json
import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.processes import HOST, Server

httpx = pytest.importorskip("httpx", reason="needs httpx")
pytest.importorskip("fastapi", reason="needs the extra [http]")
from starlette.testclient import TestClient  # noqa: E402

import sonicpy  # noqa: E402
from sonicpy.http import app  # noqa: E402
from sonicpy.http.backend import IndexBackend, TextRow  # noqa: E402
from sonicpy.http.bulk import push_stream  # noqa: E402

PASSWORD = "secret"
BEARER = {"Authorization": f"Bearer {PASSWORD}"}
SCOPE = {"collection": "messages", "bucket": "default"}
JSON = {"Content-Type": "application/json"}


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


@pytest.mark.parametrize("refusal", ["invalid_argument", "internal_error"])
def test_titles_come_without_marks_where_nothing_is_explained(index: sonicpy.Index, refusal: str) -> None:
    class Spread(IndexBackend):
        """A backend that refuses EXPLAIN, as a node does for a bucket that is spread."""

        async def call(self, method: str, *args: Any, **options: Any) -> Any:
            if method == "explain":
                raise sonicpy.CommandError(refusal)
            return await super().call(method, *args, **options)

    def shown(collection: str, bucket: str, objects: list[str]) -> dict[str, dict[str, str]]:
        return {"message:1": {"title": "Hello <b>Nantes</b>"}}

    asked = {**SCOPE, "text": "nantes", "marked": True}
    answer = TestClient(app(Spread(index), hits=shown), raise_server_exceptions=False).get("/v1/search", params=asked)
    if refusal == "internal_error":
        assert answer.status_code == 500
        return
    found = answer.json()
    assert [hit["object"] for hit in found["hits"]] == ["message:1"]
    assert found["shown"][0]["title"] == "Hello &lt;b&gt;Nantes&lt;/b&gt;"


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


def test_the_first_refused_rows_of_bulk_are_named(client: TestClient) -> None:
    valid, wrong, no_row = ({**SCOPE, "bucket": bucket, "object": "o", "text": "t"} for bucket in ("b", "a b", ""))
    rows = [*([json.dumps(wrong)] * 150), *(["no JSON"] * 100), json.dumps(valid), *([json.dumps(no_row)] * 3)]
    found = client.post("/v1/bulk", content="\n".join(rows)).json()
    assert (found["pushed"], found["refused"]) == (1, 253)
    assert [row["row"] for row in found["first_refused"]] == list(range(1, 101))


def test_a_number_that_python_does_not_read_refuses_its_row(client: TestClient) -> None:
    many = "1" * 5_000
    row = f'{{"collection": "c", "bucket": "b", "object": "o", "text": "t", "vector": [{many}]}}'
    found = client.post("/v1/bulk", content="\n".join([row, json.dumps({**SCOPE, "object": 1, "text": "t"})])).json()
    assert (found["pushed"], found["refused"]) == (1, 1)
    reason = "the line is no JSON object: a number has too many digits at character "
    assert found["first_refused"][0]["reason"].startswith(reason)
    for path in ("/v1/push", "/v1/query"):
        answer = client.post(path, content=row, headers={"Content-Type": "application/json"})
        assert (answer.status_code, "too many digits" in answer.text) == (422, True)


def test_few_long_lines_of_bulk_do_not_wait(index: sonicpy.Index, monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[int] = []
    push_rows = IndexBackend.push_rows

    async def push(backend: IndexBackend, rows: Sequence[TextRow], *, upsert: bool) -> list[tuple[int, str]]:
        handed.append(len(rows))
        return await push_rows(backend, rows, upsert=upsert)

    async def parts() -> AsyncIterator[bytes]:
        for number in range(40):
            row = {**SCOPE, "object": number, "text": f"long{number}" + " " * 200_000}
            yield json.dumps(row).encode() + b"\n"

    monkeypatch.setattr(IndexBackend, "push_rows", push)
    assert asyncio.run(push_stream(IndexBackend(index), parts())).pushed == 40
    assert max(handed) * 200_000 <= 1_400_000
    assert index.query("messages", "default", "long39") == ["39"]


def test_a_line_of_bulk_that_is_too_long_is_one_refused_row(index: sonicpy.Index) -> None:
    row = json.dumps({**SCOPE, "object": "o%d", "text": "row%d" + " " * 200}).encode()
    longest = 256 << 10
    lines = [row.replace(b"%d", str(number).encode()) for number in range(8)]
    lines[2] = lines[2].ljust(longest)
    lines[3] = lines[3].ljust(longest + 1)
    lines[5] = b" " * (longest + 1)
    lines[7] = b"x" * (3 * longest)
    body = b"\n".join(lines)
    for size in (len(body), longest, 65536, 997):

        async def parts(size: int = size) -> AsyncIterator[bytes]:
            for start in range(0, len(body), size):
                yield body[start : start + size]

        found = asyncio.run(push_stream(IndexBackend(index), parts()))
        assert found.pushed == 5
        assert [refused.model_dump() for refused in found.first_refused] == [
            {"row": number, "reason": "the line has more than 262144 bytes"} for number in (4, 6, 8)
        ]
    assert index.query("messages", "default", "row6") == ["o6"]
    assert index.query("messages", "default", "row3") == []


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


def test_a_whole_float_names_an_object_as_in_the_library(index: sonicpy.Index, client: TestClient) -> None:
    assert client.post("/v1/push", json={**SCOPE, "object": 7.0, "text": "seven"}).status_code == 200
    assert index.exists("messages", "default", "7")
    for exact in (2.0**53 - 1, 2**53 + 1, 10**30):
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


KEYS = ("words", "hits", "names")
"""The keys of the lists of items in answers."""
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


def test_fewer_words_are_suggested_where_the_server_refuses_more(tmp_path: Path) -> None:
    async def ask(port: int) -> list[int]:
        async with await sonicpy.connect_async(f"sonic://{HOST}:{port}") as client:
            await client.push("messages", "default", "o", " ".join(f"word{number}" for number in range(30)))
            transport = httpx.ASGITransport(app=app(client))
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as http:
                asked = [{**SCOPE, "text": "wor", "suggestions": number} for number in (0, 1, 12, 13, 1000)]
                answers = [await http.get("/v1/search", params=one) for one in asked]
                return [len(answer.json()["suggestions"]) for answer in answers]

    with Server(tmp_path, {"channel.search.suggest_limit_maximum": "12"}) as server:
        assert asyncio.run(ask(server.port)) == [0, 1, 12, 6, 10]


def test_limits_above_those_of_the_server(tmp_path: Path) -> None:
    """Every limit up to 1,000 is answered over a client, with as many items as the server gives."""
    paths = [("suggest", {"word": "wor"}), ("facets", {"of": "*"}), ("explain", {"text": "all"}),
             ("query", {"text": "all"}), ("similar", {"object": "o0"}), ("words", {}), ("objects", {})]  # fmt: skip

    def number(found: dict[str, Any]) -> int:
        return len(found["tags"][""] if "tags" in found else next(found[key] for key in KEYS if key in found))

    async def ask(port: int, limits: Sequence[int]) -> list[list[int]]:
        async with await sonicpy.connect_async(f"sonic://{HOST}:{port}") as client:
            for place in range(30):
                text = f"all word{place} same{place // 4}"
                await client.push("messages", "default", f"o{place}", text, tags=[f"t{place}"])
            transport = httpx.ASGITransport(app=app(client))
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as http:
                answers = []
                for path, given in paths:
                    asked = [{**SCOPE, **given, "limit": limit} for limit in limits]
                    answers.append([number((await http.get(f"/v1/{path}", params=one)).json()) for one in asked])
                counted = await http.get("/v1/query", params={**SCOPE, "text": "all", "of": "*"})
                assert counted.json()["facets"]["total"] == 30
                return answers

    with Server(tmp_path / "usual") as server:
        usual = asyncio.run(ask(server.port, (0, 20, 21, 101, 501, 1000)))
    assert usual[0] == [0, 20, 20, 20, 20, 20]
    assert usual[1] == usual[3] == usual[6] == [0, 20, 21, 30, 30, 30]
    assert usual[2][0] == 0 and usual[2][-1] == usual[2][-2] >= 10
    settings = ("query", "suggest", "list")
    with Server(tmp_path / "few", {f"channel.search.{name}_limit_maximum": "7" for name in settings}) as server:
        few = asyncio.run(ask(server.port, (0, 7, 8, 1000)))
    assert few[0] == [0, 7, 4, 5] and few[1] == [0, 7, 4, 7]
    assert few[3] == few[6] == [0, 7, 8, 30]


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


def test_as_many_synonyms_are_taken_as_a_collection_may_have(index: sonicpy.Index, client: TestClient) -> None:
    body = {"collection": "messages", "rules": [f"w{number}, v{number}" for number in range(10_000)]}
    assert client.post("/v1/synonyms", json=body).json() == {"rules": 10_000}
    assert index.synonyms("messages") == body["rules"]
    refused = client.post("/v1/synonyms", json={**body, "rules": [*body["rules"], "one, more"]})
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith("rules is too long; allowed are lists of at most 10000")


def test_vectors_by_column_may_be_long_lists_of_numbers(client: TestClient) -> None:
    some = random.Random(1)
    scope = {"collection": "c", "bucket": "b"}
    rows = {name: {"model": [some.uniform(-1, 1) for _ in range(384)]} for name in ("push", "upsert", "bulk")}
    for name, vector in rows.items():
        body = {**scope, "object": name, "text": "boat", "vector": vector}
        answer = client.post(f"/v1/{name}", content=json.dumps(body), headers=JSON)
        assert answer.status_code == 200, answer.text
        assert answer.json().get("pushed", 1) == 1, answer.text
    for name, vector in rows.items():
        body = {**scope, "text": "boat", "vector": vector}
        answer = client.post("/v1/query", json=body).json()
        assert answer["hits"][0]["object"] == name, answer
