"""Compat mode returns the same objects and words, in the same order, as a plain model of chapters 8 to 11.

The corpora are random, small in letters and rich in prefixes and typos, so that windows fill, budgets run out, common
words are cut and many scores are equal. A failure prints its corpus, which depends only on the seed.
"""

import random
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from sonicpy import Index
from tests.index.shorthand import B, C, open_index
from tests.reference.sonic import SonicBucket

WINDOWS = (6, 1000)
BUDGETS = (0, 1, 4, 20, 1000)
CUTS = ((0.0, 0), (0.6, 4), (0.1, 100))
"""(least idf of a word, number of objects from which on it applies): none; lowered so that it matters; Sonic's own."""

QUERIES, SUGGESTIONS = 45, 15
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12)


@dataclass(frozen=True)
class Settings:
    """The settings of a search in a corpus."""

    seed: int
    window: int
    budget: int
    cut: tuple[float, int]

    def model(self) -> SonicBucket:
        return SonicBucket(self.window, self.budget, *self.cut)

    def open(self, folder: Path) -> Index:
        return open_index(
            folder,
            server__compat="sonic",
            store__kv__retain_word_objects=self.window,
            search__query_alternates_try=self.budget,
            search__query_minimum_term_idf_default=self.cut[0],
            search__query_minimum_term_idf_minimum_object_count=self.cut[1],
        )


CASES = [Settings(seed, *chosen) for seed, chosen in enumerate(product(WINDOWS, BUDGETS, CUTS))]


class Texts:
    """Random words that resemble each other, and texts made of them; common words are far more common than others."""

    def __init__(self, chance: random.Random, letters: str, words: int) -> None:
        self._chance = chance
        self._letters = letters
        self.words: list[str] = []
        while len(self.words) < words:
            self.words.append(self._new_word())

    def text(self, most: int) -> str:
        return " ".join(self._common_word() for _ in range(self._chance.randint(1, most)))

    def question(self, most: int) -> str:
        return " ".join(self.typed() for _ in range(self._chance.randint(1, most)))

    def typed(self) -> str:
        """Return a word as a user types it: correct, cut off, misspelt, in capitals, or another word."""
        word = self._chance.choice(self.words)
        change = self._chance.randrange(8)
        if change < 2:
            word = word[: self._chance.randint(1, len(word))]
        elif change < 5:
            for _ in range(self._chance.randint(1, 3)):
                word = self._misspelt(word)
        elif change == 5:
            word = word.capitalize()
        elif change == 6:
            word = self._letter() * self._chance.randint(1, 12)
        return word

    def _new_word(self) -> str:
        kind = self._chance.randrange(7) if self.words else 0
        if kind < 3:
            return "".join(self._letter() for _ in range(self._chance.choice(LENGTHS)))
        known = self._chance.choice(self.words)
        if kind == 3:
            return known + self._letter() * self._chance.randint(1, 4)
        if kind == 4:
            return self._chance.choice((known, known.capitalize())) + self._chance.choice("017")
        return self._misspelt(known)

    def _misspelt(self, word: str) -> str:
        """Return a word with one character deleted, inserted, replaced or swapped with the next, but never with a digit
        at its beginning.
        """
        place = self._chance.randrange(len(word))
        head, char, rest = word[:place] or self._letter(), word[place], word[place + 1 :]
        return head + self._chance.choice(
            (rest, self._letter() + char + rest, self._letter() + rest, rest[:1] + char + rest[1:])
        )

    def _common_word(self) -> str:
        return self.words[min(int(self._chance.paretovariate(0.6)) - 1, len(self.words) - 1)]

    def _letter(self) -> str:
        return self._chance.choice(self._letters)


def change(index: Index, model: SonicBucket, chance: random.Random, texts: Texts, times: int, oids: int) -> None:
    """Push into new and old objects; remove words and objects."""
    with index.batch():
        for _ in range(times):
            oid, text = f"o{chance.randrange(oids)}", texts.text(6)
            verb = chance.choice(("push",) * 6 + ("pop", "pop whole", "flush"))
            if verb == "push":
                index.push(C, B, oid, text, "none")
                model.push(oid, text)
            elif verb == "flush":
                assert index.flush_object(C, B, oid) == model.flush_object(oid)
            else:
                popped = text if verb == "pop" else " ".join(sorted(model.objects.get(oid, {text})))
                assert index.pop(C, B, oid, popped) == model.pop(oid, popped)
    assert index.count_objects(C, B) == len(model.objects)


def compare(index: Index, model: SonicBucket, chance: random.Random, texts: Texts) -> None:
    """Ask both the index and the model the same questions."""
    for _ in range(QUERIES):
        text, limit, offset = texts.question(4), chance.choice((1, 3, 10, 100)), chance.choice((0, 0, 0, 2, 7))
        answer = index.query(C, B, text, limit=limit, offset=offset, lang="none")
        assert answer == model.query(text, limit, offset), (text, limit, offset)
    for _ in range(SUGGESTIONS):
        word, limit = texts.typed(), chance.choice((1, 5, 20))
        assert index.suggest(C, B, word, limit=limit) == model.suggest(word, limit), (word, limit)
    for offset, limit in ((0, 500), (3, 5), (len(model.graph), 3), (10_000, 5)):
        assert index.words(C, B, limit=limit, offset=offset) == model.list_words(limit, offset)
    assert index.count_words(C, B) == len(model.graph)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.full] if place % 48 else []) for place, case in enumerate(CASES)],
    ids=str,
)
def test_random_corpora(tmp_path: Path, case: Settings) -> None:
    run(tmp_path, case)


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("hundred", range(100, 500, 100))
def test_many_random_corpora(tmp_path: Path, hundred: int) -> None:
    for seed in range(hundred, hundred + 100):
        chance = random.Random(seed)
        cuts = (*CUTS, (0.25, 3), (1.1, 2), (2.0, 10))
        case = Settings(seed, chance.choice((6, 13, 1000)), chance.choice((*BUDGETS, 2, 7, 50)), chance.choice(cuts))
        run(tmp_path / str(seed), case)


