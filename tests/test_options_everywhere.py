"""Every option of QUERY means the same on every way to an answer.

A new option gets an example below. Its test fails where the option is forgotten: in a cache, the clients, the parser,
HTTP, the command line, EXPLAIN, a cluster, or a spread bucket.
"""

import asyncio
import contextlib
import json
from binascii import b2a_base64
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

import sonicpy
from sonicpy.channel.commands import Query
from sonicpy.channel.held_words import unpack_held
from sonicpy.cluster.node.known_rules import KnownRules
from sonicpy.cluster.node.places import Places
from sonicpy.cluster.node.spread import Spread
from sonicpy.cluster.node.writers import Writers
from sonicpy.cluster.peers.questions import Question, answer_read, pack_question, question_of, unpack_question
from sonicpy.cluster.registry.partitions import part_of
from sonicpy.cluster.registry.registry import Layout
from sonicpy.config import Config
from sonicpy.index.recorder import Recorder
from sonicpy.options import ARGUMENTS
from sonicpy.search import Search, asked
from tests.client.ways import WAYS
from tests.index.test_spread import Part
from tests.processes import Server, run_here

C, B = "c", "b"
TEXTS = {
    "one": "engine",
    "form": "the engines of a boat",
    "longer": "a boat with an engine and a sail",
    "other": "a boathouse by the river, painted green and white",
    "typo": "enginer",
}


VALUES = {"longer": {"weight": 10**15}}
TAGS = {"one": ["metal"], "longer": ["metal", "wood"], "typo": ["wood"]}


class Example(NamedTuple):
    """A value of an option, and a text whose answer it changes.

    Attributes:
        value: another one than the default.
        text: is asked about the objects of TEXTS.
        beside: other options, which are given with and without it.
        is_shown: EXPLAIN has the option, too; otherwise it chooses what to show of an answer.
    """

    value: Any
    text: str = "engines boat"
    is_shown: bool = True
    beside: Mapping[str, Any] = MappingProxyType({})


LIKE_ONE = b2a_base64(bytes([127] * 8), newline=False).decode()
"""As the vector of "one", and unlike that of "longer"."""
BITS = {"one": b"\xff", "form": b"\x0f", "longer": b"\x00"}

ORDERED = Config.model_validate({"store": {"order": True}})

EXAMPLES: dict[str, Example] = {
    "limit": Example(1),
    "offset": Example(1, is_shown=False),
    "lang": Example("none"),
    "stem": Example(False),
    "total": Example(True, is_shown=False),
    "complete": Example(False, "engien"),
    "syntax": Example("web", "boat -engine"),
    "match": Example("all", "engines boat"),
    "fuzzy": Example(0, "engien"),
    "how": Example(True, is_shown=False),
    "vector": Example(LIKE_ONE),
    "meaning": Example(9.0, beside={"vector": LIKE_ONE}),
    "depth": Example(2, beside={"vector": LIKE_ONE, "meaning": 9}),
    "filter": Example("metal AND NOT wood"),
    "sort": Example("newest", is_shown=False),
    "boost": Example("weight", is_shown=False),
    "after": Example("other", is_shown=False, beside={"sort": "newest"}),
    "fields": Example("title"),
    "group": Example("m*"),
    "phrase": Example("an engine"),
}


class Answer(NamedTuple):
    """The objects of an answer, the number of all, and the words by which each answers, if they were asked for."""

    names: list[str]
    total: int | None
    hows: list[list[tuple[str, ...]]] | None = None


Way = Callable[[str, dict[str, Any]], Answer]


def of_hits(hits: Any) -> Answer:
    return Answer(list(hits), hits.total, None if hits.hows is None else list(map(list, hits.hows)))


