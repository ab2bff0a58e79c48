"""Counts of facets inside named texts, from an index, several buckets and parts, compared with plain loops over the
objects.
"""

import asyncio
import json
import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

import sonicpy  # noqa: E402
from sonicpy.channel.commands import CountFacets, Query  # noqa: E402
from sonicpy.cluster.node.places import Places  # noqa: E402
from sonicpy.cluster.node.spread import Spread  # noqa: E402
from sonicpy.cluster.registry.partitions import part_of  # noqa: E402
from sonicpy.cluster.registry.registry import Layout  # noqa: E402
from sonicpy.config import Config  # noqa: E402
from sonicpy.index.recorder import Recorder  # noqa: E402
from sonicpy.search import asked, facets_asked  # noqa: E402
from tests.index.test_spread import Part  # noqa: E402
from tests.support.surfaces import PartsDesk  # noqa: E402

WORDS, TAGS, NAMES = ["alpha", "bravo", "delta"], ["size:s", "size:m", "red"], ["title", "body"]
SCOPE = ("c", "b")

Thing = tuple[str, dict[str, str], list[str], int]


def some_things(chance: random.Random) -> list[Thing]:
    return [
        (
            f"o{number}",
            {name: " ".join(chance.sample(WORDS, chance.randint(1, 2))) for name in chance.sample(NAMES, 2)},
            chance.sample(TAGS, chance.randint(0, 3)),
            chance.randrange(20),
        )
        for number in range(60)
    ]


def expected(things: list[Thing], word: str, names: list[str]) -> dict[str, Any]:
    holding = [one for one in things if any(word in one[1].get(name, "").split() for name in names)]
    counts = {tag: sum(tag in tags for _, _, tags, _ in holding) for tag in TAGS}
    values = [value for *_, value in holding]
    halves = (None, 10, sum(value < 10 for value in values)), (10, None, sum(value >= 10 for value in values))
    return {
        "total": len(holding),
        "tags": {"": {tag: count for tag, count in counts.items() if count}},
        "ranges": {"price": [list(half) for half in halves if half[2]]},
    }


def plain(found: Any) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(found if isinstance(found, str) else found.to_json())
    return value


def put(index: sonicpy.Index, things: list[Thing], bucket: str = "b") -> None:
    with index.batch():
        for name, texts, tags, value in things:
            index.upsert("c", bucket, name, texts, tags=tags, values={"price": value})


