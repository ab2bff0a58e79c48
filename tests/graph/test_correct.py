"""Corrections compared with brute force: every word within the distance, with its distance, and no other words."""

import itertools
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import process
from rapidfuzz.distance import OSA, Levenshtein

from sonicpy.graph.word_graph import EDGE_BUDGET, WordGraph
from tests.graph.graphs import ALPHABETS, graph_of, words_of
from tests.reference.word_graph import WordList, edit_distance, nearest_first
from tests.support.examples import examples
from tests.support.shared_data import shared_data

CASES = [
    ("card", "card", False, 0, "the word itself"),
    ("crad", "card", False, 2, "a swap is two replacements"),
    ("crad", "card", True, 1, "a swap counts one"),
    ("cad", "card", True, 1, "a letter left out"),
    ("carrd", "card", True, 1, "a letter twice"),
    ("cord", "card", True, 1, "another letter"),
    ("acdr", "card", True, 2, "two swaps"),
    ("ca", "abc", True, 3, "nothing is edited twice: a swap with a letter put in between is none"),
    ("hospitla", "hospital", True, 1, "a swap at the end"),
    ("ohspital", "hospital", True, 1, "a swap at the beginning"),
    ("hopsital", "hospital", True, 1, "a swap before the middle"),
    ("hosiptal", "hospital", True, 1, "a swap across the middle"),
    ("hosptial", "hospital", True, 1, "a swap behind the middle"),
    ("ohsiptla", "hospital", True, 3, "three swaps, one across the middle"),
    ("hspital", "hospital", False, 1, "a letter left out near the beginning"),
    ("hospxital", "hospital", False, 1, "a letter put in exactly in the middle"),
    ("hospxyzital", "hospital", False, 3, "three letters put in exactly in the middle"),
    ("xyzhospital", "hospital", False, 3, "three letters before"),
    ("hospitalxyz", "hospital", False, 3, "three letters behind"),
    ("pital", "hospital", False, 3, "three letters missing before"),
    ("hospi", "hospital", False, 3, "three letters missing behind"),
    ("hotal", "hospital", False, 3, "three letters missing inside"),
    ("uber", "über", False, 1, "two bytes for one"),
    ("東都", "東京", False, 1, "three bytes for three that begin alike"),
    ("京東", "東京", True, 1, "characters are swapped, not bytes"),
    ("東", "東京", False, 1, "a character of three bytes missing"),
    ("👍🏽", "👍", False, 1, "a modifier is a character"),
    ("e\u0301clair", "éclair", False, 2, "a combining accent is a character, nothing is normalised"),
    ("", "abc", False, 3, "nothing was typed"),
]


@pytest.mark.parametrize(("typed", "word", "swaps", "expected", "why"), CASES, ids=[case[-1] for case in CASES])
def test_a_word_is_found_from_its_distance_on(typed: str, word: str, swaps: bool, expected: int, why: str) -> None:
    graph = graph_of([word.encode(), b"unlike all others"])
    assert edit_distance(typed, word, swaps) == expected
    for distance in range(4):
        found = graph.correct(typed.encode(), distance, transpositions=swaps)
        assert found.matches == ([(word.encode(), expected)] if distance >= expected else [])
        assert found.whole


@pytest.mark.parametrize("letters", ["ab", "é字", "a字"], ids=["one byte", "two and three", "one and three"])
@pytest.mark.parametrize("swaps", [False, True], ids=["levenshtein", "osa"])
def test_all_words_of_two_letters(letters: str, swaps: bool) -> None:
    """Every word of up to six letters is compared with all such words, so that every edit occurs at every place."""
    table = str.maketrans("ab", letters)
    typed = ["".join(chosen).translate(table) for size in range(7) for chosen in itertools.product("ab", repeat=size)]
    graph = graph_of(word.encode() for word in typed if word)
    measure = OSA.distance if swaps else Levenshtein.distance
    for word in typed:
        measured = [(known.encode(), measure(word, known)) for known in typed if known]
        for distance in range(4):
            found = graph.correct(word.encode(), distance, transpositions=swaps)
            assert found.matches == nearest_first(match for match in measured if match[1] <= distance), word