def of_reply(reply: bytes, *, how: bool = False) -> Answer:
    """Return the answer in an event, whose items are the total, if it was asked for, and names that do not begin with
    digits; with `how`, the corrected text comes before these, and words behind each."""
    items = reply.decode().splitlines()[1].split()[3:]
    totals = [int(items.pop(0))] if items and items[0].isdigit() else [None]
    if not how:
        return Answer(items, totals[0])
    pairs = [item.split(":") for item in items[1:]]
    return Answer([name for name, _ in pairs], totals[0], [list(unpack_held(held)) for _, held in pairs])


class PartsDesk:
    """A desk for `Spread`: parts answer in this process, through the bytes of questions."""

    is_strong = False

    def __init__(self, parts: list[Part], places: Places, recorder: Recorder) -> None:
        self.rules = KnownRules(places, {}, Writers.__new__(Writers), recorder, self.ask)
        self._parts = parts

    async def ask(self, partition: int, question: Question, *, once: bool = False) -> bytes:
        number, same = unpack_question(pack_question(partition, question))
        return answer_read(self._parts[number], None, same)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Way]]:
    folder = tmp_path_factory.mktemp("ways")
    with contextlib.ExitStack() as open_until_the_end:
        yield dict(every_way(folder, open_until_the_end))


def every_way(folder: Path, opened: contextlib.ExitStack) -> Iterator[tuple[str, Way]]:
    index = opened.enter_context(Part(folder / "one", ORDERED))
    parts = [opened.enter_context(Part(folder / f"part{number}", ORDERED)) for number in range(2)]
    for oid, text in TEXTS.items():
        for each in (index, parts[part_of(oid, len(parts))]):
            each.push(C, B, oid, text, lang="eng", vector=BITS.get(oid), tags=TAGS.get(oid), values=VALUES.get(oid))
    yield "library", lambda text, options: of_hits(index.query(C, B, text, **options))
    yield "cache of answers", lambda text, options: Answer(index.query_ids(C, B, text, **options), None)
    yield "cluster", lambda text, options: of_replica(index, text, options)
    places = Places(Layout(len(parts), 1, ("n1",), spread=((C, len(parts)),)))
    recorder = Recorder(ORDERED)
    spread = Spread(PartsDesk(parts, places, recorder), places, recorder)  # type: ignore[arg-type]
    yield (
        "spread bucket",
        lambda text, options: of_reply(asyncio.run(spread.execute(command(text, options))), how="how" in options),
    )
    server = opened.enter_context(Server(folder / "server", {"store.order": "true"}))
    url = f"sonic://{server.host}:{server.port}"
    for name, connect in WAYS.items():
        client = opened.enter_context(connect(url))
        yield f"client, {name}", lambda text, options, client=client: of_hits(client.query(C, B, text, **options))  # type: ignore[misc]
    for oid, text in TEXTS.items():
        client.push(C, B, oid, text, lang="eng", vector=BITS.get(oid), tags=TAGS.get(oid), values=VALUES.get(oid))
    yield "command line", lambda text, options: of_command_line(folder, url, text, options)
    yield from ways_of_http(index)


def command(text: str, options: dict[str, Any]) -> Query:
    return Query(*asked("QUERY", C, B, text, options))


def of_replica(index: Part, text: str, options: dict[str, Any]) -> Answer:
    _, question = unpack_question(pack_question(0, question_of(command(text, options))))
    return of_reply(answer_read(index, None, question), how="how" in options)  # type: ignore[arg-type]


def of_command_line(folder: Path, url: str, text: str, options: dict[str, Any]) -> Answer:
    flags = [
        f"--{'' if value else 'no-'}{name}" if isinstance(value, bool) else f"--{name}={value}"
        for name, value in options.items()
    ]
    status, output, said = run_here(["query", C, B, text, "--json", "--server", url, *flags], folder)
    assert status == 0, said
    answer = json.loads(output)
    return Answer([hit["object"] for hit in answer["hits"]], answer.get("total"), of_json(answer["hits"]))


