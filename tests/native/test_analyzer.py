"""Patterns, folding and scripts without blanks: tables, a reference implementation, every character."""

import sys
import unicodedata
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonicpy._native.analyzer import Analyzer, BoundAnalyzer
from sonicpy._native.stop_set import StopSet
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy._native.word_break import word_borders
from tests.native.analyzing import (
    COMPAT,
    COMPAT_PLAIN,
    COMPAT_WHOLE,
    DEFAULT,
    DEFAULT_PLAIN,
    NORMALIZE,
    analyze,
    nfkc_folded,
    words,
)
from tests.reference import analyzer as twin
from tests.support.examples import examples, some


def found(terms: Terms) -> list[twin.Found]:
    counted = zip(words(terms), terms.counts, terms.flags, strict=True)
    return [twin.Found(word, count, bool(flags & SPECIAL)) for word, count, flags in counted]


def marked(terms: Terms) -> str:
    """Return the words in order, special ones between asterisks, as the tables below print them."""
    return " ".join(f"*{term.word}*" if term.special else term.word for term in found(terms))


# -- patterns and words, as in Sonic ----------------------------------------------------------------------------------

AS_IN_SONIC = [
    ("Write to max.muster@example.net", "write to *max.muster* *example.net*", "mail"),
    ("412-555-0187", "*412* *555* *0187*", "phone with hyphens"),
    ("4125550187", "*4125550187*", "phone"),
    ("covid-19 Covid-19", "*covid* *19* *Covid*", "id, its case kept, 19 once"),
    ("v1.8.1, 3.50, 1,000, 10:30", "*v1* *8* *1* *3* *50* *000* *10* *30*", "ids end at dots and commas"),
    ("3.50", "*3* *50*", "too short for a phone: two ids"),
    ("https://Example.org/Path?id=42.", "*https* *Example.org* *Path* *id* *42*", "url, without the last dot"),
    ("snake_case camelCase kebab-case", "*snake_case* camelcase kebab case", "an underscore makes an id"),
    ("rock-n-roll AT&T C++ #tag", "rock n roll at t c tag", "no pattern"),
    ("0.0.0.0abc", "*0.0.0.0a* bc", "an address takes one more character"),
    ("ref 12 2121a", "ref *12* *2121* a", "a phone number eats the head of an id"),
    ("end.Next sentence...And", "*end.Next* *sentence* *And*", "domains"),
    ("don't l'avion a.m z:w", "don't l'avion a.m z:w", "apostrophe, dot and colon between letters stay inside"),
    ("a.bc", "*a.bc*", "two letters behind the dot make a domain"),
    ("_ __", "*_* *__*", "a pattern without any word is a word itself"),
    ("日本語 ひら กขค", "日 本 語 ひ ら ก ข ค", "Han, Hiragana and Thai fall into characters"),
    ("カタカナ 서울특별시", "カタカナ 서울특별시", "Katakana and Hangul stay whole"),
    ("\U0001f600 ♥ a", "a", "emoji vanish"),
    ("@Alice, bob", "*Alice* bob", "a username ends at its last word character"),
    ("1.2.3.4x5", "*1.2.3.4x* *5*", "behind an address the scan goes on"),
    ("Node.JS ABC123", "*Node.JS* *ABC123*", "special words keep their case"),
    ("Straße ΣΑΣ ﬁn İ", "strasse σασ fin i̇", "full case folding"),
    ("", "", "nothing"),
    (" \t\n.,;!?", "", "no word"),
    ("a\x00b 1\x002", "a b *1* *2*", "NUL is an ordinary separator"),
    ("+49 3090 123 456", "*49* *3090* *123* *456*", "a plus belongs to the phone"),
    ("12345", "*12345*", "five digits are a phone"),
    ("34\n3.14", "*34* *3.14*", "a phone may go on in the next line"),
    ("1  2  3  4  5", "*1* *2* *3* *4* *5*", "no phone has two blanks in a row: five ids"),
    ("٤١٢٥٥٥٠١٨٧", "*٤١٢٥٥٥٠١٨٧*", "digits of all scripts"),
]


@pytest.mark.parametrize(("text", "expected", "why"), AS_IN_SONIC)
def test_the_compat_form_does_as_sonic(text: str, expected: str, why: str) -> None:
    assert marked(analyze(COMPAT, text)) == expected, why


