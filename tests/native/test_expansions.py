"""Expansions of words are those of a reference implementation."""

from collections.abc import Container

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.expansions import EDITED_LETTERS_MIN, edits_allowed, expansions
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.varint import pack_varints
from tests.reference.expansions import expansions as expected
from tests.support.examples import examples

WORD = st.text("abé", min_size=1, max_size=6)
HELD = st.dictionaries(WORD, st.integers(1, 9), max_size=8)
NEAR = st.lists(st.tuples(WORD, st.integers(1, 3)), max_size=8, unique_by=lambda each: each[0])


def row_of(objects: int) -> TermInfo:
    """Return the row of a word that some objects hold."""
    return TermInfo(pack_varints((0, objects, 0, 0)), 1)


class Words:
    """Statistics of some words.

    Args:
        held: the words, each with the number of objects that hold it.
        near: the words that are similar to any other word, the likeliest first, with their distances.
    """

    objects = 100
    swaps = True

    def __init__(self, held: dict[str, int], near: dict[str, int]) -> None:
        self._held, self._near = held, near
        self.asked: list[int] = []

    def likely(self, word: bytes, limit: int, examined: int) -> list[bytes]:
        text = word.decode()
        begun = [each for each in self._held if each.startswith(text)]
        begun.sort(key=lambda each: (each != text, -self._held[each], each))
        return [each.encode() for each in begun][:limit]

    def held(self, words: list[bytes]) -> list[tuple[bytes, TermInfo]]:
        return [(word, row_of(self._held[word.decode()])) for word in words if word.decode() in self._held]

    def corrections(self, word: bytes, distance: int, *, transpositions: bool) -> list[tuple[bytes, int]]:
        assert transpositions
        self.asked.append(distance)
        return [(each.encode(), edits) for each, edits in self._near.items()]

    def nearest(
        self, typed: bytes, matches: list[tuple[bytes, int]], wanted: int, besides: Container[bytes]
    ) -> list[tuple[bytes, TermInfo, int]]:
        free = [(word, edits) for word, edits in matches if word not in besides]
        return [(word, row, edits) for word, edits in free for _, row in self.held([word])]


@settings(max_examples=examples(100), deadline=None)
@given(
    word=WORD,
    held=HELD,
    near=NEAR,
    found=st.integers(0, 12),
    wanted=st.integers(0, 12),
    budget=st.integers(0, 5),
    family=st.lists(WORD, max_size=2, unique=True),
)
def test_they_are_those_of_the_twin(
    word: str,
    held: dict[str, int],
    near: list[tuple[str, int]],
    found: int,
    wanted: int,
    budget: int,
    family: list[str],
) -> None:
    others = [each for each in family if each != word]
    words = Words(held, dict(near))
    got = expansions(words, word.encode(), found, wanted, budget, tuple(each.encode() for each in others))
    assert [(each.decode(), share, how, edits) for each, _, share, how, edits in got] == list(
        expected(word, held, dict(near), found, wanted, budget, others)
    )
    assert [row.df for _, row, _, _, _ in got] == [held[each.decode()] for each, *_ in got]
    assert words.asked in ([], [edits_allowed(len(word))] if len(word) >= EDITED_LETTERS_MIN else [])


@settings(max_examples=examples(400), deadline=None)
@given(
    word=st.text("abé", min_size=4, max_size=6),
    near=st.dictionaries(WORD, st.tuples(st.integers(1, 4), st.integers(1, 2)), min_size=2, max_size=5),
    found=st.integers(0, 1),
)
def test_corrections_have_the_shares_of_the_twin(word: str, near: dict[str, tuple[int, int]], found: int) -> None:
    near = {each: numbers for each, numbers in near.items() if not each.startswith(word)}
    held, edits = ({each: numbers[at] for each, numbers in near.items()} for at in (0, 1))
    got = expansions(Words(held, edits), word.encode(), found, 2, 5)
    wanted = expected(word, held, edits, found, 2, 5, [])
    assert [(each.decode(), share) for each, _, share, _, _ in got] == [(each, share) for each, share, _, _ in wanted]


@pytest.mark.parametrize(
    ("held", "shares"),
    [
        ({"parcel": 12, "pacer": 11, "parser": 6}, [0.8, 0.8, 0.8]),
        ({"parcel": 12, "parser": 5, "pacer": 5}, [0.8, 0.6, 0.6]),
        ({"parcel": 12, "carver": 12, "parser": 12}, [0.8, 0.6, 0.5]),
        ({"pracer": 12, "parcel": 12, "parser": 12}, [0.8, 0.6, 0.6]),  # a swap keeps all letters
    ],
)
def test_corrections_that_are_about_as_likely_have_one_share(held: dict[str, int], shares: list[float]) -> None:
    words = Words(held, dict.fromkeys(held, 1))
    assert [share for _, _, share, _, _ in expansions(words, b"parcer", 0, 2, 5)] == shares
    assert [share for _, _, share, _, _ in expansions(words, b"parcer", 1, 2, 5)] == [0.8, 0.6, 0.5]


@pytest.mark.parametrize(("letters", "edits"), [(0, 0), (3, 0), (4, 1), (6, 1), (7, 2), (9, 2), (10, 3), (40, 3)])
def test_longer_words_have_more_edits(letters: int, edits: int) -> None:
    assert edits_allowed(letters) == edits
    assert (edits == 0) == (letters < EDITED_LETTERS_MIN)
