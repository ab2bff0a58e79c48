"""Keys and tokens with fixed filters: answers to random queries show no object, word or count outside, over channel and
HTTP.
"""

import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import pytest

import sonicpy
from sonicpy.access.grant import NotPermitted, asked_scopes
from sonicpy.access.key import hash_of, make_key, new_secret
from sonicpy.access.key_store import KeyStore
from sonicpy.access.scopes import written_scope
from sonicpy.channel.commands import Query
from sonicpy.channel.held_words import unpack_held
from sonicpy.channel.replies import hits as hits_reply
from sonicpy.errors import InvalidArgument
from sonicpy.filters.fixed import coarse, with_fixed
from sonicpy.server.connections.fixed_filters import coarse_reply
from tests.access.test_guarded_server import http_port, started
from tests.access.test_keys import SECRET, token
from tests.client.ways import WAYS
from tests.processes import Server, free_port
from tests.server.peer import Peer

pytest.importorskip("fastapi", reason="needs the extra [http]")
from tests.http.asking import Asking  # noqa: E402

PASSWORD = "word"
COMMON = ["river", "harbour", "bridge", "market"]


class Thing(NamedTuple):
    """An object that equals one on the server."""

    name: str
    words: set[str]
    tags: set[str]
    price: int


def made(number: int) -> Thing:
    chance = random.Random(number)
    team = chance.choice("abc")
    secret = chance.random() < 0.3
    words = {*chance.sample(COMMON, 2), f"{team}{'lmnopqr'[number % 7]}{team}word", *(["hidden"] if secret else [])}
    tags = {f"team:{team}", f"size:{chance.choice('sml')}", *(["secret"] if secret else [])}
    return Thing(f"o{number}", words, tags, chance.randrange(100))


THINGS = [made(number) for number in range(120)]
BY_NAME = {thing.name: thing for thing in THINGS}
FILTERS: dict[str, tuple[str, Callable[[Thing], bool]]] = {
    "one": ("team:a", lambda thing: "team:a" in thing.tags),
    "not": ("NOT secret", lambda thing: "secret" not in thing.tags),
    "mixed": ("team:b OR price < 20", lambda thing: "team:b" in thing.tags or thing.price < 20),
    "none": ("team:z", lambda thing: False),
}
"""Key -> its filter, and this filter for the reference implementation."""
ASKED: dict[str, Callable[[Thing], bool] | None] = {
    "": lambda thing: True,
    "team:a OR team:b OR team:c": lambda thing: True,
    "size:s": lambda thing: "size:s" in thing.tags,
    "NOT size:m AND price >= 10": lambda thing: "size:m" not in thing.tags and thing.price >= 10,
    "team:c": lambda thing: "team:c" in thing.tags,
    "size:s) OR (team:c": None,  # no filter by itself, and one that opens the brackets of another
    'size:s") OR "': None,
}
TEXTS = [*COMMON, "river bridge", "hidden", "hiden", "amaword", "cncw", "bpbwrod", "a", ""]
ORDERS = ["", " SORT(price)", " SORT(-price)", " SORT(newest)", " BOOST(price)"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"server.secret": SECRET, "http.inet": f"127.0.0.1:{free_port()}"}
    with Server(tmp_path_factory.mktemp("filters"), settings, password=PASSWORD) as running:
        with Peer(running, "ingest") as peer:
            for thing in THINGS:
                tags = ",".join(sorted(thing.tags))
                text = " ".join(sorted(thing.words))
                assert peer.ask(f'PUSH c b {thing.name} "{text}" TAGS({tags}) SET(price={thing.price})') == "OK"
        yield running


