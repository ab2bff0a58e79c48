"""Rows of several words, decoded in one call."""

import pytest

from sonicpy._native.keys import word_key, word_keys
from sonicpy._native.term_rows import TermInfo, held_words, infos_of
from sonicpy._native.varint import DamagedBytes, pack_varints

LONG = b"w" * 600


def row(term_id: int, holders: int, hidden: int = 0) -> bytes:
    return pack_varints([term_id, holders, hidden, 0])


def test_each_term_gets_its_row_or_none() -> None:
    terms = [b"a", LONG, b"b", b"c"]
    assert word_keys(7, terms) == [word_key(7, term) for term in terms]
    found = infos_of(7, terms, [(word_key(7, LONG), row(1, 2)), (word_key(7, b"c"), row(3, 4))])
    assert [None if one is None else (one.term_id, one.df) for one in found] == [None, (1, 2), None, (3, 4)]
    assert infos_of(7, terms, []) == [None] * 4


def test_rows_of_others_are_refused() -> None:
    with pytest.raises(ValueError, match="1 rows are not those of 1 terms"):
        infos_of(7, [b"a"], [(word_key(8, b"a"), row(1, 1))])
    with pytest.raises(DamagedBytes, match="cut off"):
        infos_of(7, [b"a"], [(word_key(7, b"a"), b"\x01")])


def test_words_that_objects_hold() -> None:
    rows = [TermInfo(row(1, 2), 1), None, TermInfo(row(3, 0), 1), TermInfo(row(4, 2, hidden=2), 1)]
    words = [b"a", b"b", b"c", b"d"]
    assert [word for word, _ in held_words(words, rows, live=False)] == [b"a", b"d"]
    assert [word for word, _ in held_words(words, rows, live=True)] == [b"a"]
    with pytest.raises(ValueError, match="4 words need as many rows, not 3"):
        held_words(words, rows[:3], live=True)
