"""Several buckets over the channel: lines, clients, search processes, compat mode, HTTP, the command line."""

import asyncio
import importlib
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonicpy
from sonicpy.channel import commands
from sonicpy.channel.syntax import COMMANDS, SONIC_COMMANDS_OF_MODE, Limits, LineRules, parse
from sonicpy.cluster.peers.questions import UnknownQuestion, command_of, pack_question, question_of, unpack_question
from sonicpy.errors import CommandError, InvalidArgument, NotOffered
from sonicpy.option_kinds import Languages
from tests.client.fake import Caller, Fake
from tests.client.ways import WAYS
from tests.docs.test_protocol import talk
from tests.processes import HOST, Server, free_port
from tests.support.patience import WAIT_S

RULES = LineRules(Limits(), Languages(frozenset()))
TEXTS = {"b1": "sunny weather", "forum:1": "sunny days", "forum:2": "rainy weather", "a,b": "weather report"}
BUCKETS = ["b1", "forum:*", '"a,b"']


@pytest.fixture(scope="module", params=["0", "1"], ids=["one process", "search processes"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("several")
    with Server(folder, {"server.search_processes": request.param}) as running:
        for bucket, text in TEXTS.items():
            assert talk(running, "ingest", f'PUSH c {bucket} o1 "{text}"') == ["OK"]
        yield running


@pytest.mark.parametrize("bucket", ["é", "x" * 129])
@pytest.mark.parametrize(
    ("command", "text"),
    [("QUERY", '"x"'), ("EXPLAIN", '"x"'), ("FACETS", '"x"'), ("SUGGEST", '"x"'), ("LIST", ""), ("COUNT", ""),
     ("COUNTB", "")],
)  # fmt: skip
def test_a_wrong_name_beside_other_buckets_is_refused(server: Server, command: str, text: str, bucket: str) -> None:
    mode = "ingest" if command.startswith("COUNT") else "search"
    assert talk(server, mode, f"{command} c {bucket} {text} BUCKETS(b1)", "PING") == [
        "ERR invalid_argument(InvalidBucket)",
        "PONG",
    ]


def read(line: str) -> object:
    name = line.partition(" ")[0]
    return parse(COMMANDS[name], line.encode(), len(name) + 1, RULES)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ('SUGGEST c b "x" BUCKETS(b2,forum:*,*)', commands.Suggest("c", "b", "x", 5, buckets=("b2", "forum:*", "*"))),
        ('SUGGEST c b "x" BUCKETS("a,b(*")', commands.Suggest("c", "b", "x", 5, buckets=('"a,b(*"',))),
        ('SUGGEST c b "x" BUCKETS("a",b)', commands.Suggest("c", "b", "x", 5, buckets=("a", "b"))),
        (r'COUNTB c b BUCKETS(x,"q\"\\")', commands.CountB("c", "b", ("x", r'"q\"\\"'))),
        ("COUNT c b BUCKETS(x)", commands.Count("c", "b", None, ("x",))),
        ("COUNT c b BUCKETS", commands.Count("c", "b", "BUCKETS")),
        ("COUNT c BUCKETS(x)", commands.Count("c", "BUCKETS(x)")),
        ("COUNT BUCKETS(x) BUCKETS(y) BUCKETS(z)", commands.Count("BUCKETS(x)", "BUCKETS(y)", None, ("z",))),
        ("COUNTO c b BUCKETS(x)", commands.CountO("c", "b", "BUCKETS(x)")),
        ('QUERY c b "x" LIMIT(3) BUCKETS(y)', commands.Query("c", "b", "x", 3, 0, None, buckets=("y",))),
    ],
)
def test_lines(line: str, command: object) -> None:
    found = read(line)
    assert (type(found), found) == (type(command), command)
    question = question_of(found)
    assert command_of(unpack_question(pack_question(3, question))[1]) == command


@pytest.mark.parametrize("packed", [b"", b"\xff", b"{}", b"[1, 2]", pytest.param(b"[" * 100_000, id="deep")])
def test_a_question_of_another_form_is_unknown(packed: bytes) -> None:
    with pytest.raises(UnknownQuestion):
        unpack_question(packed)


@pytest.mark.parametrize("value", ["", ",", "a,", "a*b", 'a"b', '"a', '"a"b', "a(b", "a,,b", "\u00e9"])
def test_values_that_are_not_allowed(value: str) -> None:
    with pytest.raises(CommandError) as caught:
        read(f'QUERY c b "x" BUCKETS({value})')
    assert caught.value.code == "invalid_meta_value"


@pytest.mark.parametrize("line", ["COUNT c b o BUCKETS(x)", "COUNTB c b o", "COUNT c b o p"])
def test_lines_of_another_shape(line: str) -> None:
    with pytest.raises(CommandError) as caught:
        read(line)
    assert caught.value.code == "invalid_format"


