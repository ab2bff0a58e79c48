"""An empty text means the same in the library, over both clients, and over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from tests.client.ways import WAYS
from tests.processes import Server
from tests.support.surfaces import http_client

SCOPE = ("c", "b")
TAGS = {"o1": ["red", "size:m"], "o2": ["red"], "o3": ["size:l"]}
HTTP_SCOPE = {"collection": "c", "bucket": "b", "text": ""}


@pytest.fixture(params=["library", *WAYS])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """An index, or a client of a server, with the same objects."""
    if request.param == "library":
        with sonicpy.open(":memory:") as index:
            yield filled(index)
        return
    with Server(tmp_path) as server, WAYS[request.param](f"sonic://{server.host}:{server.port}") as client:
        yield filled(client)


def filled(source: Any) -> Any:
    for name, tags in TAGS.items():
        source.push(*SCOPE, name, "apple", tags=tags, values={"price": len(name)})
    return source


def test_facets_count_all_objects(source: Any) -> None:
    assert source.facets(*SCOPE).total == 3
    assert source.facets(*SCOPE, of="size:*").tags == {"size:": {"size:l": 1, "size:m": 1}}
    assert source.facets(*SCOPE, filter="red").total == 2


@pytest.mark.parametrize("text", ["", " "])
def test_hits_beside_facets_are_the_objects_that_are_counted(source: Any, text: str) -> None:
    found = source.query(*SCOPE, text, facets=["*"], total=True, limit=2)
    assert (found.objects, found.total, found.facets.total) == (["o3", "o2"], 3, 3)
    filtered = source.query(*SCOPE, text, facets=["*"], total=True, filter="red")
    assert (filtered.objects, filtered.total, filtered.facets.total) == (["o2", "o1"], 2, 2)
    words = source.query(*SCOPE, "zebra", facets=["*"], total=True)
    assert (words.objects, words.total, words.facets.total) == ([], 0, 0)


def test_a_boost_beside_no_words_finds_nothing(source: Any) -> None:
    for options in ({}, {"total": True}):
        assert source.query(*SCOPE, "", boost="price", **options).objects == []
    assert len(source.query(*SCOPE, "", boost="price", filter="red")) == 2


@pytest.mark.parametrize("path", ["/v1/query", "/v1/search"])
def test_hits_over_http_beside_facets(path: str) -> None:
    with sonicpy.open(":memory:") as index:
        client = http_client(filled(index))
        if client is None:
            pytest.skip("needs the extra [http]")
        found = client.get(path, params={**HTTP_SCOPE, "of": "*", "total": True}).json()
        assert [hit["object"] for hit in found["hits"]] == ["o3", "o2", "o1"]
        assert found["total"] == found["facets"]["total"] == 3
        assert client.get(path, params={**HTTP_SCOPE, "total": True}).json()["hits"] == []
        if path == "/v1/query":
            assert client.post(path, json={**HTTP_SCOPE, "of": "*", "total": True}).json() == found
