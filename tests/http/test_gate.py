"""The gate: the answers of a read-only address, the requests that need a password, and the accepted host names."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

pytest.importorskip("httpx", reason="needs httpx")
pytest.importorskip("fastapi", reason="needs the extra [http]")
from starlette.testclient import TestClient  # noqa: E402
from starlette.websockets import WebSocketDisconnect  # noqa: E402

import sonicpy  # noqa: E402
from sonicpy.http import app, application, bodies  # noqa: E402
from sonicpy.http.models import DoneJson  # noqa: E402
from sonicpy.http.routes import Operation  # noqa: E402

PASSWORD = "secret"
BEARER = {"Authorization": f"Bearer {PASSWORD}"}
SCOPE = {"collection": "messages", "bucket": "default"}
CHANGES = {
    ("POST", "/v1/push"), ("POST", "/v1/pop"), ("POST", "/v1/flush"), ("POST", "/v1/bulk"),
    ("POST", "/v1/tag"), ("POST", "/v1/upsert"), ("POST", "/v1/synonyms"),
    ("POST", "/v1/consolidate"), ("POST", "/v1/backup"), ("POST", "/v1/restore"),
}  # fmt: skip
READS = {
    ("GET", "/health"), ("GET", "/v1/query"), ("POST", "/v1/query"), ("GET", "/v1/search"), ("GET", "/v1/similar"),
    ("GET", "/v1/suggest"),
    ("GET", "/v1/explain"), ("GET", "/v1/words"), ("GET", "/v1/objects"), ("GET", "/v1/buckets"),
    ("GET", "/v1/about"), ("GET", "/v1/collections"), ("GET", "/v1/count"), ("GET", "/v1/exists"), ("GET", "/v1/stats"),
    ("GET", "/v1/figures"), ("GET", "/v1/facets"), ("POST", "/v1/verify"),
    ("POST", "/v1/query/many"), ("GET", "/v1/synonyms"),
}  # fmt: skip
BODIES: dict[str, dict[str, Any]] = {
    "/v1/push": {**SCOPE, "object": "o", "text": "forged"},
    "/v1/pop": {**SCOPE, "object": "message:1", "text": "weather"},
    "/v1/tag": {**SCOPE, "object": "message:1", "tags": ["forged"]},
    "/v1/upsert": {**SCOPE, "object": "message:1", "text": "forged"},
    "/v1/synonyms": {"collection": "messages", "rules": ["forged, weather"]},
    "/v1/flush": {"collection": "messages"},
    "/v1/bulk": {**SCOPE, "object": "o", "text": "forged"},
}


@pytest.fixture
def index() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:") as opened:
        opened.push("messages", "default", "message:1", "Hello from Nantes, how is the weather?")
        yield opened


class Answer(NamedTuple):
    """A status, and the headers that explain it."""

    status: int
    detail: str


async def asked(
    served: Any, method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes = b"", root: str = ""
) -> Answer:
    """Return the answer to a request that is passed directly to the application, because a client would normalize
    it.
    """
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": path, "root_path": root, "query_string": b"",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    await served(scope, receive, send)
    said = b"".join(message["body"] for message in sent[1:])
    is_problem = (b"content-type", b"application/problem+json") in sent[0]["headers"]
    return Answer(int(sent[0]["status"]), json.loads(said)["detail"] if said and is_problem else "")


def host_headers(*hosts: str) -> list[tuple[str, str]]:
    return [("host", host) for host in hosts]


def test_every_operation_is_classified_and_a_read_only_address_refuses_the_changes(index: sonicpy.Index) -> None:
    client = TestClient(app(index, read_only=True))
    paths = client.get("/openapi.json").json()["paths"]
    operations = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert operations == READS | CHANGES, "an operation is added to one of the two lists of this test"
    for method, path in operations:
        answer = client.request(method, path, json=BODIES.get(path))
        assert (answer.status_code == 403) == ((method, path) in CHANGES), path
    assert index.query("messages", "default", "weather") == ["message:1"]


def spellings(path: str) -> list[str]:
    head, _, verb = path.rpartition("/")
    return [
        f"{path}\n", f"{path}\r\n", f"{path}\0", f"{path} ", f"{path}/", f"/{path}", f"{head}//{verb}", path.upper(),
        f"{head}/./{verb}", f"{head}/query/../{verb}", f"/page/..{path}", f"{path};x", f"{path}%0A", f"{path}?x",
        f"\n{path}", path[1:], f"{head}/\u2025{verb}", f"http://localhost{path}", "*", "",
    ]  # fmt: skip


@pytest.mark.parametrize("root", ["", "/search"])
def test_no_other_spelling_of_a_path_changes_anything(index: sonicpy.Index, root: str) -> None:
    public, locked = app(index, read_only=True), app(index, password=PASSWORD)

    async def ask_all() -> None:
        for _, path in sorted(CHANGES):
            body = json.dumps(BODIES.get(path, {"folder": "/nowhere"})).encode()
            headers = [*host_headers("localhost"), ("content-length", str(len(body)))]
            for spelled in (path, *spellings(path)):
                for method in ("POST", "PUT", "GET", "HEAD", "post"):
                    status, _ = await asked(public, method, root + spelled, headers, body, root)
                    is_read = (
                        method in ("GET", "HEAD") and ("GET", spelled) in READS
                    )  # refused for lack of a collection
                    refused = (422,) if is_read else (404, 405) if method in ("GET", "HEAD") else (403,)
                    assert status in refused, (method, spelled)
                status, _ = await asked(locked, "POST", root + spelled, headers, body, root)
                assert status == 401, spelled

    asyncio.run(ask_all())
    assert index.query("messages", "default", "weather") == ["message:1"]
    assert index.collections() == ["messages"]


def test_a_method_in_a_header_is_none(index: sonicpy.Index) -> None:
    client = TestClient(app(index, read_only=True))
    for name in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
        answer = client.request("GET", "/v1/flush", json=BODIES["/v1/flush"], headers={name: "POST"})
        assert answer.status_code == 405
    assert index.collections() == ["messages"]


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Add three operations that are on no list; return the list that gets their calls."""
    called: list[str] = []
    made = application.search_operations

    async def wipe() -> DoneJson:
        """The handler of an added operation."""
        called.append("wipe")
        return DoneJson()

    async def any_of(verb: str) -> DoneJson:
        """The handler of an added operation whose path matches those of others, too."""
        called.append(verb)
        return DoneJson()

    def more(backend: Any, show: Any) -> list[Operation]:
        added = [Operation("POST", "/v1/{verb}", any_of), Operation("POST", "/v1/wipe", wipe, id="post_wipe")]
        return [*added, *made(backend, show), Operation("GET", "/v1/wipe", wipe)]

    monkeypatch.setattr(application, "search_operations", more)
    return called


