"""Filters, orders and facets of an index give the answers of the reference implementation over dicts, after any
changes.
"""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy import Index, InvalidArgument
from sonicpy.index.search import boost as boosting
from tests.reference import filters as twin
from tests.reference.filters import Thing
from tests.support.examples import examples

WORDS = ("alpha", "bravo", "gamma", "delta")
TAGS = ["red", "blue", "size:xl", "size:m", "size:s", "Ben & Jerry's", 'say "hi"', "OR", "Müller, Thomas", "not"]
SORTS = ("newest", "price", "-price", "time", "-time", "nothing", "distance place 10,20")


def put(index: Index, thing: Thing, bucket: str = "b") -> None:
    """Give an object its words, tags and values."""
    values = dict[str, object](thing.values) | ({} if thing.point is None else {"place": thing.point})
    index.push("c", bucket, thing.name, " ".join(sorted(thing.words)), "none", tags=thing.tags, values=values)


def some_thing(chance: random.Random, age: int) -> Thing:
    words = {word for word in WORDS if chance.random() < 0.4}
    tags = {tag for tag in TAGS if chance.random() < 0.3}
    values = {name: chance.randint(-50, 50) for name in ("price", "time") if chance.random() < 0.6}
    point = None
    if chance.random() < 0.5:
        point = round(chance.uniform(-90, 90), 5), round(chance.uniform(-180, 180), 5)
    return Thing(f"o{age}", age, words, tags, values, point)


def check(index: Index, things: list[Thing], chance: random.Random) -> None:
    """Ask one question, which may have every option."""
    condition = twin.condition_by(chance, TAGS, 3)
    filter = None if chance.random() < 0.1 else twin.text_of(condition, chance)
    word = chance.choice(("", "", *WORDS))
    answer = [thing for thing in things if word in thing.words or not word]
    passing = [thing for thing in answer if filter is None or twin.meets(condition, thing)]
    sort = chance.choice(SORTS)
    limit, offset = chance.randint(0, 12), chance.choice((0, 0, 3))
    expected = [thing.name for thing in twin.in_order(passing, sort)]
    found = index.query("c", "b", word, filter=filter, sort=sort, limit=limit, offset=offset, total=True)
    assert list(found) == expected[offset : offset + limit], (filter, sort)
    assert found.total == len(passing), filter
    if len(expected) > 4:
        page = index.query("c", "b", word, filter=filter, sort=sort, limit=5, after=expected[2])
        assert list(page) == expected[3:8], (filter, sort)
    best = index.query("c", "b", word, filter=filter, sort="score", limit=1000, total=True)
    assert set(best) == {thing.name for thing in passing} and best.total == len(passing), filter
    if filter is not None and word:
        unfiltered = index.query("c", "b", word, limit=1000)
        names = set(best)
        assert best.scores is not None and unfiltered.scores is not None
        kept = [(hit, hit.score) for hit in unfiltered if hit in names]
        assert [(hit, hit.score) for hit in best] == kept
    counts = index.facets("c", "b", word, filter=filter, of="size:*,*", ranges="price: -20,0,20; nothing: 1")
    assert counts.total == len(passing)
    assert list(counts.tags["size:"].items()) == list(twin.tag_counts(passing, "size:").items())
    assert counts.tags[""] == twin.tag_counts(passing, "")
    assert list(map(tuple, counts.ranges["price"])) == twin.range_counts(passing, "price", [-20, 0, 20])


