"""Sentences of known languages: whether a part of a sentence finds it, and whether its language is guessed right."""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sonicpy.evaluation.inputs import Sentences
from sonicpy.evaluation.searched import Searched, fill

SEED = 20
LENGTHS = (20, 60, 200)
"""Bytes of the texts whose language is guessed."""

BORROWED = frozenset(
    "aka aze bel epo hau jav kur lat sna srp tuk uzb yid yor zul".split()
)
"""Languages without n-gram profile of their own, left out of the shares."""

WITHOUT_BLANKS = frozenset("cmn jpn tha khm mya lao".split())
"""Languages written without blanks between words; a part of a Korean sentence begins inside a word too."""
INSIDE_WORDS = WITHOUT_BLANKS | {"kor"}

PER_LANGUAGE = 100
"""Sentences of a language that are searched."""
PART_WORDS = 3
PART_LETTERS = 4
FOUND_WITHIN = 10

Text = tuple[str, str]
"""A language and a text in it."""
Guess = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Languages:
    """The figures of one file of sentences."""

    name: str
    languages: int
    sentences: int
    found: float
    """Share of the parts (three words in a row, four letters in a row where words are not parted by blanks) that find
    their sentence among the first ten."""
    found_inside: float
    """The same of the languages where four letters were asked for."""
    empty: int
    query_us: float
    guessed: dict[int, float]
    """Bytes of a text -> share of texts whose language is guessed right; empty where nobody is to be asked."""
    guess_us: float
    """Time of a guess at the largest of these sizes."""
    found_by_language: dict[str, float]


def evaluate(searched: Searched, scope: str, given: Sentences, guess: Guess | None = None) -> Languages:
    """Push sentences of all languages into one bucket, and ask for a part of each.

    Args:
        scope: name of a collection for our use alone.
        guess: text -> language; None: what is asked does not tell.
    """
    chance = random.Random(SEED)
    by_language: defaultdict[str, list[str]] = defaultdict(list)
    for code, text in dict.fromkeys(given.texts):
        by_language[code].append(text)
    chosen = [
        (code, text)
        for code, texts in sorted(by_language.items())
        for text in chance.sample(texts, min(PER_LANGUAGE, len(texts)))
    ]
    fill(searched, scope, "sentences", ((str(number), text) for number, (_, text) in enumerate(chosen)))
    found: defaultdict[str, list[bool]] = defaultdict(list)
    empty = 0
    taken_s = 0.0
    for number, (code, text) in enumerate(chosen):
        asked = part(text, chance, letters=code in INSIDE_WORDS)
        began = time.perf_counter()
        answers = searched.query(scope, "sentences", asked, limit=FOUND_WITHIN)
        taken_s += time.perf_counter() - began
        found[code].append(str(number) in answers)
        empty += not len(answers)
    guessed, guess_us = shares(guess, given.texts) if guess is not None else ({}, 0.0)
    return Languages(
        given.name,
        len(by_language),
        len(chosen),
        _share(hit for hits in found.values() for hit in hits),
        _share(hit for code in sorted(INSIDE_WORDS) for hit in found.get(code, ())),
        empty,
        taken_s / max(len(chosen), 1) * 1e6,
        guessed,
        guess_us,
        {code: _share(hits) for code, hits in found.items()},
    )


def part(text: str, chance: random.Random, *, letters: bool) -> str:
    """Return three words in a row of a text from a place of chance, or four letters in a row of one of its runs."""
    words = text.split()
    if letters:
        longest = max(("".join(char if char.isalpha() else " " for char in text)).split() or [text], key=len)
        start = chance.randint(0, max(0, len(longest) - PART_LETTERS))
        return longest[start : start + PART_LETTERS]
    start = chance.randint(0, max(0, len(words) - PART_WORDS))
    return " ".join(words[start : start + PART_WORDS])


def shares(guess: Guess, texts: Iterable[Text]) -> tuple[dict[int, float], float]:
    """Return by size of a text the share of right guesses, and the microseconds of one at the largest size."""
    usual = [(code, text) for code, text in texts if code not in BORROWED]
    guessed = {}
    guess_us = 0.0
    for size_bytes in LENGTHS:
        if pieces := cuts(usual, size_bytes):
            guessed[size_bytes] = accuracy(guess, pieces)
            guess_us = time_us(guess, pieces)
    return guessed, guess_us


def cuts(texts: Iterable[Text], size_bytes: int) -> list[Text]:
    """Return from each text that is long enough one piece of at least `size_bytes` bytes, from a place of chance."""
    chance = random.Random(SEED + size_bytes)
    pieces = []
    for code, text in texts:
        latest = next((start for start in reversed(range(len(text))) if len(text[start:].encode()) >= size_bytes), None)
        if latest is not None:
            start = chance.randint(0, latest)
            end = next(end for end in range(start, len(text) + 1) if len(text[start:end].encode()) >= size_bytes)
            pieces.append((code, text[start:end]))
    return pieces


def accuracy(guess: Guess, texts: list[Text]) -> float:
    """Return the share of `texts` that `guess` names right."""
    return _share(guess(text) == code for code, text in texts)


def time_us(guess: Guess, texts: list[Text]) -> float:
    """Return the microseconds of processor time of one guess, the best of five rounds."""
    rounds = []
    for _ in range(5):
        start = time.process_time()
        for _, text in texts:
            guess(text)
        rounds.append((time.process_time() - start) / len(texts) * 1e6)
    return min(rounds)


def _share(hits: Iterable[bool]) -> float:
    listed = list(hits)
    return sum(listed) / len(listed) if listed else 0.0
