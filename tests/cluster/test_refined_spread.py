"""Filters, orders and facets of a spread bucket equal those of one index with all objects."""

import asyncio
import json
import random
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sonicpy.channel.commands import CountFacets, List, Query, Suggest
from sonicpy.channel.groups import unpack_group
from sonicpy.channel.held_words import pack_held
from sonicpy.cluster.node.places import Places
from sonicpy.cluster.node.spread import Spread
from sonicpy.cluster.registry.partitions import part_of
from sonicpy.cluster.registry.registry import Layout
from sonicpy.config import Config
from sonicpy.errors import InvalidArgument
from sonicpy.index.recorder import Recorder
from sonicpy.search import asked, facets_asked
from sonicpy.server.connections.dispatch import query
from tests.index.test_filters import TAGS, put, some_thing
from tests.index.test_spread import Part
from tests.reference import filters as twin
from tests.reference.filters import Thing
from tests.reference.groups import Row
from tests.support.examples import some
from tests.support.surfaces import ORDERED, PartsDesk

SCOPE = ("c", "b")
PARTS = 3

Both = tuple[Part, Spread, list[Thing]]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder, chance = tmp_path_factory.mktemp("refined"), random.Random(7)
    things = [some_thing(chance, age) for age in range(150)]
    for thing, time in zip(things, chance.sample(range(-75, 75), 150), strict=True):
        thing.values["time"] = time  # all differ, so that parts and the whole have one order
    with ExitStack() as opened:
        one = opened.enter_context(Part(folder / "one"))
        parts = [opened.enter_context(Part(folder / f"part{number}")) for number in range(PARTS)]
        places, recorder = Places(Layout(PARTS, 1, ("n1",), spread=((SCOPE[0], PARTS),))), Recorder(Config())
        with ExitStack() as batches:
            for index in (one, *parts):
                batches.enter_context(index.batch())
            for thing in things:
                put(one, thing)
                put(parts[places.partition_of(*SCOPE, thing.name)], thing)
        yield one, Spread(PartsDesk(parts, places, recorder), places, recorder), things  # type: ignore[arg-type]


def answer(spread: Spread, text: str, **options: Any) -> tuple[list[str], int | None]:
    command = Query(*asked("QUERY", *SCOPE, text, options))
    items = asyncio.run(spread.execute(command)).decode().splitlines()[1].split()[3:]
    return (items[1:], int(items[0])) if command.total else (items, None)


def scored(spread: Spread, text: str, **options: Any) -> dict[str, float]:
    """Return the scores of the objects of an answer."""
    command = Query(*asked("QUERY", *SCOPE, text, options))._replace(scores=True)
    items = asyncio.run(spread.execute(command)).decode().splitlines()[1].split()[3:]
    return {name: float(score) for name, _, score in (item.rpartition(":") for item in items)}


@pytest.mark.parametrize("seed", range(12))
def test_parts_answer_as_one_index(seed: int, both: Both) -> None:
    one, spread, things = both
    chance = random.Random(seed)
    condition = twin.condition_by(chance, TAGS, 2)
    filter, word = twin.text_of(condition, chance), chance.choice(("", "alpha", "bravo delta", "none"))
    passing = {thing.name for thing in things if twin.meets(condition, thing)}
    for sort in ("time", "-time"):
        expected = one.query(*SCOPE, word, filter=filter, sort=sort, limit=200, total=True)
        assert set(expected) <= passing
        names, total = answer(spread, word, filter=filter, sort=sort, limit=7, offset=2, total=True)
        assert (names, total) == (list(expected)[2:9], expected.total), filter
        if len(expected) > 9:
            assert answer(spread, word, filter=filter, sort=sort, limit=5, after=expected[3])[0] == expected[4:9]
    if word:
        hits = one.query(*SCOPE, word, filter=filter, limit=200, total=True)
        names, total = answer(spread, word, filter=filter, limit=200, total=True)
        assert (sorted(names), total) == (sorted(hits), hits.total), filter
        boosted = one.query(*SCOPE, word, filter=filter, limit=200, boost="price")
        assert sorted(answer(spread, word, filter=filter, limit=200, boost="price")[0]) == sorted(boosted)
        newest = one.query(*SCOPE, word, filter=filter, limit=200, boost="time 30s")
        assert scored(spread, word, filter=filter, limit=200, boost="time 30s") == pytest.approx(dict(newest.pairs()))
    options = {"filter": filter, "of": "size:*, *", "ranges": "price: -20, 0, 20", "apart": chance.random() < 0.5}
    reply = asyncio.run(spread.execute(CountFacets(*facets_asked(*SCOPE, word, options)))).decode()
    assert json.loads(reply.removeprefix("RESULT ")) == one.facets(*SCOPE, word, **options).to_dict()  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{}, {"sort": "time"}, {"group": "size"}, {"filter": "price > 0"}])
