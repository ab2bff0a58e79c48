"""TOTAL of QUERY over real connections: the number of hits on all pages together."""

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonicpy
from sonicpy.errors import NotOffered
from tests.index.test_spread import corpus, queries
from tests.processes import Server
from tests.server.peer import Peer

ALL = 65_535
FIXED = ("the", "running houses", "cafe", "user@example.org", "zzzz", "...", "wrod12 lihgt", "appl")


@pytest.fixture(scope="module", params=["bm25", "newest", "sonic"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"search.ranking": request.param, "search.query_limit_maximum": ALL}
    folder = tmp_path_factory.mktemp("total")
    with sonicpy.open(folder / "store") as index:
        index.push_many([(oid, text, "eng") for oid, text in corpus(1)], collection="c", bucket="b")
        index.consolidate()
    with Server(folder, settings) as server, Peer(server, "ingest") as ingest:
        for oid, text in list(corpus(1))[::17]:
            ingest.ask(f'POP c b {oid} "{text[:30]}"')
        for number in range(30):  # words that no graph holds yet, in changes that no commit may hold yet
            assert ingest.ask(f'PUSH c b new{number} "fresh applepie running {number}" LANG(eng)') == "OK"
        yield server


def test_the_total_is_that_of_all_pages(filled: Server) -> None:
    """The total equals the length of the unlimited answer, for any page, and any order of keys."""
    pick = random.Random(17)
    with Peer(filled, "search") as search:
        for text in (*FIXED, *queries(3, 40)):
            others = [*pick.sample(["LANG(eng)", "STEM(0)"], pick.randrange(3))]
            whole = search.results(" ".join([f'QUERY c b "{text}" LIMIT({ALL})', *others]))
            for limit, offset in ((ALL, 0), (1, 0), (pick.randrange(1, 50), pick.randrange(700)), (10, 4_000)):
                keys = [f"LIMIT({limit})", f"OFFSET({offset})", "TOTAL(1)", *others]
                pick.shuffle(keys)
                total, *page = search.results(" ".join([f'QUERY c b "{text}"', *keys]))
                assert total == str(len(whole)), (text, keys)
                assert page == whole[offset : offset + limit], (text, keys)


def test_with_and_without(filled: Server) -> None:
    with Peer(filled, "search") as search:
        plain = search.results('QUERY c b "apple"')
        assert len(plain) == 10
        assert search.results('QUERY c b "apple" TOTAL(0)') == plain
        assert search.results('QUERY c b "apple" TOTAL(1) TOTAL(0)') == plain
        total, *page = search.results('QUERY c b "apple" TOTAL(1)')
        assert int(total) > len(plain)
        assert page == plain
        scored = search.results('QUERY c b "apple" SCORES(1)')
        assert search.results('QUERY c b "apple" TOTAL(1) SCORES(1)') == [total, *scored]
        for nothing in ('QUERY c b "..." TOTAL(1)', 'QUERY c none "apple" TOTAL(1)', 'QUERY none b "x" TOTAL(1)'):
            assert search.results(nothing) == ["0"]
        assert search.ask('QUERY c b "apple" TOTAL(2)') == "ERR invalid_meta_value(TOTAL[2])"
        assert search.ask('EXPLAIN c b "apple" TOTAL(1)') == "ERR invalid_meta_key(TOTAL[1])"


def test_clients_ask_for_it_once(filled: Server) -> None:
    url = f"sonic://{filled.host}:{filled.port}"
    with sonicpy.connect(url) as client:
        whole = client.query("c", "b", "apple", limit=ALL)
        assert whole.total is None
        for limit, offset in itertools.product((0, 1, 10, ALL), (0, 3, len(whole), 10_000)):
            hits = client.query("c", "b", "apple", limit=limit, offset=offset, total=True)
            assert (hits.total, hits) == (len(whole), whole[offset : offset + limit])
            assert (hits.scores or []) == (whole[offset : offset + limit].scores or [])


def test_clients_of_servers_with_small_pages(tmp_path: Path) -> None:
    settings = {"search.query_limit_maximum": 7, "search.query_limit_default": 5}
    with Server(tmp_path, settings) as server, sonicpy.connect(f"sonic://{server.host}:{server.port}") as client:
        for number in range(40):
            client.push("c", "b", f"o:{number}", "apple")
        hits = client.query("c", "b", "apple", limit=30, offset=5, total=True)
        assert (hits.total, len(hits)) == (40, 30)
        assert hits == client.query("c", "b", "apple", limit=35)[5:]


def test_compat_mode_refuses_it(tmp_path: Path) -> None:
    with Server(tmp_path, {"server.compat": "sonic"}) as server:
        with Peer(server, "search") as search:
            assert search.ask('QUERY c b "x" TOTAL(1)') == "ERR invalid_meta_key(TOTAL[1])"
        with sonicpy.connect(f"sonic://{server.host}:{server.port}") as client:
            with pytest.raises(NotOffered, match="TOTAL of QUERY"):
                client.query("c", "b", "x", total=True)
            assert client.query("c", "b", "x") == []
