"""Compat mode: the differences from Sonic 1.10.2 that a search found, each as its smallest exchange and Sonic's answer.

The second half holds the differences that stay, which docs/protocol.md lists.
"""

import unicodedata
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.lexer.sonic_language import has_whatlang
from tests.index.shorthand import B, C, found, open_index, push

COMPAT = {"server__compat": "sonic"}
FOLDING = {"normalization__diacritic_folding_enabled": True}
STEMMING = {"normalization__stemming_enabled": True}


def opened(tmp_path: Path, **settings: object) -> Index:
    return open_index(tmp_path, **COMPAT, **{"search__query_alternates_try": 4, **settings})


def words(index: Index) -> list[str]:
    index.consolidate()
    return index.words(C, B)


@pytest.mark.parametrize("mode", ["none", "sonic"])
def test_a_collection_exists_until_it_is_flushed(tmp_path: Path, mode: str) -> None:
    for _ in range(2):
        with open_index(tmp_path, server__compat=mode) as index:
            push(index, "o", "alpha")
            assert index.flush_bucket(C, B) == 1
            assert index.flush_bucket(C, B) == (mode == "sonic")
            assert index.count_buckets(C) == 0
        with open_index(tmp_path, server__compat=mode) as index:
            assert [index.flush_collection(C), index.flush_collection(C)] == [1, 0]


def test_older_objects_come_back_into_the_window(tmp_path: Path) -> None:
    with opened(tmp_path, store__kv__retain_word_objects=3) as index:
        for oid in "ABCD":
            push(index, oid, "bee")
        index.flush_object(C, B, "D")
        assert found(index, "bee") == ["C", "B", "A"]
        for oid in "CB":
            index.pop(C, B, oid, "bee")
        assert found(index, "bee") == ["A"]


