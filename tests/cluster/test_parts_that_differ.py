"""Answers of a spread bucket are those of one index where some parts lack columns of vectors, or orders of words."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sonicpy.channel.commands import CountFacets, Query
from sonicpy.cluster.node.places import Places
from sonicpy.cluster.node.spread import Spread
from sonicpy.cluster.registry.partitions import part_of
from sonicpy.cluster.registry.registry import Layout
from sonicpy.config import Config
from sonicpy.errors import InvalidArgument
from sonicpy.index.recorder import Recorder
from sonicpy.search import asked, facets_asked
from tests.index.test_spread import Part
from tests.support.examples import some
from tests.support.surfaces import ORDERED, PartsDesk

SCOPE = ("c", "b")
PARTS = 3
ON, OFF = [1.0] * 8, [-1.0] * 8


class Both:
    """One index, and a spread bucket with the same objects."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self._folder = folder
        self._opened = opened
        self._open(Config())

    def _open(self, config: Config) -> None:
        names = ("one", *map(str, range(PARTS)))
        self.one, *self._parts = (self._opened.enter_context(Part(self._folder / name, config)) for name in names)
        places, recorder = Places(Layout(PARTS, 1, ("n1",), spread=((SCOPE[0], PARTS),))), Recorder(config)
        self.desk: Any = PartsDesk(self._parts, places, recorder)
        self.spread = Spread(self.desk, places, recorder)  # type: ignore[arg-type]

    def open_again(self, config: Config) -> None:
        """Open all again with other settings."""
        self._opened.close()
        self._open(config)

    def push(self, name: str, text: str, **given: Any) -> None:
        part = part_of(name, PARTS)
        for index in (self.one, self._parts[part]):
            index.push(*SCOPE, name, text, "none", **given)
        self.desk.written[part] += 1

    def ask(self, text: str, **options: Any) -> str:
        command = Query(*asked("QUERY", *SCOPE, text, options))
        return asyncio.run(self.spread.execute(command._replace(scores=True))).decode()

    def hits(self, text: str, **options: Any) -> set[str]:
        """Return the names of the hits; they are those of one index."""
        items = self.ask(text, total=True, **options).splitlines()[1].split()[3:]
        found = self.one.query(*SCOPE, text, total=True, **options)
        at = 2 if options.get("how") else 1
        assert ({item.split(":")[0] for item in items[at:]}, int(items[0])) == (set(found), found.total)
        return set(found)

    def first(self, text: str, **options: Any) -> str:
        """Return the name of the first hit."""
        return self.ask(text, **options).splitlines()[1].split()[4 if options.get("how") else 3].split(":")[0]

    def forget(self, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
        """Make the sketches of a part those of an older version."""
        plain = self._parts[part].spread_terms

        def spread_terms(*args: Any) -> Any:
            return {key: value for key, value in plain(*args).items() if key not in ("columns", "ordered", "together")}

        monkeypatch.setattr(self._parts[part], "spread_terms", spread_terms)

    def refusal(self, text: str, **options: Any) -> str:
        """Return the refusal of a query; it is that of one index."""
        with pytest.raises(InvalidArgument) as one:
            self.one.query(*SCOPE, text, **options)
        with pytest.raises(InvalidArgument) as parts:
            self.ask(text, **options)
        assert str(one.value) == str(parts.value)
        return str(one.value)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    with ExitStack() as opened:
        yield Both(tmp_path, opened)


def in_part(number: int, count: int) -> list[str]:
    """Return the names of `count` objects of a part."""
    return [name for name in (f"o{number}" for number in range(90)) if part_of(name, PARTS) == number][:count]


VARIANTS: Sequence[dict[str, Any]] = ({}, {"how": True}, {"boost": "price"}, {"group": "price"})


@pytest.mark.parametrize("options", VARIANTS)
def test_a_part_may_lack_the_column_of_a_vector(both: Both, options: dict[str, Any]) -> None:
    names = [*in_part(0, 3), *in_part(1, 2)]
    for place, name in enumerate(names[1:], 1):
        both.push(name, "apple", vector={"text": ON}, values={"price": place})
    both.push(names[0], "apple", values={"price": 0})
    assert both.hits("apple", vector=ON, **options) == set(names)
    assert "its column is image" in both.refusal("apple", vector={"image": ON}, **options)
    for name, numbers in zip(names[1:3], (OFF, ON), strict=True):
        both.push(name, "", vector={"image": numbers})
    assert both.hits("apple", vector={"image": ON}, **options) == set(names)
    assert both.first("apple", vector={"image": ON}, **options) == names[2]
    assert both.first("apple", vector={"image": OFF}, **options) == names[1]
    assert "it names no column" in both.refusal("apple", vector=ON, **options)
    assert "its column is other" in both.refusal("apple", vector={"other": ON}, **options)


def test_columns_of_two_parts_are_two_columns(both: Both) -> None:
    both.push(in_part(0, 1)[0], "apple", vector={"text": ON})
    both.push(in_part(1, 1)[0], "apple", vector={"image": ON})
    assert "it names no column" in both.refusal("apple", vector=ON)


def test_a_part_of_an_older_version_does_not_tell_its_columns(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.push(in_part(0, 1)[0], "apple", vector={"text": ON})
    both.forget(monkeypatch, part=1)
    assert both.hits("apple", vector=ON) == both.hits("apple", vector={"text": ON}) == {in_part(0, 1)[0]}


@pytest.mark.parametrize("options", some([*VARIANTS, {"sort": "newest"}, {"boost": "price", "how": True}], 3))
def test_a_bucket_keeps_the_order_if_a_part_does(both: Both, options: dict[str, Any]) -> None:
    old, new = [each for number in range(PARTS) for each in in_part(number, 2)], in_part(1, 4)[2:]
    for name in old:
        both.push(name, "hotel of a new owner", values={"price": 1})
    assert "does not keep the order" in both.refusal("", phrase="new hotel", **options)
    both.open_again(ORDERED)
    both.push(new[0], "a new hotel", values={"price": 2})
    both.push(new[1], "hotel new", values={"price": 3})
    assert both.hits("", phrase="new hotel", **options) == {new[0]}
    assert both.hits('"new hotel"', syntax="web", **options) == {new[0]}
    both.hits("", phrase="hotel", **options)


def test_facets_of_a_phrase_count_what_answers(both: Both) -> None:
    for number in range(PARTS):
        both.push(in_part(number, 1)[0], "hotel new", tags=["old"])
    both.open_again(ORDERED)
    both.push(in_part(2, 2)[1], "new hotel", tags=["new"])
    options = {"of": "*", "phrase": "new hotel"}
    command = CountFacets(*facets_asked(*SCOPE, "", options))
    counted = json.loads(asyncio.run(both.spread.execute(command)).decode().removeprefix("RESULT "))
    assert counted == both.one.facets(*SCOPE, "", of="*", phrase="new hotel").to_dict()


def test_a_part_of_an_older_version_does_not_tell_whether_it_keeps_orders(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    both.open_again(ORDERED)
    names = [in_part(number, 1)[0] for number in range(PARTS)]
    for name in names:
        both.push(name, "a new hotel")
    both.forget(monkeypatch, part=1)
    assert both.hits("", phrase="new hotel") == set(names)


@pytest.mark.parametrize(
    ("text", "query", "edits"), [("two libraries here", "liberary", 1), ("basket bull here", "basketbaal", 2)]
)
def test_words_within_the_edits_of_a_query_are_those_of_one_index(
    both: Both, text: str, query: str, edits: int
) -> None:
    both.push("found", text)
    both.push(in_part((part_of("found", PARTS) + 1) % PARTS, 1)[0], "a bank there")
    assert both.hits(query, fuzzy=edits, lang="eng") == {"found"}


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (("iPhone case, red", "15 pencils"), (0, 1)),
        (("iPhone case, red", "15 pencils", "iPhone 15 in blue"), (1, 2)),
        (("iPhone case, red", "iPhone 15 in blue", "30 pencils"), (1,)),
    ],
)
@pytest.mark.parametrize("apart", [True, False])
def test_numbers_are_required_where_a_part_holds_them_beside_others(
    both: Both, texts: tuple[str, ...], found: tuple[int, ...], apart: bool
) -> None:
    names = [in_part(number % PARTS if apart else 0, number + 1)[-1] for number in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        both.push(name, text)
    assert both.hits("iphone 15 case", lang="none") == {names[place] for place in found}


@pytest.mark.parametrize("end", ["", " "])
def test_a_part_may_hold_apart_the_pieces_that_another_one_holds_together(both: Both, end: str) -> None:
    (room, plan), (camera,) = in_part(0, 2), in_part(1, 1)
    both.push(room, "room 90, Anna")
    both.push(plan, "plan d, eos, Lena")
    assert both.hits(f"eos90d{end}") == both.hits(f"annalena{end}") == set()
    both.push(camera, "Anna-Lena has a Canon EOS 90D")
    assert both.hits(f"eos90d{end}") == both.hits(f"annalena{end}") == {camera}


def test_a_part_of_an_older_version_does_not_tell_which_pieces_an_object_holds_together(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    (iphone, number) = in_part(0, 1)[0], in_part(1, 1)[0]
    both.push(iphone, "an iPhone 15 case")
    both.push(number, "page 15 of it")
    both.forget(monkeypatch, part=0)
    assert both.hits("iphone15") == {iphone}
