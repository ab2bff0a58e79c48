"""Tests of quoted texts: they are read back as equal words; pieces fit, lose nothing, and end between words if
possible.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.quoting import take_text
from sonicpy.channel.quoting import SMALLEST_ROOM, quoted, quoted_pieces

UNICODE = st.characters(exclude_categories=["Cs"])
AWKWARD = st.text(st.one_of(st.sampled_from('"\\ \n\r\tn ab\u00a0\u3000\u0301\u200d'), UNICODE), max_size=300)
WHITE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")


def read(piece: str) -> str | None:
    text, offset = take_text(piece.encode(), 0)
    assert offset == len(piece.encode())
    return text


def as_read(text: str) -> str:
    """Return the text as a server reads it: line breaks escaped, white space as one blank, backslashes doubled."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\\", "\\\\")
    parts = re.split("(\n)", text)
    return "".join(part if part == "\n" else WHITE.sub(" ", part) for part in parts)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("hello", '"hello"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("C:\\new", '"C:\\\\new"'),
        ("ends in \\", '"ends in \\\\"'),
        ("one\ntwo\r\nthree\rfour", '"one\\ntwo\\nthree\\nfour"'),
        ("", '"\\n"'),
        (" \t", '"\\n"'),
    ],
)
def test_escapes(text: str, line: str) -> None:
    assert quoted(text) == line


@given(AWKWARD)
def test_what_is_quoted_is_read_again(text: str) -> None:
    line = quoted(text)
    assert "\n" not in line
    assert "\r" not in line
    got = read(line)
    assert got is not None
    assert got.strip() == as_read(text).strip()


@given(AWKWARD)
def test_meta_arguments_behind_a_text_stay_apart(text: str) -> None:
    line = f"{quoted(text)} LANG(none)"
    got, offset = take_text(line.encode(), 0)
    assert got is not None
    assert line.encode()[offset:].split() == [b"LANG(none)"]


@given(st.lists(AWKWARD, max_size=8).map("".join), st.integers(SMALLEST_ROOM, 400))
def test_pieces_fit_and_lose_nothing(text: str, room: int) -> None:
    pieces = list(quoted_pieces(text, room))
    assert pieces
    assert all(len(piece.encode()) <= room for piece in pieces)
    read_again = "".join(str(read(piece)) for piece in pieces)
    assert re.sub(r"\s", "", read_again) == re.sub(r"\s", "", as_read(text))


def words(text: str) -> list[str]:
    return [word for word in WHITE.split(text) if word]


@given(st.lists(st.text("aäß中🎉", min_size=1, max_size=12), min_size=1, max_size=200), st.integers(SMALLEST_ROOM, 200))
def test_words_that_fit_stay_whole(some: list[str], room: int) -> None:
    pieces = list(quoted_pieces(" ".join(some), room))
    assert [word for piece in pieces for word in words(str(read(piece)))] == some


def test_text_without_blanks_is_cut_behind_punctuation() -> None:
    sentence = "我们在这里等你。"
    pieces = list(quoted_pieces(sentence * 20, 100))
    assert len(pieces) > 1
    assert all(piece.endswith('。"') for piece in pieces)


def test_marks_stay_with_their_letters() -> None:
    letter = "e\u0301\u0323"
    for room in range(SMALLEST_ROOM, SMALLEST_ROOM + 6):
        pieces = list(quoted_pieces(letter * 200, room))
        assert "".join(piece[1:-1] for piece in pieces) == letter * 200
        assert all(piece[1] == "e" for piece in pieces)


def test_a_word_longer_than_a_line_is_cut() -> None:
    pieces = list(quoted_pieces("x" * 1000, 102))
    assert [len(piece) for piece in pieces] == [102] * 10


def test_a_text_of_a_line_is_one_piece() -> None:
    assert len(list(quoted_pieces("ä" * 49, 100))) == 1
    assert len(list(quoted_pieces("ä" * 50, 100))) == 2


def test_lone_surrogates_are_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        list(quoted_pieces("\ud800", 100))
