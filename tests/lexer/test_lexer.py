"""Lexer: language, stop words, stemming and settings work together; the same text always gives the same terms."""

import time
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from sonicpy import Config
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy.config import NormalizationConfig, StopwordsConfig, TokenizationConfig
from sonicpy.lexer.languages import LANGUAGES
from sonicpy.lexer.lexer import Lexer
from sonicpy.lexer.segmenters import Segmenters
from sonicpy.rules import FIRST
from tests.support.examples import some, thinned
from tests.support.shared_data import shared_data

needs_ja = pytest.mark.skipif(not Segmenters().has_ja, reason="needs the extra [ja]")

COMPAT = {"server__compat": "sonic"}
DROP = {"stopwords__mode": "drop"}
STEMMED = {"normalization__stemming_enabled": True}
FOLDED = {"normalization__diacritic_folding_enabled": True}


def lexer(**chosen: object) -> Lexer:
    """Return a lexer; settings are named with `__` for dots."""
    given: dict[str, Any] = {}
    for key, value in chosen.items():
        section, name = key.split("__")
        given.setdefault(section, {})[name] = value
    config = Config.model_validate(given)
    compat = config.server.compat == "sonic"
    return Lexer(config.normalization, config.tokenization, config.stopwords, compat=compat)


def marked(terms: Terms) -> str:
    """Return the terms in order, marked as special*, stop word!, part~."""
    marks = {0: "", SPECIAL: "*", STOP: "!", PART: "~"}
    return " ".join(word.decode() + marks[flags] for word, flags in zip(terms.words, terms.flags, strict=True))


def decoded(words: list[bytes]) -> list[str]:
    return [word.decode() for word in words]


LANGUAGE = [
    ("the parrot", "eng", "the! parrot", "a stop word of the language given"),
    ("the parrot", "deu", "the parrot", "not one of another language"),
    ("the parrot", "none", "the parrot", "no language, no stop words"),
    ("the parrot", None, "the parrot", "too short to guess"),
    ("the parrot and a ba", None, "the parrot and a ba", "19 bytes have no language"),
    ("the parrot and a bat", None, "the! parrot and! a! bat", "20 bytes have one"),
    ("der Papagei und die Katze", None, "der! papagei und! die! katze", "another one"),
    ("der Papagei und die Katze", "none", "der papagei und die katze", "none is none, whatever the text"),
    ("der Papagei und die Katze an der Tür", "eng", "der papagei und die katze an! tür", "what is given is believed"),
    ("The THE tHe parrot", "eng", "the! parrot", "compared folded"),
    ("the-12 parrot", "eng", "the* 12* parrot", "words of a pattern are none"),
    ("the the-12", "eng", "the 12*", "also where they stand beside the same word"),
    ("", None, "", "nothing"),
    ("... !", "eng", "", "no word"),
]

DROPPED = [
    ("the parrot", "eng", "parrot", "left out"),
    ("the parrot", "none", "the parrot", "not without a language"),
    ("the and a", "eng", "", "even all of them"),
]
OF_PATTERNS = [
    (DROP, "the-12 parrot", "the* 12* parrot"),
    (COMPAT, "the-12 parrot", "12* parrot"),
    (COMPAT, "so ..and", ""),
    (COMPAT, "see http://www.example.org The_2 ..And", "www.example.org* The_2* And*"),
]


@pytest.mark.parametrize(("text", "lang", "expected", "why"), LANGUAGE)
def test_stop_words_depend_on_the_language(text: str, lang: str | None, expected: str, why: str) -> None:
    assert marked(lexer().lex(text, lang)) == expected, why


@pytest.mark.parametrize(("settings", "text", "expected"), OF_PATTERNS)
def test_sonic_drops_stop_words_of_patterns_as_they_are_written(
    settings: dict[str, Any], text: str, expected: str
) -> None:
    assert marked(lexer(**settings).lex(text, "eng")) == expected