@pytest.fixture(scope="module")
def holders(server: Server) -> dict[str, tuple[str, Callable[[Thing], bool]]]:
    """Return secret -> its filter for the reference implementation, of keys, and of a token that narrows one."""
    store, found = KeyStore(server.folder / "store"), {}
    for name, (text, passes) in FILTERS.items():
        secret = new_secret(name)
        given = {"verbs": ["all"], "scopes": ["c/b"], "filter": text}
        assert store.put(make_key(name, hash_of(secret.encode()), given))
        found[name] = secret, passes
    found["token"] = (
        token("not", filter="team:a OR team:c"),
        lambda t: "secret" not in t.tags and "team:b" not in t.tags,
    )
    return found


def sees(passes: Callable[[Thing], bool]) -> list[Thing]:
    return [thing for thing in THINGS if passes(thing)]


def items_of(peer: Peer, line: str) -> list[str]:
    said = peer.ask(line)
    assert said.startswith("PENDING"), (line, said)
    return peer.line().split(" ")[3:]


@pytest.mark.parametrize("holder", [*FILTERS, "token"])
def test_random_questions_of_the_channel(server: Server, holders: dict[str, Any], holder: str) -> None:
    secret, passes = holders[holder]
    inside = sees(passes)
    words = set().union(*(thing.words for thing in inside))
    chance = random.Random(holder)
    with started(server, "search", secret) as peer:
        for _ in range(40):
            text, (asked, meets) = chance.choice(TEXTS), chance.choice(list(ASKED.items()))
            given = f' FILTER("{asked.replace(chr(34), chr(92) + chr(34))}")' if asked else ""
            if meets is None:
                assert peer.ask(f'QUERY c b "{text}"{given}').startswith("ERR invalid_meta_value(")
                continue
            wanted = {thing.name for thing in inside if meets(thing)}
            order = chance.choice(ORDERS) if text else chance.choice(ORDERS[1:4])
            line = f'QUERY c b "{text}" LIMIT(100){given}{order}'
            found = items_of(peer, line)
            assert set(filter(None, found)) <= wanted, line
            if "SORT" in order and not text:
                assert set(filter(None, found)) == wanted
            total, *scored = items_of(peer, f"{line} SCORES(1) TOTAL(1)")
            assert int(total) == len(list(filter(None, found)))
            assert all(score == "-" or float(score) == round(float(score), 2) for _, _, score in map(parted, scored))
            if text and set(text.split()) <= {*COMMON, "hidden"}:
                exact = items_of(peer, f'QUERY c b "{text}" LIMIT(100) FUZZY(0) COMPLETE(0) STEM(0) MATCH(all){given}')
                holds = {thing.name for thing in inside if meets(thing) and set(text.split()) <= thing.words}
                assert set(filter(None, exact)) == holds, (text, given)
            if not text:
                continue
            corrected, *how = items_of(peer, f'QUERY c b "{text}" HOW(1){given}')
            assert corrected == "-"
            held = [word for item in how if item for word in unpack_held(item.partition(":")[2])]
            assert {word for _, _, word in held} <= words
            suggested = items_of(peer, f'SUGGEST c b "{text.split()[0][:3]}" LIMIT(10){given}')
            assert set(filter(None, suggested)) <= set().union(*(thing.words for thing in inside if meets(thing)))
        for line in ('EXPLAIN c b "river"', "LIST c b", "OBJECTS c b", "EXISTS c b o1", "BUCKETS c", "COLLECTIONS"):
            assert "has a fixed filter" in peer.ask(line)
        assert "allowed is an offset" in peer.ask('QUERY c b "" SORT(price) AFTER(o1)')


def parted(item: str) -> tuple[str, str, str]:
    return item.rpartition(":") if item else ("", "", "-")


