"""The languages that compat mode guesses."""

from typing import Any

import pytest

from sonicpy.lexer import sonic_language
from sonicpy.lexer.sonic_language import CANDIDATES, SonicGuesser, has_whatlang
from sonicpy.lexer.sonic_scripts import main_script
from sonicpy.lexer.stopwords import StopWords
from tests.lexer.test_lexer import COMPAT, lexer
from tests.support.examples import some
from tests.support.shared_data import shared_data

GUESSES = [
    ("the cat and the dog", (None, "short"), "19 bytes"),
    ("12345678901234567890 !?", (None, "unknown"), "no letters"),
    ("\u03ba\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5", ("ell", "script"), "Greek"),
    ("please send it to me as soon as you can, or call me later this day", ("eng", "words"), "stop words decide"),
    ("bitte schick es mir so bald wie du kannst, oder ruf mich an wenn es geht", ("deu", "words"), "in any language"),
    ("\u6211\u6765\u5230\u5317\u4eac\u6e05\u534e\u5927\u5b66", ("cmn", "letters"), "Han"),
    ("\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059", ("jpn", "script"), "kana"),
]


@pytest.fixture(params=["extra", "without"])
def guesser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> SonicGuesser:
    if request.param == "without":
        monkeypatch.setattr(sonic_language, "find_spec", lambda name: None)
    elif not has_whatlang():
        pytest.skip("needs the extra [compat]")
    return SonicGuesser(StopWords())


@pytest.mark.parametrize(("text", "expected", "why"), GUESSES)
def test_guesses(guesser: SonicGuesser, text: str, expected: tuple[str | None, str], why: str) -> None:
    assert guesser.explain(text) == expected, why
    assert guesser.guess(text) == expected[0]


def test_only_the_first_bytes_count(guesser: SonicGuesser) -> None:
    german = "bitte schick es mir so bald wie du kannst, " * 5
    assert guesser.guess(german + "the and of to in is it you that he was for on are with " * 20) == "deu"


@pytest.mark.skipif(not has_whatlang(), reason="needs the extra [compat]")
def test_a_short_text_of_the_detector() -> None:
    guesser = SonicGuesser(StopWords())
    assert guesser.has_whatlang
    assert guesser.guess("Have a wonderful day!") == "aze", "by the word a, as Sonic does"
    assert guesser.guess("Gman99999 zwitschern Nachrichten") == "deu"


@pytest.mark.parametrize(
    ("text", "script"),
    [("abc", "Latin"), ("1", None), ("\uff41", "Hangul"), ("\u1f15", None), ("\u0430\u0431c", "Cyrillic")],
)
def test_scripts(text: str, script: str | None) -> None:
    assert main_script(text) == script


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("b\u0431", "Cyrillic"),
        ("\u0431b", "Latin"),
        ("bd\u0431\u0434", "Cyrillic"),
        ("b\u03b2", "Latin"),
        ("\u0431\u0434\u0628\u062f", "Arabic"),
        ("\u0628\u062f\u0431\u0434", "Cyrillic"),
        ("\u0634\u0643\u0631\u0627\u3072\u3089\u304c\u306a", "Arabic"),
        ("\u3072\u3089\u304c\u306a\u0634\u0643\u0631\u0627", "Arabic"),
    ],
)
def test_of_scripts_with_as_many_letters_the_order_of_the_letters_decides(text: str, script: str) -> None:
    assert main_script(text) == script


TIES = [
    ("Йод σnοφός, σοός ПРИВЕТ", "Cyrillic"),
    ("hello \u03ba\u03b1\u03b9 \u03bb\u03cc\u03b3\u03bf\u03c2 est", "Latin"),
    ("pas the \ud55c\uad6d\uc5b4 \ud55c\uad6d\uc5b4", "Latin"),
]


@pytest.mark.skipif(not has_whatlang(), reason="needs the extra [compat]")
@pytest.mark.parametrize(("text", "script"), TIES)
def test_between_scripts_the_detector_finds_a_language_of_the_main_one(text: str, script: str) -> None:
    guesser = SonicGuesser(StopWords())
    assert main_script(text) == script
    assert guesser.guess(text) in CANDIDATES[script]


@pytest.mark.skipif(not has_whatlang(), reason="needs the extra [compat]")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("hello \u03ba\u03b1\u03b9 \u03bb\u03cc\u03b3\u03bf\u03c2 est", "hello est"),
        ("world est \u03c4\u03b7\u03c2 \u03c3\u03bf\u03c6\u03cc\u03c2", "world est"),
        ("pas the \ud55c\uad6d\uc5b4 \ud55c\uad6d\uc5b4", "pas"),
    ],
)
def test_in_a_short_text_of_two_scripts_a_sure_detector_overrules_stop_words(text: str, kept: str) -> None:
    """The expected words are those that Sonic stored for the texts."""
    words = [word.decode() for word in lexer(**COMPAT).lex_push(text, None).words]
    assert [word for word in words if word.isascii()] == kept.split()


class TestLateGuesses:
    """PUSH asks the detector only if its answer can change the stored words."""

    @pytest.mark.skipif(not has_whatlang(), reason="needs the extra [compat]")
    @pytest.mark.parametrize("asks", [False, True])
    def test_a_text_without_stop_words_does_not_ask(self, asks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        guessing = lexer(**COMPAT)
        asked: list[str] = []
        monkeypatch.setattr(guessing._guesser, "_detect", lambda text: asked.append(text) or ("deu", 0.1))
        text = "Gman99999 zwitschern Nachrichten" + " [doch]" * asks
        assert guessing.lex_push(text, None).words == [b"Gman99999", b"zwitschern", b"nachrichten"]
        assert bool(asked) == asks

    @pytest.mark.parametrize(
        "settings", some([{}, {"normalization__stemming_enabled": True}, {"stopwords__mode": "weigh"}], 2)
    )
    def test_terms_are_those_of_asking_at_once(self, settings: dict[str, Any]) -> None:
        guessing = lexer(**COMPAT, **settings)
        for text in real_texts():
            late, at_once = guessing.lex_push(text, None), guessing.lex(text, None)
            assert (late.words, late.flags, late.counts) == (at_once.words, at_once.flags, at_once.counts), text


def test_the_words_of_a_script_are_read_with_its_first_text(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    sonic_words = StopWords.sonic_words
    monkeypatch.setattr(StopWords, "sonic_words", lambda lists, code: read.append(code) or sonic_words(lists, code))
    guessing = lexer(**COMPAT)
    guessing.prepare()
    assert read == []
    guessing.lex_push("это был хороший день и мы пошли домой", None)
    assert set(CANDIDATES["Cyrillic"]) <= set(read) and not {"eng", "fra", "ara"} & set(read)


def real_texts() -> list[str]:
    """Return messages, and sentences in many languages."""
    files = (("messages/messages.tsv", 400), ("multilingual/sentences.tsv", 40))
    lines = [line for name, every in files for line in shared_data(name).read_text("utf-8").splitlines()[::every]]
    return [line.split("\t")[-1] for line in lines]
