"""The parts of compounds are those that people would name, and those of the reference implementation."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.parts import aliases_from, aliases_of, nearest_parts, parts_of
from sonicpy._native.plan import BRINGS, Clause, Slot, add_joined, by_length
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.varint import pack_varints
from sonicpy._native.word_source import whole_words
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
        ("kbs2에서", "kbs 에서 2에서"),
        ("win32api", "win api 32api"),
        ("1000xm4", "1000 xm xm4"),
        ("rtx3080ti.jpg", "rtx 3080 ti jpg rtx3080ti"),
        ("lg전자", "lg 전자"),
        ("wh1000xm4", "wh 1000 xm xm4 1000xm4"),
        ("mp3player", "mp player 3player"),
        ("iphone'а", "iphone"),
        ("iphone15pro128gb", "iphone pro 128 gb 128gb pro128gb 15pro128gb"),
        ("5μm", "μm"),
        ("삼성전자", "전자"),
        ("사과나무를", "나무를 무를"),
        ("갤럭시s23", "갤럭시 s23"),
        ("2024년5월", "2024 5월 년5월"),
        ("مى\u200cروم", "مى روم"),
        ("rock'n'roll", "rock roll n'roll"),
        ("l'homme", "homme"),
        ("d\u2019états", "états"),
        ("o'brien", "brien"),
        ("o'neil's", "neil's"),
        ("x_l'an", "l'an"),
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
    + [
        "don't",
        "you're",
        "a1b2c3d4e5f6",
        "9f86d081884c7d65",
        "x7kp92lm4q",
        "ubunt0user",
        "b2b",
        "a'b",
        "צה״ל",
        "list",
        "",
    ],
)
def test_words_numbers_times_dates_addresses_and_codes_have_no_parts(word: str) -> None:
    assert parts_of(word.encode()) == []


def test_a_word_has_at_most_sixteen_parts() -> None:
    word = "_".join(f"part{letter}x" for letter in "abcdefghijklmnopqrstuvwxyz")

    assert len(parts_of(word.encode())) == 16
    assert parts_of((word * 20).encode())[:15] == parts_of(word.encode())[:15]


@given(
    st.lists(
        st.sampled_from([*"a1._:'·,élл글م\u200c\2", "bc", "def", "22", "333", "전자"]),
        max_size=9,
    )
)
def test_parts_are_those_of_the_twin(pieces: list[str]) -> None:
    word = re.sub("\2\u200c+", "\2", "".join(pieces))  # a letter follows a joint of camelCase

    assert [part.decode() for part in parts_of(word.encode())] == twin.parts_of(word)


def row(holders: int) -> TermInfo:
    return TermInfo(pack_varints((0, holders, 0, 0)), 4)


def test_an_alias_counts_as_its_word_with_the_smallest_distance() -> None:
    aliases = aliases_of(b"os.path.join")
    found = {b"other": 1, **dict.fromkeys(aliases, 2), aliases[-1]: 1}
    assert len(aliases) > 1
    assert nearest_parts(found) == {b"other": 1, b"os.path.join": 1}
    assert nearest_parts({b"os.path.join": 0, aliases[0]: 1}) == {b"os.path.join": 0}
    assert nearest_parts({b"plain": 2}) == {b"plain": 2}


def test_completions_are_listed_by_letters_not_bytes() -> None:
    words = ["éé", "ééab", "ééabc", "ééabcde", "ééabcdef", "taken"]
    begun = [(word.encode(), row(number + 1), 0) for number, word in enumerate(words)]
    lists, holders = by_length(begun, 2, 2, 5, {b"taken"})
    assert [[word.decode() for word in each] for each in lists] == [words[:2], words[2:4], words[4:5]]
    assert holders == 1 + 2 + 3 + 4 + 5
    with pytest.raises(TypeError):
        by_length([(b"word", None, 0)], 2, 2, 5, set())  # type: ignore[list-item]


def test_joined_words_stand_before_completions_and_leave_out_typed_ones() -> None:
    slots = [Slot((b"path", b"paths"), 2.0), Slot((b"pathway",), 0.5, how="completion")]
    clause = Clause(0, BRINGS, 2.0, slots)
    held = {b"paths": row(5), b"os.path": row(1), b"a.path": row(2)}
    add_joined(clause, [b"a.path", b"gone.path", b"os.path", b"paths"], held, 1_000)
    assert [slot.words for slot in clause.slots] == [(b"path", b"paths"), (b"a.path", b"os.path"), (b"pathway",)]
    assert (clause.slots[1].how, clause.holders) == ("completion", 1)
    assert clause.slots[1].weight == pytest.approx(1.6)
    add_joined(clause, [b"paths"], held, 1_000)
    assert len(clause.slots) == 3


@given(st.binary(min_size=1, max_size=60))
def test_bytes_that_are_no_utf8_have_no_parts(word: bytes) -> None:
    try:
        word.decode()
    except UnicodeDecodeError:
        for parts in (aliases_of, parts_of):
            with pytest.raises(UnicodeDecodeError):
                parts(word)


def test_aliases_of_several_words_name_their_places() -> None:
    words = [b"plain", b"os.path", b"123", b"\x02get\x02Element", b"wi-fi", b""]
    expected = [(7 + place, aliases_of(word)) for place, word in enumerate(words) if aliases_of(word)]
    assert aliases_from(words, 7) == expected
    assert [place for place, _ in expected] == [8, 10, 11]


def test_hidden_terms_are_left_out_of_whole_words() -> None:
    assert whole_words(words := [b"one", b"", b"wi\x02fi"]) is words
    assert whole_words([b"one", b"\x02get\x02Element", b"two"]) == [b"one", b"two"]