@pytest.mark.parametrize("holder", [*FILTERS, "token"])
def test_random_questions_over_http(server: Server, holders: dict[str, Any], holder: str) -> None:
    secret, passes = holders[holder]
    inside = sees(passes)
    words = set().union(*(thing.words for thing in inside))
    chance = random.Random(f"{holder} http")
    scope = {"collection": "c", "bucket": "b", "limit": 100}
    with Asking(http_port(server), secret) as asking:
        for _ in range(25):
            text, (asked, meets) = chance.choice(TEXTS), chance.choice(list(ASKED.items()))
            given = {"text": text, **scope, **({"filter": asked} if asked else {})}
            if meets is None:
                assert asking.get("/v1/query", **given).status == 400
                continue
            wanted = {thing.name for thing in inside if meets(thing)}
            for path in ("/v1/query", "/v1/search"):
                found = asking.get(
                    path, **given, how=True, total=True, **({"marked": True} if "search" in path else {})
                )
                assert found.status == 200, found
                assert {hit["object"] for hit in found.body["hits"]} <= wanted
                assert found.body["total"] <= len(wanted)
                assert found.body.get("corrected") is None
                scores = [hit["score"] for hit in found.body["hits"] if hit["score"] is not None]
                assert scores == [round(score, 2) for score in scores]
            assert set(found.body["suggestions"]) <= words
            assert set((found.body["did_you_mean"] or "").split()) <= words | set(text.split())
            lean = asking.get("/v1/query", collection="c", bucket="b", text=text or "river", limit=100)
            assert {hit["object"] for hit in lean.body["hits"]} <= {thing.name for thing in inside}
            posted = asking.post("/v1/query", **{**given, "text": text or "river"})
            assert {hit["object"] for hit in posted.body["hits"]} <= wanted
        for path in ("/v1/explain", "/v1/words", "/v1/objects", "/v1/count", "/v1/stats"):
            given = {"text": "river"} if path == "/v1/explain" else {}
            assert asking.get(path, collection="c", bucket="b", **given).status == 403
        assert asking.get("/v1/query", **scope, text="", sort="price", after="o1").status == 403


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("holder", [*FILTERS, "token"])
def test_facets_count_inside_alone(server: Server, holders: dict[str, Any], holder: str, apart: bool) -> None:
    secret, passes = holders[holder]
    inside = sees(passes)
    with Asking(http_port(server), secret) as asking, started(server, "search", secret) as peer:
        for asked, meets in ASKED.items():
            if meets is None:
                continue
            given = {"filter": asked} if asked else {}
            own = asked and apart  # APART leaves out what the question adds about the tags of a facet
            by_size = [thing for thing in inside if meets(thing) or (own and asked.startswith("size:"))]
            by_team = [thing for thing in inside if meets(thing) or (own and asked.startswith("team:"))]
            by_price = [thing for thing in inside if meets(thing)]
            if asked.startswith("NOT") and apart:
                by_size = [thing for thing in inside if thing.price >= 10]
                by_price = [thing for thing in inside if "size:m" not in thing.tags]
            expected = {
                "size:": counts(by_size, "size:"), "team:": counts(by_team, "team:"),
                "secret": counts([thing for thing in inside if meets(thing)], "secret"),
            }  # fmt: skip
            found = asking.get(
                "/v1/facets", collection="c", bucket="b", of="size:*,team:*,secret*", ranges="price: 0,20,50",
                apart=apart, **given,
            ).body  # fmt: skip
            assert found["tags"] == expected
            assert found["total"] == len([thing for thing in inside if meets(thing)])
            assert sum(number for _, _, number in found["ranges"]["price"]) == len(by_price)
            filter = f' FILTER("{asked}")' if asked else ""
            line = f'FACETS c b "" OF("size:*,team:*,secret*") RANGES("price: 0,20,50"){filter}{" APART(1)" * apart}'
            assert str(found["total"]) in peer.ask(line)
            assert ("team:b" in peer.ask(line)) == ("team:b" in expected["team:"])


