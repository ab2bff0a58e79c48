"""The lean route of queries answers as the route of the framework does, and leaves other requests to it."""

from typing import Any

import pytest

pytest.importorskip("httpx", reason="needs httpx")
pytest.importorskip("fastapi", reason="needs the extra [http]")
from starlette.testclient import TestClient  # noqa: E402

import sonicpy  # noqa: E402
from sonicpy.errors import TimedOut  # noqa: E402
from sonicpy.http import app  # noqa: E402
from sonicpy.http.lean import plain_query  # noqa: E402

SCOPE = "collection=messages&bucket=default"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (b"collection=c&bucket=b&text=two+words", ("c", "b", "two words", {})),
        (b"text=%C3%A9t%C3%A9&bucket=b&collection=c&limit=5&offset=7", ("c", "b", "été", {"limit": 5, "offset": 7})),
        (b"collection=c&bucket=b&text=", ("c", "b", "", {})),
        (b"collection=c&bucket=b&text=a&text=b", None),
        (
            b"collection=c&bucket=b&text=a&lang=en-GB&stem=false&total=1",
            ("c", "b", "a", {"lang": "eng", "stem": False, "total": True}),
        ),
        (b"collection=c&bucket=b&text=a&lang=klingon", None),
        (b"collection=c&bucket=b&text=a&total=yes", None),
        (b"collection=c&bucket=b&text=a&scores=1", None),
        (b"collection=c&bucket=b", None),
        (b"collection=&bucket=b&text=a", None),
        (b"collection=" + b"c" * 129 + b"&bucket=b&text=a", None),
        (b"collection=c&bucket=b&text=" + b"a" * 10_001, None),
        (b"collection=c&bucket=b&text=a&limit=1001", None),
        (b"collection=c&bucket=b&text=a&limit=-1", None),
        (b"collection=c&bucket=b&text=a&limit=%C2%B2", None),
        (b"collection=c&bucket=b&text=a&limit=" + b"9" * 5000, None),
        (b"&".join([b"a=1"] * 1000), None),
        (b"\xff", None),
    ],
)
def test_plain_queries(query: bytes, expected: Any) -> None:
    assert plain_query(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        f"{SCOPE}&text=weather",
        f"{SCOPE}&text=weather&limit=1&offset=1",
        f"{SCOPE}&text=nothing",
        f"{SCOPE}&text=",
        f"{SCOPE}&text=caf%C3%A9",
        f"{SCOPE}&text=weather&limit=0",
        f"{SCOPE}&text=weather&limit=1001",
        f"{SCOPE}&text=%ED%A0%80",
        f"{SCOPE}&bucket=again&text=weather",
        "collection=a%20b&bucket=c&text=d",
        "bucket=c&text=d",
        f"{SCOPE}&text=weather&colour=blue",
        f"{SCOPE}&text=weather&total=true&lang=en",
        f"{SCOPE}&text=weather&total=1&lang=none&limit=2",
    ],
)
def test_both_routes_answer_the_same(query: str) -> None:
    with sonicpy.open(":memory:") as index:
        for number in range(5):
            index.push("messages", "default", f"café:{number}", f"weather café {number}")
        client = TestClient(app(index))
        lean, whole = client.get(f"/v1/query?{query}"), client.get(f"/v1/query?{query}&stem=yes")
    assert (lean.status_code, lean.headers.get("etag")) == (whole.status_code, whole.headers.get("etag"))
    left, right = lean.json(), whole.json()
    for held in (left, right):
        held.pop("request_id", None)
    assert left == right


class Absent:
    """A backend whose server does not answer."""

    def __init__(self) -> None:
        self.asked = 0

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        self.asked += 1
        raise TimedOut("the server gave no answer within 10 s")

    async def push_rows(self, rows: Any) -> list[Any]:
        return []


def test_an_absent_server_is_waited_for_once() -> None:
    absent = Absent()
    answer = TestClient(app(absent)).get(f"/v1/query?{SCOPE}&text=weather", headers={"X-Request-ID": "mine"})
    assert (answer.status_code, answer.json()["detail"]) == (504, "the server gave no answer within 10 s")
    assert answer.json()["request_id"] == "mine"
    assert absent.asked == 1