WHOLE = [
    ("07.98.76.54.32", "*0798765432*", "a phone keeps its digits"),
    ("07 98 76 54 32", "*0798765432*", "whatever separates them"),
    ("07-98-76-54-32", "*0798765432*", "also hyphens"),
    ("+493090123456", "*+493090123456*", "and its plus"),
    ("+49 3090 123 456", "*+493090123456*", "both"),
    ("0.0.0.0abc", "*0.0.0.0* bc", "an address loses the character that the match took too much"),
    ("10.0.0.1", "*10.0.0.1*", "an address at the end of the text"),
    ("10.0.0.1, x", "*10.0.0.1* x", "an address before punctuation"),
    ("Max@Example.net!", "*Max@Example.net*", "mail as written"),
    ("see https://Example.org/Path?id=42.", "see *https://Example.org/Path?id=42*", "url as written"),
    ("@Alice:", "*@Alice*", "username as written"),
    ("covid-19", "*covid-19*", "id as written"),
    ("_", "*_*", "without any letter"),
    ("Node.JS", "*Node.JS*", "domain as written"),
]


@pytest.mark.parametrize(("text", "expected", "why"), WHOLE)
def test_whole_patterns_are_one_word(text: str, expected: str, why: str) -> None:
    assert marked(analyze(COMPAT_WHOLE, text)) == expected, why


PATTERN_CHARS = "aabzZÀ0099123..--+@:/_  ,'\"\n\u05d0\u0301\u200d\u00ad\U0001f1e6\U0001f600カᄀกก中中\u0663\u203fßⅣⓐ²"
PIECES = st.sampled_from(
    ["://", "@", ".", "..", "-", "+", "_", ":", " ", "  ", "aa", "B", "é", "1", "12", "1234", "1.2.3.4", "٣", "中",
     "\u200d", "\u0301", ".com", "a@b.c", "12345", "x-1", "\n", "/", "\u3000"]
)  # fmt: skip
TEXTS = st.text(alphabet=PATTERN_CHARS, max_size=16) | st.lists(PIECES, max_size=9).map("".join)


@settings(deadline=None, max_examples=examples(700))
@given(TEXTS, st.booleans())
@example("a@b.c@d.e", True)
@example("aa://.a.", True)
@example("1.2.3.4.5.6.7.8", False)
@example("+1.2.3.4", False)
@example("中中://中..", True)
@example("@é@é.中", False)
def test_the_compat_form_does_as_the_regular_expressions(text: str, split: bool) -> None:
    native = COMPAT if split else COMPAT_WHOLE
    assert found(analyze(native, text)) == twin.analyze(text, split_patterns=split)


@settings(deadline=None, max_examples=examples(400))
@given(TEXTS, st.sets(st.sampled_from(["a", "aa", "b", "1", "中", "é", "12"])))
def test_dropped_stop_words_leave_no_trace(text: str, stops: set[str]) -> None:
    native = analyze(COMPAT, text, StopSet(word.encode() for word in stops), True)
    assert found(native) == twin.analyze(text, dropped=stops)


@given(st.text(alphabet="aáé\u0301\u0327\u0323ạộﬁf½ⅳiv\uff41ç²2", min_size=1, max_size=4))
@example("\uff41")
@example("o\u0323\u0302")
def test_a_stop_word_may_be_found_in_any_form(word: str) -> None:
    stops = StopSet(unicodedata.normalize("NFKC", listed).encode() for listed in ("a", "á", "iv", "fi", "ạ́", "ộ", "ç"))
    in_any_form = Analyzer(str.casefold, composes=False, patterns=False, stops_in_any_form=True)
    for term in analyze(in_any_form, word, stops).words:
        kept = term.decode()
        is_stop = unicodedata.normalize("NFKC", kept).encode() in stops
        assert bool(analyze(in_any_form, kept, stops, True).words) != is_stop


@settings(deadline=None, max_examples=examples(300))
@given(TEXTS)
def test_without_patterns_every_word_is_an_ordinary_one(text: str) -> None:
    assert found(analyze(COMPAT_PLAIN, text)) == twin.analyze(text, patterns=False)


