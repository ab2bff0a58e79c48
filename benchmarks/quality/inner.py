"""Measure whether the parts of compounds find the objects with the compound: `path` finds `os.path.join`."""

import random
import re

import sonicpy
from benchmarks.quality.tables import table
from tests.support.texts import messages

MESSAGES = 330_000
ASKED = 1_730
LETTERS_MIN = 3
"""The fewest letters of a part that is asked for."""
JOINED = re.compile(r"[^\W_]+(?:[._:][^\W_]+)+")
SIGNS = re.compile("[._:]")
SEED = 9
C, B = "inner", "messages"


def inner_table(count: int = MESSAGES, asked: int = ASKED) -> str:
    """Return a table of how many messages are found by a part of one of their compounds, while their words are pending,
    and in a word graph.

    Args:
        count: the number of messages.
        asked: the most parts to ask for.
    """
    texts = messages(count)
    pairs = _parts_in(texts)
    chosen = random.Random(SEED).sample(pairs, min(asked, len(pairs)))
    rows = []
    with sonicpy.open(":memory:") as index:
        index.push_many(((str(number), text) for number, text in enumerate(texts) if text), collection=C, bucket=B)
        for state, prepare in (("as pushed", bool), ("consolidated", index.consolidate)):
            prepare()
            found = sum(str(number) in set(index.query(C, B, part, limit=count).objects) for number, part in chosen)
            rows.append([f"{count:,} messages, {state}", f"{found:,} of {len(chosen):,}"])
    share = len({number for number, _ in pairs}) / len(texts)
    title = f"asked by a part of a word joined by . _ or :, which {share:.1%} of the messages hold"
    return table([title, "the message is in the whole answer"], rows)


def _parts_in(texts: list[str]) -> list[tuple[int, str]]:
    """Return (number of a message, part) for each part of a compound except the first."""
    return [
        (number, part)
        for number, text in enumerate(texts)
        for word in JOINED.findall(text)
        for part in SIGNS.split(word)[1:]
        if len(part) >= LETTERS_MIN and part.isalpha()
    ]
