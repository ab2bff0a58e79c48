"""Tests of sonicpy._native.nearest: the corrections that are returned, and the rows that are read, compared with a
reference implementation.
"""

from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.nearest import held_beginnings, likeliest_first, likeliest_misspelt, most_frequent, nearest_held
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.varint import pack_varints

WORTH = 4.0
WORDS = st.lists(st.text("abcd", min_size=1, max_size=5).map(str.encode), unique=True, max_size=12)


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[tuple[bytes, int]], dict[bytes, TermInfo]]:
    words = draw(WORDS)
    distances = sorted(draw(st.integers(1, 3)) for _ in words)
    rows = {
        word: TermInfo(pack_varints((1, df, draw(st.integers(0, df)), 0)), len(word))
        for word in words
        if (df := draw(st.integers(0, 4)))
    }
    return list(zip(words, distances, strict=True)), rows


@given(
    questions(), st.integers(1, 8), st.sets(st.integers(0, 12)), st.booleans(), st.integers(0, 12), st.integers(0, 9)
)
def test_the_nearest_are_those_of_the_twin(
    asked: tuple[list[tuple[bytes, int]], dict[bytes, TermInfo]],
    wanted: int,
    left_out: set[int],
    live: bool,
    examined: int,
    compared: int,
) -> None:
    matches, rows = asked
    besides = {word for number, (word, _) in enumerate(matches) if number in left_out}
    read: list[bytes] = []

    def words_of(words: list[bytes]) -> list[TermInfo | None]:
        read.extend(words)
        return [rows.get(word) for word in words]

    found = nearest_held(
        words_of, b"abc", matches, wanted, besides, live=live, examined=examined, compared=compared, letter_worth=WORTH
    )
    left = [match for match in matches if match[0] not in besides][:examined]
    expected: list[tuple[bytes, TermInfo, int]] = []
    needed = 0
    for distance in sorted({its for _, its in left}):
        group = [word for word, its in left if its == distance]
        needed = max(needed, sum(its <= distance for _, its in left))
        held = [word for word in group if word in rows and (rows[word].live if live else rows[word].df)]
        order = likeliest_first(b"abc", held, [rows[word].df for word in held], compared, WORTH)
        expected += [(held[place], rows[held[place]], distance) for place in order]
        if len(expected) >= wanted:
            break
    assert found == expected
    assert read == [word for word, _ in left[: len(read)]]
    assert len(read) >= needed


HOLDERS = st.integers(0, 3) | st.integers(250, 260)


@given(st.lists(st.tuples(st.text("abé", min_size=1, max_size=4), HOLDERS), unique_by=lambda each: each[0]))
def test_the_most_frequent_beginnings(drawn: list[tuple[str, int]]) -> None:
    words = [word.encode() for word, _ in drawn]
    rows = [TermInfo(pack_varints((1, df, 0, 0)), len(word)) for word, df in drawn]
    found = [(word, row, 0) for word, row in zip(words, rows, strict=True) if row.df]
    ordered = sorted(found, key=lambda each: (-each[1].df, each[0]))
    for most in range(len(found)):
        assert most_frequent(found, most) == ordered[:most]
        assert held_beginnings(words, rows, None, False, most) == ordered[:most]
    assert most_frequent(found, len(found)) is found
    assert held_beginnings(words, rows, None, False, len(found)) == found


@given(
    st.dictionaries(st.text("abcd", min_size=1, max_size=5), st.tuples(st.integers(1, 4), st.integers(0, 3))),
    st.sets(st.text("abcd", max_size=2)),
    st.integers(0, 9),
)
def test_misspelt_beginnings_come_by_their_errors_and_the_likeliest_first(
    drawn: dict[str, tuple[int, int]], left_out: set[str], compared: int
) -> None:
    found = [
        (word.encode(), TermInfo(pack_varints((1, df, 0, 0)), len(word)), errors)
        for word, (df, errors) in drawn.items()
    ]
    taken = {word.encode() for word in left_out}
    expected = []
    for errors in (1, 2, 3):
        near = sorted((each for each in found if each[2] == errors and each[0] not in taken), key=lambda each: each[0])
        holders = [row.df for _, row, _ in near]
        places = likeliest_first(b"abca", [word for word, _, _ in near], holders, compared, WORTH)
        expected += [near[place] for place in places]
    assert likeliest_misspelt(b"abca", found, taken, compared, WORTH) == expected
