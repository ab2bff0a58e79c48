"""The size of Sonic's automaton, by the slow twin in tests/reference/sonic.py."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.edit_automaton import count_states
from tests.reference.sonic import automaton_states

ENOUGH = 10_000


@settings(max_examples=25, deadline=None)
@given(st.text("abc\u0434\u00e9\u4e2d\U00010428", max_size=9), st.integers(1, 3))
def test_as_many_as_the_twin(word: str, edits: int) -> None:
    counted, expected = count_states(word.encode(), edits, ENOUGH), automaton_states(word, edits)
    assert counted == expected or min(counted, expected) > ENOUGH


def test_it_stops_when_there_are_enough() -> None:
    assert 100 < count_states(b"responsibility", 3, 100) < 1000
    assert count_states(b"x" * 100_000, 1, ENOUGH) > ENOUGH


@pytest.mark.parametrize(("word", "edits"), [(b"a", 0), (b"a", 4), (b"\xff", 1)])
def test_what_it_refuses(word: bytes, edits: int) -> None:
    with pytest.raises(ValueError, match=r"a distance is 1 to 3|a word is UTF-8"):
        count_states(word, edits, ENOUGH)