def test_a_page_too_far_behind_is_refused(both: Both, options: dict[str, Any]) -> None:
    assert answer(both[1], "alpha", limit=1, offset=99_999, **options)[0] == []
    with pytest.raises(InvalidArgument, match="OFFSET and LIMIT make 100001; allowed are at most 100000 together"):
        answer(both[1], "alpha", limit=1, offset=100_000, **options)
    with pytest.raises(InvalidArgument, match="AFTER instead of OFFSET"):
        asyncio.run(both[1].execute(List(*SCOPE, 1, 100_000)))


def grouped(spread: Spread, text: str, **options: Any) -> tuple[list[Row], int]:
    """Return the names and groups on a page, without scores, and the number of all groups."""
    command = Query(*asked("QUERY", *SCOPE, text, {"total": True, **options}))._replace(scores=True)
    items = asyncio.run(spread.execute(command)).decode().splitlines()[1].split()[3:]
    pairs = [item.rsplit(":", 2) for item in items[1:]]
    return [(name, unpack_group(packed, options["group"])) for name, _, packed in pairs], int(items[0])


@pytest.mark.parametrize("group", ["price", "size:", "*", "nothing", "place"])
def test_groups_of_parts_are_those_of_one_index(group: str, both: Both) -> None:
    one, spread, _ = both
    for word in ("", "alpha", "bravo delta", "none"):
        for filter in (None, "red", "price > 0 AND NOT red", "absent"):
            for sort in ("time", "-time"):
                options: dict[str, Any] = {"filter": filter, "group": group, "sort": sort}
                expected = one.query(*SCOPE, word, limit=200, total=True, **options)
                rows = list(zip(expected.objects, expected.groups or (), strict=True))
                assert grouped(spread, word, limit=7, offset=2, **options) == (rows[2:9], expected.total)
                for place in range(3, len(rows) - 6, 7):
                    page = grouped(spread, word, limit=5, after=expected[place], **options)[0]
                    assert page == rows[place + 1 : place + 6]
        if word:
            for boost in (None, "price", "time 30s"):
                best = one.query(*SCOPE, word, limit=200, total=True, group=group, boost=boost)
                found = grouped(spread, word, limit=200, group=group, boost=boost)
                assert found[1] == best.total  # equal scores may have another order, and so other objects
                assert {key for _, key in found[0]} == set(best.groups or ())
                assert len(found[0]) == len(best)


def test_groups_of_parts_say_how_they_answer(both: Both) -> None:
    one, spread, _ = both
    command = Query(*asked("QUERY", *SCOPE, "alpha", {"group": "time", "how": True, "limit": 200}))
    items = asyncio.run(spread.execute(command)).decode().splitlines()[1].split()[4:]
    hits = one.query(*SCOPE, "alpha", group="time", how=True, limit=200)
    assert sorted(items) == sorted(f"{hit.object}:{pack_held(hit.how or ())}" for hit in hits)
    for options in ({"after": "o1"}, {"sort": "newest", "after": "o1", "group": "size:"}):
        with pytest.raises(InvalidArgument):
            grouped(spread, "alpha", **{"group": "time", **options})