@pytest.mark.full
@settings(deadline=None, max_examples=examples(400))
@given(TEXTS | st.text(max_size=20))
def test_the_default_form_loses_no_word(text: str) -> None:
    """With patterns, borders may be elsewhere, but every piece with a letter or number is found in both forms."""
    letters = {char for word in words(analyze(DEFAULT, text)) for char in word if twin.is_alphanumeric(char)}
    plain = {char for word in words(analyze(DEFAULT_PLAIN, text)) for char in word if twin.is_alphanumeric(char)}
    assert letters == plain


@pytest.mark.parametrize("number", ["3.11", "19.99", "1.2.3", "12.03.2024", "0049.30"])
@pytest.mark.parametrize(
    "beside", ["", "{} 2023", "1 {}", "7-{}", "EUR {} 10 pieces", "+49 {} 30", "{}\n1000", "v{} 22 1"]
)
def test_a_number_has_the_same_words_whatever_number_stands_beside_it(number: str, beside: str) -> None:
    """The two numbers together look like a telephone number, in which a dot would not end a word."""
    prefix = "v" if "v{}" in beside else ""
    alone = set(words(analyze(DEFAULT, prefix + number)))
    assert alone <= set(words(analyze(DEFAULT, beside.format(number) or number)))


SLOW = Analyzer(NORMALIZE, always_normalize=True)
"""An analyzer that folds every piece as Python does, and finds its end by the rules for all scripts."""

ASCII_PIECES = st.sampled_from(
    ["don't", "a.m", "3,5", "1.000,5", "a:b", "x_1", "_", "A1", "e.g.", " ", ", ", "é", "\u0301", "'", "."]
)
ASCII_CHARS = "abzAZ019__''..::,;;\"-+@/ \t\n\x0b\x1c!\u0301\u200d\u00adé\u05d0"
ASCII_TEXTS = st.text(alphabet=ASCII_CHARS, max_size=20) | st.lists(ASCII_PIECES).map("".join)


@settings(deadline=None, max_examples=examples(500))
@given(ASCII_TEXTS, st.sets(st.sampled_from([b"a", b"don't", b"b", b"x_1", b"z"])), st.booleans())
@example("don't", set(), False)
@example("don'\u0301t a'\u0301 1,\u03012", set(), False)
@example("@\x1c_", set(), False)
def test_ascii_gives_the_same_terms_as_the_way_for_all_scripts(text: str, stops: set[bytes], drops: bool) -> None:
    quick, slow = (analyze(analyzer, text, StopSet(stops), drops) for analyzer in (DEFAULT, SLOW))
    assert (quick, quick.typed) == (slow, slow.typed)


@given(TEXTS, st.sets(st.sampled_from([b"a", b"aa", b"b"])), st.booleans(), st.sampled_from([None, str.upper]))
def test_bound_analyzers_share_nothing(
    text: str, stops: set[bytes], drops: bool, stem: Callable[[str], str] | None
) -> None:
    """A bound analyzer keeps its rules beside other bound analyzers of its Analyzer."""
    ruled, plain = BoundAnalyzer(DEFAULT, StopSet(stops), drops, stem), BoundAnalyzer(DEFAULT)
    alone = BoundAnalyzer(Analyzer(NORMALIZE), StopSet(stops), drops, stem)
    assert ruled.analyze(text) == alone.analyze(text)
    assert plain.analyze(text) == analyze(Analyzer(NORMALIZE), text)
    assert ruled.analyze(text) == alone.analyze(text)


