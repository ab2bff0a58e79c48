"""An export that is pushed into another index makes an equal index: hits and their order, words, counts."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from sonicpy import Config, Index
from sonicpy.errors import CommandError
from sonicpy.index.report.export import ExportedObject
from tests.support.examples import some

WORDS = ["amber", "birch", "cedar", "delta", "the", "of", "東京都庁", "ann@example.org"]


@contextmanager
def two(folder: Path, window: int, compat: str = "none") -> Iterator[tuple[Index, Index]]:
    config = Config.model_validate({"server": {"compat": compat}, "store": {"kv": {"retain_word_objects": window}}})
    with Index(folder / "first", config) as first, Index(folder / "second", config) as second:
        yield first, second


def copy(source: Index, target: Index) -> None:
    with target.batch():
        for holding in source.holdings():
            target.push_terms(holding.collection, holding.bucket, holding.object, holding.terms, holding.hidden)


def live(index: Index, random: Random) -> None:
    """Change an index so that objects gain and lose words in random order."""
    with index.batch():
        for _ in range(100):
            oid, text = f"o{random.randrange(25)}", " ".join(random.choices(WORDS, k=random.randrange(5)))
            chance = random.random()
            if chance < 0.85:
                index.push("c", "b", oid, text, random.choice([None, "eng", "none"]))
            elif chance < 0.95:
                index.pop("c", "b", oid, text)
            else:
                index.flush_object("c", "b", oid)


@pytest.mark.parametrize("compat", ["none", "sonic"])
@pytest.mark.parametrize("window", some([1, 1000, 0, 3], 2))
@pytest.mark.parametrize("seed", some(range(3), 3))
def test_a_copy_answers_like_the_original(tmp_path: Path, seed: int, window: int, compat: str) -> None:
    with two(tmp_path, window, compat) as (first, second):
        live(first, Random(seed))
        copy(first, second)
        assert second.words("c", "b") == first.words("c", "b")
        assert second.count_objects("c", "b") == first.count_objects("c", "b")
        for number in range(25):
            assert second.count_object_words("c", "b", f"o{number}") == first.count_object_words("c", "b", f"o{number}")
        for count in (1, 2):
            for words in combinations(WORDS, count):
                text = " ".join(words)
                assert second.query("c", "b", text, limit=50) == first.query("c", "b", text, limit=50), text
        if seed == 0:  # it starts a process
            assert second.verify() == []


def test_texts_pushed_once_come_once_and_in_order(tmp_path: Path) -> None:
    with Index(tmp_path) as index:
        index.push("c", "b", "o1", "the amber amber", "eng")
        index.push("c", "b", "o2", "amber birch", "eng")
        index.push("c", "b", "o3", "")
        assert list(index.holdings()) == [
            ExportedObject("c", "b", "o1", {"the": 1, "amber": 2}, {}, 8, "eng 2"),
            ExportedObject("c", "b", "o2", {"amber": 1, "birch": 1}, {}, 8),
            ExportedObject("c", "b", "o3", {}, {}, 8),
        ]


def test_words_that_came_late_come_in_their_place(tmp_path: Path) -> None:
    """In compat mode an export keeps the order of association; in the default mode each object comes once, with all its
    words.
    """
    with Index(tmp_path / "default") as index:
        for oid, text in (("o1", "amber"), ("o2", "birch"), ("o1", "birch")):
            index.push("c", "b", oid, text, "none")
        assert [(holding.object, *holding.terms) for holding in index.holdings()] == [
            ("o1", "amber", "birch"), ("o2", "birch"),
        ]  # fmt: skip
    with Index(tmp_path / "compat", Config.model_validate({"server": {"compat": "sonic"}})) as index:
        for oid, text in (("o1", "amber"), ("o2", "birch cedar"), ("o1", "birch cedar"), ("o3", "cedar")):
            index.push("c", "b", oid, text, "none")
        assert [(holding.object, *holding.terms) for holding in index.holdings()] == [
            ("o1", "amber"), ("o2", "birch", "cedar"), ("o1", "birch", "cedar"), ("o3", "cedar"),
        ]  # fmt: skip


def test_one_collection_or_bucket(tmp_path: Path) -> None:
    with Index(tmp_path) as index:
        for collection, bucket in (("c", "b"), ("c", "d"), ("e", "b")):
            index.push(collection, bucket, "o", "amber")
        assert [holding[:2] for holding in map(scope, index.holdings("c"))] == [("c", "b"), ("c", "d")]
        assert [holding[:2] for holding in map(scope, index.holdings("c", "d"))] == [("c", "d")]
        assert list(index.holdings("nobody")) == []
        with pytest.raises(CommandError):
            next(index.holdings("two words"))


def scope(holding: ExportedObject) -> tuple[str, str]:
    return holding.collection, holding.bucket


def test_a_very_long_word_survives(tmp_path: Path) -> None:
    with two(tmp_path, 0) as (first, second):
        first.push("c", "b", "o", "x" * 700)
        copy(first, second)
        assert second.query("c", "b", "x" * 700) == ["o"]
        assert second.verify() == []


@pytest.mark.parametrize(
    ("terms", "hidden"),
    [
        ({"": 1}, {}),
        ({"amber": 0}, {}),
        ({"amber": 256}, {}),
        ({"amber": True}, {}),
        ({"amber": "1"}, {}),
        ({"amber": 1}, {"amber": 1}),
        ({"\ud800": 1}, {}),
    ],
)
def test_what_are_no_terms(tmp_path: Path, terms: dict[str, int], hidden: dict[str, int]) -> None:
    with Index(tmp_path) as index:
        with pytest.raises(CommandError, match="invalid_format"):
            index.push_terms("c", "b", "o", terms, hidden)
        assert index.count_objects("c", "b") == 0
