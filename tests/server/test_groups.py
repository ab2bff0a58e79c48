"""Groups of hits over the channel, the clients, HTTP and the command line: the answers are those of the library."""

import json
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from tests.client.ways import WAYS
from tests.processes import Server, run_here
from tests.server.peer import Peer

C, B = "shop", "shirts"
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("shirt", {"group": "author"}),
    ("shirt", {"group": "size:", "total": True}),
    ("shirt", {"group": "*", "limit": 3, "offset": 2, "how": True}),
    ("", {"group": "author", "sort": "-author"}),
    ("", {"group": "place", "filter": "NOT red"}),
    ("shirt", {"group": "author", "sort": "author", "after": "o3"}),
]


def fill(index: Any) -> None:
    for number in range(12):
        tags = [f"size:{'sml'[number % 3]}", *(["red", "size:50 %, ö"] if number % 4 == 0 else [])]
        values = {"author": number % 5 - 2} | ({"place": "47.21/-1.55"} if number % 2 else {})
        values = values if number % 6 else {}
        index.push(C, B, f"o{number}", "shirt" + " new" * number, "none", tags=tags, values=values)


def rows(hits: Any) -> list[tuple[Any, ...]]:
    return [(hit.object, hit.score and round(hit.score, 6), hit.group) for hit in hits]


@pytest.mark.full
@pytest.mark.parametrize("processes", [0, 1])
def test_every_way_answers_as_the_library(tmp_path: Path, processes: int) -> None:
    with sonicpy.open(":memory:") as index, Server(tmp_path / "s", {"server.search_processes": processes}) as server:
        fill(index)
        url = f"sonic://{server.host}:{server.port}"
        with sonicpy.connect(url) as client:
            fill(client)
        for name, connect in WAYS.items():
            with connect(url) as client:
                for text, options in ASKED:
                    expected = index.query(C, B, text, **options)
                    found = client.query(C, B, text, **options)
                    assert rows(found) == rows(expected), (name, text, options)
                    assert (found.total, found.hows) == (expected.total, expected.hows)
                explained = client.explain(C, B, "shirt", group="author")
                assert [hit.group for hit in explained.hits] == index.query(C, B, "shirt", group="author").groups
        with Peer(server, "search") as peer:
            assert peer.results('QUERY shop shirts "shirt" GROUP(red:) LIMIT(1)') == ["o0"]
            assert peer.results('QUERY shop shirts "" GROUP("size:") SCORES(1) TOTAL(1) FILTER("red")') == [
                "4", "o8:-:size%3A50%20%25%2C%20%C3%B6", "o8:-:size%3Al", "o4:-:size%3Am", "o0:-:size%3As",
            ]  # fmt: skip
            assert peer.ask('QUERY shop shirts "shirt" GROUP("a b")').startswith("ERR ")
        if not processes:
            for text, options in ASKED[:2]:
                flags = [f"--group={options['group']}", "--json"]
                status, output, said = run_here(["query", C, B, text, "--server", url, *flags], tmp_path)
                assert status == 0, said
                found = json.loads(output)["hits"]
                assert [one.get("group") for one in found] == index.query(C, B, text, **options).groups
            status, output, _ = run_here(["query", C, B, "shirt", "--group", "author", "--server", url], tmp_path)
            assert output.splitlines()[:2] == ["o0\t-", "o1\t-1"]


def test_http_shows_groups() -> None:
    testclient = pytest.importorskip("starlette.testclient", reason="needs the extra [http]")
    http = pytest.importorskip("sonicpy.http", reason="needs the extra [http]")
    with sonicpy.open(":memory:") as index:
        fill(index)
        client = testclient.TestClient(http.app(index))
        for text, options in ASKED:
            expected = [hit.to_dict() for hit in index.query(C, B, text, **options)]
            asked = {"collection": C, "bucket": B, "text": text, **options}
            assert client.get("/v1/query", params=asked).json()["hits"] == expected
            assert client.post("/v1/query", json=asked).json()["hits"] == expected
        assert client.get("/v1/query", params={**asked, "group": "a b"}).status_code in (400, 422)
