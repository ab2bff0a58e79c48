"""SUGGEST, LIST and COUNT: the words that a bucket shows, live or after a consolidation, and their order."""

import threading
from pathlib import Path

import pytest

from tests.index.shorthand import B, C, open_index, push


class TestLive:
    """In the default mode, pushed and removed words appear and vanish at once."""

    def test_before_and_after_consolidation_and_reopening(self, in_tables: None, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "anker ankunft birne")
            before = (index.words(C, B), index.count_words(C, B), index.count_buckets(C), index.suggest(C, B, "ank"))
            assert before == (["anker", "ankunft", "birne"], 3, 1, ["anker", "ankunft"])
            assert len(index.engine.store.pending_buckets()) == 1
            index.consolidate()
            assert len(index.engine.store.pending_buckets()) == 0
            after = (index.words(C, B), index.count_words(C, B), index.count_buckets(C), index.suggest(C, B, "ank"))
            assert after == before
        with open_index(tmp_path) as index:
            again = (index.words(C, B), index.count_words(C, B), index.count_buckets(C), index.suggest(C, B, "ank"))
            assert again == before

    @pytest.mark.parametrize("consolidated", [False, True])
    @pytest.mark.parametrize("way", ["flush_object", "pop"])
    def test_a_word_goes_with_its_last_object(self, tmp_path: Path, way: str, consolidated: bool) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "anker birne")
            push(index, "p", "birne")
            if consolidated:
                index.consolidate()
            if way == "pop":
                assert index.pop(C, B, "o", "anker birne") == 2
            else:
                assert index.flush_object(C, B, "o") == 2
            for _ in range(2):
                assert (index.words(C, B), index.count_words(C, B)) == (["birne"], 1)
                assert (index.suggest(C, B, "an"), index.suggest(C, B, "bir")) == ([], ["birne"])
                index.consolidate()

    def test_a_bucket_whose_last_word_went_is_not_counted(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "anker")
            index.push(C, "other", "o", "anker", "none")
            index.flush_object(C, B, "o")
            assert index.count_buckets(C) == 1


class TestAfterConsolidation:
    """With search.live_words = false, words appear after a consolidation, as in Sonic."""

    def test_words_show_after_consolidation_only(self, tmp_path: Path) -> None:
        with open_index(tmp_path, search__live_words=False) as index:
            push(index, "o", "anker")
            shown = (index.words(C, B), index.count_words(C, B), index.count_buckets(C), index.suggest(C, B, "ank"))
            assert shown == ([], 0, 0, [])
            assert index.query(C, B, "anker") == ["o"], "searching needs none"
            assert index.count_object_words(C, B, "o") == 1
        with open_index(tmp_path, search__live_words=False) as index:
            assert index.words(C, B) == [], "pending words are kept"
            index.consolidate()
            shown = (index.words(C, B), index.count_words(C, B), index.count_buckets(C), index.suggest(C, B, "ank"))
            assert shown == (["anker"], 1, 1, ["anker"])

    def test_words_that_went_show_until_then(self, tmp_path: Path) -> None:
        with open_index(tmp_path, search__live_words=False) as index:
            push(index, "o", "anker birne")
            push(index, "p", "birne")
            index.consolidate()
            index.flush_object(C, B, "o")
            push(index, "p", "dampf")
            assert (index.words(C, B), index.count_words(C, B)) == (["anker", "birne"], 2)
            index.consolidate()
            assert (index.words(C, B), index.count_words(C, B)) == (["birne", "dampf"], 2)

    def test_a_word_that_went_and_came_back_stays(self, tmp_path: Path) -> None:
        with open_index(tmp_path, search__live_words=False) as index:
            push(index, "o", "anker")
            index.consolidate()
            index.flush_object(C, B, "o")
            push(index, "p", "anker")
            assert index.words(C, B) == ["anker"]
            index.consolidate()
            assert index.words(C, B) == ["anker"]

    def test_a_flushed_bucket_shows_nothing_at_once(self, tmp_path: Path) -> None:
        with open_index(tmp_path, search__live_words=False) as index:
            push(index, "o", "anker")
            index.consolidate()
            push(index, "o", "birne")
            index.flush_bucket(C, B)
            index.consolidate()
            assert (index.words(C, B), index.count_words(C, B), index.count_buckets(C)) == ([], 0, 0)

    def test_words_pushed_meanwhile_show_after_the_next_one(self, tmp_path: Path) -> None:
        with open_index(tmp_path, search__live_words=False) as index:
            push(index, "o", " ".join(f"wort{number:04}" for number in range(1_000)))
            other = threading.Thread(target=index.consolidate)
            other.start()
            while other.is_alive():
                push(index, "p", f"meanwhile{index.count_object_words(C, B, 'p')}")
            pushed = index.count_object_words(C, B, "p")
            assert set(index.words(C, B, limit=10_000)) >= {f"wort{number:04}" for number in range(1_000)}
            index.consolidate()
            assert index.count_words(C, B) == 1_000 + pushed
            assert len(index.words(C, B, limit=10_000)) == 1_000 + pushed


class TestOrder:
    def test_likely_words_come_first(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            for number, text in enumerate(["bergwerk", "bergwerk", "berge", "bergauf", "bergauf", "bergauf", "berg"]):
                push(index, f"o{number}", text)
            assert index.suggest(C, B, "berg") == ["berg", "bergauf", "bergwerk", "berge"]
            assert index.suggest(C, B, "berg", limit=2) == ["berg", "bergauf"]
            assert index.suggest(C, B, "BERGW", limit=1) == ["bergwerk"]

    def test_alphabetical(self, tmp_path: Path) -> None:
        with open_index(tmp_path, search__suggest_order="alphabetical") as index:
            push(index, "o", "bergwerk bergauf berg berge bäume")
            push(index, "p", "bergwerk")
            assert index.suggest(C, B, "ber", limit=3) == ["berg", "bergauf", "berge"]

    def test_list_is_in_byte_order(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "zoo éclair apple 10 2 ähre Zebra apple10 яблоко 東京")
            words = index.words(C, B)
            assert words == sorted(words, key=str.encode)
            assert {"zoo", "éclair", "apple", "10", "2", "ähre", "zebra", "apple10", "яблоко"} <= set(words)
