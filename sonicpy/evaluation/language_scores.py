"""Judges sentences of known languages: whether a part of a sentence finds it, and whether its language is guessed
right."""

import random
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sonicpy.evaluation.inputs import Sentences
from sonicpy.evaluation.searched import Searched, fill
from sonicpy.lexer.language import LanguageGuesser
from sonicpy.lexer.languages import by_code

SEED = 20
LENGTHS = (20, 60, 200)
"""The sizes in bytes of the texts whose language is guessed."""

BORROWED = frozenset("aka aze bel epo hau jav kur lat sna srp tuk uzb yid yor zul".split())
"""Languages without an n-gram profile, left out of the shares like all languages that the lexer does not know."""

WITHOUT_BLANKS = frozenset("cmn jpn tha khm mya lao".split())
"""Languages written without blanks between words: the query is a part that nothing separates from its neighbours."""
WITH_PARTICLES = frozenset({"kor"})
"""Languages whose words carry particles in a text: the query is a word without its particle."""
INSIDE = WITHOUT_BLANKS | WITH_PARTICLES
JOINING = "\u17d2\u1039\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4"
"""Signs between two consonants, and vowels written before their consonant: no word ends with them."""
FOLLOWING = "\u0e33\u0eb3\u30fc"
"""Letters that belong to the letter before them, besides all marks."""

PER_LANGUAGE = 100
"""The most sentences of a language that are searched."""
PART_WORDS = 3
PART_LETTERS = 4
FOUND_WITHIN = 10

LanguageText = tuple[str, str]
"""A language and a text in it."""
Guess = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class LanguageScores:
    """The figures of one file of sentences."""

    name: str
    languages: int
    sentences: int
    found: float
    """The share of the parts (three words in a row; four letters in a row in languages without blanks; a Korean word
    without its last letter) that find their sentence among the first ten, or ten sentences that all hold the part."""
    found_inside: float
    """The value of `found` for the languages whose parts are smaller than words between blanks."""
    empty: int
    query_us: float
    guessed: dict[int, float]
    """Size of a text in bytes -> share of texts whose language is guessed right; empty if guesses are not judged."""
    guess_us: float
    """The time of a guess at the largest size, in microseconds."""
    found_by_language: dict[str, float]


def evaluate(searched: Searched, scope: str, given: Sentences, *, guesses: bool) -> LanguageScores:
    """Push sentences of all languages into one bucket, query a part of each, and return the figures.

    Args:
        scope: the name of a collection that only this evaluation uses.
        guesses: whether to judge the guesses of this version of sonicpy, too; a server does not return its guesses.
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
        asked = part(text, chance, code)
        began = time.perf_counter()
        answers = list(searched.query(scope, "sentences", asked, limit=FOUND_WITHIN))
        taken_s += time.perf_counter() - began
        alike = len(answers) == FOUND_WITHIN and all(asked in chosen[int(name)][1] for name in answers)
        found[code].append(alike or str(number) in answers)
        empty += not len(answers)
    guessed, guess_us = shares(LanguageGuesser().guess, given.texts) if guesses else ({}, 0.0)
    return LanguageScores(
        given.name,
        len(by_language),
        len(chosen),
        _share(hit for hits in found.values() for hit in hits),
        _share(hit for code in sorted(INSIDE) for hit in found.get(code, ())),
        empty,
        taken_s / max(len(chosen), 1) * 1e6,
        guessed,
        guess_us,
        {code: _share(hits) for code, hits in found.items()},
    )


def part(text: str, chance: random.Random, code: str) -> str:
    """Return a part of a text, from a random place, as a query; the text itself if it is too short.

    Args:
        chance: chooses the place.
        code: the code of the language of the text, on which the form of the part depends.
    """
    words = text.split()
    if code in WITHOUT_BLANKS:
        return chance.choice(inner_parts(text) or [text])
    if code in WITH_PARTICLES:
        return chance.choice([word[:-1] for word in words if len(word) > PART_WORDS and word.isalpha()] or [text])
    start = chance.randint(0, max(0, len(words) - PART_WORDS))
    return " ".join(words[start : start + PART_WORDS])


def inner_parts(text: str) -> list[str]:
    """Return all runs of four letters of a text in a script without blanks that split no syllable."""
    parts = (text[start : start + PART_LETTERS] for start in range(len(text) - PART_LETTERS + 1))
    behind = (text[start + PART_LETTERS : start + PART_LETTERS + 1] for start in range(len(text) - PART_LETTERS + 1))
    return [
        letters
        for letters, following in zip(parts, behind, strict=True)
        if all(char > "\u0dff" and (char.isalpha() or _leans(char)) for char in letters)
        and not _leans(letters[0])
        and letters[-1] not in JOINING
        and not (following and _leans(following))
    ]


def _leans(char: str) -> bool:
    return char in FOLLOWING or unicodedata.category(char)[0] == "M"


def shares(guess: Guess, texts: Iterable[LanguageText]) -> tuple[dict[int, float], float]:
    """Return the share of right guesses by size of the text, and the microseconds of a guess at the largest size."""
    usual = [(code, text) for code, text in texts if code in by_code and code not in BORROWED]
    guessed = {}
    guess_us = 0.0
    for size_bytes in LENGTHS:
        if pieces := cut_pieces(usual, size_bytes):
            guessed[size_bytes] = accuracy(guess, pieces)
            guess_us = time_us(guess, pieces)
    return guessed, guess_us


def cut_pieces(texts: Iterable[LanguageText], size_bytes: int) -> list[LanguageText]:
    """Return one piece of at least `size_bytes` bytes, from a random place, of each text that is long enough."""
    chance = random.Random(SEED + size_bytes)
    pieces = []
    for code, text in texts:
        latest = next((start for start in reversed(range(len(text))) if len(text[start:].encode()) >= size_bytes), None)
        if latest is not None:
            start = chance.randint(0, latest)
            end = next(end for end in range(start, len(text) + 1) if len(text[start:end].encode()) >= size_bytes)
            pieces.append((code, text[start:end]))
    return pieces


def accuracy(guess: Guess, texts: list[LanguageText]) -> float:
    """Return the share of `texts` whose language `guess` returns."""
    return _share(guess(text) == code for code, text in texts)


def time_us(guess: Guess, texts: list[LanguageText]) -> float:
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