@pytest.mark.parametrize(("text", "lang", "expected", "why"), DROPPED)
@pytest.mark.parametrize("settings", [DROP, COMPAT], ids=["drop", "compat"])
def test_stop_words_are_dropped(settings: dict[str, Any], text: str, lang: str, expected: str, why: str) -> None:
    assert marked(lexer(**settings).lex(text, lang)) == expected, why


ALLOW_AND_DENY = [
    ({"stopwords__allow": ["the"]}, "the parrot and", "eng", "the parrot and!", "allowed"),
    ({"stopwords__deny": ["parrot"]}, "the parrot and", "eng", "the! parrot! and!", "denied"),
    ({"stopwords__deny": ["parrot"]}, "the parrot", None, "the parrot!", "denied without a language too"),
    ({"stopwords__deny": ["parrot"]}, "the parrot", "kan", "the parrot!", "and in a language without a list"),
    ({"stopwords__deny": ["parrot"]}, "the parrot", "none", "the parrot", "but LANG(none) denies nothing"),
    ({"stopwords__deny": ["parrot"]}, "parrot-12", "eng", "parrot* 12*", "nor in patterns"),
    ({"stopwords__deny": ["Parrot"]}, "Parrot", "eng", "parrot", "words of the settings are compared as written"),
    ({"stopwords__deny": ["xx"], "stopwords__allow": ["the", "and"]}, "the xx and a", "eng", "the xx! and a!", "both"),
    ({"stopwords__deny": ["parrot"], **DROP}, "the parrot sings", None, "the sings", "dropped"),
]


@pytest.mark.parametrize(("settings", "text", "lang", "expected", "why"), ALLOW_AND_DENY)
def test_the_settings_add_stop_words_and_take_some_away(
    settings: dict[str, Any], text: str, lang: str | None, expected: str, why: str
) -> None:
    assert marked(lexer(**settings).lex(text, lang)) == expected, why


STEMS = [
    ({}, "running dogs", "eng", "run dog", "stemmed in the language given"),
    ({}, "running dogs", "none", "running dogs", "in none"),
    ({}, "running dogs", None, "running dogs", "nor where it is too short to guess"),
    ({}, "running dogs in the wild north", None, "run dog in! the! wild north", "but where it is guessed"),
    ({}, "running dogs", "ces", "running dogs", "a language without stemmer"),
    ({}, "laufende Hunde", "deu", "laufend hund", "another stemmer"),
    ({}, "running-12 Dogs", "eng", "running* 12* dog", "special words keep their ends"),
    ({}, "Running RUNS run", "eng", "run", "folded first; one term of three words"),
    ({"stopwords__deny": ["running"]}, "running runs", "eng", "run", "a stop word that shares its stem is a word too"),
    ({"stopwords__deny": ["running"]}, "running", "eng", "run!", "found before stemming"),
    ({"stopwords__deny": ["run"]}, "running", "eng", "run", "not by what is left of a word"),
    ({"stopwords__deny": ["running"], **DROP}, "running runs", "eng", "run", "dropped before stemming"),
    ({"stopwords__deny": ["running"], **DROP}, "running", "eng", "", "so that nothing is left"),
    ({"stopwords__deny": ["run"], **DROP}, "running", "eng", "run", "and no more than that"),
]


@pytest.mark.parametrize(("settings", "text", "lang", "expected", "why"), STEMS)
def test_stemming_comes_after_stop_words(
    settings: dict[str, Any], text: str, lang: str | None, expected: str, why: str
) -> None:
    assert marked(lexer(**STEMMED, **settings).lex(text, lang)) == expected, why


def test_a_dropped_word_does_not_count_for_its_stem() -> None:
    terms = lexer(**STEMMED, **DROP, stopwords__deny=["parroting"]).lex("parroting parrots parrot", "eng")
    assert (terms.words, terms.counts) == ([b"parrot"], b"\x02")