def apart_objects(chance: random.Random | None) -> list[tuple[str, list[str], int]]:
    """Return (name, tags, price) of objects of two parts: the best objects of most groups are in the second part. None:
    each object has one group, and all groups of the first part come before the others.
    """
    names: tuple[list[str], list[str]] = ([], [])
    for number in range(1000):
        names[part_of(f"o{number}", 2)].append(f"o{number}")
    if chance is None:
        first = [(name, [f"g:{number}"], 1001 + number) for number, name in enumerate(names[0][:100])]
        more = [(name, [f"g:{number}"], 2001 + number) for number, name in enumerate(names[0][100:200], 100)]
        return [*first, *more, *((name, [f"g:{number}"], 1 + number) for number, name in enumerate(names[1][:100]))]
    prices = iter(chance.sample(range(2_000), 200))
    made = []
    for part, skew in enumerate((chance.choice((0, 5_000)), 0)):
        for name in names[part][:100]:
            tags = [f"g:{number}" for number in chance.sample(range(chance.choice((5, 60, 150))), chance.randint(0, 2))]
            made.append((name, tags, 2 * next(prices) + skew + part))
    return made


@pytest.mark.parametrize("seed", some([None, *range(6)], 7))
def test_pages_of_groups_leave_no_group_out(seed: int | None, tmp_path: Path) -> None:
    things = apart_objects(None if seed is None else random.Random(seed))
    with ExitStack() as opened:
        one, *parts = (opened.enter_context(Part(tmp_path / f"{number}")) for number in range(3))
        with ExitStack() as batches:
            for index in (one, *parts):
                batches.enter_context(index.batch())
            for name, tags, price in things:
                values = {"price": price, "group": int(tags[0][2:]) if tags else -1}
                for index in (one, parts[part_of(name, 2)]):
                    index.push(*SCOPE, name, "alpha", tags=tags, values=values)
        places, recorder = Places(Layout(2, 1, ("n1",), spread=(("c", 2),))), Recorder(Config())
        spread = Spread(PartsDesk(parts, places, recorder), places, recorder)  # type: ignore[arg-type]
        for group, sort, limit in product(("g:", "group"), ("price", "-price"), (1, 10, 37)):
            options: dict[str, Any] = {"group": group, "sort": sort}
            expected = one.query(*SCOPE, "alpha", limit=1000, **options)
            rows = list(zip(expected.objects, expected.groups or (), strict=True))
            if limit > 1:
                found, page = [], grouped(spread, "alpha", limit=limit, **options)[0]
                while page:
                    found += page
                    page = grouped(spread, "alpha", limit=limit, after=expected[len(found) - 1], **options)[0]
                assert found == rows, (group, sort, limit)
            for place in range(0, len(rows), 9):
                after = {"after": expected[place], "offset": 3}
                page = grouped(spread, "", limit=limit, **options, **after)[0]
                assert page == rows[place + 4 : place + 4 + limit], (group, sort, limit, place)


def check_meant_groups(one: Part, spread: Spread, options: dict[str, Any]) -> None:
    text = "alpha brav "
    hits = one.query(*SCOPE, text, total=True, limit=1000, how=True, **options)
    rows, total = grouped(spread, text, limit=1000, **options)
    keys = [str(key) for _, key in rows]
    assert sorted(map(str, hits.groups or ())) == sorted(keys) and total == hits.total
    if options["depth"] < 1000:  # which of equal objects are the first ones differs
        return
    assert {*rows} == {*zip(hits.objects, hits.groups or (), strict=True)}, options
    command = Query(*asked("QUERY", *SCOPE, text, {**options, "how": True, "limit": 5, "offset": 2}))
    reply = asyncio.run(spread.execute(command._replace(scores=True))).decode()
    found = [item.split(":") for item in reply.splitlines()[1].split()[4:]]
    assert [float(each[1]) for each in found] == pytest.approx((hits.scores or [])[2:7], abs=1e-5)
    held = {hit.object: pack_held(hit.how or ()) for hit in hits}
    assert all(each[2] == held[each[0]] for each in found)


