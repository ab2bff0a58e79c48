"""Groups of hits are those of the reference implementation over dicts, with every filter, order and page, after any
changes.
"""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy import Index, InvalidArgument
from sonicpy.api.hits import Hits
from tests.index.test_filters import SORTS, TAGS, WORDS, put, some_thing
from tests.reference import filters as twin
from tests.reference.filters import Thing
from tests.reference.groups import Row, best_of_groups
from tests.support.examples import examples

GROUPS = ("price", "time", "size:", "s*", "*", "nothing", "none:", "place")


def rows(hits: Hits) -> list[Row]:
    assert hits.groups is not None
    return list(zip(hits.objects, hits.groups, strict=True))


def check(index: Index, things: list[Thing], chance: random.Random) -> None:
    """Ask one question, ordered by a value and by score."""
    condition = twin.condition_by(chance, TAGS, 2)
    filter = None if chance.random() < 0.3 else twin.text_of(condition, chance)
    word, group = chance.choice(("", "", *WORDS)), chance.choice(GROUPS)
    answer = [thing for thing in things if word in thing.words or not word]
    passing = [thing for thing in answer if filter is None or twin.meets(condition, thing)]
    sort, limit, offset = chance.choice(SORTS), chance.randint(0, 9), chance.choice((0, 0, 3))
    ordered = twin.in_order(passing, sort)
    expected = best_of_groups(ordered, group)
    asked: dict[str, Any] = {"filter": filter, "group": group, "total": True}
    found = index.query("c", "b", word, sort=sort, limit=limit, offset=offset, **asked)
    assert rows(found) == expected[offset : offset + limit], (filter, sort, group)
    assert found.total == len(expected), (filter, group)
    if len(expected) > 4:
        place = chance.randrange(len(expected))
        every = index.query("c", "b", word, sort=sort, limit=1000, **asked)
        page = index.query("c", "b", word, sort=sort, after=every[place], limit=5, **asked)
        assert rows(page) == expected[place + 1 : place + 6], (filter, sort, group, expected[place])
    if word:
        boost = chance.choice((None, "price", "time 9s"))
        every = index.query("c", "b", word, filter=filter, boost=boost, limit=1000)
        named = {thing.name: thing for thing in things}
        expected = best_of_groups([named[name] for name in every.objects], group)
        found = index.query("c", "b", word, boost=boost, limit=limit, offset=offset, how=True, **asked)
        assert rows(found) == expected[offset : offset + limit], (filter, group, boost)
        assert found.total == len(expected)
        scores = dict(every.pairs())
        assert all(hit.score == scores[hit.object] and hit.how for hit in found)