def test_compat_mode_has_no_such_option() -> None:
    for rows in SONIC_COMMANDS_OF_MODE.values():
        assert not any("BUCKETS" in row.options for row in rows.values())


def test_answers(server: Server) -> None:
    named = 'BUCKETS(forum:*,"a,b",none)'
    lines = [f'QUERY c b1 "weather" {named}', f'QUERY c b1 "weather" SCORES(1) TOTAL(1) LIMIT(1) {named}',
             f'SUGGEST c b1 "sunny d" {named}', f"LIST c b1 {named}"]  # fmt: skip
    answers = [line.split()[3:] for line in talk(server, "search", *lines) if line.startswith("EVENT")]
    assert sorted(answers[0]) == ["a,b/o1", "b1/o1", "forum:2/o1"]
    assert answers[1][0] == "3" and answers[1][1].startswith(f"{answers[0][0]}:3.")
    assert answers[2:] == [["days"], ["days", "rainy", "report", "sunny", "weather"]]
    assert talk(server, "ingest", f"COUNT c b1 {named}", f"COUNTB c b1 {named}") == ["RESULT 5", "RESULT 4"]


def test_a_change_is_seen_at_once(server: Server) -> None:
    for number in range(20):
        assert talk(server, "ingest", f'PUSH c forum:new o{number} "lightning{number}"') == ["OK"]
        found = talk(server, "search", f'QUERY c b1 "lightning{number}" BUCKETS(forum:*)')[1]
        assert found.split()[3:] == [f"forum:new/o{number}"]
    assert talk(server, "ingest", "FLUSHB c forum:new") == ["RESULT 1"]


def test_clients(server: Server) -> None:
    url = f"sonic://{HOST}:{server.port}"
    with sonicpy.connect(url) as client:
        found = client.query("c", BUCKETS, "weather", total=True, limit=2)
        assert {(hit.bucket, hit.object) for hit in found} < {("b1", "o1"), ("forum:2", "o1"), ("a,b", "o1")}
        assert (len(found), found.total) == (2, 3)
        assert client.suggest("c", BUCKETS, "sunny d") == ["days"]
        assert len(client.words("c", BUCKETS)) == client.count("c", BUCKETS) == client.count_words("c", BUCKETS) == 5
        assert client.count("c", BUCKETS, of="objects") == client.count_objects("c", BUCKETS) == 4
        explained = client.explain("c", BUCKETS, "weather")
        assert explained.buckets == tuple(TEXTS) and explained.hits[0].bucket == found[0].bucket
        with pytest.raises(InvalidArgument, match="one bucket"):
            client.count("c", BUCKETS, "o1")
        with pytest.raises(InvalidArgument, match="bucket has the element"):
            client.query("c", ["a b"], "x")

    async def ask() -> None:
        async with sonicpy.connect_async(url) as one:
            assert (await one.query("c", BUCKETS, "weather", total=True, limit=2)).to_dicts() == found.to_dicts()
            assert await one.suggest("c", BUCKETS, "sunny d") == ["days"]
            assert await one.count_objects("c", BUCKETS) == 4

    asyncio.run(ask())


@pytest.mark.parametrize("way", WAYS)
def test_names_that_begin_as_the_option_does(server: Server, way: str) -> None:
    name = "BUCKETS(b1)"
    with WAYS[way](f"sonic://{HOST}:{server.port}") as client:
        client.push(name, name, name, "one two three")
        client.push(name, "b1", "o", "one two")
        assert client.count(name) == client.count_buckets(name) == 2
        assert client.count(name, name) == client.count_words(name, name) == 3
        assert client.count(name, name, name) == client.count_object_words(name, name, name) == 3
        assert client.count(name, "b1", name) == client.count_object_words(name, "b1", name) == 0
        assert client.count_objects(name, name) == client.count(name, of="objects") - 1 == 1
        assert client.stats(name, name)["objects"] == 1
        assert client.query(name, name, "three") == client.objects(name, name) == [name]
        assert client.exists(name, name, name) and client.similar(name, name, name) == []
        assert client.pop(name, name, name, "one") == 1
        assert client.flush(name, name, name) == 2
        assert client.flush(name) == 1


