"""Stop words: weighed or dropped, allowed or denied, and never the reason why a query finds nothing."""

from pathlib import Path

import pytest

from sonicpy import Index
from tests.index.shorthand import B, C, found, open_index, push

TEXT = "the parrot and the sailor"  # the, and: stop words of English


def fill(index: Index) -> None:
    push(index, "o", TEXT, "eng")


class TestWeigh:
    def test_they_are_indexed_but_not_shown(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            fill(index)
            assert index.words(C, B) == ["parrot", "sailor"]
            assert (index.count_words(C, B), index.count_object_words(C, B, "o")) == (2, 2)
            assert index.suggest(C, B, "th") == []
            assert index.suggest(C, B, "the") == []
            assert index.suggest(C, B, "par") == ["parrot"]
            assert index.flush_object(C, B, "o") == 2
            assert index.count_objects(C, B) == 0

    @pytest.mark.parametrize("lang", ["eng", "none", None])
    def test_a_query_of_nothing_else_finds_them(self, tmp_path: Path, lang: str | None) -> None:
        with open_index(tmp_path) as index:
            fill(index)
            push(index, "p", "sailor", "eng")
            assert found(index, "the and", lang=lang) == ["o"]

    def test_beside_other_words_they_add_to_what_those_find(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "stop", "the the the and and", "eng")
            push(index, "with", "the parrot", "eng")
            push(index, "without", "a1 parrot", "eng")
            assert found(index, "the parrot", lang="eng") == ["with", "without"], "the other one has no parrot"
            assert "stop" in found(index, "the parrot", lang="none"), "without a language there are no stop words"

    def test_an_object_of_nothing_else(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "to be or not to be", "eng")
            assert (index.count_objects(C, B), index.count_object_words(C, B, "o"), index.words(C, B)) == (1, 0, [])
            assert found(index, "to be or not to be", lang="eng") == ["o"]
            assert index.pop(C, B, "o", "to be or not") == 0, "the words that went were none that are shown"
            assert (index.count_objects(C, B), found(index, "to be", lang="eng")) == (0, [])

    def test_a_word_is_shown_once_somebody_holds_it_as_another(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            fill(index)
            push(index, "p", "the", "none")
            assert index.words(C, B) == ["parrot", "sailor", "the"]
            assert (index.count_object_words(C, B, "o"), index.count_object_words(C, B, "p")) == (2, 1)
            index.flush_object(C, B, "p")
            assert index.words(C, B) == ["parrot", "sailor"]
            assert found(index, "the", lang="eng") == ["o"]


class TestDrop:
    def test_they_are_not_indexed(self, tmp_path: Path) -> None:
        with open_index(tmp_path, stopwords__mode="drop") as index:
            fill(index)
            assert index.count_object_words(C, B, "o") == 2
            assert found(index, "the", lang="eng") == found(index, "the", lang="none") == []
            assert found(index, "the sailor", lang="eng") == ["o"]

    def test_without_a_language_nothing_is_dropped(self, tmp_path: Path) -> None:
        with open_index(tmp_path, stopwords__mode="drop") as index:
            push(index, "o", TEXT, "none")
            assert index.words(C, B) == ["and", "parrot", "sailor", "the"]
            assert found(index, "the", lang="none") == ["o"]


class TestAllowAndDeny:
    @pytest.mark.parametrize("mode", ["weigh", "drop"])
    def test_an_allowed_word_is_like_any_other(self, tmp_path: Path, mode: str) -> None:
        with open_index(tmp_path, stopwords__mode=mode, stopwords__allow=["and"]) as index:
            fill(index)
            assert index.words(C, B) == ["and", "parrot", "sailor"]
            assert found(index, "and", lang="eng") == ["o"]

    @pytest.mark.parametrize("mode", ["weigh", "drop"])
    def test_a_denied_word_is_a_stop_word(self, tmp_path: Path, mode: str) -> None:
        with open_index(tmp_path, stopwords__mode=mode, stopwords__deny=["parrot"]) as index:
            fill(index)
            assert index.words(C, B) == ["sailor"]
            push(index, "p", "parrot", None)
            assert index.words(C, B) == ["sailor"], "even where the text is too short to have a language"
            push(index, "q", "parrot", "none")
            assert index.words(C, B) == ["parrot", "sailor"], "LANG(none): no stop words at all"

    @pytest.mark.parametrize(("mode", "expected"), [("weigh", ["o"]), ("drop", [])])
    def test_searching_a_denied_word(self, tmp_path: Path, mode: str, expected: list[str]) -> None:
        with open_index(tmp_path, stopwords__mode=mode, stopwords__deny=["parrot"]) as index:
            fill(index)
            assert found(index, "parrot", lang=None) == expected


def test_the_language_is_guessed_from_the_text(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "en", "the sailor and the parrot went to the market in the morning", None)
        push(index, "de", "der Seemann und der Papagei gingen am Morgen auf den Markt", None)
        words = index.words(C, B)
        assert {"sailor", "parrot", "papagei", "markt"} <= set(words)
        assert not {"the", "and", "der", "und", "auf"} & set(words)