def of_json(hits: list[dict[str, Any]]) -> list[list[tuple[str, ...]]] | None:
    if not any("how" in hit for hit in hits):
        return None
    return [[tuple(word.values()) for word in hit["how"]] for hit in hits]


def ways_of_http(index: Part) -> Iterator[tuple[str, Way]]:
    testclient = pytest.importorskip("starlette.testclient", reason="needs the extra [http]")
    client = testclient.TestClient(pytest.importorskip("sonicpy.http").app(index))

    def answer(response: Any) -> Answer:
        assert response.status_code == 200, response.text
        hits = response.json()["hits"]
        return Answer([hit["object"] for hit in hits], response.json()["total"], of_json(hits))

    def get(path: str) -> Way:
        return lambda text, options: answer(
            client.get(path, params={"collection": C, "bucket": B, "text": text, **options})
        )

    yield "GET /v1/query", get("/v1/query")
    yield "GET /v1/search", get("/v1/search")
    yield (
        "POST /v1/query",
        lambda text, options: answer(
            client.post("/v1/query", json={"collection": C, "bucket": B, "text": text, **options})
        ),
    )


def test_every_option_has_an_example() -> None:
    assert EXAMPLES.keys() == ARGUMENTS["QUERY"].keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_option_means_the_same_everywhere(ways: dict[str, Way], name: str) -> None:
    value, text, _, beside = EXAMPLES[name]
    without, given_it = dict(beside), {**beside, name: value}
    plain, wanted = (ways["library"](text, given) for given in (without, given_it))
    assert plain != wanted, "the example has to change the answer"
    for way, ask in ways.items():
        for given, expected in ((without, plain), (given_it, wanted), (without, plain), (given_it, wanted)):
            found = ask(text, given)
            assert found.names == expected.names, (way, given)
            assert found[1:] == expected[1:] or way == "cache of answers", (way, given)


@pytest.fixture(scope="module")
def index() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:", config=ORDERED) as opened:
        for oid, words in TEXTS.items():
            opened.push(C, B, oid, words, lang="eng", vector=BITS.get(oid), tags=TAGS.get(oid), values=VALUES.get(oid))
        yield opened


@pytest.mark.parametrize("name", EXAMPLES)
def test_explain_knows_what_decides_an_answer(index: sonicpy.Index, name: str) -> None:
    value, text, is_shown, beside = EXAMPLES[name]
    assert (name in ARGUMENTS["EXPLAIN"]) == is_shown
    search = asked("QUERY", C, B, text, {name: value})
    assert is_page_alone(search) or is_shown, "EXPLAIN has to take it"
    if not is_shown:
        return
    for options in (dict(beside), {**beside, name: value}):
        explained = index.explain(C, B, text, **options)
        assert [hit.object for hit in explained.hits] == index.query(C, B, text, **options)


ORDERING = {"vector", "meaning", "depth", "group"}
"""Options of EXPLAIN that choose among the objects that answer, or order them: FACETS does without them."""


def test_facets_take_what_decides_an_answer() -> None:
    assert ARGUMENTS["EXPLAIN"].keys() - ARGUMENTS["FACETS"].keys() == ORDERING


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"limit", "group"}))
def test_facets_count_what_answers(index: sonicpy.Index, name: str) -> None:
    """An option by which other objects answer is an option of FACETS, too: `limit` counts tags there, and facets count
    the objects of groups."""
    value, text, _, beside = EXAMPLES[name]
    plain, wanted = (index.query(C, B, text, **{**given, "total": True}) for given in (beside, {**beside, name: value}))
    if name in ARGUMENTS["FACETS"]:
        assert index.facets(C, B, text, **{name: value}).total == wanted.total
    else:
        assert plain.total == wanted.total, "FACETS has to take it"


def is_page_alone(search: Search) -> bool:
    """Return whether a search differs from one without options only by what it shows of the same answer."""
    return search.question == asked("QUERY", C, B, search.text, {}).question
