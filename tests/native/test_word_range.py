"""Tests of sonicpy._native.word_range: the likely words of a prefix and of longer ones, compared with a check of every
row.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.keys import term_key, word_key
from sonicpy._native.varint import DamagedBytes, pack_varints
from sonicpy._native.word_range import WordRange

BUCKET = 7
WORDS = st.lists(st.sampled_from((b"a", b"b", b"\xc3\xa9", b"zz", b"c" * 39)), min_size=1, max_size=4).map(b"".join)
ROWS = st.dictionaries(WORDS, st.tuples(st.integers(1, 9), st.integers(0, 9), st.booleans()), max_size=60)
"""Word -> (number of objects that hold it, number of those that hold it only as a stop word, whether it is common)."""
Held = dict[bytes, tuple[int, int, bool]]


def rows_of(held: Held) -> list[tuple[bytes, bytes]]:
    return [
        (word_key(BUCKET, word), pack_varints((number,) if common else (number, df, min(df, hidden), 0)))
        for number, (word, (df, hidden, common)) in enumerate(sorted(held.items()))
    ]


def common_rows(held: Held) -> list[tuple[bytes, bytes]]:
    return [
        (term_key(BUCKET, number), pack_varints((number, df, min(df, hidden), 3)))
        for number, (_, (df, hidden, common)) in enumerate(sorted(held.items()))
        if common
    ]


def range_of(held: Held, prefix: bytes, most: int) -> WordRange:
    rows = [row for row in rows_of(held) if row[0] >= word_key(BUCKET, prefix)]
    made = WordRange(iter(rows), word_key(BUCKET, prefix), most)
    if made.common is not None:
        wanted = made.common
        made.take_common([row for row in common_rows(held) if row[0] in wanted])
    return made


@given(
    ROWS, st.sampled_from((b"", b"a", b"\xc3\xa9")), st.integers(0, 70), WORDS, st.integers(0, 40), st.integers(0, 70)
)
def test_words_are_those_of_all_rows(
    held: Held, prefix: bytes, most: int, more: bytes, limit: int, examined: int
) -> None:
    words = range_of(held, prefix, most)
    inside = [word for word in sorted(held) if word.startswith(prefix)]
    assert len(words) == min(len(inside), most)
    for asked in (prefix, prefix + more, prefix + more[:1]):
        found = words.likely(asked, limit, examined)
        behind = [word for word in sorted(held) if word.startswith(asked)]
        seen = [word for word in inside[:most] if word.startswith(asked)]
        if found is None:  # it may only give up where more rows could matter
            assert most <= len(inside)
            assert len(seen) < examined
            assert not any(word > asked and not word.startswith(asked) for word in inside[:most])
            continue
        live = [word for word in behind[:examined] if held[word][0] > held[word][1] and len(word) <= 40]
        live.sort(key=lambda word: (word != asked, -held[word][0], len(word), word))
        assert found == live[:limit]


def test_a_row_behind_the_prefix_is_the_last_one_taken() -> None:
    rows = iter(rows_of({word: (1, 0, False) for word in (b"aa", b"ab", b"b", b"c")}))
    assert len(WordRange(rows, word_key(BUCKET, b"a"), 9)) == 2
    assert next(rows)[0] == word_key(BUCKET, b"c")


def test_damaged_rows_are_refused() -> None:
    key = word_key(BUCKET, b"aa")
    with pytest.raises(DamagedBytes, match="cut off"):
        WordRange([(key, pack_varints((1, 2)))], key, 9)
    for common, reason in (
        ([], "missing"),
        ([(term_key(BUCKET, 2), pack_varints((1, 2, 0, 3)))], "missing"),
        ([(term_key(BUCKET, 1), pack_varints((2, 2, 0, 3)))], "that of 2"),
        ([(term_key(BUCKET, 1), b"")], "cut off"),
        ([(term_key(BUCKET, 1), pack_varints((1, 2)))], "cut off"),
    ):
        words = WordRange([(key, pack_varints((1,)))], key, 9)
        assert words.common == [term_key(BUCKET, 1)]
        with pytest.raises(DamagedBytes, match=reason):
            words.take_common(common)
