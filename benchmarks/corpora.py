"""All texts and other data that benchmarks send, which are equal in each call: real data, or data made from fixed
seeds.

chat_messages, growing        real chat messages, in passes; with ever more generated words
messages, items, articles     made up, for the published benchmarks, as domain_names, events and keys are
"""

import hashlib
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import TypeVar

from tests.support.paths import SHARED
from tests.support.texts import SEED, oid
from tests.support.texts import messages as real_messages

Made = TypeVar("Made", bound=Sequence[object])

PASS = 330_000
"""The number of chat messages in a pass."""
GROWN = 10_000_000
GROWN_WORDS = 2_000_000
"""The number of generated words among GROWN objects."""
HEAPS = 0.7
SKEW = 6.0
"""The exponent that makes low numbers common: an older word is chosen by a random fraction raised to this power."""
OPEN_SYLLABLES = [first + second for first in "bcdfghjklmnprstvwxz" for second in "aeiou"]
OPEN_SYLLABLES_MIN = 3

VOCABULARY = SHARED / "words" / "english_words_reindexer_bench.txt"
COMMON_WORDS = "the of and in to was is for as on by with it that from".split()
SYLLABLES = [
    onset + vowel for onset in "b c d f g h k l m n p r s t v w st tr ch".split() for vowel in "a e i o u".split()
]
MESSAGE_WORDS = 120_000
MESSAGE_BYTES = 100
ZIPF = 1.07
LONG_SHARE = 0.002
ITEM_WORDS = 50


