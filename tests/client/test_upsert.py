"""Tests of UPSERT in every way to a server: channel, both clients, HTTP; the digest is the same in all of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy.client.pushes import BATCH_ROWS
from sonicpy.errors import InvalidArgument, NotOffered, SonicError, TooLong
from sonicpy.index.text_digests import text_digest
from tests.client.ways import ALL_WAYS, EVERY_WAY, ONE_WAY, Connect
from tests.processes import Server

TEXTS = {
    "short": "a short text",
    "blanks": "  blanks \r\n and\ttabs   ",
    "empty": "",
    "quotes": 'C:\\path\\ and "quotes" \\\\ \\n',
    "long": " ".join(f"word{number % 50} {number}" for number in range(4_000)),
    "without a blank": "語彙文章" * 6_000,
}


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


def url_of(server: Server) -> str:
    return f"sonic://{server.host}:{server.port}"


def test_a_text_replaces(connect: Connect, server: Server) -> None:
    with connect(url_of(server)) as client:
        client.push("c", "b", "o", "an old text")
        client.upsert("c", "b", "o", "a new text", lang="en")
        assert [client.query("c", "b", word) for word in ("old", "new")] == [[], ["o"]]
        report = client.push_many([("o", "a newer text"), ("p", "\ud800")], collection="c", bucket="b", upsert=True)
        assert (report.indexed, [refused.row for refused in report.refused]) == (1, [1])
        bucket = client.bucket("c", "b")
        assert [bucket.query(word) for word in ("new", "newer")] == [["o"], ["o"]], "new is the beginning of newer"
        bucket.upsert("o", TEXTS["long"])
        assert bucket.query("newer") == []
        assert bucket.count("o") == len(set(TEXTS["long"].split()))
        bucket.upsert("o", "last")
        assert bucket.count("o") == 1
        for wrong in (7, "\ud800"):
            with pytest.raises(InvalidArgument):
                client.upsert("c", "b", "o", wrong)
        with pytest.raises(TooLong):
            client.upsert("c", "b", "o", "x " * (9 << 20))
        client.flush("c")


def test_an_error_of_progress_within_a_text_leaves_the_client_usable(connect: Connect, server: Server) -> None:
    def progress(done: int) -> None:
        raise ZeroDivisionError

    rows = [*((f"o:{number}", "short") for number in range(BATCH_ROWS)), ("long", "one " * (512 << 10))]
    with connect(url_of(server), pool_size=1, retry_s=0) as client:
        with pytest.raises(ZeroDivisionError):
            client.push_many(rows, collection="stopped", bucket="b", upsert=True, progress=progress)
        for text in ("after", "later"):
            client.upsert("stopped", "b", "next", text)
        assert client.query("stopped", "b", "later") == ["next"]
        assert not client.exists("stopped", "b", "long")


def test_a_vector_of_another_width_is_refused(connect: Connect, server: Server) -> None:
    with connect(url_of(server)) as client:
        client.upsert("widths", "b", "o", "one", vector=b"\1")
        for text in ("one", "two"):
            with pytest.raises(SonicError, match="it has 16 bits, those of vector have 8"):
                client.upsert("widths", "b", "o", text, vector=b"\1\2")
        report = client.push_many([("widths", "b", "o", "two", None, b"\1\2")], upsert=True)
        assert (report.indexed, "it has 16 bits" in report.refused[0].reason) == (0, True)
        assert client.query("widths", "b", "one") == ["o"]


def test_the_digest_is_that_of_the_library(connect_apart: Connect, tmp_path: Path) -> None:
    with Server(tmp_path) as server, connect_apart(url_of(server)) as client:
        for name, text in TEXTS.items():
            client.upsert("c", "one", name.replace(" ", "-"), text)
        rows: list[Any] = [("c", "many", name.replace(" ", "-"), text, "eng") for name, text in TEXTS.items()]
        assert client.push_many(rows, upsert=True).indexed == len(rows)
        client.upsert("c", "ended", "o", "text")
        client.push("c", "ended", "o", "more")
        server.kill()
        with sonicpy.open(server.folder / "store") as index:
            for bucket, lang in (("one", None), ("many", "eng")):
                assert dict(index.iterate_digests("c", bucket)) == {
                    name.replace(" ", "-"): text_digest(name.replace(" ", "-"), text, lang)
                    for name, text in TEXTS.items()
                }
                for name, text in TEXTS.items():
                    assert not index.upsert("c", bucket, name.replace(" ", "-"), text, lang)
            assert index.digests("c", "ended", ["o"]) == [None]
            assert index.verify() == []


def test_compat_mode_does_not_offer_it(connect_apart: Connect, tmp_path: Path) -> None:
    with Server(tmp_path, {"server.compat": "sonic"}) as server, connect_apart(url_of(server)) as client:
        with pytest.raises(NotOffered, match="UPSERT"):
            client.upsert("c", "b", "o", "text")
        report = client.push_many([("c", "b", "o", "text")], upsert=True)
        assert "UPSERT" in report.refused[0].reason
