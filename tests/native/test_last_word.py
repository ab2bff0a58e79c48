"""`Terms.last`, the last word of a text, compared with the words of the text with a letter appended."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy.config import Config, StopwordsConfig
from sonicpy.index.search.packed_terms import pack_terms, unpack_terms
from sonicpy.lexer.lexer import Lexer
from tests.support.examples import examples

CONFIG = Config()
LEXER = Lexer(CONFIG.normalization, CONFIG.tokenization, CONFIG.stopwords, compat=False)
DROPS = Lexer(CONFIG.normalization, CONFIG.tokenization, StopwordsConfig(mode="drop"), compat=False)


def last(text: str, lexer: Lexer = LEXER) -> str | None:
    terms = lexer.lex(text, "eng")
    return terms.words[terms.last].decode() if terms.last >= 0 else None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("sunny wea", "wea"), ("sunny wea ", None), ("Sunny", "sunny"), ("", None), ("?!", None),
        ("wea, sunny.", None),
        ("john jo john", "john"), ("the", "the"), ("mail to Max.M@example.ne", "example.ne"),
        ("see 10.0.0.1", "10.0.0.1"),
        ("12-34", "34"), ("snake_cas", "snake_cas"), ("cafe\u0301", "café"), ("x\u200d", "x\u200d"),
        ("京都", "京都"), ("in 京都府", "京都府"), ("京都府 ", None), ("Stra\u00dfe", "strasse"),
        ("+49 30901 23", "23"),
    ],
)  # fmt: skip
def test_the_last_word(text: str, word: str | None) -> None:
    assert last(text) == word


def test_a_word_that_is_left_out_is_not_the_last() -> None:
    assert last("sunny the", DROPS) is None
    assert last("the sunny", DROPS) == "sunny"


@settings(deadline=None, max_examples=examples(150))
@given(st.text("aB1é \u0301.-_@中の+:/", max_size=9))
def test_the_last_word_is_the_one_that_letters_behind_it_change(text: str) -> None:
    terms = LEXER.lex(text, "none")
    if terms.last < 0:
        return
    longer = LEXER.lex(text + "q", "none")
    gone = set(terms.words) - set(longer.words)
    assert terms.words[terms.last] in gone or terms.counts[terms.last] > 1 or "中" in text or "の" in text


@given(st.text("aB1 中", max_size=9))
def test_nodes_hear_which_word_is_the_last(text: str) -> None:
    terms = LEXER.lex(text, "none")
    packed = unpack_terms(pack_terms(terms))
    assert (packed, packed.last) == (terms, terms.last)
