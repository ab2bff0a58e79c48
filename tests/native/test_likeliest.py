"""Which of several corrections is the likelier one, held against its formula in Python and rapidfuzz."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from sonicpy._native.corrector import likeliest_first
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.varint import pack_varints
from sonicpy.index.search.lexicon import LETTER_WORTH

words = st.text("aabbcdé日𝄞", min_size=1, max_size=70)


def info(holders: int) -> TermInfo:
    return TermInfo(pack_varints([1, holders, 0, 0]), 1)


def twin(typed: bytes, found: list[tuple[bytes, TermInfo]]) -> list[bytes]:
    letters = typed.decode()

    def key(pair: tuple[bytes, TermInfo]) -> tuple[float, int, bytes]:
        word = pair[0].decode()
        unlikeness = LETTER_WORTH * ((letters[0] != word[0]) - LCSseq.similarity(letters, word))
        different = len(set(typed) ^ set(pair[0]))
        return unlikeness - log(max(pair[1].df, 1)), 2 * different + (typed[:1] != pair[0][:1]), pair[0]

    return [word for word, _ in sorted(found, key=key)]


@given(words.filter(lambda word: len(word) <= 64), st.dictionaries(words, st.integers(0, 5), max_size=12))
def test_as_the_formula_says(typed: str, holders: dict[str, int]) -> None:
    found = [(word.encode(), info(count)) for word, count in holders.items()]
    assert [word for word, _ in likeliest_first(typed.encode(), found, LETTER_WORTH)] == twin(typed.encode(), found)


@pytest.mark.parametrize("typed", ["", "a" * 65])
def test_other_lengths_are_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="1 to 64 characters"):
        likeliest_first(typed.encode(), [(b"a", info(1))], LETTER_WORTH)