def test_a_bound_analyzer_needs_an_analyzer_and_takes_str() -> None:
    with pytest.raises(TypeError):
        BoundAnalyzer(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        BoundAnalyzer.__new__(BoundAnalyzer)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        analyze(DEFAULT, None)  # type: ignore[arg-type]


def test_texts_analyzed_one_after_the_other_share_nothing() -> None:
    """Texts share the collector of words, whatever its size, but no words."""
    many = " ".join(f"w{number}" for number in range(3_000))
    for text in ("a b a", many, "a b a", "", "b", "x" * 40_000 + " y", "a b a"):
        assert analyze(DEFAULT, text) == analyze(Analyzer(NORMALIZE), text)


def test_a_function_that_an_analyzer_calls_may_analyze() -> None:
    def normalize(piece: str) -> str:
        return " ".join(words(analyze(analyzer, "inner words"))) + piece.casefold()

    analyzer = Analyzer(normalize)
    assert words(analyze(analyzer, "one Straße two")) == ["one", "inner", "wordsstrasse", "two"]
    assert words(analyze(analyzer, "three")) == ["three"]


# -- which pieces are words, and how they fold ------------------------------------------------------------------------

IN_BULK = ("CJK UNIFIED", "HANGUL SYLLABLE", "CJK COMPATIBILITY IDEOGRAPH", "TANGUT", "CUNEIFORM", "EGYPTIAN")


@cache
def assigned() -> list[str]:
    """Return all characters that Unicode has assigned."""
    every = map(chr, range(sys.maxunicode + 1))
    return [char for char in every if unicodedata.category(char) not in ("Cs", "Cn", "Co")]


@cache
def varied() -> list[str]:
    """Return these characters without those of the large scripts."""
    return [char for char in assigned() if not unicodedata.name(char, "").startswith(IN_BULK)]


def test_a_character_is_a_word_if_it_is_a_letter_or_number() -> None:
    wrong = [
        f"U+{ord(char):04X} {unicodedata.category(char)}"
        for char in assigned()
        if bool(analyze(COMPAT_PLAIN, char).words) != twin.is_alphanumeric(char)
    ]
    assert not wrong, f"{len(wrong)} characters, for example {wrong[:60]}"


def test_every_character_folds_as_str_casefold() -> None:
    wrong = [
        char
        for char in filter(twin.is_alphanumeric, assigned())
        if words(analyze(COMPAT_PLAIN, char)) != [char.casefold()]
    ]
    assert not wrong


def test_every_character_folds_as_nfkc_around_casefold() -> None:
    wrong = [
        (char, words(analyze(DEFAULT_PLAIN, char)))
        for char in filter(twin.is_alphanumeric, assigned())
        if words(analyze(DEFAULT_PLAIN, char)) != list(dict.fromkeys(nfkc_folded(char).split()))
    ]
    assert not wrong


JOINING = "\u0301", "\u0327", "\u0345", "\u3099", "\u1161", "\u11a8", "\u0f71", "\u200d"


@pytest.mark.parametrize("mark", some(JOINING, 4))
def test_every_character_before_a_joining_one_folds_as_a_whole(mark: str) -> None:
    wrong = []
    for char in varied():
        text = char + mark
        expected = list(dict.fromkeys(part for piece in twin_pieces(text) for part in nfkc_folded(piece).split()))
        if words(analyze(DEFAULT_PLAIN, text)) != expected:
            wrong.append((text, words(analyze(DEFAULT_PLAIN, text)), expected))
    assert not wrong


@pytest.mark.parametrize("head", ["a", "\u0e01", "\u05d0", "e\u0323"])
def test_every_character_behind_a_letter_folds_as_a_whole(head: str) -> None:
    wrong = []
    for char in varied():
        text = head + char
        expected = list(dict.fromkeys(part for piece in twin_pieces(text) for part in nfkc_folded(piece).split()))
        if words(analyze(DEFAULT_PLAIN, text)) != expected:
            wrong.append((text, words(analyze(DEFAULT_PLAIN, text)), expected))
    assert not wrong


def twin_pieces(text: str) -> list[str]:
    """Return the words of a text by its borders, which other tests check; pieces about which only the test above is in
    doubt are left out.
    """
    borders = word_borders(text)
    pieces = [text[start:end] for start, end in zip(borders, borders[1:], strict=False)]
    return [piece for piece in pieces if analyze(COMPAT_PLAIN, piece).words]


SAME_WORD = [
    ("café", "cafe\u0301", "NFC and NFD"),
    ("ｆｕｌｌ", "full", "fullwidth letters"),
    ("ﬁsh", "fish", "a ligature"),
    ("STRASSE", "Straße", "sharp s"),
    ("ΟΔΟΣ", "οδος", "final sigma"),
    ("ǅ", "ǆ", "title case"),
    ("각", "\u1100\u1161\u11a8", "Hangul syllable and its parts"),
    ("ｶﾞ", "ガ", "halfwidth Katakana with its mark"),
    ("q\u0307\u0323", "q\u0323\u0307", "marks in another order"),
    ("q\u0305\u0316", "q\u0316\u0305", "also marks that join with no letter"),
    ("\u1ea2", "\u1ea3", "precomposed Vietnamese"),
    ("Å", "\u212b", "the sign of Ångström"),
    ("²", "2", "superscript"),
]


@pytest.mark.parametrize(("one", "other", "why"), SAME_WORD)
def test_spellings_of_one_word_are_one_term(one: str, other: str, why: str) -> None:
    assert analyze(DEFAULT_PLAIN, one).words == analyze(DEFAULT_PLAIN, other).words != [], why
    assert analyze(DEFAULT_PLAIN, f"{one} {other}").counts == b"\x02", why


def test_the_compat_form_leaves_spellings_apart() -> None:
    assert words(analyze(COMPAT, "café cafe\u0301 ｆｕｌｌ full")) == ["café", "cafe\u0301", "ｆｕｌｌ", "full"]


def test_one_character_may_give_several_words() -> None:
    assert words(analyze(DEFAULT, "\ufdfa")) == ["صلى", "الله", "عليه", "وسلم"]


def test_every_piece_is_normalised_when_asked() -> None:
    analyzer = Analyzer(lambda piece: piece[::-1], always_normalize=True)
    assert words(analyze(analyzer, "abc x1")) == ["cba", "1x"]


def test_an_error_of_the_normaliser_is_raised() -> None:
    def fails(piece: str) -> str:
        raise LookupError(piece)

    with pytest.raises(LookupError, match="ß"):
        analyze(Analyzer(fails), "plain ß")
    assert words(analyze(Analyzer(fails), "plain words")) == ["plain", "words"]


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "ok \udc80 1.2.3.4", "\ud83d\ude00"])
def test_a_lone_surrogate_is_refused(text: str) -> None:
    with pytest.raises(UnicodeEncodeError):
        analyze(COMPAT, text)


