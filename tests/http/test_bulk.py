"""Long requests: one of many rows counts once for its key, and lets others be answered between its lines; a long text
keeps its words; only some operations have no time limit.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx", reason="needs httpx")
pytest.importorskip("fastapi", reason="needs the extra [http]")

from sonicpy.access.admission import Keys  # noqa: E402
from sonicpy.access.key import Key, hash_of, make_key  # noqa: E402
from sonicpy.http import app, gate  # noqa: E402
from tests.http.asking import Asking  # noqa: E402
from tests.processes import HOST, Server, free_port  # noqa: E402

SECRET = b"k.secret"
ROW = b'{"collection":"c","bucket":"b","object":"o","text":"w"}\n'


class Source:
    """A source of keys with one key, which may ask once a second."""

    def __init__(self) -> None:
        self.key: Key | None = make_key("k", hash_of(SECRET), {"scopes": ["*"], "verbs": ["all"], "rate": 1})

    def get(self, name: str) -> Key | None:
        return self.key


class Sink:
    """A backend that takes every row; FLUSH takes 0.3 s."""

    rows = 0

    async def push_rows(self, rows: Any, *, upsert: bool = False) -> list[Any]:
        self.rows += len(rows)
        return []

    async def call(self, method: str, *args: Any, **options: Any) -> int:
        await asyncio.sleep(0.3)
        return 7


def client_of(backend: Sink, source: Source | None = None) -> Any:
    served: Any = app(backend, keys=None if source is None else Keys([source], None))  # type: ignore[arg-type]
    return httpx.AsyncClient(transport=httpx.ASGITransport(served), base_url="http://localhost")


def test_a_request_of_many_rows_counts_once() -> None:
    async def ask() -> None:
        backend = Sink()
        async with client_of(backend, Source()) as client:
            headers = {"Authorization": f"Bearer {SECRET.decode()}"}
            first = await client.post("/v1/bulk", content=ROW * 2_000, headers=headers)
            second = await client.post("/v1/bulk", content=ROW, headers=headers)
        assert (first.status_code, first.json()["pushed"], backend.rows) == (200, 2_000, 2_000)
        assert second.status_code == 429

    asyncio.run(ask())


@pytest.mark.parametrize("line", [b"x\n", b"\n"], ids=["refused", "blank"])
def test_lines_that_are_not_pushed_let_others_run(line: bytes) -> None:
    async def ask() -> int:
        turns = 0

        async def take_turns() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        other = asyncio.create_task(take_turns())
        async with client_of(Sink()) as client:
            answer = await client.post("/v1/bulk", content=line * 20_000)
        other.cancel()
        assert answer.status_code == 200
        return turns

    assert asyncio.run(ask()) > 200


def test_a_flush_has_no_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> Any:
        async with client_of(Sink()) as client:
            return await client.post("/v1/flush", json={"collection": "c", "bucket": "b", "filter": "old"})

    monkeypatch.setattr(gate, "ANSWER_S", 0.05)
    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()) == (200, {"removed": 7})


def test_a_plain_query_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(**more: str) -> Any:
        async with client_of(Sink()) as client:
            return await client.get("/v1/query", params={"collection": "c", "bucket": "b", "text": "w", **more})

    monkeypatch.setattr(gate, "ANSWER_S", 0.05)
    for answer in (asyncio.run(ask()), asyncio.run(ask(filter="old"))):
        assert (answer.status_code, answer.headers["content-type"]) == (504, "application/problem+json")


def test_a_long_text_without_blanks_keeps_its_words(tmp_path: Path) -> None:
    text = "abc," * 2_499 + "weather," + "xyz," * 100
    port = free_port()
    with Server(tmp_path, {"http.inet": f"{HOST}:{port}"}), Asking(port) as asking:
        for verb in ("push", "upsert"):
            assert asking.post(f"/v1/{verb}", collection="c", bucket=verb, object="o", text=text).status == 200
            for word, found in (("weather", 1), ("ther", 0)):
                answer = asking.get("/v1/query", collection="c", bucket=verb, text=word, complete="false", limit=1)
                assert len(answer.body["hits"]) == found, (verb, word)
        assert asking.post("/v1/pop", collection="c", bucket="push", object="o", text=text).status == 200
        assert asking.get("/v1/count", collection="c", bucket="push", objects="true").body == {"count": 0}
