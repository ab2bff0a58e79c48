"""Queries of thousands of words: only the first words are corrected, so that no line takes seconds."""

import time
from pathlib import Path

import pytest

from sonicpy._native.planner import EXPANDED_WORDS
from sonicpy.index.search import sonic
from sonicpy.index.search.lexicon import Lexicon
from tests.index.shorthand import found, open_index, push
from tests.support.patience import is_below

LETTERS = "bcdfghjklmnp"
UNKNOWN = [f"{one}u{two}o{three}i{four}" for one in LETTERS for two in LETTERS for three in "kltr" for four in "ns"]

MODES = [
    ("bm25", {}, EXPANDED_WORDS),
    ("newest", {"search__ranking": "newest"}, EXPANDED_WORDS),
    ("sonic", {"server__compat": "sonic"}, sonic.CORRECTED_WORDS_SONIC),
]


@pytest.mark.parametrize(("name", "settings", "most"), MODES, ids=[row[0] for row in MODES])
def test_only_the_first_words_are_corrected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, settings: dict[str, object], most: int
) -> None:
    asked = []
    corrections = Lexicon.corrections

    def count(lexicon: Lexicon, word: bytes, distance: int, **how: bool) -> list[tuple[bytes, int]]:
        asked.append(word)
        return corrections(lexicon, word, distance, **how)

    monkeypatch.setattr(Lexicon, "corrections", count)
    with open_index(tmp_path, search__query_alternates_try=4, **settings) as index:
        push(index, "object", "weather")
        index.consolidate()
        assert len(UNKNOWN) > 2 * most
        assert found(index, " ".join(UNKNOWN)) == []
        assert len(asked) == most
        assert found(index, " ".join([*UNKNOWN, "weather"])) == ([] if name == "newest" else ["object"])
        if name != "newest":  # which wants every word
            assert found(index, " ".join([*UNKNOWN[: most - 1], "wether"])) == ["object"], "the last that is corrected"
            assert found(index, " ".join([*UNKNOWN[:most], "wether"])) == []


@pytest.mark.parametrize("compat", ["none", "sonic"])
def test_time_is_linear_in_the_marks_of_a_word(tmp_path: Path, compat: str) -> None:
    marked = "a" + "\u0301\u0323" * 4_900
    with open_index(tmp_path, server__compat=compat) as index:
        push(index, "object", marked)
        took = []
        for _ in range(3):
            began = time.thread_time()
            assert found(index, marked) == ["object"]
            took.append(time.thread_time() - began)
        assert is_below(min(took), 0.05)