@pytest.mark.parametrize("size", range(1, 13))
def test_every_single_swap_and_another_edit(size: int) -> None:
    """Words of distinct letters get a swap at every place and an edit at every other place."""
    word = "abcdefghijkl"[:size]
    graph = graph_of([word.encode()])
    for swap in range(size - 1):
        swapped = word[:swap] + word[swap + 1] + word[swap] + word[swap + 2 :]
        for at in range(size + 1):
            for typed in (swapped, swapped[:at] + "x" + swapped[at:], swapped[:at] + "xy" + swapped[at:],
                          swapped[:at] + swapped[at + 1 :], swapped[:at] + "x" + swapped[at + 1 :]):  # fmt: skip
                expected = OSA.distance(typed, word)
                for distance in range(4):
                    found = graph.correct(typed.encode(), distance, transpositions=True).matches
                    assert found == ([(word.encode(), expected)] if expected <= distance else []), (typed, distance)


@settings(max_examples=examples(150))
@given(st.data())
def test_corrections_as_by_the_textbook(data: st.DataObject) -> None:
    alphabet = data.draw(st.sampled_from(list(ALPHABETS.values())))
    words = data.draw(st.sets(words_of(alphabet), max_size=12))
    graph, judge = graph_of(words), WordList(words)
    for word in [*data.draw(st.lists(words_of(alphabet, 10), min_size=1, max_size=2)), *sorted(words)[:1]]:
        for swaps in (False, True):
            expected = judge.correct(word, 3, transpositions=swaps)
            for distance in range(4):
                found = graph.correct(word, distance, transpositions=swaps)
                assert found.matches == [match for match in expected if match[1] <= distance]
                assert found.whole


@given(st.data())
def test_scripts_mixed_in_one_graph_do_not_hide_each_other(data: st.DataObject) -> None:
    """Words of letters of one, two, three and four bytes, often several kinds in one word."""
    words = data.draw(st.sets(words_of("ab" + "éж" + "中가" + "😀", 6), max_size=12))
    graph, judge = graph_of(words), WordList(words)
    word = data.draw(words_of("ab" + "éж" + "中가" + "😀", 8))
    for swaps in (False, True):
        for distance in range(4):
            found = graph.correct(word, distance, transpositions=swaps).matches
            assert found == judge.correct(word, distance, transpositions=swaps)


# -- limits -------------------------------------------------------------------------------------------------------


def test_a_limit_keeps_the_nearest() -> None:
    words = [b"card", b"care", b"cart", b"cards", b"scarf"]
    graph = graph_of(words)
    everything = graph.correct(b"card", 2, transpositions=True).matches
    assert everything == [(b"card", 0), (b"cards", 1), (b"care", 1), (b"cart", 1), (b"scarf", 2)]
    for limit in range(7):
        assert graph.correct(b"card", 2, transpositions=True, limit=limit).matches == everything[:limit]
    assert graph.correct(b"card", 2, transpositions=True, limit=None).matches == everything


@pytest.mark.parametrize("distance", [-1, 4, 100])
def test_other_distances_are_refused(distance: int) -> None:
    with pytest.raises(ValueError, match="0 to 3"):
        graph_of([b"a"]).correct(b"a", distance, transpositions=True)


@pytest.mark.parametrize("word", [b"\xff", b"a\xc3", b"\xed\xa0\x80"])
def test_what_is_not_utf8_is_refused(word: bytes) -> None:
    with pytest.raises(ValueError, match="UTF-8"):
        graph_of([b"a"]).correct(word, 1, transpositions=True)