def test_an_operation_that_no_list_names_is_a_change(index: sonicpy.Index, grown: list[str]) -> None:
    client = TestClient(app(index, read_only=True))
    assert client.get("/v1/wipe").status_code == client.post("/v1/wipe").status_code == 403
    client = TestClient(app(index, password=PASSWORD))
    assert client.get("/v1/wipe").status_code == 401
    assert grown == []
    assert client.get("/v1/wipe", headers=BEARER).status_code == 200
    assert grown == ["wipe"]


def test_a_route_answers_for_itself_alone(index: sonicpy.Index, grown: list[str]) -> None:
    """The framework takes the first route that matches, which may not be the one for which the gate let the request
    pass.
    """
    client = TestClient(app(index))
    for path in ("/v1/query", "/v1/wipe"):
        answer = client.post(path, json={**SCOPE, "text": "weather"})
        assert (answer.status_code, answer.json()["detail"]) == (403, "/v1/{verb} was not requested by its own path")
    assert client.post("/v1/{verb}").status_code == 404
    assert grown == []


def test_a_websocket_is_closed(index: sonicpy.Index) -> None:
    with pytest.raises(WebSocketDisconnect), TestClient(app(index)).websocket_connect("/v1/query"):
        pass


OURS = [
    "localhost", "localhost:8491", "LocalHost", "localhost.", "localhost:", "127.0.0.1", "127.0.0.1:1", "10.1.2.3:8491",
    "[::1]", "[::1]:8491", "[2001:DB8::1]", "[::ffff:127.0.0.1]", "search.example.com", "SEARCH.example.com.:443",
]  # fmt: skip
FOREIGN = [
    "evil.example", "evil.example:8491", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example.", "search",
    "a.search.example.com", "search.example.com.evil", "localhost@evil.example", "evil.example@localhost", "localhost,",
    "localhost, evil.example", "localhost evil", "localhost:80:80", "localhost:http", "localhost:8491/", "localhost..",
    "::1", "[::1", "::1]", "[::1]x", "[localhost]", "[::1%lo]", "[]", "127.1", "0x7f.0.0.1", "2130706433", "127.0.0.01",
    "127.0.0.1.", "1.2.3", "", ".", ":", ":80", "http://localhost", "local\u00ADhost", "\u00b2.0.0.1",
    "localhost\t\u00a0",
]  # fmt: skip


