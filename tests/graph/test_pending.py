"""Pending words compared with brute force: the textbook's table, and rapidfuzz word by word."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA, Levenshtein

from sonicpy._native.parts import JOINT_MARK, aliases_of
from sonicpy.graph.pending import PendingWords
from tests.graph.graphs import ALPHABETS, words_of
from tests.reference.word_graph import WordList, edit_distance, nearest_first
from tests.support.examples import examples

CASES = [
    ("bergwerk", "bergwerk", 0, 0, "the word itself"),
    ("bergwrk", "bergwerk", 1, 1, "a letter left out"),
    ("bergwrek", "bergwerk", 2, 1, "a swap of neighbours"),
    ("straße", "strasse", 2, 2, "characters are counted, not bytes"),
    ("東", "東京", 1, 1, "three bytes, one character"),
    ("\N{GRINNING FACE}", "\N{GRINNING FACE WITH SMILING EYES}", 1, 1, "four bytes, one character"),
    ("", "ab", 2, 2, "nothing was typed"),
]


@pytest.mark.parametrize(("typed", "word", "replaced", "swapped", "why"), CASES, ids=[case[-1] for case in CASES])
def test_a_word_is_found_from_its_distance_on(typed: str, word: str, replaced: int, swapped: int, why: str) -> None:
    words = PendingWords([word.encode(), b"unlike all others"])
    words.refresh()
    for distance in range(4):
        for edits, transpositions in ((replaced, False), (swapped, True)):
            found = words.correct(typed.encode(), distance, transpositions=transpositions)
            assert found == ([(word.encode(), edits)] if distance >= edits else [])


def test_nothing_pending() -> None:
    words = PendingWords([])
    words.refresh()
    assert len(words) == 0
    assert words.correct(b"word", 3, transpositions=True) == []


def test_what_is_appended_shows_after_a_refresh() -> None:
    source = [b"anker"]
    words = PendingWords(source)
    assert len(words) == 0, "nothing is taken over before the first refresh"
    words.refresh()
    source.append(b"angel")
    assert words.correct(b"ange", 1, transpositions=True) == []
    words.refresh()
    words.refresh()
    assert len(words) == 2
    assert words.correct(b"ange", 1, transpositions=True) == [(b"angel", 1)]
    assert words.correct(b"anke", 1, transpositions=True) == [(b"anker", 1)]


def test_new_words_come_apart_with_their_aliases() -> None:
    chance = random.Random(3)
    kinds = (b"anker", b"os.path", b"foo_bar9", b"don't", JOINT_MARK + b"ab")
    source = [chance.choice(kinds) + b"%d" % number for number in range(60)]
    words = PendingWords(taken := source[:7])
    words.refresh()
    for end in range(8, 61, 3):
        taken.extend(source[len(taken) : end])
        words.refresh()
        for before in (0, end - 9, end - 3, end):
            for _ in range(2):  # the second time from a cache
                new, of_parts = words.taken_since(max(before, 0)) or pytest.fail("there are few new words")
                fresh = source[max(before, 0) : end]
                assert new.all() == sorted({word for word in fresh if not word.startswith(JOINT_MARK)})
                assert of_parts.all() == sorted({alias for word in fresh for alias in aliases_of(word)})


def test_what_another_thread_appends_during_a_refresh_shows_after_the_next_one() -> None:
    class Growing(list[bytes]):
        """A list to which another thread adds a word whenever some of it is read."""

        def __getitem__(self, place: Any) -> Any:
            found = super().__getitem__(place)
            self.append(b"birne")
            return found

    words = PendingWords(Growing([b"anker"]))
    words.refresh()
    words.refresh()
    assert words.correct(b"birn", 1, transpositions=True) == [(b"birne", 1)]


def test_a_word_that_came_and_went_is_one_word() -> None:
    source = [b"anker"] * 3
    words = PendingWords(source)
    words.refresh()
    source += [b"birne", b"anker", b"birne"]
    words.refresh()
    assert len(words) == 2
    assert words.correct(b"anker", 1, transpositions=True) == [(b"anker", 0)]


@settings(deadline=None, max_examples=examples(150))
@given(alphabet=st.sampled_from(sorted(ALPHABETS.values())), data=st.data())
def test_against_the_textbook(alphabet: str, data: st.DataObject) -> None:
    word = words_of(alphabet)
    source: list[bytes] = []
    words = PendingWords(source)
    for _ in range(data.draw(st.integers(1, 3), label="refreshes")):
        source += data.draw(st.lists(word, max_size=12))
        words.refresh()
    reference = WordList(source)
    typed = data.draw(word)
    distance, transpositions = data.draw(st.integers(0, 3)), data.draw(st.booleans())
    found = words.correct(typed, distance, transpositions=transpositions)
    assert nearest_first(found) == reference.correct(typed, distance, transpositions=transpositions)
    assert len(words) == len(reference)


@pytest.mark.parametrize("transpositions", [False, True])
def test_thousands_of_words_word_by_word(transpositions: bool) -> None:
    chance = random.Random(11)
    source = ["".join(chance.choices("aeinrst", k=chance.randint(2, 12))).encode() for _ in range(5_000)]
    words = PendingWords(source)
    words.refresh()
    scorer = OSA.distance if transpositions else Levenshtein.distance
    for typed in chance.sample(source, 20):
        typed = typed[1:] + b"x"
        measured = ((word, scorer(typed.decode(), word.decode())) for word in set(source))
        expected = nearest_first((word, edits) for word, edits in measured if edits <= 3)
        assert nearest_first(words.correct(typed, 3, transpositions=transpositions)) == expected
        for word, edits in expected[:5]:
            assert edits == edit_distance(typed.decode(), word.decode(), transpositions)
