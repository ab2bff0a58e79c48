"""Tests of highlighting: the marked places are the words that the lexer cuts, in every script and spelling."""

import time
import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy import Explanation, Index, highlight
from sonicpy.api.explanation import Alternate, Term
from sonicpy.api.highlighting import spans
from sonicpy.config import Config
from sonicpy.errors import InvalidArgument
from sonicpy.index.search.explain import analysis
from sonicpy.lexer.lexer import Lexer
from sonicpy.rules import NEWEST
from tests.index.shorthand import B, C, open_index, push
from tests.support.patience import is_below

CASES = [
    ("weather", "The WEATHER, weathering weather's", "The [WEATHER], weathering weather's", "whole words, any case"),
    ("nant", "Nantes and nant", "[Nantes] and [nant]", "completed"),
    ("wether", "the weather", "the [weather]", "corrected"),
    ("the weather", "the weather", "the [weather]", "stop words only add"),
    ("the", "the weather", "[the] weather", "unless there is nothing else"),
    ("strasse", "Hauptstraße, Straße, STRASSE", "Hauptstraße, [Straße], [STRASSE]", "sharp s"),
    ("Straße", "STRASSE!", "[STRASSE]!", "sharp s, the other way"),
    ("café", "Un cafe\u0301 noir", "Un [cafe\u0301] noir", "composed and decomposed"),
    ("ｆｕｌｌ", "full ＦＵＬＬ", "[full] [ＦＵＬＬ]", "full width"),
    ("fisch", "ﬁsch", "[ﬁsch]", "a ligature"),
    ("οδος", "ΟΔΟΣ οδός", "[ΟΔΟΣ] οδός", "final sigma"),
    ("東京", "私は東京都に住む", "私は[東京]都に住む", "a pair inside a sentence"),
    ("東京都", "東京都と京都", "[東京都]と[京都]", "pairs that overlap are one place"),
    ("カタカナ", "ﾊﾝｶｸｶﾀｶﾅ", "ﾊﾝｶｸ[ｶﾀｶﾅ]", "half-width kana"),
    ("ガス", "ｶﾞｽとガス", "[ｶﾞｽ]と[ガス]", "voiced half-width kana"),
    ("ภาษา", "เรียนภาษาไทย", "เรียน[ภาษา]ไทย", "Thai"),
    ("서울", "서울 서울에", "[서울] 서울에", "Korean is written with blanks"),
    ("example.org", "l'example.org, max@example.org", "l'[example.org], max@[example.org]", "inside another piece"),
    ("l", "l'example.org", "[l]'example.org", "but no letter of a word"),
    ("abc123", "ABC123 abc1234", "[ABC123] abc1234", "identifiers are folded"),
    ("דבר", "דבר וַדָּבָר", "[דבר] וַדָּבָר", "marks count unless they are folded"),
    ("o'neill", "O'Neill O’Neill", "[O'Neill] O’Neill", "an apostrophe belongs to its word"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with open_index(tmp_path_factory.mktemp("highlight"), search__query_alternates_try=4) as opened:
        push(opened, "o", "weather Nantes the", "eng")
        push(opened, "o2", "カタカナ", "jpn")  # so that its pairs find something, and its letters need not
        yield opened


@pytest.mark.parametrize(("question", "text", "expected", "why"), CASES, ids=[why for *_, why in CASES])
def test_marks(index: Index, question: str, text: str, expected: str, why: str) -> None:
    explained = index.explain(C, B, question, lang="eng")
    assert highlight(text, explained, before="[", after="]") == expected


def test_escaping(index: Index) -> None:
    explained = index.explain(C, B, "weather", lang="none")
    text = "<b>weather & wind</b>"
    assert highlight(text, explained) == "<b><mark>weather</mark> & wind</b>"
    assert highlight(text, explained, escape=True) == "&lt;b&gt;<mark>weather</mark> &amp; wind&lt;/b&gt;"


def test_an_explanation_from_elsewhere_marks_the_same(index: Index) -> None:
    explained = Explanation.from_json(index.explain(C, B, "wether nant", lang="none").to_json())
    assert spans("Weather in Nantes", explained) == [(0, 7), (11, 17)]


@pytest.mark.parametrize("text", ["", "[]", "{}", pytest.param("[" * 100_000, id="deep")])
def test_other_json_than_that_of_an_explanation(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        Explanation.from_json(text)


def test_other_arguments_are_told_in_a_sentence(index: Index) -> None:
    push(index, "o", "the weather")
    with pytest.raises(
        InvalidArgument, match="^explanation is of type str; allowed is a result of `explain` of an index or"
    ):
        highlight("the weather", "weather")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="^text is of type NoneType; allowed is a str"):
        highlight(None, index.explain(C, B, "weather"))  # type: ignore[arg-type]


def test_nothing_to_mark(index: Index) -> None:
    assert spans("", index.explain(C, B, "weather")) == []
    assert spans("weather", index.explain(C, B, "...")) == []
    assert spans("\ud800 weather \ud800", index.explain(C, B, "weather")) == [(2, 9)]


@pytest.mark.parametrize(
    ("settings", "question", "text", "expected"),
    [
        ({"normalization__diacritic_folding_enabled": True}, "cafe", "Café cafe\u0301", "[Café] [cafe\u0301]"),
        ({"normalization__diacritic_folding_enabled": True}, "דבר", "וַדָּבָר דָּבָר", "[וַדָּבָר] [דָּבָר]"),
        ({"normalization__stemming_enabled": True}, "running", "He runs, running", "He [runs], [running]"),
        ({"normalization__unicode_normalization": "none"}, "café", "Café cafe\u0301", "[Café] [cafe\u0301]"),
        (
            {"normalization__unicode_normalization": "none", "search__stemming": "off"},
            "café",
            "Café cafe\u0301",
            "[Café] cafe\u0301",
        ),
        ({"tokenization__compat_split_special_patterns": False}, "max@b.de", "Max@B.de b.de", "[Max@B.de] b.de"),
        ({"tokenization__compat_split_special_patterns": False}, "0612345678", "06 12 34 56 78!", "[06 12 34 56 78]!"),
        ({"server__compat": "sonic"}, "Weather ABC123", "weather ABC123 abc123", "[weather] [ABC123] abc123"),
        ({"server__compat": "sonic"}, "東", "東京", "[東]京"),
    ],
)
def test_settings(tmp_path: Path, settings: dict[str, object], question: str, text: str, expected: str) -> None:
    with open_index(tmp_path, **settings) as index:
        push(index, "o", text, "eng")
        explained = index.explain(C, B, question, lang="eng")
    assert highlight(text, explained, before="[", after="]") == expected


PIECES = [
    *"aAßẞéÉﬁſŉǰ１ａＡ1.'@_- :/,東京都カタがภาษาİiΣςσ한\U0001f600ל", "e\u0301", "ｶﾀ", "က္က", "\u1112\u1161\u11ab",
    "a\u200db",
]  # fmt: skip
"""Characters of which texts are made. Marks belong to letters; the dictionary of Japanese sometimes makes a word of a
lone mark, so such marks are ignored.
"""
LEXER = Lexer(Config().normalization, Config().tokenization, Config().stopwords, compat=False)


def terms_of(text: str) -> set[str]:
    return {word.decode() for word in LEXER.lex(text, "none").words}


@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join), st.data())
def test_marked_is_what_the_lexer_cuts(text: str, data: st.DataObject) -> None:
    """Every marked place is one of the words, and every word in the text has a place, unless it begins with a mark or a
    joining sign that is cut off a run without blanks.
    """
    terms = {word for word in terms_of(text) if unicodedata.category(word[0])[0] not in "MP"}
    words = data.draw(st.sets(st.sampled_from(sorted(terms)))) if terms else set()
    explained = asking(words)
    found = spans(text, explained)
    assert all(start < end for start, end in found) and all(one[1] <= other[0] for one, other in pairwise(found))
    for start, end in found:
        assert terms_of(text[start:end]) & words, (text, text[start:end])
    if words:
        assert found, (text, words)
    assert highlight(text, explained, before="", after="") == text
    assert highlight(text, explained).count("<mark>") == len(found)


