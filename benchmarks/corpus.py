"""A corpus of any size: chat messages in passes, with generated words, of which there are ever more by Heaps' law.

    generated words among the first n objects    WORDS * (n / OBJECTS) ** HEAPS

Each of them stands first in the object that brings it, and half of all objects hold an older one, low numbers more
often. So real words have long postings lists and the vocabulary keeps growing, as in real collections. The same number
of an object always means the same text.
"""

import random
from collections.abc import Iterator

from tests.support.texts import SEED, oid

OBJECTS = 10_000_000
WORDS = 2_000_000
"""Generated words among OBJECTS objects."""
HEAPS = 0.7
SKEW = 6.0
"""The number of an older word is a random share of all, to this power: low numbers are common."""
SYLLABLES = [first + second for first in "bcdfghjklmnprstvwxz" for second in "aeiou"]
SYLLABLES_MIN = 3
MESSAGES = 330_000
"""Of a pass."""


def word(number: int) -> str:
    """Return a generated word; another number, another word."""
    found = []
    for _ in range(SYLLABLES_MIN):
        number, at = divmod(number, len(SYLLABLES))
        found.append(SYLLABLES[at])
    while number:
        number, at = divmod(number, len(SYLLABLES))
        found.append(SYLLABLES[at])
    return "".join(found)


def word_count(objects: int) -> int:
    """Return how many generated words the first `objects` objects hold."""
    return int(WORDS * (objects / OBJECTS) ** HEAPS)


def texts(first: int, end: int, passed: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the OID and the text of the objects from number `first` to `end`.

    Args:
        passed: the messages of a pass.
    """
    known = word_count(first)
    for number in range(first, end):
        text = passed[number % len(passed)]
        chance = random.Random(SEED + number)
        if known and chance.random() < 0.5:
            text += " " + word(int(known * chance.random() ** SKEW))
        count = word_count(number + 1)
        yield oid(number), " ".join([text, *map(word, range(known, count))])
        known = count
