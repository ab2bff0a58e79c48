"""The parts of joined words: those that people would name, and those of the slow twin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.parts import parts_of
from tests.reference import parts as twin


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("os.path.join", "os path join path.join"),
        ("theme_test", "theme test"),
        ("end.next", "end next"),
        ("__init__", "init"),
        ("user:admin", "user admin"),
        ("слово.другое", "слово другое"),
        ("foo‧bar", "foo bar"),
        ("foo·bar", "foo bar"),
        ("iphone15", "iphone"),
        ("1080p", "1080"),
        ("2024년", "2024"),
        ("제3장", "3장"),
        ("kbs2에서", "kbs 에서"),
        ("win32api", "win api"),
        ("rock'n'roll", "rock roll n'roll"),
        ("l'homme", "homme"),
        ("d\u2019états", "états"),
        ("o'brien", "brien"),
        ("o'neil's", "neil's"),
        ("الكتاب", "كتاب"),
        ("img_20240131.jpg", "img 20240131 jpg 20240131.jpg"),
        ("v14.2.1", "14.2.1"),
        ("1.5mm", "mm"),
        ("get\2element\2by\2id", "get element by id byid elementbyid"),
        ("self.assert\2equal", "self assert equal assertequal"),
    ],
)
def test_a_joined_word_has_the_parts_that_people_ask_for(word: str, parts: str) -> None:
    assert [part.decode() for part in parts_of(word.encode())] == parts.split()


@pytest.mark.parametrize(
    "word",
    [
        "weather",
        "2024",
        "3.14",
        "1,000",
        "12:30",
        "2024.01.31",
        "2024_01_31",
        "10.0.0.1",
        "fe80:0:0:1",
        "aa:bb:cc:dd:ee:ff",
    ]
    + ["don't", "you're", "a1b2c3d4e5f6", "ubunt0user", "a'b", "צה״ל", "list", ""],
)
def test_words_numbers_times_dates_addresses_and_codes_have_no_parts(word: str) -> None:
    assert parts_of(word.encode()) == []


def test_a_word_has_at_most_sixteen_parts() -> None:
    word = "_".join(f"part{letter}x" for letter in "abcdefghijklmnopqrstuvwxyz")

    assert len(parts_of(word.encode())) == 16
    assert parts_of((word * 20).encode())[:15] == parts_of(word.encode())[:15]


@given(
    st.lists(
        st.sampled_from(["a", "bc", "def", "1", "22", "333", ".", "_", ":", "'", "·", ",", "é", "л", "글", "\2"]),
        max_size=9,
    )
)
def test_parts_are_those_of_the_twin(pieces: list[str]) -> None:
    word = "".join(pieces)

    assert [part.decode() for part in parts_of(word.encode())] == twin.parts_of(word)
