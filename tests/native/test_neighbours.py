"""The words that neighbours in a query make together, compared with a reference implementation."""

from hypothesis import example, given
from hypothesis import strategies as st

from sonicpy._native.neighbours import words_together
from sonicpy._native.terms import PART, STOP, Terms
from tests.reference import neighbours

WORDS = st.one_of(
    st.sampled_from(
        [
            "foo",
            "iphone",
            "15",
            "7",
            "2024",
            "foo.bar",
            "a_b",
            "京",
            "京都",
            "é",
            "x",
            "covid-19",
            "c++",
            "сша",
            "oneal",
            "пять",
            "вяювя",
            "v14",
            "tüv",
            "צה",
        ]
    ),
    st.text("ab1.", min_size=1, max_size=6),
).map(str.encode)
FLAGS = st.sampled_from([0, 0, 0, STOP, PART, PART | STOP])


@example([(b"v14", 0), (b"15", 0), (b"7", 0)])
@given(st.lists(st.tuples(WORDS, FLAGS), max_size=11, unique_by=lambda each: each[0]))
def test_the_words_are_those_of_the_twin(asked: list[tuple[bytes, int]]) -> None:
    words, flags = [word for word, _ in asked], bytes(each for _, each in asked)
    terms = Terms(words, bytes([1] * len(words)), flags)
    assert words_together(terms) == neighbours.words_together(terms)


def test_a_sentence_has_none() -> None:
    words = [f"w{number}x".encode() for number in range(9)]
    assert words_together(Terms(words, bytes([1] * 9), bytes(9))) == {}
    assert words_together(Terms(words, bytes([1] * 9), bytes([PART] + [0] * 8))) != {}