def test_options_of_scores_go_together(tmp_path: Path) -> None:
    chance = random.Random(4)
    with ExitStack() as opened:
        one, *parts = (opened.enter_context(Part(tmp_path / f"{number}")) for number in range(PARTS + 1))
        for number in range(90):
            text = " ".join(chance.sample(["alpha", "bravo", "delta", "echo"], chance.randint(1, 3)))
            vector = [chance.choice((-1.0, 1.0)) for _ in range(16)] if chance.random() < 0.8 else None
            values, tags = (
                {"price": number % 23, "time": number * 997 % 101},
                [f"size:{number % 4}", "red" if number % 2 else "blue"],
            )
            for index in (one, parts[part_of(f"o{number}", PARTS)]):
                index.push(*SCOPE, f"o{number}", text, "none", vector=vector, tags=tags, values=values)
        places, recorder = Places(Layout(PARTS, 1, ("n1",), spread=(("c", PARTS),))), Recorder(Config())
        spread = Spread(PartsDesk(parts, places, recorder), places, recorder)  # type: ignore[arg-type]
        for boost in (None, "price", "time 9s"):
            for filter in (None, "red"):
                vector = [chance.randint(-9, 9) for _ in range(16)]
                for given in ({"vector": vector}, {"vector": vector, "how": True}, {"how": True}):
                    options: dict[str, Any] = {"boost": boost, "filter": filter, "depth": 1000, "limit": 1000, **given}
                    hits = one.query(*SCOPE, "alpha brav ", total=True, **options)
                    expected = {hit.object: (hit.score, pack_held(hit.how or ()) if hit.how else None) for hit in hits}
                    command = Query(*asked("QUERY", *SCOPE, "alpha brav ", {**options, "total": True}))
                    reply = asyncio.run(spread.execute(command._replace(scores=True))).decode()
                    total, *items = reply.splitlines()[1].split()[3:]
                    assert int(total) == hits.total
                    if "how" in given:
                        assert items.pop(0) == ("-" if hits.corrected is None else hits.corrected.replace(" ", "+"))
                    for item in items:
                        name, score, *how = item.split(":", 2)
                        assert float(score) == pytest.approx(expected[name][0], abs=1e-5), (options, name)
                        assert how == [each for each in expected[name][1:] if each is not None]
                    assert len(items) == len(expected)
                for group in ("price", "size:", "*", "absent"):
                    for depth in (0, 20, 1000):
                        shared = {"boost": boost, "filter": filter, "depth": depth, "vector": vector, "group": group}
                        check_meant_groups(one, spread, shared)
        with pytest.raises(InvalidArgument, match="it has 32 numbers"):
            asyncio.run(spread.execute(Query(*asked("QUERY", *SCOPE, "alpha", {"vector": [1.0] * 32, "how": True}))))


@pytest.mark.parametrize("text", ["alpha", "alph", "zzzz", "", "-- --"])
@pytest.mark.parametrize(
    "options", [{}, {"boost": "price"}, {"group": "price"}, {"sort": "time"}, {"sort": "time", "group": "size:"}]
)
def test_parts_send_as_many_items_as_one_index(text: str, options: dict[str, Any], both: Both) -> None:
    one, spread, _ = both
    for total, whole, how, scores in product((False, True), repeat=4):
        asked_for = asked("QUERY", *SCOPE, text, {**options, "total": total, "how": how, "limit": 200})
        command = Query(*asked_for)._replace(whole=whole, scores=scores)
        found, expected = (
            [item for item in reply.decode().splitlines()[1].split(" ")[3:] if item]
            for reply in (asyncio.run(spread.execute(command)), query(one, command))
        )
        assert len(found) == len(expected), command
        assert found[: total + (total and whole) + how] == expected[: total + (total and whole) + how], command


SIGNED = [
    "java -island",
    "title:java -island",
    "java -title:island",
    "title:java -island -body:tools",
    "java OR title:tools -boat",
    "(java OR tools) -is* boat",
    '"java tools" -boat',
    "-island",
    "java tolos -boat bo",
    "+java -tools",
]


