"""Tests of sonicpy._native.completions: the likely words of several parts, compared with dictionaries."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.completions import likely_of_all, pack_completions
from sonicpy._native.keys import word_key
from sonicpy._native.varint import DamagedBytes, pack_varints

PREFIX = b"a"
Part = dict[bytes, tuple[int, int]]
"""Word -> (number of objects that hold it, number of those that hold it only as a stop word)."""
LONG = (b"b" * 39, b"b" * 40, b"b" * 49, b"b" * 50, b"\xc3\xa9" * 20, b"\xc3\xa9" * 49, b"\xf0\x9f\x98\x80" * 40)
"""Endings of words near the greatest length that is shown."""
WORDS = st.lists(st.sampled_from((b"a", b"b", b"\xc3\xa9", b"zz")), max_size=4).map(b"".join).map(PREFIX.__add__)
PARTS = st.lists(
    st.dictionaries(WORDS | st.sampled_from(LONG).map(PREFIX.__add__), st.tuples(st.integers(1, 9), st.integers(0, 9))),
    max_size=4,
)


def packed(part: Part, *, letters: bool) -> bytes:
    held = sorted(part.items())
    rows = [(word_key(1, word), pack_varints((7, df, min(df, hidden), 0))) for word, (df, hidden) in held]
    return pack_completions(rows, len(word_key(1, PREFIX)), letters=letters)


def is_shown(word: bytes, *, letters: bool) -> bool:
    """Return whether a word is short enough, in buckets of the newest rules or of those of version 1.0."""
    return len(word) <= 160 and len(word.decode()) <= 50 if letters else len(word) <= 40


@given(PARTS, st.integers(0, 6), st.integers(0, 12), st.booleans())
def test_words_are_those_of_one_part_with_all_objects(
    parts: list[Part], limit: int, examined: int, letters: bool
) -> None:
    held: Counter[bytes] = Counter()
    hidden: Counter[bytes] = Counter()
    for part in parts:
        held.update({word: df for word, (df, _) in part.items()})
        hidden.update({word: min(df, only) for word, (df, only) in part.items()})
    live = [word for word in sorted(held)[:examined] if held[word] > hidden[word] and is_shown(word, letters=letters)]
    live.sort(key=lambda word: (word != PREFIX, -held[word], len(word), word))
    assert likely_of_all([packed(part, letters=letters) for part in parts], PREFIX, limit, examined) == live[:limit]


def test_what_is_cut_off_is_refused() -> None:
    whole = packed({b"ab": (1, 0), b"ac": (300, 2)}, letters=True)
    for size in range(len(whole)):
        with pytest.raises(DamagedBytes):
            likely_of_all([whole[:size]], PREFIX, 5, 5)