@given(st.integers(0, 2**32))
@settings(max_examples=examples(6), deadline=None)
def test_answers_are_those_of_the_twin(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance = random.Random(seed)
    things: list[Thing] = []
    with sonicpy.open(tmp_path_factory.mktemp("filters")) as index:
        for _ in range(4):
            with index.batch():
                for _ in range(chance.choice((5, 40))):
                    things.append(some_thing(chance, len(things) and things[-1].age + 1))
                    put(index, things[-1])
                    if chance.random() < 0.05:
                        check(index, things, chance)  # through the changes that no commit has yet
            for thing in chance.sample(things, len(things) // 6):
                things.remove(thing)
                index.flush("c", "b", thing.name)
            for _ in range(12):
                check(index, things, chance)


def test_facets_come_with_a_query(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "i") as index:
        put(index, Thing("o1", 1, {"alpha"}, {"size:xl", "red"}, {"price": 5}))
        put(index, Thing("o2", 2, {"alpha"}, {"size:m", "red"}, {"price": 15}))
        hits = index.query("c", "b", "alpha", filter="size:xl", facets={"size:*": None, "price": [0, 10]})
        assert hits == ["o1"] and hits.facets is not None
        assert hits.facets.to_dict() == {
            "total": 1,
            "tags": {"size:": {"size:xl": 1}},
            "ranges": {"price": [[0, 10, 1]]},
        }
        filter = "size:xl AND red AND price < 10"
        assert "size:xl" in hits.facets._repr_html_() and "price 0..10" in hits.facets._repr_html_()
        apart = index.facets("c", "b", filter=filter, of="size:*", ranges="price: 10", apart=True)
        assert apart.tags == {"size:": {"size:xl": 1}}
        assert index.facets("c", "b", filter="size:xl AND red", of="size:*", apart=True).tags["size:"] == {
            "size:m": 1,
            "size:xl": 1,
        }
        assert index.query("c", "b", "", filter={"tag": ["size:xl", "size:m"], "price": (None, 10)}) == ["o1"]


def test_facets_count_tags_of_few_objects_and_of_many(tmp_path: Path) -> None:
    holders = {f"of:{count}": set(range(0, 3 * count, 3)) for count in (1, 2, 127, 128, 129, 300, 1_500)}
    everybody = set(range(4_600))  # two windows
    with sonicpy.open(tmp_path / "i") as index:
        rows = (
            {"id": str(number), "text": "", "tags": [tag for tag, held in holders.items() if number in held]}
            | {"price": number}
            for number in everybody
        )
        index.push_many(rows, collection="c", bucket="b", lang="none", tags="tags", values=["price"])
        for gone in (set[int](), {0, 3, 378, 381, 384, 4_497}):
            for number in gone:
                index.flush("c", "b", str(number))
            for low in (0, 4, 300, 4_400):
                left = {number for number in everybody - gone if number >= low}
                counts = {tag: len(held & left) for tag, held in holders.items() if held & left}
                most = dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
                for limit in (0, 1, 3, 100):
                    found = index.facets("c", "b", filter=f"price >= {low}", of="of:*", limit=limit).tags["of:"]
                    assert list(found.items()) == list(most.items())[:limit]


ASKED: list[dict[str, object]] = [
    {},
    {"match": "all"},
    {"match": "any"},
    {"fuzzy": 0},
    {"fuzzy": 2},
    {"fields": "title"},
    {"syntax": "web"},
    {"syntax": "web", "match": "all", "fuzzy": 0},
]


@pytest.mark.parametrize("options", ASKED, ids=str)
def test_facets_count_the_answer_of_every_way_to_ask(options: dict[str, object]) -> None:
    with sonicpy.open(":memory:") as index:
        for number, text in enumerate(("wether in lisbon", "weather of lisbon", "hotel lisbon", "hotel york", "york")):
            index.upsert("c", "b", f"o{number}", {"title": text, "body": "weather"}, "eng", tags=[f"t{number}"])
        for text in ("weather lisbon", "hotel -york", "wether"):
            for bucket in ("b", ["b", "more*"]):
                hits = index.query("c", bucket, text, facets="*", total=True, limit=10, **options)  # type: ignore[arg-type]
                assert hits.facets is not None and hits.facets.total == hits.total == len(hits)
                assert {tag[1:] for tag in hits.facets.tags[""]} == {name[1:] for name in hits.objects}
                assert index.facets("c", bucket, text, of="*", **options) == hits.facets  # type: ignore[arg-type]


def test_an_empty_bucket_and_a_missing_one_answer_nothing(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "i") as index:
        index.push("c", "b", "o", "alpha")
        assert index.query("c", "b", "alpha", filter="red") == []
        assert index.query("c", "b", "alpha", filter="NOT red", sort="price") == ["o"]
        assert index.query("c", "none", "", filter="red", total=True).total == 0
        assert index.facets("c", "none", of="*").total == 0


def test_a_page_behind_a_missing_object_is_refused(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "i") as index:
        index.push("c", "b", "o", "alpha")
        with pytest.raises(InvalidArgument, match="no object of the bucket"):
            index.query("c", "b", "", sort="newest", after="gone")
        for sort in (None, "score"):
            with pytest.raises(InvalidArgument, match="^after needs a sort other than score;"):
                index.query("c", "b", "alpha", sort=sort, after="o")


def test_explain_says_that_the_filter_lets_none_pass(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "i") as index:
        put(index, Thing("o1", 1, {"alpha"}, {"red"}, {"price": 5}))
        put(index, Thing("o2", 2, {"alpha"}, {"blue"}, {}))
        explained = index.explain("c", "b", "alpha", filter="green AND prise < 3")
        assert explained.total == 0 and explained.unfiltered == 2
        assert "2 objects answer without the filter green AND prise < 3, which lets none pass." in explained.advice
        assert "No object has the tag green." in explained.advice and "No object has a value prise." in explained.advice
        assert explained == type(explained).from_json(explained.to_json())
        assert [hit.object for hit in index.explain("c", "b", "", filter="red").hits] == ["o1"]
        assert "filter" not in index.explain("c", "b", "alpha").to_json()


def test_compat_mode_refuses(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "i", config={"server": {"compat": "sonic"}}) as index:
        index.push("c", "b", "o", "alpha")
        for ask in (
            lambda: index.query("c", "b", "alpha", filter="red"),
            lambda: index.query("c", "b", "alpha", sort="price"),
            lambda: index.facets("c", "b", "alpha", of="*"),
            lambda: index.explain("c", "b", "alpha", filter="red"),
            lambda: index.suggest("c", "b", "al", filter="red"),
            lambda: index.flush("c", "b", filter="red"),
        ):
            with pytest.raises(InvalidArgument, match="in compat mode"):
                ask()


def test_flush_by_a_filter(tmp_path: Path) -> None:
    chance = random.Random(5)
    things = [some_thing(chance, age) for age in range(60)]
    with sonicpy.open(tmp_path / "i") as index:
        for thing in things:
            put(index, thing)
        gone = [thing for thing in things if "red" not in thing.tags and thing.values.get("price", 99) < 20]
        assert index.flush("c", "b", filter="NOT red AND price < 20") == len(gone)
        left = [thing for thing in things if thing not in gone]
        assert index.query("c", "b", "", sort="newest", limit=99) == [thing.name for thing in reversed(left)]
        assert index.verify() == []
        with pytest.raises(InvalidArgument, match="with a bucket"):
            index.flush("c", filter="red")
        assert index.flush("c", "none", filter="red") == 0


def test_a_boost_is_exact(tmp_path: Path) -> None:
    chance = random.Random(3)
    with sonicpy.open(tmp_path / "i") as index:
        sizes: dict[str, int] = {}
        with index.batch():
            for number in range(400):
                name, text = (
                    f"o{number}",
                    " ".join(["moscow"] * chance.choice((1, 1, 2)) + ["x"] * chance.randint(0, 9)),
                )
                if chance.random() < 0.7:
                    sizes[name] = chance.choice((0, 7, 20_000, 10**7, -5))
                index.push("c", "b", name, text, "none", values={"size": sizes.get(name)})
        plain = index.query("c", "b", "moscow", limit=1000)
        assert plain.scores is not None
        factors = [((1 + max(sizes.get(name) or 0, 0)) / (1 + 10**7)) ** 0.375 for name in plain]
        shares = [
            (3 - (score % 1) * factor, -int(name[1:]), name)
            for name, score, factor in zip(plain, plain.scores, factors, strict=True)
        ]
        for limit in (1, 10, 399):
            boosted = index.query("c", "b", "moscow", boost="size", limit=limit)
            expected = [name for _, _, name in sorted(shares)]
            assert list(boosted) == expected[:limit]
        newest = index.query("c", "b", "moscow", boost="size 1s", limit=1)
        assert sizes[newest[0]] == 10**7


def test_a_city_comes_before_its_suburbs(tmp_path: Path) -> None:
    """Vienna has eighty names, the suburbs have three."""
    others = " ".join(f"alias{number}" for number in range(80))
    with sonicpy.open(tmp_path / "i") as index:
        index.push("c", "b", "vienna", f"Vienna Wien {others}", values={"population": 1_691_468})
        for number, name in enumerate(("Leopoldsdorf", "Gerasdorf", "Breitenfurt")):
            index.push("c", "b", name, f"{name} bei Wien", values={"population": 5_000 + 3_000 * number})
        assert index.query("c", "b", "wien")[-1] == "vienna"
        assert index.query("c", "b", "wien", boost="population")[0] == "vienna"


@pytest.mark.parametrize("boost", ["time 9s", "time 3h", "time", "time 500w"])
def test_a_boost_of_many_equal_scores_is_exact(tmp_path: Path, boost: str) -> None:
    chance = random.Random(9)
    with sonicpy.open(tmp_path / "i") as index:
        times: dict[str, int] = {}
        with index.batch():
            for number in range(900):
                name = f"o{number}"
                if chance.random() < 0.9:
                    times[name] = int(1_700_000_000 - 2 ** chance.uniform(0, 24)) * chance.choice((1, 1, 1, 1, -1))
                text = "news" + " more" * chance.choice((0, 0, 0, 0, 1))
                tags = ["even"] if number % 2 == 0 else []
                index.push("c", "b", name, text, "none", tags=tags, values={"time": times.get(name)})
        half_life = {"time 9s": 9, "time 3h": 10_800, "time 500w": 500 * 604_800}.get(boost)
        newest = max(times.values())
        for filter in (None, "even", "time < 1699999000"):
            plain = index.query("c", "b", "news", filter=filter, limit=1000)
            ranked = []
            for name, score in plain.pairs():
                factor = 1.0
                if half_life is None:
                    factor = ((1 + max(times.get(name, 0), 0)) / (1 + newest)) ** 0.375
                elif name in times and half_life is not None:
                    factor += 2 ** -min((newest - times[name]) / half_life, 1000)
                ranked.append((-((score or 0) % 1) * factor, -int(name[1:]), name))
            for limit, offset in ((1, 0), (10, 0), (70, 0), (10, 300), (1000, 0)):
                found = index.query(
                    "c", "b", "news", filter=filter, boost=boost, limit=limit, offset=offset, total=True
                )
                assert list(found) == [name for _, _, name in sorted(ranked)][offset : offset + limit]
                assert found.total == len(ranked)


@pytest.mark.full
@pytest.mark.parametrize(("text", "boost"), [("-hotel", "visits"), ("-hotel", "time 9s"), ("house", "absent")])
def test_a_boost_of_scores_that_are_alike_asks_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, boost: str
) -> None:
    with sonicpy.open(tmp_path / "i") as index:
        with index.batch():
            for number in range(5_000):
                values = {"visits": number * 7919 % 5_003, "time": 1_700_000_000 - number}
                index.push("c", "b", f"o{number}", "hotel" if number % 3 == 0 else "house", values=values)
        asked = Counter[str]()

        def counted(*given: Any, **named: Any) -> Any:
            asked["find"] += 1
            return find(*given, **named)

        find = boosting.find
        monkeypatch.setattr(boosting, "find", counted)
        found = index.query("c", "b", text, syntax="web", boost=boost, limit=5)
        assert list(found) == ["o4999", "o4997", "o4996", "o4994", "o4993"]
        assert asked["find"] <= 2


def test_no_suggestion_leads_to_nothing(tmp_path: Path) -> None:
    chance = random.Random(11)
    words = ["sun", "sunny", "sunday", "sunset", "sunk", "sung"]
    with sonicpy.open(tmp_path / "i") as index:
        held: dict[str, int] = {}
        for number in range(80):
            word, tag = chance.choice(words), chance.choice(("red", "blue"))
            index.push("c", "b", f"o{number}", word, "none", tags=[tag])
            if tag == "red" and word != "sunk":
                held[word] = held.get(word, 0) + 1
            elif word == "sunk":
                index.push("c", "b", f"o{number}", word, "none", tags=["blue"])
        found = index.suggest("c", "b", "sun", filter="red", limit=9)
        assert sorted(found) == sorted(held)
        assert [held[word] for word in found] == sorted(held.values(), reverse=True)
        assert all(index.query("c", "b", word, filter="red") for word in found)
        assert index.suggest("c", "b", "sun", filter="green") == index.suggest("c", "no", "sun", filter="red") == []


def test_a_commit_is_seen_by_the_next_query(tmp_path: Path) -> None:
    chance, things = random.Random(7), list[Thing]()
    with sonicpy.open(tmp_path / "store") as index:
        for age in range(40):
            things.append(some_thing(chance, age))
            put(index, things[-1])
        for _ in range(60):
            thing = chance.choice(things)
            match chance.randrange(4):
                case 0:
                    things.remove(thing)
                    index.flush("c", "b", thing.name)
                case 1:
                    thing.values["price"] = chance.randint(-50, 50)
                    index.tag("c", "b", thing.name, values={"price": thing.values["price"]})
                case 2:
                    thing.tags.clear()
                    index.tag("c", "b", thing.name, tags=[])
                case _:
                    if thing.words:
                        index.pop("c", "b", thing.name, " ".join(thing.words))
                        thing.words.clear()
                        if not thing.tags and not thing.values and thing.point is None:
                            things.remove(thing)
            if chance.random() < 0.5:
                index.commit()  # else queries look through the open transaction
            passing = [thing for thing in things if "red" not in thing.tags]
            for sort in ("-price", "newest"):
                expected = [thing.name for thing in twin.in_order(passing, sort)]
                for _ in range(2):
                    found = index.query("c", "b", "", filter="NOT red", sort=sort, limit=100, total=True)
                    assert (list(found), found.total) == (expected, len(passing))


def test_refused_words_alone_obey_filters_orders_and_facets() -> None:
    with sonicpy.open(":memory:") as index:
        with index.batch():
            for number in range(4_500):  # more than a window
                word, tags = ("alpha" if number % 3 else "beta"), (["blue"] if number % 7 else ["red"])
                for bucket in ("b", f"x{number % 2}")[: 2 if number < 900 else 1]:
                    index.push(
                        "c", bucket, f"o{number}", word, "none", tags=tags, values={"price": number * 7919 % 4_500}
                    )
        passing = [number for number in range(4_500) if number % 3 == 0 and number % 7 == 0]
        asked: dict[str, Any] = {"syntax": "web", "filter": "red", "total": True, "limit": 20}
        for text in ("-alpha", "-alpha -gamma"):
            for buckets, among in (("b", passing), (["x0", "x1"], [number for number in passing if number < 900])):
                newest = [f"o{number}" for number in reversed(among)]
                cheapest = [f"o{number}" for number in sorted(among, key=lambda number: number * 7919 % 4_500)]
                found = index.query("c", buckets, text, **asked)
                assert set(found) <= set(newest) and found.total == len(among)
                assert index.query("c", buckets, text, sort="price", **asked) == cheapest[:20]
                grouped = index.query("c", buckets, text, group="price", **asked)
                assert set(grouped) <= set(newest) and grouped.total == len(among)
                counted = index.facets("c", buckets, text, syntax="web", filter="red", of="*")
                assert counted.to_dict() == {"total": len(among), "tags": {"": {"red": len(among)}}, "ranges": {}}
                assert index.explain("c", buckets, text, syntax="web", filter="red").total == len(among)
            newest = [f"o{number}" for number in reversed(passing)]
            assert index.query("c", "b", text, **asked) == newest[:20]
        assert index.query("c", "b", "-gamma", syntax="web", filter="red", total=True).total == len(range(0, 4_500, 7))


def test_a_filter_that_passes_no_object_of_a_rare_word() -> None:
    texts = ((str(number), "rare odd" if number == 7 else "common") for number in range(4_200))
    with sonicpy.open(":memory:") as index:
        index.push_many(texts, collection="c", bucket="b")
        index.push("c", "b", "new", "common", tags=["kind:new"])
        index.consolidate()
        assert index.query("c", "b", "rare odd common", filter="kind:new").objects == ["new"]


def test_filters_that_pass_objects_of_some_windows_alone() -> None:
    chance = random.Random(5)
    words = [f"{a}ord{b}" for a in "abcdefghij" for b in "abcdefghijklmnopqrst"]
    texts = [" ".join(chance.choices(words, k=3)) for _ in range(4_300)]  # two windows
    tags = {100: ["old"], 4_200: ["new"]}
    with sonicpy.open(":memory:") as index:
        rows = [{"id": str(n), "text": text, "tags": tags.get(n, [])} for n, text in enumerate(texts)]
        index.push_many(rows, collection="c", bucket="b", lang="none", tags="tags")
        for asked in (f"{texts[100]} {texts[4_200]}", texts[100], texts[4_200], *(texts[n] for n in range(20))):
            for tag, held in {"old": 100, "new": 4_200, "unheld": None}.items():
                holds = held is not None and not set(texts[held].split()).isdisjoint(asked.split())
                found = index.query("c", "b", asked, filter=tag, lang="none", complete=False)
                assert found == ([str(held)] if holds else [])


def test_a_page_follows_an_object_named_by_a_number(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "i") as index:
        for number in range(5):
            index.push("c", "b", number, "alpha", values={"n": number})
        assert list(index.query("c", "b", "alpha", sort="n", after=2)) == ["3", "4"]
        with pytest.raises(InvalidArgument, match=r"^after is 2\.5; allowed are 1 to 128 bytes"):
            index.query("c", "b", "alpha", sort="n", after=2.5)


def test_a_tag_that_the_newest_object_gets_later_is_found_by_a_kept_filter() -> None:
    """4,096 objects: the newest one is the last of a window that the first query keeps."""
    with sonicpy.open(":memory:") as index:
        rows = [{"id": f"o{number}", "text": "word", "tags": ["a"] if number < 4095 else []} for number in range(4096)]
        index.push_many(rows, collection="c", bucket="b", tags="tags", lang="none")
        index.commit()
        assert index.query("c", "b", "word", filter="a", limit=1) == ["o4094"]
        index.push("c", "b", "o4095", "", tags=["a"])
        index.commit()
        assert index.query("c", "b", "word", filter="a", limit=1) == ["o4095"]
        assert len(index.query("c", "b", "word", filter="a", limit=5000)) == 4096