def test_words_of_such_an_object_where_there_is_no_option(tmp_path: Path) -> None:
    def script(caller: Caller) -> None:
        caller.greet()
        while line := caller.line():
            caller.say("RESULT 2" if line == "COUNT c b BUCKETS(b1)" else "ERR unknown_command")

    with Fake(script) as fake, sonicpy.connect(fake.url) as client:  # older versions of Sonic have no COUNTO
        assert client.count("c", "b", "BUCKETS(b1)") == client.count_object_words("c", "b", "BUCKETS(b1)") == 2
    with (
        Server(tmp_path, {"server.compat": "sonic"}) as server,
        sonicpy.connect(f"sonic://{HOST}:{server.port}") as old,
    ):
        old.push("c", "b", "BUCKETS(b1)", "one two")
        assert old.count("c", "b", "BUCKETS(b1)") == old.count_object_words("c", "b", "BUCKETS(b1)") == 2
        assert old.count("c", "b", "o") == old.count("c", "BUCKETS(b)") == 0


def test_with_other_options(server: Server) -> None:
    """Filters, orders, facets and words of hits over several buckets are the same on the channel, in clients and over
    HTTP.
    """
    with sonicpy.connect(f"sonic://{HOST}:{server.port}") as client:
        for number, bucket in enumerate(("t1", "t2", "t2", "t,3")):
            client.push("tags", bucket, f"o{number}", "amber birches", tags=["even" if number % 2 == 0 else "odd"],
                        values={"price": 10 - number}, vector=[2 * number - 3] * 64)  # fmt: skip
        named = ["t1", "t2", '"t,3"']
        client.push("how", "b", "1", "weather running")
        for text in ("wether runing", "wether runing ", "wether runing \n"):
            assert client.query("how", "b", text, how=True).corrected == text.replace(
                "wether runing", "weather running"
            )
        found = client.query("tags", named, "birch amber", filter="odd", how=True, total=True, facets={"price": [0, 8]})
        assert sorted((hit.bucket, hit.object) for hit in found) == [("t,3", "o3"), ("t2", "o1")]
        assert [[(word.how, word.word) for word in how] for how in found.hows or []] == [
            [("form", "birches"), ("word", "amber")]
        ] * 2
        assert (found.total, found.facets and found.facets.total) == (2, 2)
        counted = client.facets("tags", named, of="*", ranges="price: 0,8")
        assert (counted.tags, counted.ranges["price"][1]) == ({"": {"even": 2, "odd": 2}}, (8, None, 3))
        ordered = client.query("tags", named, "", sort="price", limit=3)
        assert [(hit.bucket, hit.object) for hit in ordered] == [("t,3", "o3"), ("t2", "o2"), ("t2", "o1")]
        assert client.query("tags", named, "", sort="price", after="t2/o1") == ["o0"]
        assert client.suggest("tags", named, "amb", filter="odd") == ["amber"]
        explained = client.explain("tags", named, "amber", filter="odd")
        assert (explained.total, explained.unfiltered, len(explained.buckets)) == (2, 4, 3)
        meant = client.query("tags", named, "amber", vector=[1.0] * 64)
        assert [(hit.bucket, hit.object) for hit in meant] == [("t2", "o2"), ("t,3", "o3"), ("t1", "o0"), ("t2", "o1")]
        with pytest.raises(CommandError, match="it has 32 numbers, the vectors vector of the bucket 64"):
            client.query("tags", named, "amber", vector=[1.0] * 32)
    lines = ['QUERY tags t1 "amber" SCORES(1) HOW(1) TOTAL(1) FILTER("odd") BUCKETS(t2,"t,3") LIMIT(1)',
             'FACETS tags t1 "" OF("*") BUCKETS(t2,"t,3")']  # fmt: skip
    hits, facets = (line for line in talk(server, "search", *lines) if line.startswith(("EVENT", "RESULT")))
    total, corrected, item = hits.split()[3:]
    assert (total, corrected, item.rpartition(":")[0][:-6], item.rpartition(":")[2]) == (
        "2",
        "-",
        "t2/o1:3.",
        "word=amber",
    )
    assert json.loads(facets.removeprefix("RESULT "))["tags"] == {"": {"even": 2, "odd": 2}}
    assert talk(server, "ingest", "FLUSHC tags") == ["RESULT 1"]


def test_similar_objects(server: Server) -> None:
    for oid, text in (("s1", "amber birch"), ("s2", "amber birch cedar"), ("s3", "amber dogwood")):
        assert talk(server, "ingest", f'PUSH similar b {oid} "{text}"') == ["OK"]
    answers = talk(
        server, "search", "SIMILAR similar b s1", "SIMILAR similar b s1 LIMIT(1) SCORES(1)", "SIMILAR c b1 no"
    )
    names, scored, none = (line.split()[3:] for line in answers if line.startswith("EVENT SIMILAR"))
    assert (names, none) == (["s2", "s3"], [])
    assert scored[0].startswith("s2:2.")
    with sonicpy.connect(f"sonic://{HOST}:{server.port}") as client:
        assert client.similar("similar", "b", "s1") == client.bucket("similar", "b").similar("s1") == names
        assert client.similar("similar", "b", "s1", limit=1, offset=1) == ["s3"]
        assert client.similar("similar", "b", "s1").scores

    async def ask() -> None:
        async with sonicpy.connect_async(f"sonic://{HOST}:{server.port}") as one:
            assert await one.bucket("similar", "b").similar("s1") == names

    asyncio.run(ask())
    assert talk(server, "ingest", "FLUSHC similar") == ["RESULT 1"]


