"""Readers of tags and values are cached for a commit, and the share of a filter decides how pages are filled: answers
stay the same.
"""

from collections.abc import Iterator
from random import Random

import pytest

import sonicpy
from sonicpy.filters.grammar import parse
from sonicpy.index.index import Index
from sonicpy.index.search.passing_share import share_meeting

OBJECTS = 9_000


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    """An index with three windows of objects: the values `time` rise, the values `price` do not."""
    random = Random(5)
    prices = [random.randrange(10_000) for _ in range(OBJECTS)]
    with sonicpy.open(":memory:") as index:
        rows = [
            {
                "id": str(number), "text": "common word" if number % 3 else "common words",
                "tags": ["half"] * (number % 2) + ["ten"] * (number % 900 == 0),
                "time": number, "price": price,
            }
            for number, price in enumerate(prices)
        ]  # fmt: skip
        index.push_many(
            rows, collection="c", bucket="b", object="id", tags="tags", values=["time", "price"], lang="none"
        )
        yield index


@pytest.mark.parametrize(
    ("filter", "share"),
    [
        ("half", 0.5), ("ten", 10 / OBJECTS), ("NOT half", 0.5), ("half AND price < 5000", 0.25), ("gone", 0.0),
        ("half OR NOT half", 1.0), ("price < 1000", 0.1), ("price >= 0", 1.0), ("size < 3", 0.0), ("time < 0", 0.0),
    ],
)  # fmt: skip
@pytest.mark.full
def test_a_share_is_about_that_of_the_objects(index: Index, filter: str, share: float) -> None:
    with index._engine.read_words("c", "b") as lexicon:
        assert lexicon is not None
        assert share_meeting(lexicon.reader, parse(filter)) == pytest.approx(share, rel=0.1, abs=1e-9)


@pytest.mark.full
@pytest.mark.parametrize("filter", ["half", "ten", "gone", "price < 20", "price >= 5000 AND price < 5010", "time < 7"])
@pytest.mark.parametrize("text", ["common", "common word", "commo"])
def test_a_page_is_the_beginning_of_all_that_pass(index: Index, text: str, filter: str) -> None:
    """A page is the beginning of the answer to an unlimited search; completions are among its objects."""
    every = index.query("c", "b", text, filter=filter, limit=OBJECTS, total=True)
    assert every.total == len(every)
    for limit in (1, 3, 10):
        page = index.query("c", "b", text, filter=filter, limit=limit)
        assert page.pairs() == every.pairs()[:limit]


def test_a_filter_sees_each_change() -> None:
    with sonicpy.open(":memory:") as index:
        for number in range(40):
            name = str(number)
            index.push("c", "b", name, "word", lang="none", tags=["new"], values={"price": number})
            assert index.query("c", "b", "", filter="new", limit=1) == [name]
            assert index.query("c", "b", "word", filter=f"price >= {number}") == [name]
            assert index.query("c", "b", "", sort="-price", filter="new", limit=1) == [name]
            if number % 7 == 0:
                index.tag("c", "b", name, tags=["old"], values={"price": -number})
                assert name not in index.query("c", "b", "", filter="new", limit=100)
                assert index.query("c", "b", "", filter=f"price = {-number} AND old") == [name]
                index.consolidate()
                index.tag("c", "b", name, tags=["new"], values={"price": number})