@pytest.mark.parametrize("size", [40, 43, 44, 60, 61, 1000, 1_000_000])
@pytest.mark.parametrize("letter", ["a", "é", "😀"])
def test_long_words_are_corrected_as_far_as_words_go(size: int, letter: str) -> None:
    longest = letter * (40 // len(letter.encode()))
    graph = graph_of([longest.encode()])
    expected = size - len(longest)
    found = graph.correct((letter * size).encode(), 3, transpositions=True)
    assert found.matches == ([(longest.encode(), expected)] if expected <= 3 else [])
    assert found.whole


def test_the_edge_budget_ends_a_walk() -> None:
    words = ["".join(chosen).encode() for chosen in itertools.product("abcd", repeat=5)]
    graph = graph_of(words)
    for distance in (1, 2, 3):
        everything = graph.correct(b"abcda", distance, transpositions=True)
        assert everything.whole
        counts = []
        for budget in (0, 1, 10, 100, 1_000, 10_000, EDGE_BUDGET):
            found = graph.correct(b"abcda", distance, transpositions=True, edge_budget=budget)
            counts.append(len(found.matches))
            assert {word for word, _ in found.matches} <= {word for word, _ in everything.matches}
            assert found.whole == (budget == EDGE_BUDGET) or found.matches == everything.matches
        assert counts == sorted(counts)
        assert counts[0] == 0 and counts[-1] == len(everything.matches)


def test_the_budget_bounds_the_time_of_the_worst_words() -> None:
    """Nearly every one of 60,000 words is within three edits of two letters; the walk gives up soon."""
    words = ["".join(chosen).encode() for chosen in itertools.product("abcdefghijklmno", repeat=4)]
    found = graph_of(words).correct(b"ab", 3, transpositions=True)
    assert not found.whole
    assert 0 < len(found.matches) < EDGE_BUDGET // 50


# -- real words ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dictionary() -> tuple[list[str], WordGraph]:
    """Return the English words, without their frequencies, and their graph."""
    path = shared_data("words/en_freq_82765_symspell.tsv")
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    words = sorted({line.split("\t")[0] for line in lines})
    return words, graph_of(word.encode() for word in words)


def misspellings(count: int) -> list[str]:
    lines = shared_data("typos/typos.tsv").read_text(encoding="utf-8").splitlines()
    chance = random.Random(1491)
    return [line.split("\t")[0] for line in chance.sample(lines, count)]


def check(dictionary: tuple[list[str], WordGraph], typed: list[str]) -> None:
    words, graph = dictionary
    by_length: dict[int, list[str]] = {}
    for word in words:
        by_length.setdefault(len(word), []).append(word)
    for word in typed:
        near = [known for size in range(len(word) - 3, len(word) + 4) for known in by_length.get(size, [])]
        for kind, swaps in ((Levenshtein, False), (OSA, True)):
            measured = process.extract(word, near, scorer=kind.distance, score_cutoff=3, limit=None)
            matches = nearest_first((known.encode(), int(edits)) for known, edits, _ in measured)
            for distance in range(4):
                found = graph.correct(word.encode(), distance, transpositions=swaps, edge_budget=10**9)
                assert found.matches == [match for match in matches if match[1] <= distance], word


def test_misspellings_as_by_brute_force(dictionary: tuple[list[str], WordGraph]) -> None:
    check(dictionary, misspellings(20))


@pytest.mark.full
@pytest.mark.timeout(900)
def test_more_misspellings_as_by_brute_force(dictionary: tuple[list[str], WordGraph]) -> None:
    check(dictionary, misspellings(5_000))


def test_threads_share_a_graph(dictionary: tuple[list[str], WordGraph]) -> None:
    _, graph = dictionary
    typed = [word.encode() for word in misspellings(300)]

    def correct_all(_: int) -> list[list[tuple[bytes, int]]]:
        return [graph.correct(word, 3, transpositions=True).matches for word in typed]

    expected = correct_all(0)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(correct_all, range(8))) == [expected] * 8


def test_every_word_is_listed_and_found(dictionary: tuple[list[str], WordGraph]) -> None:
    words, graph = dictionary
    encoded = sorted(word.encode() for word in words)
    assert graph.words(0, -1) == encoded
    assert all(graph.contains(word) for word in encoded)
    assert not any(graph.contains(word + b"\x01") for word in encoded)