def counts(things: list[Thing], prefix: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for thing in things:
        for tag in thing.tags:
            if tag.startswith(prefix):
                found[tag] = found.get(tag, 0) + 1
    return found


def test_filters_of_keys_are_checked_when_keys_are_made() -> None:
    for wrong in ("team:a)", "(team:a", "price <", "a AND", '"open'):
        with pytest.raises(InvalidArgument, match="the filter (is|ends)|of the filter"):
            make_key("web", bytes(32), {"scopes": ["c"], "filter": wrong})


def test_brackets_of_a_question_cannot_close_those_of_a_key() -> None:
    assert with_fixed(("a",), "b OR c") == "(a) AND (b OR c)"
    for wrong in ("b) OR (c", "b) OR (NOT b", ")"):
        with pytest.raises(InvalidArgument):
            with_fixed(("a",), wrong)


def test_scores_keep_their_order_and_two_decimals() -> None:
    assert [coarse(score) for score in (3.999, 3.2951, 0.29, 0.0, None)] == [3.99, 3.29, 0.29, 0.0, None]
    asked = Query("c", "b", "x", 10, 0, None, scores=True, total=True, how=True)
    found = [("a:1", 3.256), ("b", None)]
    reply = hits_reply(found, 7, scores=True, hows=[[("word", "x", "x")], []], corrected="leak")
    items = coarse_reply(asked, reply).decode().split("\r\n")[1].split(" ")[3:]
    assert items == ["7", "-", "a:1:3.250000:word=x", "b:-:-"]
    grouped = asked._replace(group="size:")
    reply = hits_reply(found, 7, scores=True, hows=[[("word", "x", "x")], []], groups=["size:m", None])
    items = coarse_reply(grouped, reply).decode().split("\r\n")[1].split(" ")[3:]
    assert items == ["7", "-", "a:1:3.250000:word=x:size%3Am", "b:-:-:-"]
    reply = hits_reply(found, None, scores=True, groups=[5, None])
    plain = coarse_reply(grouped._replace(how=False, total=False), reply)
    assert plain.decode().split("\r\n")[1].split(" ")[3:] == ["a:1:3.250000:5", "b:-:-"]


@pytest.mark.parametrize("way", WAYS)
def test_clients_of_a_key_get_empty_answers(server: Server, holders: dict[str, Any], way: str) -> None:
    for holder, (secret, passes) in holders.items():
        with WAYS[way](f"sonic://{server.host}:{server.port}", password=secret) as client:
            for options in ({}, {"total": True}, {"how": True}, {"total": True, "how": True}, {"group": "size:"}):
                found = client.query("c", "b", "zzzzzzzzzz", **options)
                assert (found.objects, found.total) == ([], 0 if "total" in options else None), (holder, options)
            assert client.query("c", "b", "river", offset=200).objects == []
            assert {*client.query("c", "b", "river", limit=100)} == {t.name for t in sees(passes) if "river" in t.words}


SWITCHES = ("total", "whole", "how", "scores")


@pytest.mark.parametrize("holder", [*FILTERS, "token"])
def test_answers_are_those_of_an_index_inside(server: Server, holders: dict[str, Any], holder: str) -> None:
    secret, passes = holders[holder]
    with (
        sonicpy.open(":memory:") as inside, started(server, "search", secret) as peer,
        Asking(http_port(server), secret) as asking,
    ):  # fmt: skip
        for thing in sees(passes):
            values = {"price": thing.price}
            inside.push("c", "b", thing.name, " ".join(sorted(thing.words)), tags=sorted(thing.tags), values=values)
        for text, more in product(("river", "bridg", "zzzzzzzz"), ({}, {"sort": "price"}, {"group": "price"})):
            hits = inside.query("c", "b", text, limit=100, total=True, how=True, **more)
            written = "".join(f" {name.upper()}({value})" for name, value in more.items())
            for given in product((False, True), repeat=len(SWITCHES)):
                asked = dict(zip(SWITCHES, given, strict=True))
                switches = "".join(f" {name.upper()}(1)" for name, is_on in asked.items() if is_on)
                line = f'QUERY c b "{text}" LIMIT(100){written}{switches}'
                items = [item for item in items_of(peer, line) if item]
                if asked["total"]:
                    assert int(items.pop(0)) == hits.total, line
                    if asked["whole"]:
                        known = str(hits.whole) if "sort" not in more else "-"  # inside, 0 without the bucket
                        assert items.pop(0) == known, line
                if asked["how"]:
                    assert items.pop(0) == "-", line
                rows = [item.split(":") for item in items]
                if "group" not in more:  # scores decide which object is the best of a group
                    assert sorted(row[0] for row in rows) == sorted(hits), line
                parts = 1 + asked["how"] + asked["scores"] * (1 + ("group" in more))
                assert [len(row) for row in rows] == [parts] * len(hits), line
                if asked["scores"]:
                    assert all(row[1] == "-" or row[1].endswith("0000") for row in rows), line
            for total, how in product((False, True), repeat=2):
                found = asking.get(
                    "/v1/query", collection="c", bucket="b", text=text, limit=100, total=total, how=how, **more
                ).body  # fmt: skip
                assert len(found["hits"]) == len(hits)
                assert found["total"] == (hits.total if total else None)
                assert (found["whole"] or 0) == (hits.whole or 0 if total else 0)  # without the bucket, it is 0
                assert found.get("corrected") is None
                assert all(hit["score"] in (None, round(hit["score"] or 0, 2)) for hit in found["hits"])


def test_every_bucket_of_a_list_is_asked_for() -> None:
    scopes = asked_scopes("c", "a", ["b", "user-*", '"x,*"', "*"])
    assert list(map(written_scope, scopes)) == ["c/a", "c/b", "c/user-*", "c/x,%2A", "c/*"]
    grant = make_key("web", bytes(32), {"scopes": ["c/user-*"], "verbs": ["query"]}).grant()
    grant.check("query", asked_scopes("c", "user-1", ["user-2", "user-3*"]))
    for outside in (["b"], ["use*"], ["*"], ['"b"']):
        with pytest.raises(NotPermitted):
            grant.check("query", asked_scopes("c", "user-1", outside))


def test_several_buckets_pass_the_filter_and_the_scope(server: Server, holders: dict[str, Any]) -> None:
    with Peer(server, "ingest") as peer:
        for bucket in ("x", "other"):
            assert peer.ask(f'PUSH c {bucket} far1 "river" TAGS(team:a)') == "OK"
            assert peer.ask(f'PUSH c {bucket} far2 "river" TAGS(team:b)') == "OK"
    secret = new_secret("several")
    given = {"verbs": ["all"], "scopes": ["c/b", "c/x*"], "filter": "team:a"}
    KeyStore(server.folder / "store").put(make_key("several", hash_of(secret.encode()), given))
    with started(server, "search", secret) as peer:
        found = items_of(peer, 'QUERY c b "river" LIMIT(100) SCORES(1) BUCKETS(x*)')
        names = {item.rpartition(":")[0] for item in found}
        assert "x/far1" in names
        assert "x/far2" not in names
        assert {name.removeprefix("b/") for name in names} - {"x/far1"} <= {
            t.name for t in THINGS if "team:a" in t.tags
        }
        assert all(float(item.rpartition(":")[2]) == round(float(item.rpartition(":")[2]), 2) for item in found)
        for outside in ("other", "*", "o*"):
            assert "does not reach" in peer.ask(f'QUERY c b "river" BUCKETS({outside})')
    with Asking(http_port(server), secret) as asking:
        asked = {"collection": "c", "bucket": "b", "text": "river", "limit": 100}
        hits = asking.get("/v1/query", **asked, buckets="x*").body["hits"]
        assert {hit["object"] for hit in hits if hit["bucket"] == "x"} == {"far1"}
        assert asking.get("/v1/search", **asked, buckets="x", marked=True).status == 200
        assert asking.get("/v1/query", **asked, buckets="other").status == 403
