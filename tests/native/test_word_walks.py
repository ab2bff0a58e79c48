"""Walks over words find the same words as a comparison of each, in an automaton and in sorted words."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.letter_folding import Folding
from sonicpy._native.word_source import SortedWords, WordSource, words_in
from sonicpy._native.word_walks import find_words
from sonicpy.graph.builder import WordGraphBuilder
from sonicpy.graph.word_graph import WordGraph
from sonicpy.index.search.stem_ends import stem_ends
from tests.reference import word_walks
from tests.support.examples import examples

LETTERS = {"é": "e", "è": "e", "ß": "ss", "œ": "oe", "\u0301": "", "ё": "е", "ế": "e", "\u2019": "'", "ｶ": "カ"}
FOLDING = Folding(LETTERS)
ALPHABET = "abeos'éèßœ\u0301еёж世界ế\u2019ｶカ\U0001d4b3"

written = st.text(ALPHABET, min_size=1, max_size=9)
plain = st.text("abc", min_size=1, max_size=9)
sets = st.sets(written, min_size=1, max_size=30) | st.sets(plain, min_size=1, max_size=30)


def graph_of(words: list[bytes]) -> WordSource:
    builder = WordGraphBuilder()
    for word in sorted(words):
        builder.add(word)
    graph = WordGraph.from_bytes(builder.finish(1, 1))
    return graph.source


def folded(word: str) -> str:
    return "".join(LETTERS.get(letter, letter) for letter in word)


@settings(deadline=None, max_examples=examples(300))
@given(sets, written | plain, st.integers(0, 3), st.booleans())
def test_a_walk_finds_what_comparing_finds(words: set[str], typed: str, distance: int, begins: bool) -> None:
    pattern = folded(typed)
    expected = word_walks.find_words(words, pattern, LETTERS, distance, begins=begins)
    packed = [word.encode() for word in words]
    for source in (graph_of(packed), SortedWords(packed)):
        found = find_words([source], [pattern.encode()], FOLDING, distance=distance, begins=begins)
        assert {word.decode(): its for word, its in found.items()} == expected


@settings(deadline=None, max_examples=examples(100))
@given(st.sets(st.tuples(written, written), min_size=1, max_size=20), written, st.integers(0, 1), st.booleans())
def test_what_leads_to_a_word_finds_it(pairs: set[tuple[str, str]], typed: str, distance: int, begins: bool) -> None:
    words = [f"{part}\0{word}" for part, word in pairs]
    expected = word_walks.find_words(words, folded(typed), LETTERS, distance, begins=begins)
    source = SortedWords([word.encode() for word in words])
    found = find_words([source], [folded(typed).encode()], FOLDING, distance=distance, begins=begins)
    assert {word.decode(): its for word, its in found.items()} == expected


def test_several_sources_and_patterns_are_one_answer() -> None:
    sources: list[WordSource] = [graph_of([b"rest", b"test"]), SortedWords([b"rest", b"resting", b"best"])]
    found = find_words(sources, [b"rest", b"tes"], FOLDING, distance=1, begins=True)
    assert found == {b"rest": 0, b"resting": 0, b"test": 0, b"best": 1}


def test_it_ends_after_enough_words() -> None:
    source = SortedWords([b"a%03d" % number for number in range(500)])
    assert list(find_words([source], [b"a"], FOLDING, begins=True, most=3)) == [b"a000", b"a001", b"a002"]
    assert len(find_words([source], [b"a"], FOLDING, begins=True, budget=50)) < 100


def test_long_words_are_found_whole() -> None:
    words = [b"x" * 160 + b"\0" + b"y" * 160, b"x" * 161, b"z" * 385]
    source = SortedWords(words)
    assert source.all() == sorted(words[:2]), "longer ones are left out"
    assert find_words([source], [b"x" * 50], FOLDING, begins=True) == dict.fromkeys(words[:2], 0)


def test_sorted_words_stay_sorted() -> None:
    chance = random.Random(7)
    source = SortedWords([])
    held: set[bytes] = set()
    for _ in range(60):
        added = [bytes(chance.choices(b"abcde", k=chance.randint(1, 4))) for _ in range(chance.randrange(12))]
        source.add(added)
        held.update(added)
        assert source.all() == sorted(held)
    assert all(word in source for word in held)
    assert b"x" not in source and len(source) == len(held)


@pytest.mark.parametrize("algorithm", ["english", "french", "german", "italian", "portuguese", "spanish"])
def test_words_are_chosen_by_the_ends_of_a_stem(algorithm: str) -> None:
    """A walk chooses words as `StemEnds.may_have` does; words with other letters are left to the algorithm."""
    chance = random.Random(3)
    words = {"engin" + "".join(chance.choices("aeilmnrstyzé'", k=chance.randrange(5))) for _ in range(2_000)}
    ends = stem_ends(algorithm, "engin")
    assert ends is not None
    plain = [word for word in words if word.isascii() and word.isalpha()]
    expected = set(ends.may_have(plain, "engin"))
    packed = [word.encode() for word in words]
    for source in (graph_of(packed), SortedWords(packed)):
        found = find_words([source], [b"engi"], FOLDING, begins=True, ends=ends, stem=b"engin")
        assert {word for word in map(bytes.decode, found) if word in plain} == expected
        assert {word for word in words if "é" in word[5:7] or "'" in word[5:7]} <= set(map(bytes.decode, found))


@pytest.mark.parametrize(
    ("arguments", "reason"), [({"distance": 4}, "0 to 3"), ({"ends": stem_ends("german", "haus")}, "a stem is empty")]
)
def test_wrong_arguments_are_refused(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        find_words([SortedWords([b"a"])], [b"a"], FOLDING, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="UTF-8"):
        find_words([SortedWords([b"a"])], [b"\xff"], FOLDING)


@pytest.mark.parametrize("letters", [{"a": "b"}, {"é": "abcd"}])
def test_what_cannot_stand_for_a_letter_is_refused(letters: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="cannot stand for"):
        Folding(letters)


@settings(deadline=None, max_examples=examples(100))
@given(st.sets(written, min_size=1, max_size=30), st.lists(written, max_size=8))
def test_words_that_a_source_holds(words: set[str], asked: list[str]) -> None:
    packed = [word.encode() for word in words]
    wanted = [word.encode() for word in [*asked, *sorted(words)[:3]]]
    for sources in ([graph_of(packed)], [SortedWords(packed)], [SortedWords(packed[1:]), graph_of(packed[:1])]):
        assert words_in(sources, wanted) == [word for word in wanted if word in packed]
    assert words_in([], wanted) == []


def test_words_of_letters_alone_are_left_out_but_count() -> None:
    words = [b"foo", b"foo.bar", b"foobar", b"food", b"fo\xc3\xb6", b"foo2"]
    for source in (graph_of(words), SortedWords(words)):
        found = find_words([source], [b"fo"], Folding({}), begins=True, joined=True)
        assert set(found) == {b"foo.bar", b"fo\xc3\xb6", b"foo2"}
        assert set(find_words([source], [b"fo"], Folding({}), begins=True, joined=True, most=2)) == {b"foo.bar"}
