"""The newest objects that pass a filter, compared with a list in Python: tags of a few objects and of many."""

from collections.abc import Callable

import pytest

import sonicpy

COUNT = 700
TAGS: dict[str, Callable[[int], bool]] = {
    "all": lambda _: True,
    "third": lambda number: number % 3 == 0,
    "rare": lambda number: number % 97 == 5,
    "oldest": lambda number: number < 20,
    "two words": lambda number: number % 2 == 0,
}
FILTERS: dict[str, Callable[[int], bool]] = {
    **{f'"{tag}"': held for tag, held in TAGS.items()},
    "missing": lambda _: False,
    "rare AND missing": lambda _: False,
    "year > 30": lambda number: year(number) > 30,
    "year > 30 AND year < 33": lambda number: 30 < year(number) < 33,
    "month = 3": lambda _: False,
    "rare AND year > 30": lambda number: TAGS["rare"](number) and year(number) > 30,
    "rare AND year > 30 AND year <= 48": lambda number: TAGS["rare"](number) and 30 < year(number) <= 48,
    "third AND year = 9": lambda number: TAGS["third"](number) and year(number) == 9,
    "all AND oldest": TAGS["oldest"],
    "all AND all AND rare": TAGS["rare"],
    "rare AND NOT third": lambda number: TAGS["rare"](number) and number % 3 != 0,
    '"two words" AND (rare OR oldest)': lambda number: number % 2 == 0 and (TAGS["rare"](number) or number < 20),
    "third AND HAS year AND year != 4": lambda number: number % 3 == 0 and year(number) != 4,
    "all AND tag IN (rare, oldest)": lambda number: TAGS["rare"](number) or number < 20,
}


def year(number: int) -> int:
    """Return the value `year` of an object."""
    return number * 7 % 50


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory):
    """An index of objects with tags and years, some of which were removed or have lost a tag."""
    with sonicpy.open(tmp_path_factory.mktemp("index")) as opened:
        rows = [
            {"id": f"o{number}", "text": "", "tags": [tag for tag in TAGS if TAGS[tag](number)], "year": year(number)}
            for number in range(COUNT)
        ]
        opened.push_many(rows, collection="c", bucket="b", tags="tags", values=["year"])
        for number in range(0, COUNT, 11):
            opened.flush_object("c", "b", f"o{number}")
        yield opened


@pytest.mark.parametrize("filter", FILTERS)
def test_newest_first(index: sonicpy.Index, filter: str) -> None:
    wanted = [f"o{number}" for number in range(COUNT - 1, -1, -1) if number % 11 and FILTERS[filter](number)]
    for limit, offset in ((1, 0), (10, 0), (3, 2), (COUNT, 0), (5, COUNT)):
        found = index.query("c", "b", "", filter=filter, limit=limit, offset=offset)
        assert list(found) == wanted[offset : offset + limit]
        counted = index.query("c", "b", "", filter=filter, limit=limit, offset=offset, total=True)
        assert (list(counted), counted.total) == (list(found), len(wanted))


def test_sees_changes_at_once(index: sonicpy.Index) -> None:
    with index.batch():
        index.push("c", "b", "fresh", "", tags=["rare"], values={"year": 31})
        assert list(index.query("c", "b", "", filter="rare AND year > 30", limit=1)) == ["fresh"]
        index.flush_object("c", "b", "fresh")
        assert "fresh" not in index.query("c", "b", "", filter="rare", limit=100)
