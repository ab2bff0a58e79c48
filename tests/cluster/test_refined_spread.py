"""Filters, orders and facets of a spread bucket: those of one index that holds all objects."""

import asyncio
import json
import random
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from sonicpy.channel.commands import CountFacets, Query, Suggest
from sonicpy.channel.groups import unpack_group
from sonicpy.channel.held_words import pack_held
from sonicpy.cluster.node.places import Places
from sonicpy.cluster.node.spread import Spread
from sonicpy.cluster.registry.registry import Layout
from sonicpy.config import Config
from sonicpy.errors import InvalidArgument
from sonicpy.index.recorder import Recorder
from sonicpy.search import asked, facets_asked
from tests.index.test_filters import TAGS, put, some_thing
from tests.index.test_spread import Part
from tests.reference import filters as twin
from tests.reference.filters import Thing
from tests.reference.groups import Row
from tests.support.surfaces import PartsDesk

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
    """Return the scores of an answer."""
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


def grouped(spread: Spread, text: str, **options: Any) -> tuple[list[Row], int]:
    """Return the names and groups of a page, and the number of all groups; without scores, which orders do not have."""
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
    for options in ({"after": "o1"}, {"vector": [1.0] * 64}, {"sort": "newest", "after": "o1", "group": "size:"}):
        with pytest.raises(InvalidArgument):
            grouped(spread, "alpha", **{"group": "time", **options})


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


def test_what_a_spread_bucket_refuses(both: Both) -> None:
    _, spread, _ = both
    for options in ({"after": "o1"}, {"boost": "time 7"}):
        with pytest.raises(InvalidArgument):
            answer(spread, "alpha", **options)
    with pytest.raises(InvalidArgument, match="no object of the bucket"):
        answer(spread, "alpha", sort="time", after="gone")