@pytest.mark.parametrize("fields", some([None, "title", "title,body", "title^3", "title^3,body^0", "body"], 4))
def test_refused_words_and_fields_go_together(fields: str | None, tmp_path: Path) -> None:
    chance = random.Random(fields)
    words = ["Java", "island", "islands", "tools", "boat", "boats"]
    with ExitStack() as opened:
        one, *parts = (opened.enter_context(Part(tmp_path / f"{number}", ORDERED)) for number in range(PARTS + 1))
        for number in range(60):
            texts = {name: " ".join(chance.sample(words, chance.randint(0, 3))) for name in ("title", "body")}
            texts = {name: text for name, text in texts.items() if text}
            for index in (one, parts[part_of(f"o{number}", PARTS)]):
                index.upsert(*SCOPE, f"o{number}", texts or "java", "eng")
        places, recorder = Places(Layout(PARTS, 1, ("n1",), spread=(("c", PARTS),))), Recorder(ORDERED)
        spread = Spread(PartsDesk(parts, places, recorder), places, recorder)  # type: ignore[arg-type]
        for text, more in product(SIGNED, ({}, {"boost": "price"}, {"group": "price"}, {"phrase": "java tools"})):
            options = {"syntax": "web", "how": True, "limit": 100, "fields": fields, "lang": "eng", **more}
            command = Query(*asked("QUERY", *SCOPE, text, options))._replace(scores=True, total=True, whole=True)
            found, expected = (
                reply.decode().splitlines()[1].split(" ")[3:]
                for reply in (asyncio.run(spread.execute(command)), query(one, command))
            )
            assert (found[:3], sorted(found[3:])) == (expected[:3], sorted(expected[3:])), command


@pytest.mark.parametrize("filter", ["red", "price > 0 AND NOT red", "absent", "NOT absent"])
def test_suggestions_of_parts_lead_to_something(filter: str, both: Both) -> None:
    one, spread, things = both
    for typed in ("a", "b", "bravo", "bravi", "del", "zzz", "alpha b", "alpha bravo d", "alpha bravi", "zzz a"):
        expected = one.suggest(*SCOPE, typed, filter=filter, limit=9)
        command = Suggest(*SCOPE, typed, 9, filter)
        reply = asyncio.run(spread.execute(command)).decode().splitlines()[1]
        assert reply.split()[3:] == expected
        assert all(one.query(*SCOPE, word, filter=filter) for word in expected)


def test_pages_by_age_leave_nothing_out(both: Both) -> None:
    _, spread, things = both
    seen: list[str] = []
    while page := answer(spread, "", sort="newest", limit=11, after=seen[-1] if seen else None)[0]:
        seen += page
    assert len(seen) == len(set(seen)) == len(things)


@pytest.mark.parametrize("text", ["", "alpha"])
def test_facets_are_refused_where_the_ranking_has_no_filters(text: str, tmp_path: Path) -> None:
    config = Config.model_validate({"search": {"ranking": "sonic"}})
    with ExitStack() as opened:
        parts = [opened.enter_context(Part(tmp_path / f"{number}", config)) for number in range(PARTS)]
        places, recorder = Places(Layout(PARTS, 1, ("n1",), spread=(("c", PARTS),))), Recorder(config)
        spread = Spread(PartsDesk(parts, places, recorder), places, recorder)  # type: ignore[arg-type]
        for index in parts:
            index.push(*SCOPE, "o", "alpha", tags=["red"])
        with pytest.raises(InvalidArgument, match="search.ranking is sonic"):
            asyncio.run(spread.execute(CountFacets(*facets_asked(*SCOPE, text, {"of": "*"}))))


def test_what_a_spread_bucket_refuses(both: Both) -> None:
    _, spread, _ = both
    for options in ({"after": "o1"}, {"boost": "time 7"}):
        with pytest.raises(InvalidArgument):
            answer(spread, "alpha", **options)
    with pytest.raises(InvalidArgument, match="no object of the bucket"):
        answer(spread, "alpha", sort="time", after="gone")