# -- scripts without blanks -------------------------------------------------------------------------------------------

PAIRS = Analyzer(str.casefold, composes=False, patterns=False, bigrams=True)
FLAGS_OF = {"word": 0, "letter": STOP, "pair": PART}


def paired(text: str) -> list[tuple[str, int, int]]:
    """Return the terms as the reference implementation finds them; a term that occurs in several ways counts as a stop
    word or part only if it is one everywhere.
    """
    found: dict[str, tuple[str, int, int]] = {}
    for word, kind in twin.analyze_in_pairs(text):
        term = word.casefold()
        _, count, flags = found.get(term, (term, 0, STOP | PART))
        found[term] = (term, min(count + 1, 255), flags & FLAGS_OF[kind] if count else FLAGS_OF[kind])
    return list(found.values())


RUNS = [
    ("東京", "東京 東! 京!", "two letters are a word and no pair"),
    ("東", "東", "one letter is a word"),
    ("東京都", "東京都 東! 京! 東京~ 都! 京都~", "three have two pairs"),
    ("カタカナ", "カタカナ カ! タ! カタ~ カ! タカ~ ナ! カナ~", "kana too, although UAX #29 keeps them whole"),
    ("私はtest", "私は 私! は! test", "Latin letters end a run"),
    ("กำ", "กำ ก! ำ!", "Thai"),
    ("กี่ขี", "กี่ขี กี่! ขี!", "marks stay with their letter"),
    ("서울특별시", "서울특별시", "Hangul has blanks"),
    ("一" * 14, " ".join(["一!", *["一! 一一~"] * 13]), "a run of 42 bytes is no word"),
]


@pytest.mark.parametrize(("text", "expected", "why"), RUNS)
def test_runs_without_blanks_give_pairs(text: str, expected: str, why: str) -> None:
    marks = {0: "", STOP: "!", PART: "~"}
    terms = analyze(PAIRS, text)
    printed = [word + marks[flags] for word, flags in zip(words(terms), terms.flags, strict=True)]
    assert printed == list(dict.fromkeys(expected.split())), why


@settings(deadline=None, max_examples=examples(500))
@given(st.text(alphabet="中文字一ひらカターｱกำี่ົລ\u1780\u17d2\u1000ab1_ .\u200d\u0301\u3099각", max_size=18))
@example("一" * 13 + "ab" + "一" * 14)
@example("_カ_カカカ")
def test_runs_without_blanks_give_what_the_twin_gives(text: str) -> None:
    terms = analyze(PAIRS, text)
    assert list(zip(words(terms), terms.counts, terms.flags, strict=True)) == paired(text)


def test_typed_sizes_are_those_before_folding() -> None:
    terms = analyze(DEFAULT, "Straße ﬁ ABC Ⅳ strasse")
    assert list(zip(words(terms), terms.typed, strict=True)) == [("strasse", 7), ("fi", 3), ("abc", 3), ("iv", 3)]
