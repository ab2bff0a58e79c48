"""The window limits how many objects of a word a query reads; the index holds all of them in any case."""

from pathlib import Path

import pytest

from tests.index.shorthand import B, C, found, open_index, push

ORDERS = [{}, {"server__compat": "sonic"}]
"""The settings for the order of objects, and for that of association."""


@pytest.mark.parametrize("mode", ORDERS, ids=["default", "compat"])
def test_the_newest_objects_are_read(tmp_path: Path, mode: dict[str, str]) -> None:
    with open_index(tmp_path, store__kv__retain_word_objects=3, **mode) as index:
        for number in range(10):
            push(index, f"o{number}", "gemeinsam")
        assert found(index, "gemeinsam") == ["o9", "o8", "o7"]
        assert index.query(C, B, "gemeinsam", limit=1, lang="none", total=True).total == 3
        assert index.count_objects(C, B) == 10
        assert index.count_object_words(C, B, "o0") == 1
        assert [told.postings for told in index.term_stats(C, B)] == [10]


def test_each_word_has_its_own(tmp_path: Path) -> None:
    with open_index(tmp_path, store__kv__retain_word_objects=2) as index:
        push(index, "a", "selten")
        for number in range(5):
            push(index, f"o{number}", "gemeinsam")
        push(index, "a", "gemeinsam")
        assert found(index, "gemeinsam") == ["o4", "o3"], "the newest objects, not the newest to gain the word"
        assert found(index, "selten") == ["a"]
        assert found(index, "selten gemeinsam") == ["a", "o4", "o3"], "only what is read of a word counts"


@pytest.mark.parametrize("mode", ORDERS, ids=["default", "compat"])
def test_older_objects_come_back_when_newer_ones_go(tmp_path: Path, mode: dict[str, str]) -> None:
    with open_index(tmp_path, store__kv__retain_word_objects=3, **mode) as index:
        for number in range(6):
            push(index, f"o{number}", "gemeinsam eigen")
        assert index.pop(C, B, "o5", "gemeinsam") == 1
        assert index.flush_object(C, B, "o4") == 2
        assert found(index, "gemeinsam") == ["o3", "o2", "o1"]
        push(index, "o0", "gemeinsam")
        assert found(index, "gemeinsam") == ["o3", "o2", "o1"], "to its object the word is not new"
        push(index, "o5", "gemeinsam")
        assert found(index, "gemeinsam") == ["o5", "o3", "o2"]


def test_the_newest_objects_of_a_family_are_read(tmp_path: Path) -> None:
    """The cached list of a family does not keep an older window of one of its words, however often the word is searched
    for.
    """
    with open_index(tmp_path, store__kv__retain_word_objects=3) as index:
        index.push_many([(f"x{number}", "anderes") for number in range(9_000)], collection=C, bucket=B)
        push(index, "forms", "birnen", "deu")
        for number in range(6):
            push(index, f"o{number}", "birne", "deu")
            newest = [f"o{at}" for at in range(number, -1, -1)][:3]
            assert found(index, "birne", lang="deu") == [*newest, "forms"]
        index.flush_object(C, B, "o5")
        assert found(index, "birne", lang="deu") == ["o4", "o3", "o2", "forms"]


def test_every_object_is_found_unless_told_otherwise(tmp_path: Path) -> None:
    with open_index(tmp_path) as index, index.batch():
        for number in range(3_000):
            push(index, f"o{number}", "gemeinsam")
        assert found(index, "gemeinsam", 5_000) == [f"o{number}" for number in reversed(range(3_000))]
        assert found(index, "gemeinsam", 2, 2_998) == ["o1", "o0"]


def test_compat_mode_reads_a_thousand(tmp_path: Path) -> None:
    """A word that all objects hold is too common for the ranking, unless this limit is switched off."""
    with (
        open_index(tmp_path, server__compat="sonic", search__query_minimum_term_idf_default=0.0) as index,
        index.batch(),
    ):
        for number in range(1_300):
            push(index, f"o{number}", "gemeinsam")
        assert found(index, "gemeinsam", 5_000) == [f"o{number}" for number in range(1_299, 299, -1)]


def test_a_window_that_changes_at_a_start(tmp_path: Path) -> None:
    with open_index(tmp_path, store__kv__retain_word_objects=200) as index, index.batch():
        for number in range(500):
            push(index, f"o{number}", "gemeinsam")
        assert len(found(index, "gemeinsam")) == 200
    with open_index(tmp_path, store__kv__retain_word_objects=300) as index:
        push(index, "next", "gemeinsam")
        assert found(index, "gemeinsam") == ["next", *(f"o{number}" for number in range(499, 200, -1))]
    with open_index(tmp_path) as index:
        push(index, "last", "gemeinsam")
        assert len(found(index, "gemeinsam")) == 502, "nothing was cut off"
