"""Measure whether unfinished input finds the meant word: unfinished words, with typing errors, and without accents."""

import random
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import sonicpy
from benchmarks.quality.tables import table
from sonicpy import Index
from sonicpy.evaluation.inputs import read_words
from sonicpy.index.search.accents import fold
from tests.support.texts import messages

MESSAGES = 330_000
TYPED_WORDS = 300
FIRST_LETTERS = 4
"""The number of typed letters before the first answer is examined."""
VOCABULARY = 20_000
ASKED = 400
FIRST = 10
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The shares of a word that are typed."""
ACCENTED = "fr es pt cs hu sv tr vi de pl ro sk hr el ru".split()
ACCENTED_LETTERS = 5
"""The fewest letters of a word with accents, because shorter words without accents resemble ten others."""
SEED = 9
C, B = "typed", "words"


def typing_tables(data: Path) -> str:
    """Return the tables of the shares of unfinished words that are found."""
    return "\n\n".join((keystrokes_table(), errors_table(data), accents_table(data)))


def keystrokes_table(count: int = MESSAGES) -> str:
    """Return a table of how often a message, one of `count`, is in the whole answer while one of its words is typed
    letter by letter.
    """
    chance = random.Random(SEED)
    texts = messages(count)
    found = asked = 0
    with sonicpy.open(":memory:") as index:
        index.push_many(((str(number), text) for number, text in enumerate(texts) if text), collection=C, bucket=B)
        index.consolidate()
        for _ in range(TYPED_WORDS):
            number, word = _some_word(texts, chance)
            for typed in range(FIRST_LETTERS, len(word) + 1):
                asked += 1
                found += str(number) in set(index.query(C, B, word[:typed], limit=count).objects)
    rows = [
        [f"{count:,} messages, {TYPED_WORDS} words letter by letter from the 4th on", str(asked), _share(found, asked)]
    ]
    return table(["what is typed", "keystrokes", "the message is in the whole answer"], rows)


def _some_word(texts: list[str], chance: random.Random) -> tuple[int, str]:
    """Return the number of a message, and a random word of 7 to 14 letters in it."""
    while True:
        number = chance.randrange(len(texts))
        words = [word for word in re.findall(r"[^\W\d_]+", texts[number]) if 7 <= len(word) <= 14]
        if words:
            return number, chance.choice(words)


def errors_table(data: Path) -> str:
    """Return a table of how often a word is among the first ten while it is typed with two errors, one or none."""
    words = list(read_words(data / "words" / "en_freq_82765_symspell.tsv"))[:VOCABULARY]
    chance = random.Random(SEED)
    asked = chance.sample([word for word in words if 8 <= len(word) <= 13 and word.isalpha()], ASKED)
    rows = []
    with _index_of(words) as index:
        once = partial(mistyped, chance)
        for name, typed_as in (
            ("without an error", str),
            ("with one", once),
            ("with two", lambda word: once(once(word))),
        ):
            typed = {share: [typed_as(word[: round(share * len(word))]) for word in asked] for share in SHARES}
            for verb, ask in (("QUERY", _asked), ("SUGGEST", _suggested)):
                shares = [_found(index, ask, zip(asked, typed[share], strict=True)) for share in SHARES]
                rows.append([f"{verb}, {name}", *shares])
    return table(["20,000 words; typed", *(f"{share:.0%}" for share in SHARES)], rows)


def accents_table(data: Path) -> str:
    """Return the table of how often a word with accents is among the first ten answers when three quarters of its
    letters are typed without accents."""
    words: dict[str, list[str]] = {lang: [] for lang in ACCENTED}
    for line in (data / "words" / "freq_top2500_by_language.tsv").read_text(encoding="utf-8").splitlines():
        lang, word, *_ = line.split("\t")
        if lang in words and word.isalpha():
            words[lang].append(word.casefold())
    rows = [["QUERY"], ["SUGGEST"]]
    for held in words.values():
        pairs = [(word, _bare(word)[: round(0.75 * len(word))]) for word in held if len(word) >= ACCENTED_LETTERS]
        pairs = [(word, start) for word, start in pairs if not word.startswith(start)]
        with _index_of(held) as index:
            for row, ask in zip(rows, (_asked, _suggested), strict=True):
                row.append(_found(index, ask, pairs))
    return table(["three quarters of a word, without accents", *words], rows)


@contextmanager
def _index_of(words: list[str]) -> Iterator[Index]:
    """Yield an index with an object for each word; frequent words come first."""
    with sonicpy.open(":memory:") as index:
        index.push_many(((word, word) for word in words), collection=C, bucket=B)
        index.consolidate()
        yield index


def _asked(index: Index, typed: str) -> Iterable[str]:
    return index.query(C, B, typed, limit=FIRST).objects


def _suggested(index: Index, typed: str) -> Iterable[str]:
    return index.suggest(C, B, typed, limit=FIRST)


def _found(index: Index, ask: Callable[[Index, str], Iterable[str]], pairs: Iterable[tuple[str, str]]) -> str:
    """Return, as text, the share of some (word, typed form) pairs whose word is in the answer."""
    held = [word in ask(index, typed) for word, typed in pairs]
    return _share(sum(held), len(held))


def mistyped(chance: random.Random, typed: str) -> str:
    """Return letters with one error after the first letter: one more, one less, another one, or two swapped."""
    at = chance.randrange(1, len(typed))
    letter = chance.choice("abcdefghijklmnopqrstuvwxyz")
    before, behind = typed[:at], typed[at:]
    made = (before + letter + behind, before + behind[1:], before + letter + behind[1:], _swapped(typed, at))
    return chance.choice([each for each in made if each != typed])


def _swapped(typed: str, at: int) -> str:
    return typed[: at - 1] + typed[at] + typed[at - 1] + typed[at + 1 :]


def _bare(word: str) -> str:
    return fold(word, "")


def _share(found: int, asked: int) -> str:
    return f"{found / asked:.1%}"
