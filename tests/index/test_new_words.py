"""New words of a bucket are found by how they begin, as comparing all of them would find them."""

import random
import sys
import threading

import pytest

from sonicpy.index.search import new_words
from sonicpy.index.search.families import ARTICLES
from sonicpy.index.search.new_words import NewWords, first_letters
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.known_pending import KnownPending

WORDS = [
    *("engine", "ENGINE", "élan", "elan", "l'hôtel", "l\u2019homme", "don't", "straße", "æon", "a", "an", "ärzte"),
    *("المدينة", "بالمدينة", "مدينة", "łódź", "o'neill"),
]


def state(pending_seq: int, graph_seq: int = 0) -> BucketState:
    found = BucketState(1)
    found.pending_seq, found.graph_seq = pending_seq, graph_seq
    return found


class Pending(KnownPending):
    """Pending words, one for each number."""

    def __init__(self, *words: bytes, graph_seq: int = 0) -> None:
        super().__init__(graph_seq, 0, graph_seq)
        self.add(*words)

    def add(self, *words: bytes) -> None:
        """Add words, as changes do."""
        self.take(list(words), self.seq, self.seq + len(words), 0)


def new(pending: Pending) -> NewWords:
    return NewWords(pending, state(pending.seq), ARTICLES)


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
    pending = Pending()
    words = new(pending)
    pending.add(*(word.encode() for word in WORDS))
    assert words.refresh(pending, state(len(WORDS)))
    assert words.beginning(frozenset({key}), 0) == found


def test_only_what_came_behind_a_place_is_returned() -> None:
    pending = Pending(b"enough")
    words = new(pending)
    chance = random.Random(5)
    held: list[str] = []
    for _ in range(200):
        place = len(words)
        added = [chance.choice(WORDS) for _ in range(chance.randrange(4))]
        pending.add(*(word.encode() for word in added))
        held += added
        assert words.refresh(pending, state(pending.seq))
        key = first_letters(chance.choice(("engine", "elan", "strasse")))
        assert words.beginning(frozenset({key}), place) == [word for word in added if first_letters(word) == key]
    assert len(words) == len(held)


def test_a_consolidation_ends_nothing() -> None:
    """A consolidation leaves another list, with the words that became pending since the graph was started."""
    pending = Pending(b"one", b"two")
    words = new(pending)
    pending.add(b"three")
    assert words.refresh(pending, state(3))
    behind = Pending(b"three", b"four", graph_seq=2)
    assert words.refresh(behind, state(4, graph_seq=2))
    assert "four" in words.beginning(frozenset({"fo"}), 1)
    later = Pending(b"seven", graph_seq=6)
    assert not words.refresh(later, state(7, graph_seq=6)), "five and six were in no list that was seen"


def test_very_many_new_words_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_words, "AT_ONCE_MAX", 3)
    pending = Pending()
    words = new(pending)
    pending.add(b"one", b"two", b"three")
    assert words.refresh(pending, state(3))
    pending.add(b"four", b"five", b"six", b"seven")
    assert not words.refresh(pending, state(7))


def test_it_tells_who_is_behind() -> None:
    """Another thread may have read words of a later state, which are among the known ones then."""
    pending = Pending(b"one", b"two")
    words = new(pending)
    assert words.seq == 2
    pending.add(b"three")
    assert words.refresh(pending, state(2))
    assert words.seq == 3 > state(2).pending_seq


def test_words_are_looked_for_while_others_are_added() -> None:
    pending = Pending()
    words = new(pending)
    ends = threading.Event()

    def add() -> None:
        for number in range(30_000):
            pending.add(b"a%s" % chr(0x4E00 + number % 20_000).encode())
            words.refresh(pending, state(pending.seq))
        ends.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    adding = threading.Thread(target=add)
    adding.start()
    try:
        while not ends.is_set():
            words.beginning(frozenset({"a", "b"}), max(len(words) - 5, 0))
    finally:
        adding.join()
        sys.setswitchinterval(interval)