def test_compat_mode_refuses(tmp_path: Path) -> None:
    with (
        Server(tmp_path, {"server.compat": "sonic"}) as server,
        sonicpy.connect(f"sonic://{HOST}:{server.port}") as client,
    ):
        client.push("c", "b", "o", "weather")
        with pytest.raises(NotOffered):
            client.query("c", ["b", "x"], "weather")
        with pytest.raises(NotOffered):
            client.similar("c", "b", "o")
        with pytest.raises(CommandError):
            client.count("c", ["b", "x"])


def test_http() -> None:
    pytest.importorskip("fastapi", reason="needs the extra [http]")
    sonicpy_http = importlib.import_module("sonicpy.http")
    testclient = pytest.importorskip("starlette.testclient", reason="needs httpx")
    with sonicpy.open(":memory:") as index:
        for bucket, text in TEXTS.items():
            index.push("c", bucket, "o1", text)
        app = testclient.TestClient(sonicpy_http.app(index))
        scope = {"collection": "c", "bucket": "b1", "buckets": 'forum:*,"a,b"'}
        hits = index.query("c", BUCKETS, "weather", total=True)
        found = app.get("/v1/query", params={**scope, "text": "weather", "total": True}).json()
        assert found == {"hits": hits.to_dicts(), "total": 3, "whole": 3}
        assert app.post("/v1/query", json={**scope, "text": "weather", "total": True}).json() == found
        box = app.get("/v1/search", params={**scope, "text": "sunny d", "shown": True}).json()
        assert (box["suggestions"], box["hits"][0]["bucket"], len(box["shown"])) == (
            ["days"],
            "forum:1",
            len(box["hits"]),
        )
        assert app.get("/v1/suggest", params={**scope, "word": "ra"}).json() == {"words": ["rainy"]}
        assert len(app.get("/v1/words", params=scope).json()["words"]) == 5
        assert app.get("/v1/count", params={**scope, "objects": True}).json() == {"count": 4}
        assert len(app.get("/v1/explain", params={**scope, "text": "weather"}).json()["buckets"]) == 4
        assert app.get("/v1/query", params={**scope, "buckets": "a,,b", "text": "x"}).status_code == 400
        index.tag("c", "forum:2", "o1", ["wet"])
        wet = app.get("/v1/query", params={**scope, "text": "weather", "filter": "wet", "how": True, "of": "*"}).json()
        assert [(hit["bucket"], hit["object"], hit["how"][0]["word"]) for hit in wet["hits"]] == [
            ("forum:2", "o1", "weather")
        ]
        assert (
            wet["facets"]["tags"]
            == app.get("/v1/facets", params={**scope, "of": "*"}).json()["tags"]
            == {"": {"wet": 1}}
        )
        index.push("c", "b1", "o2", "sunny again")
        similar = app.get("/v1/similar", params={"collection": "c", "bucket": "b1", "object": "o1"}).json()
        assert [hit["object"] for hit in similar["hits"]] == ["o2"]
        alone = app.get("/v1/query", params={"collection": "c", "bucket": "b1", "text": "weather", "lang": "none"})
        assert "bucket" not in alone.json()["hits"][0]


@pytest.mark.full
@pytest.mark.parametrize("processes", ["0", "1"])
def test_questions_without_an_answer(tmp_path: Path, processes: str) -> None:
    """STATS shows the questions of all processes; the metrics show the commonest ones."""
    port = free_port()
    settings = {
        "server.search_processes": processes, "search.note_unanswered": "true", "metrics.inet": f"{HOST}:{port}",
    }  # fmt: skip
    with Server(tmp_path, settings) as server:
        assert talk(server, "ingest", 'PUSH c b o "weather"') == ["OK"]
        for _ in range(3):
            assert talk(server, "search", 'QUERY c b "xylophone"')[1].split()[3:] == []
        (line,) = talk(server, "control", "STATS c b")
        found = json.loads(line.removeprefix("RESULT "))
        assert found["unanswered"] == {"queries": {"xylophone": 3}, "words": {"xylophone": 3}}
        with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=WAIT_S) as answer:
            assert 'sonicpy_unanswered{query="xylophone"} 3.0' in answer.read().decode()
