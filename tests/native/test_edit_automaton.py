"""The size of Sonic's automaton, and the words that it accepts, compared with the reference implementation in
tests/reference/sonic.py.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.edit_automaton import accepted, count_states
from tests.reference.sonic import automaton_reads, automaton_states
from tests.support.examples import examples

ENOUGH = 10_000


@settings(max_examples=examples(25), deadline=None)
@given(st.text("abc\u0434\u00e9\u4e2d\U00010428", max_size=9), st.integers(1, 3))
def test_as_many_as_the_twin(word: str, edits: int) -> None:
    counted, expected = count_states(word.encode(), edits, ENOUGH), automaton_states(word, edits)
    assert counted == expected or min(counted, expected) > ENOUGH


@settings(max_examples=examples(200), deadline=None)
@given(
    st.text("ab\u0434\u0435\u0440\u00e9\u4e2d\u4e2e\U00010428", max_size=9),
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1), st.text("a\u0434\u0440\u4e2d", max_size=1)), max_size=4),
)
def test_it_reads_the_words_that_the_twin_reads(word: str, edits: int, changes: list[tuple[int, int, str]]) -> None:
    candidates = [word]
    for at, gone, put in changes:
        last = candidates[-1]
        candidates.append(last[:at] + put + last[at + gone :])
    read = accepted(word.encode(), edits, [candidate.encode() for candidate in candidates])
    assert read == [candidate.encode() for candidate in candidates if automaton_reads(word, edits, candidate)]


def test_a_byte_leads_into_one_character() -> None:
    word, other = "\u043f\u0440\u0438\u0432\u0435\u0442", "\u043f\u0440\u0435\u0432\u0435\u0442"
    assert accepted(b"abc", 1, [b"abd", b"abc", b"axx", "\u00e9bc".encode()]) == [b"abd", b"abc", "\u00e9bc".encode()]
    assert accepted(word.encode(), 1, [other.encode(), word[:-1].encode()]) == []


def test_it_stops_when_there_are_enough() -> None:
    assert 100 < count_states(b"responsibility", 3, 100) < 1000
    assert count_states(b"x" * 100_000, 1, ENOUGH) > ENOUGH


@pytest.mark.parametrize(("word", "edits"), [(b"a", 0), (b"a", 4), (b"\xff", 1)])
def test_what_it_refuses(word: bytes, edits: int) -> None:
    with pytest.raises(ValueError, match=r"a distance is 1 to 3|a word is UTF-8"):
        count_states(word, edits, ENOUGH)
    with pytest.raises(ValueError, match=r"a distance is 1 to 3|a word is UTF-8"):
        accepted(word, edits, [])
    with pytest.raises(ValueError, match=r"a word is UTF-8"):
        accepted(b"a", 1, [b"\xff"])