def chat_messages(count: int) -> list[str]:
    """Return chat messages, none of them blank; text `n` belongs to object `oid(n)`.

    If there are fewer than `count`, they repeat, with the number of the pass added.
    """
    once = [text.strip() for text in real_messages(min(count, PASS)) if text.strip()]
    return [once[number % len(once)] + pass_word(number // len(once)) for number in range(count)]


def pass_word(number: int) -> str:
    """Return the word that pass `number` over the messages adds to each text; empty for the first pass."""
    return f" {number + 1}" if number else ""


def growing(first: int, end: int, passed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (OID, text) of the objects from number `first` to `end`: chat messages, and words by Heaps' law.

    The first n objects contain `GROWN_WORDS * (n / GROWN) ** HEAPS` generated words. A new word is the last word of its
    first object, and half of all objects contain an older generated word, low numbers more often. So real words have
    long postings lists and the vocabulary keeps growing, as in real collections.

    Args:
        passed: the messages of a pass.
    """
    known = grown_words(first)
    for number in range(first, end):
        text = passed[number % len(passed)]
        chance = random.Random(SEED + number)
        if known and chance.random() < 0.5:
            text += " " + grown_word(int(known * chance.random() ** SKEW))
        count = grown_words(number + 1)
        yield oid(number), " ".join([text, *map(grown_word, range(known, count))])
        known = count


def grown_words(objects: int) -> int:
    """Return the number of generated words in the first `objects` objects."""
    return int(GROWN_WORDS * (objects / GROWN) ** HEAPS)


def grown_word(number: int) -> str:
    """Return the generated word for a number: a different one for each, of at least OPEN_SYLLABLES_MIN syllables."""
    found: list[str] = []
    while number or len(found) < OPEN_SYLLABLES_MIN:
        number, at = divmod(number, len(OPEN_SYLLABLES))
        found.append(OPEN_SYLLABLES[at])
    return "".join(found)


def described(name: str, made: Made, say: Callable[[str], None]) -> Made:
    """Print the size and the SHA-256 of generated data; return the data."""
    digest = hashlib.sha256()
    size = 0
    for row in made:
        data = repr(row).encode()
        digest.update(data)
        size += len(data)
    say(f"{name}: {len(made)} rows, {size} bytes, SHA-256 {digest.hexdigest()}")
    return made


def made_up_words(count: int, seed: int) -> list[str]:
    """Return different words of 2 to 5 syllables that belong to no language and no stop list."""
    return list(_made_up_words(count, seed))


@cache
def _made_up_words(count: int, seed: int) -> tuple[str, ...]:
    chance = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < count:
        words["x" + "".join(chance.choices(SYLLABLES, k=chance.randint(2, 5)))] = None
    return tuple(words)


def messages(count: int) -> list[str]:
    """Return `count` chat messages of 100 bytes on average, words by Zipf's law, 0.2 % of them e-mails of 2 to
    15 kB."""
    chance = random.Random(1)
    words = made_up_words(MESSAGE_WORDS, 1)
    weights = list(accumulate(1 / rank**ZIPF for rank in range(1, len(words) + 1)))
    mean_words = MESSAGE_BYTES / (1 + sum(map(len, words[:2000])) / 2000)
    texts = []
    for _ in range(count):
        length = max(1, round(chance.lognormvariate(math.log(mean_words) - 0.32, 0.8)))
        if chance.random() < LONG_SHARE:
            length = chance.randint(200, 1500)
        texts.append(" ".join(chance.choices(words, cum_weights=weights, k=length)))
    return texts


def vocabulary() -> list[str]:
    """Return the words for the items: real English words if the shared file exists, else made-up words."""
    if not VOCABULARY.exists():
        return made_up_words(100_000, 2)
    words = (word.strip().lower() for word in VOCABULARY.read_text(encoding="utf-8").split())
    return list(dict.fromkeys(word for word in words if word.isascii() and word.isalpha() and len(word) > 2))


def items(count: int) -> list[tuple[int, str, int, str]]:
    """Return `count` documents (number, name, year, description of 50 uniformly drawn words)."""
    chance = random.Random(2)
    words = vocabulary()
    adjectives, nouns = made_up_words(67, 67), made_up_words(111, 111)
    return [
        (
            number,
            f"{chance.choice(adjectives)} {chance.choice(nouns)}",
            2000 + chance.randrange(50),
            " ".join(chance.choices(words, k=ITEM_WORDS)),
        )
        for number in range(count)
    ]


def domain_names(count: int) -> list[str]:
    """Return different domain names: 46 % .com, 300 endings by Zipf's law, two to four labels."""
    chance = random.Random(3)
    endings = ["com", *made_up_words(299, 3)]
    weights = list(accumulate([0.46] + [0.54 / rank / 6.28 for rank in range(1, 300)]))
    labels = made_up_words(50_000, 33)
    names: dict[str, None] = {}
    while len(names) < count:
        parts = chance.choices(labels, k=chance.choices((1, 2, 3), (80, 17, 3))[0])
        names[".".join([*parts, chance.choices(endings, cum_weights=weights)[0]])] = None
    return list(names)


def suffixes(name: str) -> list[str]:
    """Return a domain name and its parent domains."""
    labels = name.split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]


def events(count: int) -> list[tuple[str, str]]:
    """Return (32 hexadecimal digits, seven short words): objects with names of their own."""
    chance = random.Random(4)
    words = made_up_words(5_000, 4)
    return [(f"{chance.getrandbits(128):032x}", " ".join(chance.choices(words, k=7))) for _ in range(count)]


def articles(count: int, seed: int = 5) -> list[str]:
    """Return articles of about 5.4 kB by Zipf's law: 15 frequent real words, invented words, and some words that occur
    once.

    Args:
        count: the number of articles.
        seed: the seed of the random choice of words.
    """
    chance = random.Random(seed)
    words = COMMON_WORDS + made_up_words(30_000, 5)
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(1, len(words) + 1)))
    fresh = made_up_words(6 * count, seed + 1000)
    texts = []
    for number in range(count):
        drawn = chance.choices(words, cum_weights=weights, k=max(50, round(chance.lognormvariate(6.4, 0.6))))
        texts.append(" ".join(drawn + fresh[6 * number : 6 * number + 6]))
    return texts


def keys(count: int) -> list[bytes]:
    """Return different keys of 10 small letters."""
    chance = random.Random(1570109110136449000)
    made: dict[bytes, None] = {}
    while len(made) < count:
        made["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=10)).encode()] = None
    return list(made)


def misspelt(word: str, chance: random.Random, known: Iterable[str]) -> str:
    """Return an unknown word at a distance of one substitution from a word."""
    while True:
        at = chance.randrange(1, len(word))
        wrong = word[:at] + chance.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1 :]
        if wrong not in known:  # type: ignore[operator]
            return wrong
