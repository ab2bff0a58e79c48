"""Limits of word graphs: store.fst.graph.max_words and max_size."""

from pathlib import Path

import pytest

from tests.index.graphs import (
    COMPAT,
    IN_SONICS_WAY,
    pending_words,
)
from tests.index.shorthand import B, C, found, open_index, push


class TestLimits:
    """With store.fst.graph.max_words and max_size, compat mode limits its graphs, and the default mode keeps every
    word.
    """

    LATE = [f"zz{number * 7919 % 100_003:06}{'efghij'[number % 6]}{number % 89}" for number in range(3_000)]

    def test_five_words(self, tmp_path: Path) -> None:
        with open_index(tmp_path, **COMPAT, store__fst__graph__max_words=5) as index:
            push(index, "o", "xa xb xc")
            index.consolidate()
            assert index.words(C, B) == ["xa", "xb", "xc"]
            push(index, "o", "aa ab ac ad")
            index.consolidate()
            assert index.count_words(C, B) == 5
            assert index.words(C, B) == ["aa", "ab", "ac", "ad", "xa"]
            assert index.words(C, B, offset=4) == ["xa"]
            assert (found(index, "xc"), index.suggest(C, B, "x")) == (["o"], ["xa"])
            assert (pending_words(index), index.maintainer.due_buckets()) == (set(), []), (
                "it does not try again and again"
            )

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            ("", "fa mi pe xi zu bo an ka ro te lu", "fa mi pe xi zu"),
            ("fa mi pe", "xi zu bo an ka ro te lu", "an bo fa ka mi"),
            ("lu pe ro bo", "xi ka zu fa mi te an", "bo fa ka lu mi"),
            ("lu pe ro bo xi", "an", "bo lu pe ro xi"),
        ],
    )
    def test_the_first_words_that_come_and_then_the_first_by_the_alphabet(
        self, tmp_path: Path, old: str, new: str, expected: str
    ) -> None:
        """The answers are Sonic's: as many new words wait as a graph may hold, and a new graph keeps the first ones in
        byte order of all.
        """
        with open_index(tmp_path, **COMPAT, store__fst__graph__max_words=5) as index:
            push(index, "o", old)
            index.consolidate()
            for word in new.split():
                push(index, "p", word)
            index.consolidate()
            assert index.words(C, B) == expected.split()

    def test_each_graph_has_as_many_words_as_it_may(self, tmp_path: Path) -> None:
        """Each graph has as many words as the limit allows, whereas Sonic would build one of them with fewer words."""
        with open_index(tmp_path, **COMPAT, store__fst__graph__max_words=3) as index:
            for bucket in (B, "other"):
                index.push(C, bucket, "o", "anker birne dampf eiche", lang="none")
            index.consolidate()
            assert [index.words(C, bucket) for bucket in (B, "other")] == [["anker", "birne", "dampf"]] * 2

    def test_what_was_left_out_stays_away_and_later_words_come_in(self, tmp_path: Path) -> None:
        with open_index(tmp_path, **COMPAT, store__fst__graph__max_words=3) as index:
            push(index, "o", "anker birne zebra")
            push(index, "p", "dampf eiche")
            index.consolidate()
            assert index.words(C, B) == ["anker", "birne", "zebra"]
            push(index, "q", "aal")
            index.consolidate()
            assert index.words(C, B) == ["anker", "birne", "zebra"], "a full graph takes no new word"
            index.pop(C, B, "o", "anker birne")
            push(index, "p", "dampf")
            index.consolidate()
            assert index.words(C, B) == ["zebra"]
            push(index, "r", "affe zwerg")
            index.consolidate()
            assert index.words(C, B) == ["affe", "zebra", "zwerg"]

    @pytest.mark.parametrize("size_kib", [1, 4, 20])
    def test_a_small_file(self, tmp_path: Path, size_kib: int) -> None:
        with open_index(tmp_path, **COMPAT, store__fst__graph__max_size=size_kib) as index:
            for first in range(0, len(self.LATE), 500):
                push(index, f"o{first}", " ".join(self.LATE[first : first + 500]))
            push(index, "o", "anker")
            index.consolidate()
            size_bytes = index.engine.graphs.path(0, 1).stat().st_size
            assert size_kib * 512 <= size_bytes <= size_kib * 1024
            kept = index.words(C, B, limit=10_000)
            assert kept == ["anker", *sorted(self.LATE)][: len(kept)], "late in byte order, lost"
            assert 10 < len(kept) < len(self.LATE)
            assert index.count_words(C, B) == len(kept)
            last = max(self.LATE)
            assert (found(index, last), len(index.suggest(C, B, last[:-2]))) == ([found(index, last)[0]], 0)

    def test_zero_is_no_limit(self, tmp_path: Path) -> None:
        limits = {"store__fst__graph__max_words": 0, "store__fst__graph__max_size": 0}
        with open_index(tmp_path, **COMPAT, **limits) as index:
            push(index, "o", " ".join(self.LATE))
            index.consolidate()
            assert index.words(C, B, limit=10_000) == sorted(self.LATE)

    def test_the_default_mode_cuts_nothing(self, tmp_path: Path) -> None:
        limits = {"store__fst__graph__max_words": 5, "store__fst__graph__max_size": 1}
        with open_index(tmp_path, **limits, search__live_words=False) as index:
            push(index, "o", " ".join(self.LATE))
            index.consolidate()
            assert index.words(C, B, limit=10_000) == sorted(self.LATE)
            assert index.engine.graphs.path(0, 1).stat().st_size > 1024

    @pytest.mark.parametrize("shown", ["a" * 50, "ж" * 50])
    def test_words_of_more_than_fifty_letters_are_in_no_graph(self, tmp_path: Path, shown: str) -> None:
        with open_index(tmp_path, **IN_SONICS_WAY) as index:
            push(index, "o", f"{shown} {'b' * 51}")
            index.consolidate()
            assert index.words(C, B) == [shown]
            assert found(index, "b" * 51) == ["o"]

    def test_in_compat_mode_words_of_more_than_forty_bytes_are_in_no_graph(self, tmp_path: Path) -> None:
        with open_index(tmp_path, **COMPAT) as index:
            push(index, "o", f"{'a' * 40} {'b' * 41}")
            index.consolidate()
            assert index.words(C, B) == ["a" * 40]
            assert found(index, "b" * 41) == ["o"]