@given(st.integers(0, 2**32))
@settings(max_examples=examples(5), deadline=None)
def test_groups_are_those_of_the_twin(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance = random.Random(seed)
    things: list[Thing] = []
    with sonicpy.open(tmp_path_factory.mktemp("groups")) as index:
        for _ in range(3):
            with index.batch():
                for _ in range(chance.choice((5, 60))):
                    things.append(some_thing(chance, len(things) and things[-1].age + 1))
                    if chance.random() < 0.5:
                        things[-1].values["price"] = 7  # a large group
                    put(index, things[-1])
                    if chance.random() < 0.03:
                        check(index, things, chance)  # through the changes that no commit has yet
            for thing in chance.sample(things, len(things) // 6):
                things.remove(thing)
                index.flush("c", "b", thing.name)
            for _ in range(12):
                check(index, things, chance)


@pytest.mark.parametrize("group", GROUPS)
def test_several_buckets_have_groups_in_common(tmp_path: Path, group: str) -> None:
    chance = random.Random(4)
    things = [some_thing(chance, age) for age in range(120)]
    buckets = ["b0", "b1", "b2"]
    with sonicpy.open(tmp_path / "i") as index:
        with index.batch():
            for thing in things:
                put(index, thing, chance.choice(buckets))
        for word in ("", "alpha", "bravo"):
            for options in ({}, {"sort": "-time"}, {"sort": "newest"}, {"filter": "red", "sort": "time"}):
                asked: dict[str, Any] = {"limit": 1000, "total": True, **options}
                every = index.query("c", buckets, word, **{"sort": None if word else "newest", **asked})
                named = {thing.name: thing for thing in things}
                expected = best_of_groups([named[name] for name in every.objects], group)
                found = index.query("c", buckets, word, group=group, **asked)
                assert (rows(found), found.total) == (expected, len(expected))
                where = dict(zip(every.objects, every.buckets or (), strict=True))
                assert [hit.bucket for hit in found] == [where[hit.object] for hit in found]
                page = index.query("c", buckets, word, group=group, **{**asked, "limit": 3, "offset": 2})
                assert rows(page) == expected[2:5]
                if "sort" in options and len(found) > 5:
                    page = index.query("c", buckets, word, group=group, after=found[2], **{**asked, "limit": 3})
                    assert rows(page) == expected[3:6]


@given(st.integers(0, 2**32))
@settings(max_examples=examples(8), deadline=None)
@pytest.mark.parametrize("sort", ["newest", "-time", "price"])
def test_pages_behind_groups_of_several_buckets_show_each_once(sort: str, seed: int) -> None:
    """The first object of a bucket has the IID 0, and its key may equal that of an object in a later bucket."""
    chance = random.Random(seed)
    buckets = ["p1", "p%2", "p/3", "nosuch"]
    with sonicpy.open(":memory:") as index:
        with index.batch():
            for number in range(9):
                tags = chance.sample([f"size:{letter}" for letter in "abcdefghij"], chance.randint(0, 3))
                values = {name: chance.randrange(2) for name in ("time", "price") if chance.random() < 0.5}
                index.push("c", chance.choice(buckets[:3]), f"o/{number}", "alpha", tags=tags or None, values=values)
        for word in ("", "alpha"):
            asked: dict[str, Any] = {"sort": sort, "group": "size:"}
            every = index.query("c", buckets, word, limit=100, **asked)
            found: list[tuple[Any, ...]] = []
            page = index.query("c", buckets, word, limit=1, **asked)
            while page and len(found) <= len(every):
                found += [(hit.bucket, hit.object, hit.group) for hit in page]
                page = index.query("c", buckets, word, limit=1, after=page[-1], **asked)
            assert found == [(hit.bucket, hit.object, hit.group) for hit in every]


@pytest.mark.parametrize(("ranking", "bucket"), [("sonic", "b"), ("newest", ["b", "d"])])
def test_explain_refuses_what_a_query_refuses(ranking: str, bucket: str | list[str], tmp_path: Path) -> None:
    with sonicpy.open(tmp_path, config={"search.ranking": ranking}) as index:
        index.push("c", "b", "o", "alpha")
        index.push("c", "d", "o", "alpha")
        for text in ("", "alpha"):
            for ask in (index.query, index.explain):
                with pytest.raises(sonicpy.InvalidArgument, match=f"search.ranking is {ranking}"):
                    ask("c", bucket, text, group="price")


def test_explain_shows_the_best_of_each_group(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "i") as index:
        for number in range(9):
            values = {"author": number % 3} if number < 8 else None
            index.push("c", "b", f"o{number}", "alpha " * (number + 1), "none", tags=["red"], values=values)
        asked: list[tuple[str, dict[str, Any]]] = [("alpha", {}), ("alpha", {"filter": "red"}), ("", {"filter": "red"})]
        for text, options in asked:
            found = index.query("c", "b", text, group="author", total=True, **options)
            explained = index.explain("c", "b", text, group="author", **options)
            assert [(hit.object, hit.group) for hit in explained.hits] == rows(found)
            assert explained.total == found.total == 4
            assert "4 groups by author of 9 objects answer" in str(explained)
            assert sonicpy.Explanation.from_json(explained.to_json()) == explained
        assert "group" not in index.explain("c", "b", "alpha").to_json()


def test_hits_keep_their_groups() -> None:
    with sonicpy.open(":memory:") as index:
        for number in range(4):
            index.push("c", "b", f"o{number}", "alpha", tags=["size:m", "size:l"][: number % 3])
        hits = index.query("c", "b", "alpha", group="size:", facets="size:*")
        assert hits.groups == [None, "size:l", "size:m", None] and hits[1].group == "size:l"
        assert hits[1:3].groups == ["size:l", "size:m"] and hits.to_dicts()[1]["group"] == "size:l"
        assert "group" not in hits.to_dicts()[0] and hits.facets is not None and hits.facets.total == 4
        assert index.query("c", "b", "alpha").groups is None


def test_groups_that_are_refused(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "i") as index:
        index.push("c", "b", "o", "alpha")
        refused: list[tuple[dict[str, Any], str]] = [
            ({"group": "a b"}, "group is 'a b'; allowed are a name of values"),
            ({"group": ""}, "group is ''"),
            ({"group": 7}, "allowed is a str"),
            ({"group": "x", "after": "o"}, "after needs a sort other than score"),
            ({"group": "x:", "after": "o", "sort": "newest"}, "after is 'o'; allowed with groups of tags are the tag"),
            ({"group": "x", "after": "none", "sort": "newest"}, "no object of the bucket"),
        ]
        for options, said in refused:
            with pytest.raises(InvalidArgument, match=said):
                index.query("c", "b", "alpha", **options)
        assert index.query("c", "none", "alpha", group="x", total=True).total == 0
    with sonicpy.open(tmp_path / "old", config={"server": {"compat": "sonic"}}) as index:
        index.push("c", "b", "o", "alpha")
        with pytest.raises(InvalidArgument, match="in compat mode"):
            index.query("c", "b", "alpha", group="x")


def test_groups_where_the_newest_objects_have_no_words(tmp_path: Path) -> None:
    texts = ["apple" if number < 4_000 else "!" for number in range(4_300)]
    rows = [{"id": f"o{number}", "text": text, "kind": number % 2} for number, text in enumerate(texts)]
    with sonicpy.open(tmp_path / "i") as index:
        index.push_many(rows, collection="c", bucket="b", object="id", values=["kind"])
    with sonicpy.open(tmp_path / "i") as index:
        for order in ("newest", "kind", "-kind"):
            hits = index.query("c", "b", "apple", sort=order, group="kind", limit=10)
            assert sorted(hits) == ["o3998", "o3999"], order
