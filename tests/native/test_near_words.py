"""The similar words are those that a comparison with each word finds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.letter_folding import Folding
from sonicpy._native.word_source import SortedWords
from sonicpy._native.word_text import NearWords
from sonicpy._native.word_walks import find_words
from tests.reference import word_walks
from tests.support.examples import examples

ALPHABET = "abcdAB!é世界\U0001d4b3"
"""The letters of words; some are equal modulo 32."""

written = st.text(ALPHABET, min_size=1, max_size=9)


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(written, max_size=30), written, st.integers(0, 3), st.booleans())
def test_near_words_are_those_that_comparing_finds(words: list[str], typed: str, distance: int, swaps: bool) -> None:
    near = NearWords()
    for start in range(0, len(words), 7):
        near.add([word.encode() for word in words[start : start + 7]])
    assert len(near) == len(words)
    found = near.find(typed.encode(), distance, swaps=swaps)
    walked = SortedWords([word.encode() for word in words])
    assert found == find_words([walked], [typed.encode()], Folding({}), distance=distance, swaps=swaps)
    if swaps:
        expected = word_walks.find_words(set(words), typed, {}, distance, begins=False)
        assert {word.decode(): its for word, its in found.items()} == expected


def test_long_words() -> None:
    near = NearWords()
    near.add([b"a" * 384, b"b" * 385, b"c" * 60, b"c" * 61])
    assert len(near) == 3
    assert near.find(b"c" * 60, 1) == {b"c" * 60: 0, b"c" * 61: 1}
    assert near.find(b"c" * 61, 1) == {}
    assert near.find(b"a" * 60, 3) == {}


def test_refused() -> None:
    near = NearWords()
    with pytest.raises(ValueError, match="0 to 3"):
        near.find(b"a", 4)
    with pytest.raises(ValueError, match="UTF-8"):
        near.find(b"\xff", 1)
