"""Tests of named texts in every way to a server: clients, channel, HTTP; the digest is that of the library."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import sonicpy
from sonicpy.errors import InvalidArgument, SonicError
from tests.client.ways import ALL_WAYS, EVERY_WAY, ONE_WAY, Connect
from tests.processes import Server

LONG = " ".join(f"word{number}" for number in range(9_000))
TEXTS = {"title": "Java", "body": f"An island {LONG}", "": "and more"}


@pytest.fixture(params=EVERY_WAY)
def connect(request: pytest.FixtureRequest) -> Connect:
    return ALL_WAYS[request.param]


@pytest.fixture(params=ONE_WAY)
def connect_apart(request: pytest.FixtureRequest) -> Connect:
    return ALL_WAYS[request.param]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as running:
        yield running


def test_texts_with_names(connect: Connect, server: Server) -> None:
    with connect(f"sonic://{server.host}:{server.port}") as client:
        client.upsert("c", "b", "1", TEXTS)
        client.push("c", "b", "2", "Java tools", field="title")
        rows = [{"id": "3", "head": "tools", "text": "Java java java"}, {"id": "4", "head": None, "text": "tools"}]
        shape = {"title": "head", "body": "text"}
        assert client.push_many(rows, collection="c", bucket="b", text=shape).indexed == 2
        found = {
            fields: list(client.query("c", "b", "java", fields=fields, complete=False))
            for fields in ("title", "body", "title^9", "body^0")
        }
        plain = list(client.query("c", "b", "java", complete=False))
        assert found["title"] == ["1", "2"]
        assert found["body"] == ["3"]
        assert found["title^9"] == ["1", "2", "3"]
        assert found["body^0"] == plain == ["3", "2", "1"]
        assert list(client.query("c", "b", "word8999", fields={"body": None})) == ["1"]
        assert list(client.query("c", "b", "more")) == ["1"]
        assert client.explain("c", "b", "java", fields="title").total == 2
        client.upsert("c", "b", "1", {"body": "An island"})
        assert list(client.query("c", "b", "java", fields="title")) == ["2"]
        for wrong in ("1title", "title^", "title^101", "", ["a"] * 0):
            with pytest.raises(InvalidArgument):
                client.query("c", "b", "java", fields=wrong)
        with pytest.raises(InvalidArgument):
            client.push("c", "b", "2", "text", field="a b")
        client.flush("c")


def test_the_digest_is_that_of_the_library(connect_apart: Connect, tmp_path: Path) -> None:
    with Server(tmp_path) as server, connect_apart(f"sonic://{server.host}:{server.port}") as client:
        client.upsert("c", "b", "o", TEXTS)
        client.push_many([("p", {"title": "Java"})], collection="c", bucket="b", upsert=True)
        server.kill()
        with sonicpy.open(server.folder / "store") as index:
            assert index.upsert("c", "b", "o", TEXTS) is False
            assert index.upsert("c", "b", "p", {"title": "Java"}) is False
            assert index.upsert("c", "b", "o", {**TEXTS, "title": "Sumatra"}) is True
            assert list(index.verify()) == []


def test_compat_mode_does_not_offer_them(connect_apart: Connect, tmp_path: Path) -> None:
    server = Server(tmp_path, {"server.compat": "sonic"})
    with server, connect_apart(f"sonic://{server.host}:{server.port}") as client:
        with pytest.raises(SonicError):
            client.push("c", "b", "o", "text", field="title")
        with pytest.raises(SonicError):
            client.query("c", "b", "text", fields="title")
    with sonicpy.open(tmp_path / "library", {"server.compat": "sonic"}) as index:
        with pytest.raises(InvalidArgument):
            index.push("c", "b", "o", "text", field="title")
        with pytest.raises(InvalidArgument):
            index.upsert("c", "b", "o", {"title": "text"})
        index.push("c", "b", "o", "text")
        with pytest.raises(InvalidArgument):
            index.query("c", "b", "text", fields="title")
