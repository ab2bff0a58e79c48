"""New words of a bucket are found by how they begin, as comparing all of them would find them."""

import random

import pytest

from sonicpy.index.search import new_words
from sonicpy.index.search.families import ARTICLES
from sonicpy.index.search.new_words import NewWords, first_letters
from sonicpy.store.bucket_state import BucketState

WORDS = [
    *("engine", "ENGINE", "élan", "elan", "l'hôtel", "l\u2019homme", "don't", "straße", "æon", "a", "an", "ärzte"),
    *("المدينة", "بالمدينة", "مدينة", "łódź", "o'neill"),
]


def state(pending_seq: int, graph_seq: int = 0) -> BucketState:
    found = BucketState(1)
    found.pending_seq, found.graph_seq = pending_seq, graph_seq
    return found


def new(pending: list[bytes], seq: int = 0) -> NewWords:
    return NewWords(pending, state(seq), ARTICLES)


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("el", ["élan", "elan"]),
        ("ho", ["l'hôtel", "l\u2019homme"]),
        ("st", ["straße"]),
        ("ae", ["æon"]),
        ("a", ["æon", "a", "an", "ärzte"]),
        ("مد", ["المدينة", "بالمدينة", "مدينة"]),
        ("ne", ["o'neill"]),
        ("zz", []),
    ],
)
def test_words_are_found_by_what_they_begin_with(key: str, found: list[str]) -> None:
    pending: list[bytes] = []
    words = new(pending)
    pending += [word.encode() for word in WORDS]
    assert words.refresh(pending, state(len(pending)))
    assert words.beginning(frozenset({key}), 0) == found


def test_only_what_came_behind_a_place_is_returned() -> None:
    pending = [b"enough"]
    words = new(pending)
    chance = random.Random(5)
    held: list[str] = []
    for _ in range(200):
        place = len(words)
        added = [chance.choice(WORDS) for _ in range(chance.randrange(4))]
        pending += [word.encode() for word in added]
        held += added
        assert words.refresh(pending, state(len(pending)))
        key = first_letters(chance.choice(("engine", "elan", "strasse")))
        assert words.beginning(frozenset({key}), place) == [word for word in added if first_letters(word) == key]
    assert len(words) == len(held)


def test_a_consolidation_ends_nothing() -> None:
    """It leaves another list, which holds what became pending since the graph was begun."""
    pending = [b"one", b"two"]
    words = new(pending, 2)
    pending.append(b"three")
    assert words.refresh(pending, state(3))
    behind = [b"three", b"four"]
    assert words.refresh(behind, state(4, graph_seq=2))
    assert "four" in words.beginning(frozenset({"fo"}), 1)
    assert not words.refresh([b"seven"], state(7, graph_seq=6)), "five and six were in no list that was seen"


def test_very_many_new_words_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_words, "AT_ONCE_MAX", 3)
    pending: list[bytes] = []
    words = new(pending)
    pending += [b"one", b"two", b"three"]
    assert words.refresh(pending, state(3))
    pending += [b"four", b"five", b"six", b"seven"]
    assert not words.refresh(pending, state(7))
