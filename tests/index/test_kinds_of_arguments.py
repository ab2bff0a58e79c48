"""Arguments that are not exactly str, int or float: members of enumerations, markup, numbers of numpy."""

import enum
from collections.abc import Callable
from typing import Any

import pytest

import sonicpy
from sonicpy import Index, InvalidArgument

C, B = "c", "b"


class Markup(str):
    """Text with its own `str()` and repr, as in template engines."""

    def __str__(self) -> "Markup":
        return Markup("other")

    __repr__ = __str__


class Named(str, enum.Enum):  # noqa: UP042  StrEnum has another str()
    """Texts whose `str()` is the name of the member."""

    COLLECTION = "c"
    BUCKET = "b"
    TEXT = "shirt"


def pushed(index: Index, object: str, text: str) -> list[str]:
    """Push a text; return all names and words in the index."""
    index.push(C, B, object, text)
    return [*index.bucket(C, B), *index.words(C, B)]


def valued(index: Index, object: str, text: str) -> list[Any]:
    """Return the values of all objects after a push with the values `text` and `place`."""
    index.push(C, B, object, "x", values={text: 5, "place": (47.5, 2)})
    return [each.fields for each in index.holdings(C, B)]


def languages(index: Index, text: str) -> list[Any]:
    """Push a text to many objects, of which some are in the sample that counts languages."""
    for number in range(40):
        index.push(C, B, f"many{number}", text)
    return [each.languages for each in index.holdings(C, B)]


CALLS: dict[str, Callable[[Index, Any], Any]] = {
    "languages": languages,
    "value": lambda index, text: valued(index, "o2", text),
    "rows with values": lambda index, text: (
        index.push_many([{"id": text, "text": text, text: 3}], collection=text, bucket=text, values=[text]).refused,
        list(index.holdings()),
    ),
    "rows with their names": lambda index, text: (
        index.push_many([{"collection": text, "bucket": text, "id": 1, "text": text, "v": 3}], values=["v"]).refused,
        list(index.holdings()),
    ),
    "filter": lambda index, text: (valued(index, "o2", "shirt"), index.query(C, B, "x", filter={text: [5]}).objects),
    "range": lambda index, text: (valued(index, "o2", "shirt"), index.query(C, B, "x", facets={text: [0]}).facets),
    "sort": lambda index, text: (valued(index, "o2", "shirt"), index.query(C, B, "x", sort=text).objects),
    "vector": lambda index, text: (
        index.push(C, B, "o2", "x", vector={text: [1.0] * 8}),
        index.query(C, B, "", vector={text: [1.0] * 8}).objects,
        index.drop_vectors(C, B, text),
    ),
    "terms": lambda index, text: (index.push_terms(text, text, text, {text: 1}), list(index.holdings())),
    "push": lambda index, text: pushed(index, "o2", text),
    "object": lambda index, text: pushed(index, text, "hat"),
    "upsert": lambda index, text: (index.upsert(C, B, "o1", text), index.words(C, B)),
    "named": lambda index, text: (index.upsert(C, B, "o1", {"title": text}), index.words(C, B)),
    "rows": lambda index, text: (index.push_many([(text, text)], collection=C, bucket=B).indexed, index.words(C, B)),
    "names of rows": lambda index, text: (
        index.push_many([(text, text)], collection=C, bucket=B),
        list(index.bucket(C, B)),
    ),
    "pop": lambda index, text: index.pop(C, B, "o1", text),
    "query": lambda index, text: index.query(C, B, text).objects,
    "ask": lambda index, text: index.query(C, [B], text, match="all", syntax="web", facets="*").objects,
    "explain": lambda index, text: index.explain(C, B, text).total,
    "facets": lambda index, text: index.facets(C, B, text, of="*").total,
    "suggest": lambda index, text: index.suggest(C, B, text),
    "tags": lambda index, text: index.tag(C, B, "o1", [text]) and index.facets(C, B, of="*").tags,
    "words": lambda index, text: index.words(C, B, prefix=text),
    "digest": lambda index, text: index.digest(C, B, "o1", text),
    "synonyms": lambda index, text: (index.set_synonyms(C, [text + ", hat"]), index.synonyms(C)),
}