SPELLINGS = [
    ({}, "Ｆｕｌｌ ﬁsh Straße ΣΟΦΟΣ ²", "full fish strasse σοφοσ 2*", "NFKC and full folding"),
    ({}, "cafe\u0301", "caf\u00e9", "composed"),
    ({}, "ABC123 Node.JS", "abc123* node.js*", "special words too"),
    ({"normalization__unicode_normalization": "nfc"}, "Ｆｕｌｌ cafe\u0301", "ｆｕｌｌ caf\u00e9", "NFC composes only"),
    ({"normalization__unicode_normalization": "none"}, "cafe\u0301 caf\u00e9", "cafe\u0301 caf\u00e9", "none"),
    (FOLDED, "Café naïve Łódź Über ąę", "cafe naive łodz uber ae", "accents go, strokes stay"),
    (FOLDED, "סֵפֶר مَدْرَسَة", "ספר مدرسة", "points of Hebrew and Arabic"),
    (FOLDED, "किताब สวย", "किताब สวย ส! ว! สว~ ย! วย~", "vowel signs are no accents"),
    ({**FOLDED, **COMPAT}, "Café каждый किताब", "cafe каждыи कतब", "Sonic takes every mark"),
    (COMPAT, "Ｆｕｌｌ cafe\u0301 ABC123", "ｆｕｌｌ cafe\u0301 ABC123*", "Sonic leaves spellings apart"),
]


@pytest.mark.parametrize(("settings", "text", "expected", "why"), SPELLINGS)
def test_spellings(settings: dict[str, Any], text: str, expected: str, why: str) -> None:
    assert marked(lexer(**settings).lex(text, "none")) == expected, why


TERMS_OF_PUSH = [
    ({}, "the parrot", "eng", "the parrot", "stop words are words"),
    ({}, "the parrot and a bat", None, "the parrot and a bat", "in texts of any length"),
    ({"stopwords__deny": ["parrot"]}, "the parrot", "eng", "the parrot", "denied ones too"),
    ({}, "Irak ISIK", "tur", "\u0131rak \u0131s\u0131k", "the case of i by the language given"),
    ({}, "Irak ISIK", None, "irak isik", "and only by that"),
    ({}, "the-12", "eng", "the* 12*", "special words are flagged"),
    (STEMMED, "running dogs in the wild north", None, "run dog in the wild north", "stemmed as guessed"),
    (STEMMED, "the running dogs", "eng", "the run dog", "stemmed as given"),
    (STEMMED, "the running dogs", "none", "the running dogs", "not stemmed"),
    (DROP, "the parrot", "eng", "parrot", "dropped where the settings say so"),
    (COMPAT, "the parrot", "eng", "parrot", "and in compat mode"),
    ({**COMPAT, "stopwords__mode": "weigh"}, "the parrot", "eng", "the! parrot", "which may keep and hide them"),
]


@pytest.mark.parametrize(("settings", "text", "lang", "expected", "why"), TERMS_OF_PUSH)
def test_what_a_push_stores(settings: dict[str, Any], text: str, lang: str | None, expected: str, why: str) -> None:
    assert marked(lexer(**settings).lex_push(text, lang)) == expected, why


@pytest.mark.parametrize("settings", [{}, STEMMED, DROP, COMPAT], ids=["default", "stemmed", "drop", "compat"])
def test_push_and_query_have_the_same_terms(settings: dict[str, Any]) -> None:
    cut = lexer(**settings)
    for code, text in sentences(1):
        for lang in {None, "none", "eng", code} & {None, "none", *CODES}:
            pushed, asked = cut.lex_push(text, lang), cut.lex(text, lang)
            joints = [place for place, word in enumerate(pushed.words) if word.startswith(b"\2")]
            assert not any(pushed.counts[place] for place in joints)
            counted = [each for each in zip(pushed.words, pushed.counts, strict=True) if each[1]]
            assert counted == list(zip(asked.words, asked.counts, strict=True))


def test_single_letters_of_a_run_stay_hidden() -> None:
    assert all(flags for flags in lexer().lex_push("สวย", "tha").flags[1:])


