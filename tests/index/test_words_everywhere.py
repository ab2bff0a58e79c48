"""Live words: from its PUSH to its POP or FLUSHO, a word in any script is completed, corrected, listed and counted,
before a consolidation, after it and after reopening.
"""

import itertools
import random
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy.errors import StoreFull
from sonicpy.index.search.accents import fold
from sonicpy.store.disk.log import Log
from tests.index.living_words import WORDS, Living, check_gone, check_living
from tests.index.shorthand import B, C, found, open_index, push
from tests.reference.word_graph import edit_distance
from tests.reference.word_walks import distance_of
from tests.support.examples import some, thinned

IDS = [word.script for word in WORDS]


def opened(folder: Path, **settings: object) -> Index:
    return open_index(folder, search__query_alternates_try=4, **settings)


@pytest.mark.parametrize("word", WORDS, ids=IDS)
def test_from_the_first_moment_on(in_tables: None, tmp_path: Path, word: Living) -> None:
    with opened(tmp_path) as index:
        push(index, "o", word.pushed)
        assert len(index.engine.store.pending_buckets()) == 1
        check_living(index, word, "o")
    with opened(tmp_path) as index:
        assert len(index.engine.store.pending_buckets()) == 1, "reopened with its words still pending"
        check_living(index, word, "o")
        index.consolidate()
        assert len(index.engine.store.pending_buckets()) == 0
        check_living(index, word, "o")
    with opened(tmp_path) as index:
        check_living(index, word, "o")


@pytest.mark.parametrize("word", WORDS, ids=IDS)
def test_from_the_first_moment_on_in_a_small_bucket(tmp_path: Path, word: Living) -> None:
    with opened(tmp_path) as index:
        push(index, "o", word.pushed)
        check_living(index, word, "o")
        index.consolidate()
        assert list(index.engine.graphs.folder.glob("*")) == []
    with opened(tmp_path) as index:
        check_living(index, word, "o")


ENDS = list(itertools.product(("pending", "consolidated", "reopened"), ("flush_object", "pop")))


@pytest.mark.parametrize(
    ("when", "way", "word"),
    [
        pytest.param(when, way, word, id=f"{when}-{way}-{word.script}")
        for place, (when, way) in enumerate(ENDS)
        for word in thinned(WORDS, place)
    ],
)
def test_to_the_last(tmp_path: Path, word: Living, way: str, when: str) -> None:
    with opened(tmp_path) as index:
        push(index, "o", word.pushed)
        push(index, "p", word.pushed)
        index.flush_object(C, B, "p")
        check_living(index, word, "o")
        if when != "pending":
            index.consolidate()
        if when != "reopened":
            go_and_come_back(index, word, way)
    with opened(tmp_path) as index:
        if when == "reopened":
            go_and_come_back(index, word, way)
        check_living(index, word, "p")


def go_and_come_back(index: Index, word: Living, way: str) -> None:
    """Remove the word from its last object, check the words that are left, and push it into another object."""
    gone = index.flush_object(C, B, "o") if way == "flush_object" else index.pop(C, B, "o", word.pushed)
    assert gone == 1
    check_gone(index, word, "o")
    index.consolidate()
    check_gone(index, word, "o")
    push(index, "p", word.pushed)
    check_living(index, word, "p")


def test_both_spellings_of_a_word_are_one(tmp_path: Path) -> None:
    composed, decomposed = (word for word in WORDS if word.script.startswith("Vietnamese"))
    assert composed.pushed != decomposed.pushed
    with opened(tmp_path) as index:
        push(index, "o", composed.pushed)
        push(index, "o", decomposed.pushed)
        check_living(index, decomposed, "o")
        assert index.pop(C, B, "o", decomposed.pushed) == 1
        check_gone(index, composed, "o")


@pytest.mark.parametrize("word", ["a" * 51, "я" * 50 + "ю", "한" * 51, "सु" * 26])
@pytest.mark.parametrize("consolidated", [False, True])
def test_words_over_50_letters_are_only_found_exactly(tmp_path: Path, word: str, consolidated: bool) -> None:
    assert len(word) in (51, 52)
    with opened(tmp_path) as index:
        push(index, "o", word)
        push(index, "p", "other")
        if consolidated:
            index.consolidate()
        assert found(index, word) == ["o"]
        assert found(index, word[:-1]) == found(index, word + word[-1]) == found(index, word[1:]) == []
        assert index.suggest(C, B, word) == index.suggest(C, B, word[:-1]) == index.suggest(C, B, word[0]) == []
        assert (index.words(C, B), index.count_words(C, B)) == (["other"], 1)
        assert index.pop(C, B, "o", word) == 1
        assert found(index, word) == []