@pytest.mark.parametrize("call", CALLS)
def test_any_kind_of_str_is_its_letters(call: str) -> None:
    answers = []
    for text in ("shirt", Markup("shirt"), Named.TEXT, sonicpy.Hit("shirt")):
        with sonicpy.open(":memory:") as index:
            index.push(C, B, "o1", "shirt and hat", "none")
            answers.append(CALLS[call](index, text))
    assert answers[1:] == answers[:1] * 3


def test_scopes_may_be_members_of_enumerations() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(Named.COLLECTION, Named.BUCKET, "o1", "shirt")
        index.push(Named.COLLECTION, Named.BUCKET, "o1", "hat", tags=["red"])
        shelf = index.bucket(Named.COLLECTION, Named.BUCKET)
        shelf.upsert("o1", "shirt")
        assert type(shelf.collection) is type(shelf.bucket) is str
        assert index.collections() == [C] and index.buckets(C) == [B]
        assert index.query(Named.COLLECTION, [Named.BUCKET], "shirt") == index.query(C, Named.BUCKET, "shirt") == ["o1"]


def test_numbers_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o1", "shirt", "none", values={"price": numpy.int16(5)})
        asked: dict[str, Any] = {"limit": numpy.int32(3), "fuzzy": numpy.int64(1), "total": numpy.True_}
        asked |= {
            "fields": {"title": numpy.float32(2)},
            "meaning": numpy.float32(0.5),
            "filter": {"price": numpy.uint8(5)},
        }
        hits = index.query(C, B, "shirt", facets={"price": [numpy.int64(0)]}, **asked)
        assert (
            hits == ["o1"]
            and hits.total == 1
            and hits.facets is not None
            and hits.facets.ranges["price"][0].objects == 1
        )
        assert sonicpy.fuse(hits, zip(["o1"], numpy.array([1.0]), strict=True), weight=numpy.float32(2)) == ["o1"]
        several = numpy.array([1, 2])
        wrong: list[dict[str, Any]] = [{"limit": several}, {"fuzzy": several}, {"total": several}, {"meaning": several}]
        for options in [*wrong, {"filter": {"price": several}}, {"fields": {"title": several}}]:
            with pytest.raises(InvalidArgument, match=f"^{next(iter(options))} .*; allowed "):
                index.query(C, B, "shirt", **options)
        with pytest.raises(InvalidArgument, match="^the value price is of type ndarray; allowed are "):
            index.tag(C, B, "o1", values={"price": several})


def test_a_refused_row_has_the_name_of_its_object() -> None:
    with sonicpy.open(":memory:") as index:
        report = index.push_many([{"id": 7, "text": "x", "price": 2.5}], collection=C, bucket=B, values=["price"])
        assert [(row.object, row.row) for row in report.refused] == [("7", 0)]


class Language(str, enum.Enum):  # noqa: UP042  as above
    ENGLISH = "eng"


def test_a_language_may_be_a_member_of_an_enumeration() -> None:
    with sonicpy.open(":memory:") as index:
        assert index.upsert(C, B, "o1", "shirts", lang=Language.ENGLISH)
        assert not index.upsert(C, B, "o1", "shirts", lang="eng")
        assert index.query(C, B, "shirts", lang=Language.ENGLISH) == ["o1"]


def test_a_point_of_texts() -> None:
    with sonicpy.open(":memory:") as index:
        for number, kind in enumerate((str, Markup)):
            index.push(C, B, number, "x", values={"place": (kind("47.5"), kind("2"))})
            index.push(C, B, number, "x", values={"other": kind("47.5/2"), "number": kind("7")})
        first, second = (each.fields["values"] for each in index.holdings(C, B))
        assert first == second == {"place": "47.5/2", "other": "47.5/2", "number": 7}
