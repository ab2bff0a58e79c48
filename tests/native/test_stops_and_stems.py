"""Stop words, stems and counts of the terms of a text."""

import pytest

from sonicpy._native.stop_set import StopSet
from sonicpy._native.terms import SPECIAL, STOP, Terms
from tests.native.analyzing import DEFAULT, DEFAULT_PLAIN, analyze, words

STOPS = StopSet([b"the", b"strasse", b"12", b"run"])

STOPPED = [
    ("the fox", False, [("the", STOP), ("fox", 0)], "flagged"),
    ("the fox", True, [("fox", 0)], "dropped"),
    ("THE Straße", False, [("the", STOP), ("strasse", STOP)], "compared folded"),
    ("THE Straße fox", True, [("fox", 0)], "dropped folded"),
    ("the-12", False, [("the", SPECIAL), ("12", SPECIAL)], "special words are no stop words"),
    ("the-12", True, [("the", SPECIAL), ("12", SPECIAL)], "nor dropped"),
    ("the x the-12", True, [("x", 0), ("the", SPECIAL), ("12", SPECIAL)], "the special one stays"),
]


@pytest.mark.parametrize(("text", "drop", "expected", "why"), STOPPED)
def test_stop_words_are_flagged_or_dropped(text: str, drop: bool, expected: list[tuple[str, int]], why: str) -> None:
    terms = analyze(DEFAULT, text, STOPS, drop)
    assert list(zip(words(terms), terms.flags, strict=True)) == expected, why


def test_a_word_that_also_occurs_in_a_pattern_is_no_stop_word() -> None:
    """A word is a stop word of an object only if it is one at all its places, as with two texts that are pushed one
    after the other.
    """
    apart = analyze(DEFAULT, "the-12", STOPS).flags
    together = analyze(DEFAULT, "the x the-12", STOPS)
    assert words(together) == ["the", "x", "12"]
    assert not together.flags[0] & STOP, "dropping would keep this word, flagging must not hide it"
    assert apart == bytes((SPECIAL, SPECIAL))


def test_stop_words_are_found_before_stemming() -> None:
    terms = analyze(DEFAULT, "run running", STOPS, True, lambda word: word.removesuffix("ning"))
    assert words(terms) == ["run"], "'run' is dropped as it stands, 'running' is stemmed to it afterwards"


def test_a_stem_shared_with_a_stop_word_is_no_stop_word() -> None:
    terms = analyze(DEFAULT, "run running", STOPS, False, lambda word: word.removesuffix("ning"))
    assert words(terms) == ["run"]
    assert terms.flags == b"\x00", "an ordinary word gives the same term"


def test_special_words_are_not_stemmed() -> None:
    terms = analyze(DEFAULT, "running running-12", None, False, lambda word: word[:3])
    assert words(terms) == ["run", "running", "12"]


def test_a_word_whose_stem_is_empty_gives_no_term() -> None:
    assert words(analyze(DEFAULT, "gone stays", None, False, lambda word: word.removeprefix("gone"))) == ["stays"]


def test_stems_may_be_longer_than_their_words() -> None:
    terms = analyze(DEFAULT, "a b " * 40, None, False, lambda word: word * 300)
    assert words(terms) == ["a" * 300, "b" * 300]


@pytest.mark.parametrize(("times", "count"), [(1, 1), (254, 254), (255, 255), (256, 255), (1000, 255)])
def test_counts_end_at_255(times: int, count: int) -> None:
    assert analyze(DEFAULT, "word " * times).counts == bytes((count,))


def test_terms_are_in_the_order_of_their_first_occurrence() -> None:
    text = " ".join(f"w{number % 700}x" for number in range(3000))
    assert words(analyze(DEFAULT_PLAIN, text)) == [f"w{number}x" for number in range(700)]
    assert words(analyze(DEFAULT, "b a-1 a b c 1")) == ["b", "a", "1", "c"]


def test_terms_need_as_many_counts_and_flags_as_words() -> None:
    with pytest.raises(ValueError, match="2 words need as many counts and flags"):
        Terms([b"a", b"b"], b"\x01", b"\x00\x00")
