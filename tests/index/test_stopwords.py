"""Stop words count like other words if they are weighed, are ignored if they are dropped, may be allowed or denied, and
are never the reason why a query finds nothing.
"""

from pathlib import Path

import pytest

from sonicpy import Index
from tests.index.shorthand import B, C, found, open_index, push

TEXT = "the parrot and the sailor"  # the, and: stop words of English


def fill(index: Index) -> None:
    push(index, "o", TEXT, "eng")


class TestWeigh:
    @pytest.mark.parametrize("lang", ["eng", "none", None])
    def test_they_are_words(self, tmp_path: Path, lang: str | None) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", TEXT, lang)
            assert index.words(C, B) == ["and", "parrot", "sailor", "the"]
            assert (index.count_words(C, B), index.count_object_words(C, B, "o")) == (4, 4)
            assert index.suggest(C, B, "th") == index.suggest(C, B, "the") == ["the"]
            assert index.pop(C, B, "o", "and the") == 2
            assert index.words(C, B) == ["parrot", "sailor"]
            assert index.flush_object(C, B, "o") == 2
            assert index.count_objects(C, B) == 0

    @pytest.mark.parametrize(
        "more", ["", " of ours", " of ours, which is new and much larger than the one that was sold"]
    )
    @pytest.mark.parametrize("lang", ["eng", "none", None])
    @pytest.mark.parametrize("consolidated", [False, True])
    def test_a_word_that_was_pushed_is_a_word(
        self, tmp_path: Path, more: str, lang: str | None, consolidated: bool
    ) -> None:
        text = f"Hello world, this is my first document about the system{more}"
        with open_index(tmp_path, search__query_alternates_try=4) as index:
            push(index, "o", text, lang)
            if consolidated:
                index.consolidate()
            words = set(text.lower().replace(",", "").split())
            assert set(index.words(C, B)) == words
            assert index.count_words(C, B) == index.count_object_words(C, B, "o") == len(words)
            typed = {
                "helo": "hello",
                "hel": "hello",
                "wrld": "world",
                "systm": "system",
                "abot": "about",
                "fir": "first",
            }
            for each, word in typed.items():
                assert found(index, each, lang=lang) == ["o"], each
                assert word in index.suggest(C, B, each)
            for word in words:
                assert found(index, word, lang=lang) == ["o"], word
                assert word in index.suggest(C, B, word)

    def test_a_query_of_nothing_else_is_completed_and_corrected(self, tmp_path: Path) -> None:
        with open_index(tmp_path, search__query_alternates_try=4) as index:
            push(index, "completed", "theremin parrot")
            push(index, "corrected", "thera")
            assert found(index, "there", lang="eng") == ["completed", "corrected"]
            assert found(index, "there parrot", lang="eng") == ["completed"], "beside others stop words only add"
            explained = index.explain(C, B, "there parrot", lang="eng")
            assert "beside other words, stop words are neither completed nor corrected" in "\n".join(explained.advice)

    def test_letters_of_a_run_are_not_completed(self, tmp_path: Path) -> None:
        with open_index(tmp_path, search__query_alternates_try=4, stopwords__deny=["\u6211\u4eec"]) as index:
            push(index, "o", "\u6211\u5728")
            explained = index.explain(C, B, "\u6211\u4eec", lang="cmn")
            roles = {term.word: [other.word for other in term.alternates] for term in explained.terms}
            assert roles == {"\u6211\u4eec": [], "\u6211": [], "\u4eec": []}

    def test_the_lists_may_change_at_any_start(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            push(index, "the", "the sailor", "eng")
            push(index, "sailor", "sailor", "eng")
            assert found(index, "the parrot sailor", lang="eng")[0] == "the"
        with open_index(tmp_path, stopwords__allow=["the"], stopwords__deny=["sailor"]) as index:
            assert found(index, "the sailor", lang="eng") == ["the"], "now it is the sailor who only adds"
            assert index.verify() == []
        with open_index(tmp_path) as index:
            assert set(found(index, "the sailor", lang="eng")) == {"the", "sailor"}

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
            assert (index.count_objects(C, B), index.count_object_words(C, B, "o")) == (1, 4)
            assert found(index, "to be or not to be", lang="eng") == ["o"]
            assert index.pop(C, B, "o", "to be or not") == 4
            assert (index.count_objects(C, B), found(index, "to be", lang="eng")) == (0, [])


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
    def test_an_allowed_word_is_like_any_other(self, tmp_path: Path) -> None:
        with open_index(tmp_path, stopwords__mode="drop", stopwords__allow=["and"]) as index:
            fill(index)
            assert index.words(C, B) == ["and", "parrot", "sailor"]
            assert found(index, "and", lang="eng") == ["o"]

    def test_a_denied_word_is_a_stop_word(self, tmp_path: Path) -> None:
        with open_index(tmp_path, stopwords__mode="drop", stopwords__deny=["parrot"]) as index:
            fill(index)
            assert index.words(C, B) == ["sailor"]
            push(index, "p", "parrot", None)
            assert index.words(C, B) == ["sailor"], "even where the text is too short to have a language"
            push(index, "q", "parrot", "none")
            assert index.words(C, B) == ["parrot", "sailor"], "LANG(none): no stop words at all"

    @pytest.mark.parametrize(("allow", "deny"), [(["and"], []), ([], ["parrot"])])
    def test_where_they_are_weighed_all_are_words(self, tmp_path: Path, allow: list[str], deny: list[str]) -> None:
        with open_index(tmp_path, stopwords__allow=allow, stopwords__deny=deny) as index:
            fill(index)
            assert index.words(C, B) == ["and", "parrot", "sailor", "the"]

    @pytest.mark.parametrize(("mode", "expected"), [("weigh", ["o"]), ("drop", [])])
    def test_searching_a_denied_word(self, tmp_path: Path, mode: str, expected: list[str]) -> None:
        with open_index(tmp_path, stopwords__mode=mode, stopwords__deny=["parrot"]) as index:
            fill(index)
            assert found(index, "parrot", lang=None) == expected


def test_compat_mode_may_keep_and_hide_them(tmp_path: Path) -> None:
    with open_index(tmp_path, server__compat="sonic", stopwords__mode="weigh") as index:
        fill(index)
        index.consolidate()
        assert index.words(C, B) == ["parrot", "sailor"]
        assert index.count_object_words(C, B, "o") == 2


def test_the_language_is_guessed_from_the_text(tmp_path: Path) -> None:
    with open_index(tmp_path, stopwords__mode="drop") as index:
        push(index, "en", "the sailor and the parrot went to the market in the morning", None)
        push(index, "de", "der Seemann und der Papagei gingen am Morgen auf den Markt", None)
        words = index.words(C, B)
        assert {"sailor", "parrot", "papagei", "markt"} <= set(words)
        assert not {"the", "and", "der", "und", "auf"} & set(words)


@pytest.mark.parametrize(
    ("lang", "rare", "listed"), [("ces", "zpráva", "článek"), ("ind", "kota", "jumlah"), ("vie", "nước", "người")]
)
def test_ordinary_words_of_long_lists_find_objects(tmp_path: Path, lang: str, rare: str, listed: str) -> None:
    """Languages without a short list of function words have no words that only raise the rank of objects."""
    with open_index(tmp_path) as index:
        for oid, text in (("both", f"{listed} {rare}"), ("rare", rare), ("listed", listed)):
            push(index, oid, text, lang)
        assert sorted(index.query_ids(C, B, f"{listed} {rare}", lang=lang)) == ["both", "listed", "rare"]
