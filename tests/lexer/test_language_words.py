"""Words as evidence for a language, checked against a plain search of every list."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.lexer.language_words import LISTED_SHARE, LanguageWords
from sonicpy.lexer.languages import LANGUAGES
from sonicpy.lexer.spaced_words import SHARED_SCRIPTS, spaced
from sonicpy.lexer.stopwords import StopWords

STOP_WORDS = StopWords()
WORDS = LanguageWords()
LISTS = {
    language.code: {spaced(word) for word in STOP_WORDS.guess_words(language.code)} - {"  "}
    for language in LANGUAGES
    if SHARED_SCRIPTS & set(language.scripts)
}


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("The CAT", " the cat ", "case"),
        ("don't", " don t ", "an apostrophe parts words"),
        ("  a -- b_c 7d ", " a b c d ", "so does all that is no letter"),
        ("yoʻq", " yo q ", "also the letter that stands for an apostrophe in Uzbek"),
        ("पहिले रं", " पहिले रं ", "marks stay with their letter"),
        ("נאָר", " נאָר ", "marks stay with their letter"),
        ("", "  ", "nothing"),
    ],
)
def test_spaced(text: str, expected: str, why: str) -> None:
    assert spaced(text) == expected, why


def test_only_whole_words_count() -> None:
    assert ("eng", math.log(LISTED_SHARE / len(LISTS["eng"]))) in WORDS.evidence("the")
    assert "eng" not in dict(WORDS.evidence("thex bxthe"))


def test_neighbours_share_the_blank_between_them() -> None:
    assert [code for code, _ in WORDS.evidence("the the the")].count("eng") == 3


def test_a_language_alone_in_its_script_has_no_evidence() -> None:
    assert WORDS.evidence("在 的 了 これ และ") == []


SOME_WORDS = sorted(word for words in LISTS.values() for word in words)[::40]


@given(st.lists(st.sampled_from(SOME_WORDS) | st.text(max_size=6), max_size=12).map("".join))
def test_evidence_agrees_with_a_plain_search(text: str) -> None:
    line = spaced(text)
    blanks = [place for place, char in enumerate(line) if char == " "]
    pieces = [line[start : end + 1] for start, end in itertools.combinations(blanks, 2)]
    expected = [
        (code, math.log(LISTED_SHARE / len(words)))
        for code, words in LISTS.items()
        for piece in pieces
        if piece in words
    ]
    assert sorted(WORDS.evidence(text)) == sorted(expected)