def test_pop_leaves_an_object_without_words(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        push(index, "A", "x")
        push(index, "B", ".")
        assert index.pop(C, B, "B", "x") == 0
        assert index.count_objects(C, B) == 2
        index.flush_object(C, B, "B")
        assert index.count_objects(C, B) == 1


@pytest.mark.parametrize(
    ("text", "count"), [("\u093f", 1), ("\u0345 \u064b \u24b6 \u00b2 \u0e31", 5), ("\u0301 \u200d", 0)]
)
def test_alphabetic_marks_are_words(tmp_path: Path, text: str, count: int) -> None:
    with opened(tmp_path) as index:
        push(index, "o", text)
        assert index.count_object_words(C, B, "o") == count
        assert count != 1 or index.suggest(C, B, text) == []


def test_no_language_only_keeps_stop_words(tmp_path: Path) -> None:
    with opened(tmp_path, **STEMMING) as index:
        push(index, "o", "running cats were swimming together in houses", "none")
        assert words(index) == "cat hous in run swim togeth were".split()


@pytest.mark.skipif(not has_whatlang(), reason="needs the extra [compat]")
def test_no_language_stems_by_the_guess_of_the_detector(tmp_path: Path) -> None:
    with opened(tmp_path, **STEMMING) as index:
        push(
            index,
            "o",
            "\u0928\u092e foo_bar-baz. SNAKE_CASE \u041c\u0418\u0420, FOO_BAR-BAZ \u041c\u0438\u0440",
            "none",
        )
        assert "foo_b" in words(index), "in Norwegian; English leaves foo_bar"


def test_special_words_are_stemmed_and_keep_their_case(tmp_path: Path) -> None:
    with opened(tmp_path, **STEMMING) as index:
        push(index, "o", "@Alice snake_case running-42 running", "eng")
        assert words(index) == ["42", "Alice", "run", "snake_cas"]


def test_hangul_stays_decomposed(tmp_path: Path) -> None:
    with opened(tmp_path, **FOLDING) as index:
        push(index, "o", "\ud55c\uad6d \u0439")
        assert words(index) == ["\u0438", "\u1112\u1161\u11ab\u1100\u116e\u11a8"]
        assert index.suggest(C, B, "\ud55c") == ["\u1112\u1161\u11ab\u1100\u116e\u11a8"]


def test_case_is_folded_before_the_normal_form(tmp_path: Path) -> None:
    with opened(tmp_path, normalization__unicode_normalization="nfkc") as index:
        push(index, "o", "\U0001d401oo \ufb01x_1 e\u0301 \u00c9")
        assert words(index) == ["Boo", "\u00e9", "\ufb01x_1"]
        assert (found(index, "boo"), found(index, "\U0001d401oo")) == ([], ["o"])


def test_stop_words_in_either_spelling(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        push(index, "o", "e\u0301te\u0301 \u00e9t\u00e9 parc", "fra")
        assert words(index) == ["parc"]


def test_a_phone_number_may_go_on_in_the_next_line(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        push(index, "o", "34\n3.14 5\t6\u00a078")
        assert words(index) == ["3.14", "34", "5", "6", "78"]


def test_words_with_a_hyphen_are_not_completed(tmp_path: Path) -> None:
    with opened(tmp_path, tokenization__compat_split_special_patterns=False) as index:
        push(index, "o", "covid-19 _-_ http://x.yy/#frag")
        index.consolidate()
        assert (found(index, "covid-1"), index.suggest(C, B, "_-")) == ([], [])
        assert index.suggest(C, B, "http://x.yy/#f") == ["http://x.yy/#frag"]


@pytest.mark.parametrize("typed", ["\u1f15", "\u1f41", "\uff41", "\u2d01"])
def test_letters_of_no_script_or_of_another_are_not_completed(tmp_path: Path, typed: str) -> None:
    with opened(tmp_path) as index:
        push(index, "o", f"{typed}\u03bd {typed}{typed}")
        index.consolidate()
        assert index.suggest(C, B, typed) == []


def test_a_word_longer_than_any_of_the_graph_is_corrected(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        push(index, "o", 40 * "a")
        index.consolidate()
        assert (found(index, 41 * "a"), index.suggest(C, B, 41 * "a")) == (["o"], [])


@pytest.mark.parametrize(
    ("typed", "is_found"),
    [("abcdefghijk", True), ("abcdefghijkl", False), ("cfgggdhehggce", True), ("babbbabaaaaabbab", False)],
)
def test_three_edits_end_where_the_automaton_is_too_large(tmp_path: Path, typed: str, is_found: bool) -> None:
    with opened(tmp_path) as index:
        push(index, "o", f"zzz{typed}")
        index.consolidate()
        assert index.suggest(C, B, typed) == ([f"zzz{typed}"] if is_found else [])
        assert found(index, typed) == (["o"] if is_found else [])


@pytest.mark.parametrize(
    ("lang", "dropped", "kept"),
    [
        ("ukr", "\u043a\u043e\u043b\u0438", "\u0431\u0443\u0432 \u0431\u0443\u043b\u0430 \u0432\u0430\u043c"),
        ("aze", "alt\u0131 biraz", "onlar\u0131n"),
        ("nob", "ikke", "bra"),
        ("lit", "ir", "abiej\u0173"),
        ("cat", "el quals", "fer saber"),
        ("kan", "\u0c85\u0c82\u0ca4 \u0c88", "\u0c9c\u0ca8"),
    ],
)
def test_stop_words_of_sonic(tmp_path: Path, lang: str, dropped: str, kept: str) -> None:
    with opened(tmp_path) as index:
        push(index, "o", f"{dropped} {kept}", lang)
        assert set(words(index)) <= set(kept.split())


@pytest.mark.parametrize(
    ("stored", "typed", "is_found"),
    [
        ("\u043f\u0440\u0438\u0432\u0435\u0442", "\u043f\u0440\u0435\u0432\u0435\u0442", False),
        ("\u043f\u0440\u0438\u0432\u0435\u0442", "\u043f\u0440\u0432\u0435\u0442", False),
        ("\ua64b\u043c\u0430", "\ua64b\u043ct\u0430", True),
        ("\u00e9cole", "\u00e8cole", False),
        ("\u00e9cole", "ecole", True),
    ],
)
def test_an_automaton_of_bytes_loses_corrections(tmp_path: Path, stored: str, typed: str, is_found: bool) -> None:
    """Only the last of several letters that begin with the same byte continues."""
    with opened(tmp_path) as index:
        push(index, "o", stored)
        index.consolidate()
        assert found(index, typed) == (["o"] if is_found else [])
        assert index.suggest(C, B, typed) == ([stored] if is_found else [])


def test_a_lost_correction_does_not_lower_a_score(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        for oid in "ADB":
            push(index, oid, "\u043f\u0440\u0438\u0432\u0435\u0442")
        index.consolidate()
        assert found(index, "\u043f\u0440\u0438\u0432") == ["B", "D", "A"]


@pytest.mark.parametrize(
    ("window", "budget", "text", "expected"),
    [
        (1, 4, "beetlez", "H G"),
        (1, 20, "beetle beetl beet", "H G F"),
        (1, 20, "beetlez bxetles", "H G F E"),
        (3, 4, "beetlez", "G F H"),
        (3, 20, "beetlez", "H G F E"),
        (3, 20, "beetle beetl", "H G F E"),
        (3, 20, "beetles beetlez", "H G F"),
    ],
)
def test_expansions_are_read_beyond_the_window(
    tmp_path: Path, window: int, budget: int, text: str, expected: str
) -> None:
    settings = {"store__kv__retain_word_objects": window, "search__query_alternates_try": budget}
    with opened(tmp_path, **settings) as index:
        for oid in "ABCDEFGH":
            push(index, oid, "beetles")
        index.consolidate()
        assert found(index, text) == expected.split()


# -- differences that stay --------------------------------------------------------------------------------------------


def test_names_are_compared_whole(tmp_path: Path) -> None:
    """Sonic treats the two names of this test as equal, because they share a hash of 32 bits."""
    with opened(tmp_path) as index:
        index.push(C, "user:41372", "secret", "confidential", lang="none")
        index.push("coll1693", B, "o", "classified", lang="none")
        assert list(index.query(C, "user:251530", "confidential", lang="none")) == []
        assert list(index.query("coll280812", B, "classified", lang="none")) == []


def test_marks_alone_are_no_word_where_accents_go(tmp_path: Path) -> None:
    """Sonic stores a word without letters."""
    with opened(tmp_path, **FOLDING) as index:
        push(index, "o", "\u093f x")
        assert (words(index), found(index, "\u093f")) == (["x"], [])


def test_pop_removes_what_any_language_stored(tmp_path: Path) -> None:
    """Sonic's POP guesses a single language for its text, and leaves words behind."""
    with opened(tmp_path, **STEMMING) as index:
        push(index, "o", "@Alice snake_case running-42 running", "eng")
        assert index.pop(C, B, "o", "@Alice snake_case running-42 running") == 4


def test_one_character_for_several_words_is_one_word(tmp_path: Path) -> None:
    with opened(tmp_path, normalization__unicode_normalization="nfkc") as index:
        push(index, "o", "\ufdfa \u037a")
        assert words(index) == [" \u0345", unicodedata.normalize("NFKC", "\ufdfa")]


def test_a_word_pushed_again_to_an_old_object_does_not_move(tmp_path: Path) -> None:
    """Sonic moves the object to the front once the word has lost another object."""
    with opened(tmp_path) as index:
        for oid in "ABC":
            push(index, oid, "bee")
        index.flush_object(C, B, "A")
        push(index, "B", "bee")
        assert found(index, "bee") == ["C", "B"]


def test_equal_scores_keep_their_order_after_a_restart(tmp_path: Path) -> None:
    """After a restart, Sonic returns the oldest object of equal scores first."""
    for _ in range(2):
        with opened(tmp_path) as index:
            push(index, "A", "bee")
            push(index, "B", "bee")
            assert found(index, "bee") == ["B", "A"]


@pytest.mark.parametrize(
    ("lang", "forms", "kept"),
    [
        ("eng", "the \uff54\uff48\uff45 \U0001d42d\U0001d421\U0001d41e o\ufb00 \u2161", "th\xe9 \u2166"),
        ("por", "\xba na\u0303o n\xe3o", "\xb2"),
        ("vie", "b\u1ed9 bo\u0323\u0302 b\u1ecd\u0302 b\xf4\u0323", "b\u1ecdb"),
        ("hin", "\u0915\u093e\u095e\u0940 \u0915\u093e\u092b\u093c\u0940", "\u0915\u093e\u095e"),
    ],
)
def test_stop_words_in_any_form(tmp_path: Path, lang: str, forms: str, kept: str) -> None:
    """Sonic compares NFKD forms: a stop word may be composed or not, full-width, mathematical, with a ligature or a
    Roman numeral.
    """
    with opened(tmp_path) as index:
        push(index, "o", forms, lang)
        assert words(index) == []
        push(index, "o", kept, lang)
        assert len(words(index)) == len(kept.split())


def test_languages_without_a_published_list(tmp_path: Path) -> None:
    """Sonic drops the stop words of languages without a published list."""
    with opened(tmp_path) as index:
        push(index, "o", "ako", "srp")
        push(index, "o", "car", "cat")
        assert words(index) == ["ako", "car"]


def test_blanks_and_signs_of_chinese_text_are_words(tmp_path: Path) -> None:
    text = "\u4f60\u597d \u2014\n\u4e16\u754c\U0001f44d"
    with opened(tmp_path) as index:
        push(index, "o", text, "cmn")
        push(index, "p", "hello world", "none")
        assert words(index) == ["\n", " ", "hello", "world", "\u2014", "\u4e16\u754c", "\u4f60\u597d", "\U0001f44d"]
        assert found(index, "hello world", lang="cmn") == ["p", "o"], "the blank is a word of the query, too"
    with opened(tmp_path) as index:
        assert index.pop(C, B, "o", text) == 6
        assert index.count_objects(C, B) == 1