@pytest.mark.parametrize("seed", range(3))
def test_facets_of_named_texts(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    things = some_things(chance)
    asked: Any = {"of": "*", "ranges": "price: 10", "complete": False}
    with sonicpy.open(tmp_path / "one") as index, sonicpy.open(tmp_path / "two") as halves:
        put(index, things)
        put(halves, things[:25], "x")
        put(halves, things[25:], "y")
        for word in WORDS:
            for names in (["title"], ["body"], NAMES):
                twin = expected(things, word, names)
                assert plain(index.facets(*SCOPE, word, fields=names, **asked)) == twin
                assert plain(halves.facets("c", ["x", "y"], word, fields=names, **asked)) == twin
                hits = index.query(
                    *SCOPE, word, fields=names, complete=False, total=True, facets={"*": None, "price": [10]}
                )
                assert hits.facets is not None
                assert hits.total == twin["total"]
                assert plain(hits.facets) == twin
                if len(names) == 1:
                    signed = f"{names[0]}:{word}"
                    assert plain(index.facets(*SCOPE, signed, syntax="web", **asked)) == twin
                    assert plain(halves.facets("c", ["x", "y"], signed, syntax="web", **asked)) == twin
            weighted = index.facets(*SCOPE, word, fields="title^5,body^0", **asked)
            assert plain(weighted) == plain(index.facets(*SCOPE, word, **asked)) == expected(things, word, NAMES)


def test_named_texts_in_parts(tmp_path: Path) -> None:
    things = some_things(random.Random(9))
    places, recorder = Places(Layout(3, 1, ("n1",), spread=(("c", 3),))), Recorder(Config())
    with ExitStack() as opened:
        parts = [opened.enter_context(Part(tmp_path / f"part{number}")) for number in range(3)]
        for thing in things:
            put(parts[places.partition_of(*SCOPE, thing[0])], [thing])
        spread = Spread(PartsDesk(parts, places, recorder), places, recorder)  # type: ignore[arg-type]
        for word in WORDS:
            for fields in ("title", "body", "title,body"):
                options = {"of": "*", "ranges": "price: 10", "complete": False, "fields": fields}
                reply = asyncio.run(spread.execute(CountFacets(*facets_asked(*SCOPE, word, options)))).decode()
                assert plain(reply.removeprefix("RESULT ")) == expected(things, word, fields.split(","))
                if "," not in fields:
                    options = {**options, "fields": None, "syntax": "web"}
                    signed = spread.execute(CountFacets(*facets_asked(*SCOPE, f"{fields}:{word}", options)))
                    reply = asyncio.run(signed).decode()
                    assert plain(reply.removeprefix("RESULT ")) == expected(things, word, [fields])
            for name in NAMES:
                asked_of: Any = {"syntax": "web", "complete": False, "limit": 100}
                found = spread.execute(Query(*asked("QUERY", *SCOPE, f"{name}:{word}", asked_of)))
                names = asyncio.run(found).decode().splitlines()[1].split()[3:]
                holding = {one for one, texts, *_ in things if word in texts[name].split()}
                assert sorted(names) == sorted(holding)
                refused = WORDS[0] if word != WORDS[0] else WORDS[1]
                found = spread.execute(Query(*asked("QUERY", *SCOPE, f"-{refused} {name}:{word}", asked_of)))
                names = asyncio.run(found).decode().splitlines()[1].split()[3:]
                without = {
                    one for one, texts, *_ in things if not any(refused in one.split() for one in texts.values())
                }
                assert sorted(names) == sorted(holding & without)


@pytest.mark.parametrize("text", ["engine", ""])
def test_facets_of_a_phrase_count_its_answer(tmp_path: Path, text: str) -> None:
    texts = {"a": "the big engine", "b": "engine big", "c": "a big engine and a boat", "d": "big boat engine"}
    ordered = Config.model_validate({"store": {"order": True}})
    with ExitStack() as opened:
        whole, *parts = (opened.enter_context(Part(tmp_path / name, ordered)) for name in ("whole", "part0", "part1"))
        for oid, words in texts.items():
            for each in (whole, parts[part_of(oid, len(parts))]):
                each.push("c", "b", oid, words, lang="eng", tags=[f"name:{oid}"])
        wanted = {"name:": {"name:a": 1, "name:c": 1}}
        asked_for: Any = {"phrase": "big engine", "of": "name:*"}
        assert sorted(whole.query("c", "b", text, phrase="big engine")) == ["a", "c"]
        for bucket in ("b", ["b", "absent"]):
            counted = whole.facets("c", bucket, text, **asked_for)
            beside = whole.query("c", bucket, text, phrase="big engine", facets=["name:*"]).facets
            assert counted.total == 2 and counted.tags == wanted
            assert beside is not None and beside.total == 2 and beside.tags == wanted
        recorder = Recorder(ordered)
        places = Places(Layout(len(parts), 1, ("n1",), spread=(("c", len(parts)),)))
        spread = Spread(PartsDesk(parts, places, recorder), places, recorder)  # type: ignore[arg-type]
        reply = asyncio.run(spread.execute(CountFacets(*facets_asked("c", "b", text, asked_for))))
        found = json.loads(reply[reply.index(b"{") :])
        assert found["total"] == 2 and found["tags"] == wanted
        options = {"phrase": "big engine", "group": "none:*"}
        event = asyncio.run(spread.execute(Query(*asked("QUERY", "c", "b", text, options)))).decode().splitlines()[1]
        assert sorted(item[0] for item in event.split()[3:]) == ["a", "c"]
