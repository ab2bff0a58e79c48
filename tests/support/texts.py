"""Texts, queries and command lines for measurements, the same in each call."""

import random
from itertools import accumulate

from tests.support.paths import SHARED

MESSAGES = SHARED / "messages" / "messages.tsv"
SEED = 1491
MANY_WORDS = " ".join(f"word{number}" for number in range(1_500))
"""A text of more words than a small bucket holds: its bucket gets a graph."""


def messages(count: int) -> list[str]:
    """Return `count` chat messages of about 60 bytes: real ones, or invented ones if the shared file is missing."""
    if MESSAGES.exists():
        with open(MESSAGES, encoding="utf-8") as file:
            texts = [line.rstrip("\n").split("\t")[2] for _, line in zip(range(count), file, strict=False)]
        return (texts * (count // len(texts) + 1))[:count]
    rng = random.Random(SEED)
    lexicon = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(30_000)]
    weights = list(accumulate(1 / rank for rank in range(1, len(lexicon) + 1)))
    return [" ".join(rng.choices(lexicon, cum_weights=weights, k=rng.randint(3, 18))) for _ in range(count)]


def queries(texts: list[str], words: int, count: int) -> list[str]:
    """Return `count` queries, each of `words` neighbouring words of a random text."""
    rng = random.Random(SEED + words)
    found: list[str] = []
    while len(found) < count:
        tokens = rng.choice(texts).split()
        if len(tokens) >= words:
            at = rng.randrange(len(tokens) - words + 1)
            found.append(" ".join(tokens[at : at + words]).replace('"', " ").replace("\\", " "))
    return found


def quoted(text: str) -> str:
    """Return `text` between quotation marks, escaped for the channel."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def oid(number: int) -> str:
    """Return the OID of text `number`."""
    return f"message:{number}"
