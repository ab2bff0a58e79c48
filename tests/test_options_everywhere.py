"""Every option means the same in each way to ask.

A new option gets an example below: of QUERY in EXAMPLES, of other commands in EXAMPLES_OF. Its test fails where the
option is forgotten: in a cache, the clients, the parser, HTTP, the command line, EXPLAIN, a cluster, a spread bucket,
or several buckets.
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
from sonicpy.channel.syntax import COMMANDS, Limits, LineRules, parse
from sonicpy.cluster.peers.questions import answer_read, pack_question, question_of, unpack_question
from sonicpy.langcodes import LANG_CODES
from sonicpy.option_kinds import Languages
from sonicpy.options import ARGUMENTS, OPTIONS
from sonicpy.search import Search, asked
from sonicpy.server.connections import dispatch
from tests.index.test_spread import Part
from tests.processes import run_here
from tests.support.surfaces import BITS, ORDERED, TAGS, TEXTS, VALUES, B, C, Surfaces, opened_surfaces


class Example(NamedTuple):
    """A value of an option, and a text whose answer it changes.

    Attributes:
        value: a value other than the default.
        text: the text of a query for the objects of TEXTS.
        beside: other options of the query, both with and without this option.
        is_shown: whether EXPLAIN has the option, too; otherwise it only chooses the part of an answer that is shown.
    """

    value: Any
    text: str = "engines boat"
    is_shown: bool = True
    beside: Mapping[str, Any] = MappingProxyType({})


LIKE_ONE = b2a_base64(bytes([127] * 8), newline=False).decode()
"""A vector like that of "one", and unlike that of "longer"."""

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
    """The objects of an answer, the number of all, and the words by which each answers, the last two if they were asked
    for.
    """

    names: list[str]
    total: int | None
    hows: list[list[tuple[str, ...]]] | None = None


Way = Callable[[str, dict[str, Any]], Answer]


def of_hits(hits: Any) -> Answer:
    return Answer(list(hits), hits.total, None if hits.hows is None else list(map(list, hits.hows)))


def of_reply(reply: bytes, *, how: bool = False) -> Answer:
    """Return the answer in an event. Its items are the total, if it was asked for, and names that do not begin with
    digits; with `how`, the corrected text precedes the names, and words follow each name.
    """
    items = reply.decode().splitlines()[1].split()[3:]
    totals = [int(items.pop(0))] if items and items[0].isdigit() else [None]
    if not how:
        return Answer(items, totals[0])
    pairs = [item.split(":") for item in items[1:]]
    return Answer([name for name, _ in pairs], totals[0], [list(unpack_held(held)) for _, held in pairs])


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surfaces]:
    with contextlib.ExitStack() as open_until_the_end:
        yield opened_surfaces(tmp_path_factory.mktemp("ways"), open_until_the_end)


@pytest.fixture(scope="module")
def ways(surfaces: Surfaces) -> dict[str, Way]:
    return dict(every_way(surfaces))


def every_way(surfaces: Surfaces) -> Iterator[tuple[str, Way]]:
    folder, index, spread, url, clients, http = surfaces
    yield "library", lambda text, options: of_hits(index.query(C, B, text, **options))
    yield "cache of answers", lambda text, options: Answer(index.query_ids(C, B, text, **options), None)
    yield "cluster", lambda text, options: of_replica(index, text, options)
    yield (
        "spread bucket",
        lambda text, options: of_reply(asyncio.run(spread.execute(command(text, options))), how="how" in options),
    )
    for name, client in clients.items():
        yield f"client, {name}", lambda text, options, client=client: of_hits(client.query(C, B, text, **options))  # type: ignore[misc]
    yield "command line", lambda text, options: of_command_line(folder, url, text, options)
    if http is not None:
        yield from ways_of_http(http)


def command(text: str, options: dict[str, Any]) -> Query:
    return Query(*asked("QUERY", C, B, text, options))


def of_replica(index: Part, text: str, options: dict[str, Any]) -> Answer:
    _, question = unpack_question(pack_question(0, question_of(command(text, options))))
    return of_reply(answer_read(index, None, question), how="how" in options)  # type: ignore[arg-type]


def of_command_line(folder: Path, url: str, text: str, options: dict[str, Any]) -> Answer:
    status, output, said = run_here(["query", C, B, text, "--json", "--server", url, *flags_of(options)], folder)
    assert status == 0, said
    answer = json.loads(output)
    return Answer([hit["object"] for hit in answer["hits"]], answer.get("total"), of_json(answer["hits"]))


def flags_of(options: Mapping[str, Any]) -> list[str]:
    return [
        f"--{'' if value else 'no-'}{name}" if isinstance(value, bool) else f"--{name}={value}"
        for name, value in options.items()
    ]


def of_json(hits: list[dict[str, Any]]) -> list[list[tuple[str, ...]]] | None:
    if not any("how" in hit for hit in hits):
        return None
    return [[tuple(word.values()) for word in hit["how"]] for hit in hits]


def ways_of_http(client: Any) -> Iterator[tuple[str, Way]]:
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


def test_an_order_that_knows_no_words_says_so_everywhere(ways: dict[str, Way]) -> None:
    for options in ({"sort": "newest"}, {"sort": "weight", "group": "weight"}):
        for way, ask in ways.items():
            found = ask("boat", {**options, "how": True})
            assert found.hows == [[]] * 3 or way == "cache of answers", (way, options)


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
"""Options of EXPLAIN that choose among the objects that answer, or order them; FACETS does not have them."""


def test_facets_take_what_decides_an_answer() -> None:
    assert ARGUMENTS["EXPLAIN"].keys() - ARGUMENTS["FACETS"].keys() == ORDERING


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"limit", "group"}))
def test_facets_count_what_answers(index: sonicpy.Index, name: str) -> None:
    """An option that changes which objects answer is an option of FACETS, too; `limit` is a number of tags there,
    and facets count the objects of groups.
    """
    value, text, _, beside = EXAMPLES[name]
    plain, wanted = (index.query(C, B, text, **{**given, "total": True}) for given in (beside, {**beside, name: value}))
    if name in ARGUMENTS["FACETS"]:
        assert index.facets(C, B, text, **{name: value}).total == wanted.total
    else:
        assert plain.total == wanted.total, "FACETS has to take it"


def is_page_alone(search: Search) -> bool:
    """Return whether the options of a search only choose a page of the answer that the search has without options."""
    return search.question == asked("QUERY", C, B, search.text, {}).question


# -- other commands ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["boat", "!!!", ""])
@pytest.mark.parametrize(
    "beside", [{}, {"sort": "-weight"}, {"filter": "metal"}, {"group": "weight", "sort": "weight"}]
)
def test_the_items_of_a_reply_mean_the_same_in_a_spread_bucket(
    surfaces: Surfaces, text: str, beside: dict[str, Any]
) -> None:
    if not text and not beside:
        return
    for numbers in range(16):
        shown = {name: True for place, name in enumerate(("total", "whole", "how", "scores")) if numbers >> place & 1}
        asked_for = command(text, beside)._replace(**{**shown, "whole": numbers & 3 == 3})
        one = dispatch.CALLS[Query](surfaces.whole, asked_for)
        spread = asyncio.run(surfaces.spread.execute(asked_for))
        assert set(spread.split()[5:]) == set(one.split()[5:]), (text, asked_for)


class Verb(NamedTuple):
    """A command that answers without changing anything.

    Attributes:
        method: the method of the library and the clients.
        path: the path over HTTP.
        flags: the verb and the flags of the command line.
        named: the parameter of HTTP for the text.
        read: returns the answer in the result of a method.
        read_json: returns the answer in the JSON of HTTP.
        read_line: returns the answer in the items of a reply.
        beside: further parameters of HTTP.
    """

    method: str
    path: str
    flags: tuple[str, ...]
    named: str | None
    read: Callable[[Any], Any]
    read_json: Callable[[Any], Any]
    read_line: Callable[[str], Any]
    beside: Mapping[str, Any] = MappingProxyType({})


def named(hits: list[dict[str, Any]]) -> list[str]:
    return [hit["object"] for hit in hits]


def items(line: str) -> list[str]:
    return line.split()[3:]


def result(line: str) -> Any:
    return json.loads(line.removeprefix("RESULT "))


WORDS = (list, lambda found: found["words"], items)
NUMBER = (int, lambda found: found["count"], result)
VERBS = {
    "FACETS": Verb("facets", "facets", ("facets",), "text", lambda found: found.to_dict(), lambda found: found, result),
    "SUGGEST": Verb("suggest", "suggest", ("suggest",), "word", *WORDS),
    "LIST": Verb("words", "words", ("list",), None, *WORDS),
    "COUNT": Verb("count_words", "count", ("count",), None, *NUMBER),
    "COUNTB": Verb("count_objects", "count", ("count", "--of=objects"), None, *NUMBER, {"objects": True}),
    "SIMILAR": Verb(
        "similar",
        "similar",
        ("similar",),
        "object",
        list,
        lambda found: [hit["object"] for hit in found["hits"]],
        items,
    ),
}
COUNTED = MappingProxyType({"of": "*"})


class ExampleOf(NamedTuple):
    """An Example with the META argument of the option on the wire."""

    value: Any
    meta: str
    text: str = "engines boat"
    beside: Mapping[str, Any] = COUNTED
    beside_meta: str = "OF(*)"


def bare(value: Any, meta: str, text: str) -> ExampleOf:
    return ExampleOf(value, meta, text, {}, "")


EXACT = MappingProxyType({"fuzzy": "0", "match": "all"})
EXACT_META = "FUZZY(0) MATCH(all)"
ALSO = ["x0", "x*"]
"""Buckets that together have the objects of B; one is named twice."""
EXAMPLES_OF: dict[str, dict[str, ExampleOf]] = {
    "FACETS": {
        "limit": ExampleOf(1, "LIMIT(1)"),
        "lang": ExampleOf("none", "LANG(none)", "the boats", EXACT, EXACT_META),
        "stem": ExampleOf(False, "STEM(0)", "engines", EXACT, EXACT_META),
        "complete": ExampleOf(False, "COMPLETE(0)", "boat", EXACT, EXACT_META),
        "filter": ExampleOf("metal AND NOT wood", 'FILTER("metal AND NOT wood")'),
        "of": ExampleOf("w*", "OF(w*)"),
        "ranges": ExampleOf("weight: 5", 'RANGES("weight: 5")'),
        "apart": ExampleOf(
            True, "APART(1)", beside={"of": "*", "filter": "metal"}, beside_meta='OF(*) FILTER("metal")'
        ),
        "buckets": ExampleOf(ALSO, "BUCKETS(x*)"),
        "syntax": ExampleOf("web", "SYNTAX(web)", "boat -engine"),
        "match": ExampleOf("all", "MATCH(all)"),
        "fuzzy": ExampleOf("0", "FUZZY(0)", "engien"),
        "fields": ExampleOf("title", "FIELDS(title)"),
        "phrase": ExampleOf("an engine", 'PHRASE("an engine")'),
    },
    "SUGGEST": {
        "limit": bare(1, "LIMIT(1)", "engi"),
        "filter": bare("metal", "FILTER(metal)", "engi"),
        "buckets": bare(ALSO, "BUCKETS(x*)", "engi"),
    },
    "LIST": {
        "limit": bare(3, "LIMIT(3)", ""),
        "offset": bare(4, "OFFSET(4)", ""),
        "prefix": bare("Eng", "PREFIX(Eng)", ""),
        "after": bare("engine", "AFTER(engine)", ""),
        "buckets": bare(ALSO, "BUCKETS(x*)", ""),
    },
    "COUNT": {"buckets": bare(ALSO, "BUCKETS(x*)", "")},
    "COUNTB": {"buckets": bare(ALSO, "BUCKETS(x*)", "")},
    "SIMILAR": {"limit": bare(1, "LIMIT(1)", "longer"), "offset": bare(1, "OFFSET(1)", "longer")},
}
WayOf = Callable[[Verb, str, dict[str, Any], str], Any]


@pytest.fixture(scope="module")
def ways_of_others(surfaces: Surfaces) -> dict[str, WayOf]:
    return dict(every_way_of_others(surfaces))


def every_way_of_others(surfaces: Surfaces) -> Iterator[tuple[str, WayOf]]:
    folder, index, spread, url, clients, http = surfaces

    def by_method(target: Any, where: Any = B) -> WayOf:
        def ask(verb: Verb, text: str, options: dict[str, Any], meta: str) -> Any:
            return verb.read(getattr(target, verb.method)(C, where, *([text] if verb.named else []), **options))

        return ask

    def by_line(answer: Callable[[Any], bytes]) -> WayOf:
        def ask(verb: Verb, text: str, options: dict[str, Any], meta: str) -> Any:
            name = next(name for name, each in VERBS.items() if each is verb)
            return verb.read_line(answer(command_in(name, text, meta)).decode().splitlines()[-1])

        return ask

    def by_command_line(verb: Verb, text: str, options: dict[str, Any], meta: str) -> Any:
        name, *flags = verb.flags
        words = [text] if verb.named else []
        asked = [name, C, B, *words, "--json", "--server", url, *flags, *flags_of(options)]
        status, output, said = run_here(asked, folder)
        assert status == 0, said
        found = json.loads(output)
        return named(found["hits"]) if name == "similar" else found

    def by_http(verb: Verb, text: str, options: dict[str, Any], meta: str) -> Any:
        named = {verb.named: text} if verb.named else {}
        given = {"collection": C, "bucket": B, **named, **verb.beside, **options}
        response = http.get(f"/v1/{verb.path}", params=given)
        assert response.status_code == 200, response.text
        return verb.read_json(response.json())

    def of_replica(command: Any) -> bytes:
        _, question = unpack_question(pack_question(0, question_of(command)))
        return answer_read(index, None, question)  # type: ignore[arg-type]

    yield "library", by_method(index)
    yield "several buckets", by_method(index, ALSO)
    yield "channel", by_line(lambda command: dispatch.CALLS[type(command)](index, command))
    yield "cluster", by_line(of_replica)
    yield "spread bucket", by_line(lambda command: asyncio.run(spread.execute(command)))
    for name, client in clients.items():
        yield f"client, {name}", by_method(client)
    yield "command line", by_command_line
    if http is not None:
        yield "HTTP", by_http


LINE_RULES = LineRules(Limits(), Languages(LANG_CODES))


def command_in(name: str, text: str, meta: str) -> Any:
    quoted = f' "{text}"' if COMMANDS[name].has_text else f" {text}"
    line = f"{name} {C} {B}{quoted} {meta}".strip().encode()
    return parse(COMMANDS[name], line, len(name) + 1, LINE_RULES)


def test_every_option_of_other_commands_has_an_example() -> None:
    wanted = {
        verb: {option.name for option in OPTIONS[verb] if option.is_argument or option.name == "buckets"}
        for verb in EXAMPLES_OF
    }
    assert {verb: set(examples) for verb, examples in EXAMPLES_OF.items()} == wanted


REFUSED = {("spread bucket", "SIMILAR"), ("several buckets", "SIMILAR")}


@pytest.mark.parametrize(("name", "option"), [(name, each) for name, taken in EXAMPLES_OF.items() for each in taken])
def test_an_option_of_another_command_means_the_same_everywhere(
    surfaces: Surfaces, ways_of_others: dict[str, WayOf], name: str, option: str
) -> None:
    verb, example = VERBS[name], EXAMPLES_OF[name][option]
    without, given = dict(example.beside), {**example.beside, option: example.value}
    if option == "buckets":
        assert_other_buckets(surfaces, ways_of_others, name, example)
        return
    metas = example.beside_meta, f"{example.beside_meta} {example.meta}"
    plain, wanted = (ways_of_others["library"](verb, example.text, options, "") for options in (without, given))
    assert plain != wanted, "the example has to change the answer"
    for way, ask in ways_of_others.items():
        if (way, name) in REFUSED:
            continue
        for options, meta, expected in zip((without, given), metas, (plain, wanted), strict=True):
            assert ask(verb, example.text, options, meta) == expected, (way, options)


def assert_other_buckets(surfaces: Surfaces, ways: dict[str, WayOf], name: str, example: ExampleOf) -> None:
    """Repeat a query of B for buckets with the same objects, in each way to ask the index that has these."""
    verb, together = VERBS[name], [B, *ALSO]
    options = dict(example.beside)
    method = getattr(surfaces.whole, verb.method)
    wanted = verb.read(method(C, together, *([example.text] if verb.named else []), **options))
    for way in ("channel", "cluster"):
        meta = f"{example.beside_meta} {example.meta}"
        assert ways[way](verb, example.text, options, meta) == wanted, way
    if surfaces.http is not None:
        assert ways["HTTP"](verb, example.text, {**options, "buckets": ",".join(ALSO)}, "") == wanted
    alone = ways["command line"](verb, example.text, options, "")
    beside = ways["command line"](verb, example.text, {**options, "buckets": "x0,x1"}, "")
    assert beside == alone, "the server has no such buckets"