LISTS = [
    ({}, "hello the", "eng", "hello the!", "the default mode reads the short list"),
    (DROP, "hello the parrot", "eng", "parrot", "dropping reads the long one, as Sonic"),
    (COMPAT, "hello the parrot", "eng", "parrot", "as compat mode does"),
]


@pytest.mark.parametrize(("settings", "text", "lang", "expected", "why"), LISTS)
def test_short_and_long_lists(settings: dict[str, Any], text: str, lang: str, expected: str, why: str) -> None:
    assert marked(lexer(**settings).lex(text, lang)) == expected, why


class TestRuns:
    """Scripts without blanks: words by a dictionary, pairs of letters as parts, single letters as stop words."""

    def test_in_the_default_mode_a_dictionary_cuts_runs(self) -> None:
        expected = "清华大学 清! 华! 清华~ 大! 华大~ 学! 大学~"
        for lang in (None, "none", "jpn", "eng"):
            assert marked(lexer().lex("清华大学", lang)) == expected, "whatever the language"

    def test_no_words_of_chinese_are_flagged(self) -> None:
        assert marked(lexer().lex("我的清华", "cmn")).split()[:3] == ["我", "的", "清华"]

    def test_in_compat_mode_chinese_text_is_cut_by_dictionary_as_a_whole(self) -> None:
        cut = lexer(**COMPAT)
        words = decoded(cut.lex("我来到清华大学，come — here！", "cmn").words)
        assert words == ["来到", "清华大学", "come", " ", "—", "here"]
        assert "清华大学" in decoded(cut.lex("一 " * 499 + "清华大学", "cmn").words), "and nowhere else"
        assert marked(cut.lex("清华大学", "none")) == "清 华 大 学", "else letter by letter"
        assert marked(cut.lex("清华大学", "jpn")) == "清 华 大 学"

    def test_in_an_older_store_compat_mode_takes_chinese_letter_by_letter(self) -> None:
        bare = lexer(**COMPAT).by_letters()
        assert marked(bare.lex("清华 大学", "cmn")) == "清 华 学", "one of the letters is a stop word"
        assert decoded(bare.lex_every_way("清华 大学")) == ["清", "华", "大", "学"]

    def test_an_older_store_has_letters_under_all_rules(self) -> None:
        words = lexer()
        ordered = words.ordered()
        for made in (words, ordered):
            bare = made.by_letters()
            assert bare.by_letters() is bare is made.by_letters()
            for cut in (bare, bare.ordered(), bare.under(FIRST), bare.under(FIRST).ordered(), bare.ordered().under(1)):
                assert marked(cut.lex("来到北京", None)).startswith("来到北京 来!"), "the whole run"
        assert ordered.by_letters().lex_push("清华大学", None).piece
        assert marked(words.lex("来到北京", None)).startswith("来到 北京 "), "the others still have words"

    def test_latin_words_and_numbers_inside(self) -> None:
        assert marked(lexer().lex("我有3个iPhone", "none")) == "我 有 我有~ 3* 个 iphone"

    @needs_ja
    @pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
    @pytest.mark.parametrize("text", ["ウェールズの人がパンダをべんきょうする", "ドイツ語で話しました", "ｶﾞｯｺｳに行く"])
    def test_japanese_is_one_text_in_every_spelling(self, form: str, text: str) -> None:
        cut = lexer()
        spelled: Any = unicodedata.normalize
        assert decoded(cut.lex(spelled(form, text), "none").words) == decoded(cut.lex(text, "none").words)


class TestPlain:
    """lex_plain, for SUGGEST: stop words count like all other words."""

    @pytest.mark.parametrize("text", ["the", "The parrot and a bat in a hat", "der und", "the-12"])
    @pytest.mark.parametrize("settings", [{}, DROP, {"stopwords__deny": ["parrot"]}], ids=["weigh", "drop", "deny"])
    def test_stop_words_count(self, settings: dict[str, Any], text: str) -> None:
        plain = lexer(**settings).lex_plain(text)
        assert plain == lexer().lex(text, "none")
        assert not any(flags & STOP for flags in plain.flags)

    def test_stemmed_in_the_language_that_is_guessed(self) -> None:
        cut = lexer(**STEMMED)
        assert marked(cut.lex_plain("running")) == "running", "too short to guess"
        assert marked(cut.lex_plain("running dogs in the wild north")) == "run dog in the wild north"


SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "drop": DROP,
    "stemmed": STEMMED,
    "folded": FOLDED,
    "stemmed and folded": {**STEMMED, **FOLDED},
    "whole patterns": {"tokenization__compat_split_special_patterns": False},
    "no patterns": {"tokenization__detect_special_patterns": False},
    "compat": COMPAT,
    "compat, stemmed": {**COMPAT, **STEMMED},
    "compat, whole patterns": {**COMPAT, "tokenization__compat_split_special_patterns": False},
}


class TestEveryWay:
    """lex_every_way, for POP: all terms that a PUSH may have stored."""

    def test_without_stemming_there_is_one_way(self) -> None:
        assert decoded(lexer().lex_every_way("The parrot, the bat-12")) == ["the", "parrot", "bat", "12"]

    def test_stems_of_all_languages(self) -> None:
        found = decoded(lexer(**STEMMED).lex_every_way("running dogs"))
        assert found[:2] == ["running", "dogs"], "as they stand first"
        assert {"run", "dog"} < set(found)
        assert len(found) == len(set(found))

    @pytest.mark.parametrize("text", ["我来到清华大学", "don't 清华大学", "don't stop", "rock'n'roll a.b", "v1.8.1"])
    @pytest.mark.parametrize("settings", [COMPAT, {}], ids=["compat", "default"])
    def test_chinese(self, settings: dict[str, Any], text: str) -> None:
        """In compat mode LANG(cmn) passes the whole text to the dictionary, in whatever script it is."""
        cut = lexer(**settings)
        assert set(decoded(cut.lex(text, "cmn").words)) <= set(decoded(cut.lex_every_way(text)))

    @pytest.mark.parametrize("settings", some(SETTINGS.values(), 2), ids=SETTINGS)
    def test_no_term_of_any_language_is_missing(self, settings: dict[str, Any]) -> None:
        cut = lexer(**settings)
        for number, (lang, text) in enumerate(thinned(sentences(2))):
            every = set(cut.lex_every_way(text))
            others = LANGUAGES[number % len(LANGUAGES)].code, "cmn", "eng", "none", None
            for code in {lang, *others} if lang in CODES else others:
                stored = set(cut.lex(text, code).words)
                assert stored <= every, (code, text, decoded(sorted(stored - every)))


CODES = {language.code for language in LANGUAGES}


