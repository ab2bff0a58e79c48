"""The order of corrections by likelihood: the native order compared with a reference implementation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.nearest import likeliest_first
from tests.graph.graphs import ALPHABETS
from tests.reference import word_graph as reference

WORTH = 4.0


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, list[str], list[int], int]:
    letters = draw(st.sampled_from(sorted(ALPHABETS.values())))
    words = draw(st.lists(st.text(letters, min_size=1, max_size=12), unique=True, max_size=12))
    holders = [draw(st.sampled_from([0, 1, 2, 7, 55, 10**9])) for _ in words]
    return draw(st.text(letters, max_size=12)), words, holders, draw(st.integers(0, 14))


@given(questions())
def test_the_order_is_that_of_the_twin(asked: tuple[str, list[str], list[int], int]) -> None:
    typed, words, holders, compared = asked
    encoded = [word.encode() for word in words]
    found = likeliest_first(typed.encode(), encoded, holders, compared, WORTH)
    assert found == reference.likeliest_first(typed, words, holders, compared, WORTH)


def test_letters_kept_count_more_than_holders() -> None:
    words = [b"wether", b"weather", b"leather"]
    assert likeliest_first(b"weathr", words, [50, 2, 90], 60, WORTH) == [1, 0, 2]
    assert likeliest_first(b"weathr", words, [50, 2, 90], 1, WORTH) == [2, 0, 1]


def test_the_longest_words() -> None:
    long = "é" * 60
    assert likeliest_first(long.encode(), [b"e", long[1:].encode()], [9, 1], 60, WORTH) == [1, 0]


@pytest.mark.parametrize(
    ("typed", "words", "holders"),
    [(b"a" * 61, [b"a", b"b"], [1, 1]), (b"\xff", [b"a", b"b"], [1, 1]), (b"a", [b"a", b"\xc3"], [1, 1]),
     (b"a", [b"", b"b"], [1, 1]), (b"a", [b"a"], [])],
)  # fmt: skip
def test_what_is_refused(typed: bytes, words: list[bytes], holders: list[int]) -> None:
    with pytest.raises(ValueError):
        likeliest_first(typed, words, holders, 60, WORTH)