def asking(words: set[str]) -> Explanation:
    """Return an explanation of a query with these words, the last of which was found in place of another word."""
    listed = sorted(words)
    other = tuple(Alternate(word, "correction", 1, 1, 1, 1.0) for word in listed[-1:])
    terms = [Term(word, "searched", None, 1, 1, 1.0, (), None) for word in listed[:-1]]
    terms.append(Term("unknownword", "searched", None, 0, 0, 1.0, other, None))
    return Explanation(
        "c",
        "b",
        "",
        "bm25",
        1,
        None,
        analysis(Config(), NEWEST),
        tuple(terms),
        0,
        (),
        0,
        False,  # type: ignore[arg-type]
    )


def test_marked_are_the_words_of_a_query_and_those_in_their_place() -> None:
    marked = "<mark>a</mark> <mark>b</mark> <mark>unknownword</mark> c"
    assert highlight("a b unknownword c", asking({"b", "a"})) == marked


@pytest.mark.parametrize("unit", ["weather ", "東京", "カ", "a\u0301", "a.", "l'", "\u0301", "x@y.z "])
def test_time_is_linear(unit: str, index: Index) -> None:
    """The time limit holds for every text of 30,000 characters."""
    text = unit * (30_000 // len(unit))
    question = f"{unit} weather"
    explained = index.explain(C, B, question, lang="none")
    began = time.thread_time()
    spans(text, explained)
    assert is_below(time.thread_time() - began, 5.0)


def test_every_hit_of_a_page_is_marked(tmp_path: Path) -> None:
    """More words complete the typed letters than an explanation shows alternates of one word."""
    words = [f"ma{letter * 3}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    with open_index(tmp_path, search__query_alternates_try=4) as index:
        for word in words:
            push(index, word, word)
        explained = index.explain(C, B, "ma", limit=26)
        assert len(explained.hits) == 26
        assert all(highlight(hit.object, explained) == f"<mark>{hit.object}</mark>" for hit in explained.hits)