def sentences(each: int) -> list[tuple[str, str]]:
    """Return (language, sentence) for every language with sentences, the same in each call."""
    by_language: dict[str, list[str]] = {}
    for line in shared_data("multilingual/sentences.tsv").read_text(encoding="utf-8").splitlines():
        language, _, _, text = line.split("\t")
        by_language.setdefault(language, []).append(text)
    return [
        (language, text)
        for language, texts in sorted(by_language.items())
        for text in texts[:: max(1, len(texts) // each)][:each]
    ]


FORMS: list[tuple[str, Callable[[str], str]]] = [
    ("decomposed", lambda text: unicodedata.normalize("NFD", text)),
    ("compatibility", lambda text: unicodedata.normalize("NFKC", text)),
    ("full width", lambda text: "".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalpha() else c for c in text)),
]


@pytest.mark.parametrize(("name", "change"), FORMS, ids=[name for name, _ in FORMS])
def test_real_texts_give_the_same_words_in_every_spelling(name: str, change: Callable[[str], str]) -> None:
    """Patterns are found in the text as typed, so texts with a sign of a pattern are left out."""
    cut = lexer()
    texts = [(language, unicodedata.normalize("NFC", sentence)) for language, sentence in sentences(12)]
    wrong = [
        (language, text)
        for language, text in texts
        if not any(char in "@./:_…․‥" or char.isdigit() for char in text)
        and cut.lex(change(text), "none").words != cut.lex(text, "none").words
    ]
    assert not wrong, f"{sorted({language for language, _ in wrong})}, for example {wrong[0]}"


class TestAnalyser:
    """The settings that decide the terms of a text."""

    def test_every_setting_of_the_three_sections_is_in_it(self) -> None:
        sections = {
            "normalization": NormalizationConfig, "tokenization": TokenizationConfig, "stopwords": StopwordsConfig,
        }  # fmt: skip
        fields = {f"{name}.{field}" for name, section in sections.items() for field in section.model_fields}
        others = {"lexer", "server.compat", "extras.zh", "extras.ja"}
        for settings in (DROP, COMPAT):
            found = lexer(**settings).analyser()
            version = {"lexer.compat"} if settings is COMPAT else set()
            assert set(found) == fields | others | version
            assert found["extras.zh"] == "True"
            bare = lexer(**settings).by_letters().analyser()
            assert bare == {**{key: value for key, value in found.items() if key not in version}, "extras.zh": "False"}
        lists = {"stopwords.allow", "stopwords.deny"}
        assert set(lexer().analyser()) == (fields | others) - lists, "the lists decide nothing that is stored"

    @pytest.mark.parametrize(
        ("key", "value", "shown"),
        [
            ("server__compat", "sonic", "sonic"),
            ("normalization__unicode_normalization", "nfc", "nfc"),
            ("normalization__diacritic_folding_enabled", True, "True"),
            ("normalization__stemming_enabled", True, "True"),
            ("tokenization__detect_special_patterns", False, "False"),
            ("tokenization__compat_split_special_patterns", False, "False"),
            ("stopwords__mode", "weigh", "weigh"),
            ("stopwords__allow", ["the", "and"], "and,the"),
            ("stopwords__deny", ["foo"], "foo"),
        ],
    )
    def test_a_setting_changes_its_own_key(self, key: str, value: object, shown: str) -> None:
        before, after = lexer(**DROP).analyser(), lexer(**{**DROP, key: value}).analyser()
        dotted = key.replace("__", ".")
        changed = {name for name in after if after[name] != before.get(name)} - {"lexer.compat"}
        assert changed - {"normalization.unicode_normalization", "stopwords.mode"} <= {dotted}
        assert dotted in changed
        assert after[dotted] == shown

    def test_the_order_of_words_does_not_matter(self) -> None:
        one, other = (lexer(**DROP, stopwords__deny=deny).analyser() for deny in (["a", "b"], ["b", "a"]))
        assert one == other

    def test_lists_that_only_weigh_change_nothing(self) -> None:
        assert lexer(stopwords__deny=["a"], stopwords__allow=["the"]).analyser() == lexer().analyser()


@pytest.mark.parametrize("text", ["\ud800", "vor \udc80 nach"])
def test_a_lone_surrogate_is_refused(text: str) -> None:
    for cut in (lexer(), lexer(**COMPAT), lexer(**STEMMED)):
        for way in (lambda text: cut.lex(text, None), cut.lex_plain, cut.lex_every_way):  # noqa: B023
            with pytest.raises(UnicodeEncodeError):
                way(text)


@pytest.mark.parametrize("settings", [{}, COMPAT], ids=["default", "compat"])
@pytest.mark.parametrize("sign", ["\u0301\u0323", "\u0f73"])
def test_a_word_of_very_many_marks_takes_little_time(settings: dict[str, object], sign: str) -> None:
    """Sorting n marks takes n * n steps, also where letters keep the form in which they are written."""
    cuts, began = lexer(normalization__unicode_normalization="none", **settings), time.process_time()
    cuts.lex_push("a" + sign * 20_000, "eng")
    cuts.lex_push(sign * 20_000, "eng")
    assert time.process_time() - began < 2