def run(folder: Path, case: Settings) -> None:
    """Fill an index and a model with the corpus of a seed, and compare them on the way."""
    chance = random.Random(case.seed)
    texts = Texts(chance, "abc" if case.seed % 2 else "aeistrn", chance.choice((15, 40, 70)))
    model = case.model()
    with case.open(folder) as index:
        for changes in (60, 40, 1):
            change(index, model, chance, texts, changes, oids=chance.choice((12, 60)))
            compare(index, model, chance, texts)  # what was pushed since the last time has no completions yet
            index.consolidate()
            model.consolidate()
            compare(index, model, chance, texts)


def test_a_window_of_a_thousand_fills(tmp_path: Path) -> None:
    """The table of a query is full at the window: an exact phase ends inside a word, later phases after one more
    word.
    """
    chance = random.Random(1)
    texts = Texts(chance, "abcd", 30)
    case = Settings(1, window=1000, budget=1000, cut=(0.1, 100))
    model = case.model()
    with case.open(tmp_path) as index:
        with index.batch():
            for number in range(2_000):
                text = texts.text(2)
                index.push(C, B, f"o{number}", text, "none")
                model.push(f"o{number}", text)
        index.consolidate()
        model.consolidate()
        full = 0
        for number in range(40):
            text = texts.text(3) if number % 2 else texts.question(4)
            expected = model.query(text, 2_000, 0)
            full += len(expected) >= 1000
            assert index.query(C, B, text, limit=2_000, lang="none") == expected, text
        assert full > 5


def open_small(folder: Path) -> Index:
    return Settings(0, window=1000, budget=4, cut=(0.1, 100)).open(folder)


class TestWordsThatNoObjectHolds:
    """Chapter 10.2: words popped away one by one leave the graph; "if no word remains, the object is deleted and
    nothing is removed from the graph". Chapter 10.4, FLUSHO: "object gone at once; graph untouched".
    """

    def test_a_popped_word_leaves(self, tmp_path: Path) -> None:
        with open_small(tmp_path) as index:
            index.push(C, B, "o", "alpha beta", "none")
            index.consolidate()
            assert index.pop(C, B, "o", "alpha") == 1
            assert index.words(C, B) == ["alpha", "beta"]
            index.consolidate()
            assert index.words(C, B) == ["beta"]

    @pytest.mark.parametrize("way", ["pop", "flush_object"])
    def test_words_of_an_object_that_is_gone_stay(self, tmp_path: Path, way: str) -> None:
        with open_small(tmp_path) as index:
            index.push(C, B, "o", "alpha beta", "none")
            index.consolidate()
            assert (index.pop(C, B, "o", "beta alpha") if way == "pop" else index.flush_object(C, B, "o")) == 2
            index.consolidate()
            assert (index.words(C, B), index.count_words(C, B)) == (["alpha", "beta"], 2)
            assert index.suggest(C, B, "alp") == ["alpha"]
            assert index.query(C, B, "alp", lang="none") == []


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("abcdefghijkz", ["o"]),
        ("abcdefghijyz", ["o"]),
        ("abcdefghixyz", []),
        ("abcdefghxyz", ["o"]),
    ],
)
def test_an_automaton_of_too_many_states_is_refused(tmp_path: Path, typed: str, expected: list[str]) -> None:
    """Chapter 8: "If the automaton for (word, d) needs more than 10,000 states it is refused and this word is
    finished": the third edit of twelve different letters."""
    model = SonicBucket(1000, 4, 0.1, 100)
    model.push("o", "abcdefghijkl abcdefghijk")
    model.consolidate()
    with open_small(tmp_path) as index:
        index.push(C, B, "o", "abcdefghijkl abcdefghijk", "none")
        index.consolidate()
        assert index.query(C, B, typed, lang="none") == model.query(typed, 10, 0) == expected


BYTES_AND_SCRIPTS = [
    ("cöx", "cöy", True, "three letters are four bytes: one edit"),
    ("cox", "coy", False, "three bytes: none"),
    ("caf\u00e9", "cafe\u0301", True, "other spellings are looked up in the exact phase"),
    ("cafe\u0301", "caf\u00e9", True, "both ways"),
    ("привет", "при", True, "Cyrillic goes on in Cyrillic"),
    ("абвгде1", "абв", False, "a digit is not of the range"),
    ("apple10", "app", True, "digits are of the Latin range"),
    ("việt", "vi", False, "letters of U+1Exx are not"),
    ("서울특별시", "서울", False, "syllables are not of the Hangul range"),
    ("a" * 40, "a" * 39, True, "40 bytes are in the graph"),
    ("a" * 41, "a" * 40, False, "41 are not"),
    ("a" * 41, "a" * 41, True, "but are found as typed"),
    ("ABC123", "abc123", False, "special words keep their case"),
    ("ABC123", "ABC12", True, "and are completed"),
    ("abc123", "abx123", False, "but digits are never corrected"),
]


@pytest.mark.parametrize(("stored", "typed", "finds", "why"), BYTES_AND_SCRIPTS)
def test_lengths_are_bytes_and_completions_keep_to_a_script(
    tmp_path: Path, stored: str, typed: str, finds: bool, why: str
) -> None:
    with open_small(tmp_path) as index:
        index.push(C, B, "o", stored, "none")
        index.consolidate()
        assert index.query(C, B, typed, lang="none") == ["o"] * finds, why