@pytest.mark.parametrize("order", ["likely", "alphabetical"])
def test_corrections_that_are_gone_are_not_suggested(tmp_path: Path, order: str) -> None:
    """The graph still holds corrections that are gone, until the next consolidation; they are not suggested."""
    with opened(tmp_path, search__suggest_order=order) as index:
        push(index, "o", "planet")
        push(index, "p", "planer")
        index.consolidate()
        assert index.suggest(C, B, "planex") == ["planer", "planet"]
        index.flush_object(C, B, "o")
        assert index.suggest(C, B, "planex") == ["planer"]
        index.pop(C, B, "p", "planer")
        assert index.suggest(C, B, "planex") == []


def test_words_that_come_after_an_undone_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached rows of a change that never reached the log must not hide the change that follows in its place."""

    def full(self: Log, records: list[bytes]) -> None:
        raise StoreFull("no room is left in the log")

    with opened(tmp_path) as index:
        with monkeypatch.context() as failing, pytest.raises(StoreFull), index.batch():
            push(index, "o", "planet")
            assert index.suggest(C, B, "planex") == ["planet"]
            failing.setattr(Log, "append", full)
        assert (index.words(C, B), index.suggest(C, B, "planex")) == ([], [])
        push(index, "p", "hammer")
        assert index.words(C, B) == ["hammer"]
        assert index.suggest(C, B, "hamner") == ["hammer"]
        assert found(index, "hamner") == ["p"]


class Model:
    """The words of each object."""

    def __init__(self) -> None:
        self.held: dict[str, set[str]] = {}

    def words(self) -> list[str]:
        return sorted(set().union(*self.held.values()) if self.held else set(), key=str.encode)

    def suggestions(self, typed: str) -> set[str]:
        words = self.words()
        swapped = {typed[1] + typed[0] + typed[2], typed[0] + typed[2] + typed[1]} if len(typed) == 3 else set()
        edits = 0 if len(typed) < 4 else 1 if len(typed) < 7 else 2 if len(typed) < 10 else 3
        beginning = 0 if len(typed) < 4 else 1 if len(typed) < 8 else 2
        letters = [fold(letter, "") for letter in typed]
        return {
            word
            for word in words
            if any(
                distance_of("".join(letters), [fold(each, "") for each in part], beginning, begins=True) <= beginning
                for part in (word, *tails_of(word))
            )
            or (edits and edit_distance(typed, word, True) <= edits)
            or (typed not in words and word in swapped and typed.isalpha())
        }


@pytest.mark.parametrize("letters", some(["abc", "пря", "ạậớ", "강한글", "नमि"], 2))
@pytest.mark.parametrize("seed", some(range(3), 3))
def test_random_changes(tmp_path: Path, seed: int, letters: str) -> None:
    """After every step, the listed words are exactly those that some object holds."""
    chance = random.Random(seed)
    texts = [" ".join(random_word(chance, letters) for _ in range(3)) for _ in range(25)]
    model = Model()
    index = opened(tmp_path)
    for _ in range(60):
        oid, text = f"o{chance.randrange(8)}", chance.choice(texts)
        verb = chance.choice(("push", "push", "push", "push", "pop", "flush", "consolidate", "reopen"))
        if verb == "push":
            push(index, oid, text)
            model.held.setdefault(oid, set()).update(text.split())
        elif verb == "pop":
            held = model.held.get(oid, set())
            assert index.pop(C, B, oid, text) == len(held & set(text.split()))
            held -= set(text.split())
        elif verb == "flush":
            assert index.flush_object(C, B, oid) == len(model.held.pop(oid, ()))
        elif verb == "consolidate":
            index.consolidate()
        else:
            index.close()
            index = opened(tmp_path)
        expected = model.words()
        assert index.words(C, B, limit=1000) == expected, verb
        assert index.count_words(C, B) == len(expected), verb
        typed = random_word(chance, letters)
        for word in (typed, typed[:1], chance.choice(texts).split()[0]):
            assert set(index.suggest(C, B, word, limit=1000)) == model.suggestions(word), (verb, word)
    index.close()


def tails_of(word: str) -> list[str]:
    """Return the tails of a word in Hangul, which are parts of it."""
    return [word[at:] for at in range(2, len(word) - 1)] if "\uac00" <= word[0] <= "\ud7a3" else []


def random_word(chance: random.Random, letters: str) -> str:
    """Return a random word that begins with the first of `letters`, because the others may be marks, which cannot begin
    a word.
    """
    return letters[0] + "".join(chance.choice(letters) for _ in range(chance.randrange(9)))
