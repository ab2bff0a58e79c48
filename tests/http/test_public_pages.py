"""Pages of other sites that hold a token: origins, caches, and the modules that they load."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="needs httpx")
pytest.importorskip("fastapi", reason="needs the extra [http]")
from starlette.testclient import TestClient  # noqa: E402

import sonicpy  # noqa: E402
from sonicpy.access.admission import Keys  # noqa: E402
from sonicpy.access.key_store import KeyStore  # noqa: E402
from sonicpy.http import app  # noqa: E402
from sonicpy.http.access import KIT_FILES  # noqa: E402
from tests.access.test_keys import SECRET, added, token  # noqa: E402

PAGE = {"Origin": "https://shop.example"}
ASKED = {"collection": "shop", "bucket": "default", "text": "lamp"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """Yield a client of a public address with a key."""
    store = KeyStore(tmp_path)
    added(store, scopes=["shop"], verbs=["query"], rate=100)
    with sonicpy.open(":memory:") as index:
        index.push("shop", "default", "p1", "a green lamp")
        served = app(
            index, password="password", keys=Keys([store], SECRET), read_only=True, origins=[PAGE["Origin"]], page=False
        )
        yield TestClient(served)


def vary(headers: "dict[str, str]") -> set[str]:
    return {name.strip().lower() for name in headers.get("vary", "").split(",")}


def test_a_page_of_an_origin_may_ask_with_a_token(client: TestClient) -> None:
    preflight = client.options(
        "/v1/query",
        headers={**PAGE, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"},
    )
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == PAGE["Origin"]
    answer = client.get("/v1/query", params=ASKED, headers={**PAGE, "Authorization": f"Bearer {token()}"})
    assert [hit["object"] for hit in answer.json()["hits"]] == ["p1"]
    assert answer.headers["access-control-allow-origin"] == PAGE["Origin"]
    assert "access-control-allow-credentials" not in answer.headers
    other = client.get("/v1/query", params=ASKED, headers={"Origin": "https://other.example"})
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("origin", [PAGE["Origin"], "https://other.example", None])
@pytest.mark.parametrize("asked", [{"Access-Control-Request-Method": "GET"}, {}])
def test_every_answer_to_options_has_one_id(client: TestClient, origin: str | None, asked: dict[str, str]) -> None:
    headers = {**asked, "X-Request-ID": "mine:1", **({} if origin is None else {"Origin": origin})}
    answer = client.options("/v1/query", headers=headers)
    assert answer.headers.get_list("x-request-id") == ["mine:1"]
    assert answer.headers.get_list("x-content-type-options") == ["nosniff"]


def test_answers_to_secrets_are_private(client: TestClient) -> None:
    secret, scope = {"Authorization": f"Bearer {token()}"}, {"collection": "shop", "bucket": "default"}
    for path, status in (("/v1/query", 200), ("/v1/words", 403), ("/v1/nothing", 404)):
        answer = client.get(path, params=ASKED if status == 200 else scope, headers=secret)
        assert answer.status_code == status
        assert answer.headers.get_list("cache-control") == ["private, no-cache"]
        assert {"authorization", "origin"} <= vary(dict(answer.headers))
    first = client.get("/v1/query", params=ASKED, headers=secret)
    again = client.get("/v1/query", params=ASKED, headers={**secret, "If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert again.headers["cache-control"] == "private, no-cache"
    assert client.get("/v1/query", params=ASKED, headers={"If-None-Match": first.headers["etag"]}).status_code == 401
    assert client.post("/v1/push", json={**ASKED, "object": "p2"}, headers=secret).status_code == 403


def test_caches_keep_answers_to_pages_apart(client: TestClient) -> None:
    for headers in ({}, PAGE):
        answer = client.get("/health", headers=headers)
        assert answer.headers["cache-control"] == "no-cache"
        assert "origin" in vary(dict(answer.headers))
        assert ",".join(answer.headers.get_list("vary")).lower().count("origin") == 1


def test_modules_are_open_to_pages(client: TestClient) -> None:
    for name in KIT_FILES:
        answer = client.get(f"/{name}", headers=PAGE)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.headers["access-control-allow-origin"] == PAGE["Origin"]
        assert client.get(f"/{name}", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304


def test_a_request_counts_once_for_the_rate(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    added(store, scopes=["shop"], verbs=["query", "suggest"], rate=3)
    with sonicpy.open(":memory:") as index:
        index.push("shop", "default", "p1", "a green lamp")
        client = TestClient(app(index, password="password", keys=Keys([store], SECRET)))
        headers = {"Authorization": f"Bearer {token()}"}
        answers = [client.get("/v1/search", params=ASKED, headers=headers) for _ in range(5)]
    found = [answer.status_code for answer in answers]
    assert found[:3] == [200, 200, 200]
    assert 429 in found
    assert {answer.headers.get("retry-after") for answer in answers if answer.status_code == 429} == {"1"}


def test_marks_need_no_verb_but_query_and_show_no_explanation(tmp_path: Path) -> None:
    def shown(collection: str, bucket: str, objects: list[str]) -> dict[str, dict[str, str]]:
        return {name: {"title": f"{name}: green lamp"} for name in objects}

    store = KeyStore(tmp_path)
    added(store, scopes=["shop"], verbs=["query"], filter="lit")
    with sonicpy.open(":memory:") as index:
        index.push("shop", "default", "p1", "a green lamp", tags=["lit"])
        index.push("shop", "default", "p2", "a green lampshade", tags=["dark"])
        client = TestClient(app(index, password="password", keys=Keys([store], SECRET), hits=shown))
        headers = {"Authorization": f"Bearer {token()}"}
        found = client.get("/v1/search", params={**ASKED, "marked": True}, headers=headers).json()
        assert [each["title"] for each in found["shown"]] == ["p1: green <mark>lamp</mark>"]
        assert [each["words"] for each in found["shown"]] == [[]]
        assert "lampshade" not in str(found)
        assert client.get("/v1/explain", params=ASKED, headers=headers).status_code == 403
