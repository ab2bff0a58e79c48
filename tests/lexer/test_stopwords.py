"""The packed stop-word lists."""

import unicodedata
from pathlib import Path

import pytest
import stopwordsiso

from sonicpy.lexer.languages import LANGUAGES, by_code
from sonicpy.lexer.stopwords import StopWords

STOP_WORDS = StopWords()
OWN = {"aze", "khm", "mya", "nep", "pan", "tam", "yid"}
"""Languages that stopwords-iso lacks, for which sonicpy has its own lists."""


@pytest.mark.parametrize(
    ("code", "stop", "kept", "why"),
    [
        (
            "eng",
            "the is on a one two ii and of to in hello order part",
            "1 2 10 39 iii cat sat mat",
            "golden exchanges",
        ),
        ("fra", "on a le est", "the is cat mat", "golden exchanges"),
        ("spa", "el la de", "0 5 9", "numbers are left out"),
        ("pes", "از در", "۰ ۹", "of any script"),
        ("ara", "و6 من", "6", "but a word with a digit is a word"),
        ("lit", "aš iš abiejų ir", "", "read as Latin-1 in stopwords-iso"),
        ("aze", "və ilə üçün", "kitab", "our own"),
        ("yid", "און פֿון פון װאָס וואס", "טיש", "our own, in several spellings"),
        ("nep", "छ हो र", "घर", "our own"),
        ("hau", "da wannan", "gida", "a language of Sonic's first edition"),
        ("jav", "", "lan ing", "words that only help guessing are no stop words"),
    ],
)
def test_words(code: str, stop: str, kept: str, why: str) -> None:
    words = STOP_WORDS.words(code)
    assert not set(stop.split()) - words, why
    assert not set(kept.split()) & words, why


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_every_list_is_there_and_in_normal_form(language) -> None:
    words = STOP_WORDS.words(language.code)
    assert bool(words) == (language.stopwords is not None)
    for word in words:
        assert word == unicodedata.normalize("NFC", word.casefold()).strip() != ""
        assert not word.isdigit()


@pytest.mark.parametrize(
    "language", [language for language in LANGUAGES if language.stopwords], ids=lambda row: row.code
)
def test_nothing_is_missing_of_stopwords_iso(language) -> None:
    words = {word for word in stopwordsiso.stopwords(language.stopwords) if not word.isdigit()}
    assert bool(words) == (language.code not in OWN)
    expected = {unicodedata.normalize("NFC", word.casefold()) for word in words}
    found = STOP_WORDS.words(language.code)
    if language.code == "lit":
        assert expected < found
    elif language.code not in OWN:
        assert found == expected


@pytest.mark.parametrize("code", sorted(OWN - {"yid"}))
def test_our_own_lists_are_short(code: str) -> None:
    assert 30 <= len(STOP_WORDS.words(code)) <= 100


@pytest.mark.parametrize("code", ["aka", "amh", "bel", "cym", "jav", "mkd", "ori", "sin", "sna", "tel", "tuk", "uzb"])
def test_sonic_has_no_list_either(code: str) -> None:
    assert STOP_WORDS.words(code) == frozenset()


@pytest.mark.parametrize("code", ["", "xxx", "eng:", "eng:th", "\x00"])
def test_an_unknown_code_has_no_words(code: str) -> None:
    assert code not in by_code
    assert STOP_WORDS.words(code) == frozenset()


def test_a_list_is_read_once() -> None:
    assert STOP_WORDS.words("deu") is STOP_WORDS.words("deu")
    assert STOP_WORDS.short_words("deu") is STOP_WORDS.short_words("deu")


SHORT = {"dan", "deu", "eng", "fin", "fra", "hun", "ita", "nld", "nob", "por", "rus", "spa", "swe"}


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.code)
def test_short_lists_hold_function_words_in_normal_form(language) -> None:
    words = STOP_WORDS.short_words(language.code)
    if language.code in SHORT:
        assert 90 <= len(words) <= 320
        assert words != STOP_WORDS.words(language.code)
        assert all(word == unicodedata.normalize("NFC", word.casefold()).strip() != "" for word in words)
    else:
        assert words == (STOP_WORDS.words("jpn") if language.code == "jpn" else frozenset())


def test_the_short_list_of_english() -> None:
    words = STOP_WORDS.short_words("eng")
    ordinary = "hello world home page information computer research system group help order results test website"
    assert not set(ordinary.split()) & words and set(ordinary.split()) <= STOP_WORDS.words("eng")
    assert set("the is on a and of to in don't don\u2019t would very".split()) <= words
    assert "õ" not in "".join(STOP_WORDS.short_words("hun")), "ISO 8859-2"


def test_words_that_help_guessing_include_the_stop_words() -> None:
    assert set(STOP_WORDS.guess_words("eng")) == STOP_WORDS.words("eng")
    assert "lan" in STOP_WORDS.guess_words("jav")


@pytest.mark.parametrize("content", [None, b"", b"no dictionary"])
def test_a_missing_or_foreign_file_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "stopwords.marisa"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RuntimeError):
        StopWords(path)