HOSTS = ["Search.Example.com"]


def test_hosts_that_are_answered(index: sonicpy.Index) -> None:
    served = app(index, hosts=HOSTS)
    for host in OURS:
        assert asyncio.run(asked(served, "GET", "/v1/collections", host_headers(host))).status == 200, host


def test_a_foreign_host_is_refused_without_a_password(index: sonicpy.Index) -> None:
    served = app(index, hosts=HOSTS, origins="*")
    others = [("GET", "/"), ("GET", "/page/main.js"), ("OPTIONS", "/v1/push"), ("GET", "/health/"), ("GET", "/v1/no")]

    async def ask_all() -> None:
        for place, host in enumerate(FOREIGN):
            headers = [*host_headers(host), ("origin", f"http://{host}"), ("access-control-request-method", "POST")]
            for method, path in sorted(READS | CHANGES) if not place else others:
                status, detail = await asked(served, method, path, headers, json.dumps(BODIES.get(path, {})).encode())
                if path != "/health":
                    assert (status, f"is {host[:60]}; without a password, allowed" in detail) == (403, True), (
                        host,
                        path,
                    )
                    assert "http.hosts" in detail
            for method in ("GET", "HEAD"):
                assert (await asked(served, method, "/health", headers)).status == 200

    asyncio.run(ask_all())
    assert index.query("messages", "default", "weather") == ["message:1"]


def test_a_host_that_is_missing_or_there_twice(index: sonicpy.Index) -> None:
    def ask(served: Any, *hosts: str) -> Answer:
        bearer = ("authorization", BEARER["Authorization"])
        return asyncio.run(asked(served, "GET", "/v1/collections", [*host_headers(*hosts), bearer]))

    twice = (400, "the request has 2 headers Host; allowed is one")
    free, locked = app(index, hosts=[]), app(index, password=PASSWORD, hosts=[])
    assert ask(free).status == 403
    assert ask(free, "localhost", "evil.example") == ask(free, "evil.example", "localhost") == twice
    assert ask(locked, "localhost", "localhost") == twice
    assert ask(locked).status == 200


def test_with_a_password_and_in_another_application_every_host_is_answered(index: sonicpy.Index) -> None:
    foreign = {"Host": "evil.example", "Origin": "http://evil.example"}
    client = TestClient(app(index, password=PASSWORD, hosts=[]))
    assert client.get("/v1/collections", headers=foreign).status_code == 401
    assert client.post("/v1/push", json=BODIES["/v1/push"], headers=foreign).status_code == 401
    assert client.get("/v1/collections", headers={**foreign, **BEARER}).status_code == 200
    assert TestClient(app(index)).get("/v1/collections", headers=foreign).status_code == 200


def test_a_password_that_is_not_utf8(index: sonicpy.Index) -> None:
    """A password in an environment variable may not be UTF-8."""
    served = app(index, password=b"p\xff\xe4".decode(errors="surrogateescape"))
    for sent, status in (("Bearer p\xff\xe4", 200), ("Bearer p\xc3\xbf\xc3\xa4", 401)):
        answer = asyncio.run(asked(served, "GET", "/v1/collections", [("authorization", sent)]))
        assert answer.status == status


@pytest.mark.parametrize("refusal", ["large", "many", "slow"])
def test_the_rest_of_a_refused_body_is_read_before_the_answer_ends(
    index: sonicpy.Index, monkeypatch: pytest.MonkeyPatch, refusal: str
) -> None:
    """A connection that is closed with bytes to read is reset, and the client may lose the answer."""
    monkeypatch.setattr(bodies, "BODY_S", 0.05)
    if refusal == "many":
        monkeypatch.setattr(bodies, "HELD_BYTES_MAX", 100)
    parts, events = [b" " * 200] * 9, list[str]()
    if refusal == "large":
        parts = [b" " * (bodies.BODY_BYTES_MAX // 2)] * 9

    async def receive() -> Any:
        if refusal == "slow" and not events:
            events.append("waited")
            await asyncio.sleep(9)
        events.append("read")
        return {"type": "http.request", "body": parts.pop(), "more_body": bool(parts)}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            events.append(str(message["status"]))
        elif not message.get("more_body", False):
            events.append("end")

    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": "/v1/push", "root_path": "",
        "query_string": b"", "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
    }  # fmt: skip
    asyncio.run(app(index)(scope, receive, send))
    status = {"large": "413", "many": "503", "slow": "408"}[refusal]
    assert status in events
    assert (parts, events[-2:]) == ([], ["read", "end"])
