"""Filters, orders, facets and all ways to ask over several buckets give the same as in one bucket with all of their
objects.
"""

import random
from collections.abc import Iterator
from typing import Any

import pytest

import sonicpy
from sonicpy.bucket_names import in_bucket
from sonicpy.errors import InvalidArgument
from tests.index.test_spread import corpus
from tests.reference.meaning import Scored, reordered

C, ALL = "c", "whole"
BUCKETS = ("red", "forum:1", "forum:2", "blue", "plain")
NAMED = ["red", "forum:*", "blue", "plain", "none"]
FILTERS = ["odd", "NOT odd", "price > 40", "odd AND price < 60", "price = 7 OR size:2", "NOT price > 10", "absent"]
TEXTS = ["night lights", "runing houses", "the engine", "water", "zzzz", "lighthouse orange"]

Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Return the objects, in the order of their pushes; those of the last bucket have no tags and values."""
    chance = random.Random(3)
    found = []
    for oid, text in corpus(1):
        bucket = chance.choice(BUCKETS)
        tags = [] if bucket == "plain" else chance.sample(["odd", "size:1", "size:2", "size:3"], chance.randint(0, 2))
        price = None if bucket == "plain" or chance.random() < 0.2 else chance.randrange(100)
        found.append({"object": oid, "text": text, "bucket": bucket, "tags": tags, "price": price})
    return found


@pytest.fixture(scope="module")
def index(rows: list[Row], tmp_path_factory: pytest.TempPathFactory) -> Iterator[sonicpy.Index]:
    with sonicpy.open(tmp_path_factory.mktemp("several") / "index") as opened:
        with opened.batch():
            for row in rows:
                values = {} if row["price"] is None else {"price": row["price"]}
                for bucket in (ALL, row["bucket"]):
                    tags = row["tags"] or None
                    opened.push(C, bucket, row["object"], row["text"], "eng", tags=tags, values=values or None)
        yield opened


def compare(index: sonicpy.Index, text: str, **options: Any) -> None:
    one, several = (index.query(C, bucket, text, total=True, lang="eng", **options) for bucket in (ALL, NAMED))
    assert (several.scores, several.total, several.whole) == (one.scores, one.total, one.whole), (text, options)
    assert several.corrected == one.corrected
    every = index.query(C, ALL, text, lang="eng", **{**options, "limit": 10_000, "offset": 0})
    hows = dict(zip(every, every.hows or [()] * len(every), strict=True))
    for hit in several:
        assert hows[hit] == (hit.how or ()), (text, options, hit)
        assert index.exists(C, hit.bucket or "", hit.object)


@pytest.mark.parametrize("filter", FILTERS)
def test_filters(index: sonicpy.Index, filter: str) -> None:
    for text in TEXTS:
        compare(index, text, filter=filter, limit=7, how=True)
        compare(index, text, filter=filter, limit=5, offset=3)
    count = index.query(C, ALL, "", filter=filter, limit=1, total=True).total
    assert index.query(C, NAMED, "", filter=filter, limit=1, total=True).total == count
    for text in ("night lights", ""):
        one, several = (index.explain(C, bucket, text, filter=filter, limit=500) for bucket in (ALL, NAMED))
        assert (several.total, several.unfiltered, several.unmet) == (one.total, one.unfiltered, one.unmet)
        assert {(hit.object, hit.score) for hit in several.hits} == {(hit.object, hit.score) for hit in one.hits}
        assert sonicpy.Explanation.from_json(several.to_json()) == several
    for word in ("w", "li", "runing"):
        assert index.suggest(C, NAMED, word, filter=filter) == index.suggest(C, ALL, word, filter=filter)


@pytest.mark.parametrize(
    "options",
    [
        {"how": True},
        {"syntax": "web", "how": True},
        {"match": "all"},
        {"match": "any", "how": True},
        {"fuzzy": 2},
        {"fuzzy": 0},
        {"boost": "price"},
        {"boost": "price 10s"},
        {"boost": "price", "filter": "odd", "how": True},
    ],
    ids=str,
)
def test_ways_to_ask(index: sonicpy.Index, options: dict[str, Any]) -> None:
    texts = ['"night" lights', "+water -engine", "light* house", "*ouse", "water OR zzzz", "-water"]
    for text in [*TEXTS, *texts]:
        for limit, offset in ((5, 0), (9, 4)):
            compare(index, text, limit=limit, offset=offset, **options)


def in_order(rows: list[Row], bucket: str, sign: int) -> list[str]:
    """Return the objects of several buckets by price, computed slowly, as a reference."""
    place = {name: number for number, name in enumerate([bucket, *BUCKETS])}
    aged = [(row, -age) for age, row in enumerate(rows)]
    aged.sort(key=lambda one: (one[0]["price"] is None, sign * (one[0]["price"] or 0), place[one[0]["bucket"]], one[1]))
    return [in_bucket(row["bucket"], row["object"]) for row, _ in aged]


@pytest.mark.parametrize(("sort", "sign"), [("price", 1), ("-price", -1), ("newest", 0)])
def test_orders(index: sonicpy.Index, rows: list[Row], sort: str, sign: int) -> None:
    if sort == "newest":
        rows = [{**row, "price": None} for row in rows]
    wanted = in_order(rows, "none", sign)
    found, after = [], None
    while page := index.query(C, NAMED, "", sort=sort, limit=37, after=after, total=True):
        assert page.total == len(rows)
        found += [in_bucket(hit.bucket or "", hit.object) for hit in page]
        after = found[-1]
    assert found == wanted
    paged = index.query(C, NAMED, "", sort=sort, limit=20, offset=50)
    assert [in_bucket(hit.bucket or "", hit.object) for hit in paged] == wanted[50:70]
    some = {*index.query(C, ALL, "night", limit=10_000, lang="eng", filter="odd")}
    sorted_hits = index.query(C, NAMED, "night", sort=sort, limit=10_000, lang="eng", filter="odd")
    of_some = [item for item in wanted if item.partition("/")[2] in some]
    assert [in_bucket(hit.bucket or "", hit.object) for hit in sorted_hits] == of_some
    with pytest.raises(
        InvalidArgument, match="'none/o'.* of the buckets .*allowed is an object that exists, as <bucket>/"
    ):
        index.query(C, NAMED, "", sort=sort, after=in_bucket("none", "o"))


def test_a_page_goes_on_behind_a_hit() -> None:
    with sonicpy.open(":memory:") as index:
        for number in range(9):
            index.push(
                C, f"a/{number % 3}%", "o1" if number < 3 else f"o{number}", "night", values={"price": number % 2}
            )
        everything = index.query(C, ["a/*"], "night", sort="price")
        found, page = [], everything[:1]
        while page:
            found += [(page[-1].bucket, page[-1].object)]
            page = index.query(C, ["a/*"], "night", sort="price", limit=1, after=page[-1])
        assert found == [(hit.bucket, hit.object) for hit in everything] and len(found) == 9


def test_facets(index: sonicpy.Index) -> None:
    for filter in (None, "odd", "size:2 AND price < 80"):
        for text in ("", "night", "zzzz"):
            for apart in (False, True):
                asked: dict[str, Any] = {
                    "of": "size:*, odd*",
                    "ranges": "price: 10,50",
                    "apart": apart,
                    "filter": filter,
                }
                assert index.facets(C, NAMED, text, **asked) == index.facets(C, ALL, text, **asked)
    assert index.facets(C, NAMED, of="*", limit=1) == index.facets(C, ALL, of="*", limit=1)
    with_query = index.query(C, NAMED, "night", facets={"size:*": None, "price": [50]}, how=True)
    assert with_query.facets == index.query(C, ALL, "night", facets={"size:*": None, "price": [50]}).facets
    assert with_query.buckets is not None
    assert with_query.hows is not None


def test_vectors_order_the_objects_of_several_buckets() -> None:
    dice = random.Random(5)
    signs: dict[str, tuple[bool, ...]] = {}
    with sonicpy.open(":memory:") as index:
        with index.batch():
            for number in range(120):
                vector = [dice.randrange(-9, 10) for _ in range(16)] if dice.random() < 0.8 else None
                bucket = dice.choice(("red", "forum:1", "forum:2"))
                text = " ".join(dice.sample(["night", "lights", "houses", "boat"], dice.randrange(1, 4)))
                tags, values = dice.sample(["size:m", "size:l"], dice.randrange(3)), {"author": number % 9}
                index.push(C, bucket, f"o{number}", text, vector=vector, tags=tags, values=values)
                if vector is not None and bucket != "plain":
                    signs[f"o{number}"] = tuple(each > 0 for each in vector)
        index.push(C, "plain", "p", "night")
        for _ in range(8):
            query, depth = [dice.randrange(-127, 128) for _ in range(15)] + [127], dice.choice((0, 5, 50, 1000))
            named = dice.choice((["red", "forum:*", "plain"], ["red"], ["plain", "forum:2"]))
            options: dict[str, Any] = {"filter": dice.choice((None, "size:m")), "boost": dice.choice((None, "author"))}
            meant: dict[str, Any] = {"vector": query, "depth": depth, "meaning": dice.choice((0.5, 2))}
            text = dice.choice(("night", "night houses", "zzzz"))
            words = index.query(C, named, text, limit=1000, **options)
            found = index.query(C, named, text, limit=1000, total=True, how=True, **options, **meant)
            scored = [Scored(hit.object, hit.score or 0.0) for hit in words]
            expected = reordered(scored, signs, query, meant["meaning"], depth)
            assert found.objects == [one.object for one in expected]
            assert found.scores == pytest.approx([one.score for one in expected])
            assert found.total == len(words) and all(hit.how for hit in found)
            assert all(index.exists(C, hit.bucket or "", hit.object) for hit in found)
            explained = index.explain(C, named, text, limit=9, filter=options["filter"], **meant)
            if options["boost"] is None:
                assert [(hit.object, hit.bucket) for hit in explained.hits] == [
                    (hit.object, hit.bucket) for hit in found[:9]
                ]
            for group in ("author", "size:", "absent"):
                for buckets in (named, "red"):
                    check_groups_of(index, buckets, text, group, {**options, **meant})
        index.push(C, "other", "q", "night", vector=[1.0] * 24)
        with pytest.raises(InvalidArgument, match="the vectors vector of the bucket 24"):
            index.query(C, ["red", "other"], "night", vector=query)


def check_groups_of(index: sonicpy.Index, buckets: Any, text: str, group: str, options: dict[str, Any]) -> None:
    """Compare groups by words and meaning with the first object of each group in the whole answer."""
    found = index.query(C, buckets, text, limit=1000, **options)
    seen: set[Any] = set()
    expected = []
    for hit in found:
        held = groups_of(index, hit.bucket or str(buckets), hit.object, group)
        expected += [(hit.object, hit.score, key) for key in (held or [None]) if key is None or key not in seen]
        seen.update(held)
    grouped = index.query(C, buckets, text, group=group, limit=7, offset=2, total=True, **options)
    rows = [(hit.object, hit.score, hit.group) for hit in grouped]
    assert rows == expected[2:9], (text, group, options)
    assert grouped.total == len(expected)
    if options.get("boost") is None:
        given = {name: value for name, value in options.items() if name != "boost"}
        explained = index.explain(C, buckets, text, group=group, limit=4, **given)
        assert [(hit.object, hit.group) for hit in explained.hits] == [(row[0], row[2]) for row in expected[:4]]
        assert [hit.score for hit in explained.hits] == [row[1] for row in expected[:4]]


def groups_of(index: sonicpy.Index, bucket: str, oid: str, group: str) -> list[Any]:
    """Return the groups of an object, found by a query for each possible group."""
    if group == "size:":
        return [tag for tag in ("size:l", "size:m") if oid in index.query(C, bucket, "", filter=tag, limit=1000)]
    if group != "author":
        return []
    return [number for number in range(9) if oid in index.query(C, bucket, "", filter=f"author = {number}", limit=1000)]


def test_fields_of_several_buckets_are_looked_up_in_each() -> None:
    with sonicpy.open(":memory:") as index:
        texts = (
            {"title": "hotel york", "body": "nice rooms"},
            {"title": "york", "body": "hotel in lyon"},
            {"title": "lyon"},
        )
        for number, named in enumerate(texts):
            for bucket in (ALL, f"b{number % 2}"):
                index.upsert(C, bucket, str(number), named)
        for text, options in (
            ("hotel", {"fields": "title"}),
            ("hotel lyon", {"fields": "title^3,body"}),
            ("title:york hotel", {"syntax": "web"}),
            ("hotel -title:hotel", {"syntax": "web"}),
        ):
            one, several = (index.query(C, bucket, text, total=True, **options) for bucket in (ALL, ["b0", "b1"]))  # type: ignore[arg-type]
            assert (several.scores, several.total) == (one.scores, one.total), text
            assert sorted(several.objects) == sorted(one.objects) != [], text


def test_synonyms_hold_in_several_buckets_and_inside_fields() -> None:
    with sonicpy.open(":memory:") as index:
        index.set_synonyms(C, ["tv => television", "ny, new york"])
        texts = [
            ("television", "old"),
            ("new lamps", "from york"),
            ("new york", "hotel"),
            ("york in the new", "ny guide"),
        ]
        for number, (title, body) in enumerate(texts):
            index.upsert(C, f"b{number % 2}", str(number), {"title": title, "body": body}, "eng")
        every = ["b0", "b1"]
        options: dict[str, Any] = {"lang": "eng", "match": "all", "fuzzy": 0, "complete": False, "total": True}
        assert index.query(C, every, "tv", **options).objects == ["0"]
        for fields, found in ((None, ["1", "2", "3"]), ("title", ["2", "3"])):
            hits = index.query(C, every, "ny", fields=fields, how=True, **options)
            assert (sorted(hits.objects), hits.total) == (found, len(found))
            assert all(hit.how for hit in hits)
            explained = index.explain(C, every, "ny", fields=fields, lang="eng", match="all", fuzzy=0, complete=False)
            assert sorted(hit.object for hit in explained.hits) == found


def test_explanations_count_the_fields_of_all_buckets() -> None:
    """An explanation of several buckets is that of one bucket with all of their objects."""
    with sonicpy.open(":memory:") as index:
        for number in range(12):
            title = "plain words" if number % 4 == 0 else "java tools"
            for bucket in (ALL, f"b{number % 4}"):
                index.upsert(C, bucket, str(number), {"title": title, "body": "java" if number < 6 else "more"})
        for fields, objects in (("title", 9), ("title^5", 11), ("title,body", 11), ("body", 6), ("none", 0)):
            one, every = (index.explain(C, bucket, "java", fields=fields) for bucket in (ALL, ["b0", "b1", "b2", "b3"]))
            assert (every.terms, every.total, every.notes) == (one.terms, one.total, one.notes), fields
            assert (every.terms[0].objects, every.total) == (objects, objects), fields
        one, every = (
            index.explain(C, bucket, "title:java java", syntax="web") for bucket in (ALL, ["b0", "b1", "b2", "b3"])
        )
        assert (every.terms, every.total) == (one.terms, one.total)
