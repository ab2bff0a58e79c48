"""Print the cost of a query that is new to the index: one to three words of messages, with and without completions.

    python -m benchmarks.asked_once [--messages 330000] [--queries 1000]

Every query is asked once, in a fresh index; "again" repeats the queries for a longer page, so that no cached answer is
used. Then it prints the cost of unfinished words with one error and with two, over 250,000 words. Compare the rows of
one run: other programs make all of them slower.
"""

import argparse
import gc
import random
import re
import time
from collections.abc import Iterable

import sonicpy
from benchmarks.quality.tables import table
from sonicpy import Index
from tests.support.texts import messages

SEED = 11
WORDS = (1, 2, 3)
LEXICON = 250_000
C, B = "asked", "once"


def questions(texts: list[str], words: int, count: int) -> list[str]:
    """Return `count` different queries, each of `words` neighbouring words of a random text."""
    chance = random.Random(SEED + words)
    found: dict[str, None] = {}
    while len(found) < count:
        held = [word for word in re.findall(r"[^\W\d_]+", chance.choice(texts)) if len(word) > 1]
        if len(held) >= words:
            at = chance.randrange(len(held) - words + 1)
            found[" ".join(held[at : at + words])] = None
    return list(found)


def mean_us(index: Index, asked: Iterable[str], limit: int) -> float:
    """Return the mean CPU time of queries in microseconds."""
    texts = list(asked)
    began = time.process_time()
    for text in texts:
        index.query_ids(C, B, text, limit=limit)
    return (time.process_time() - began) / len(texts) * 1e6


def queries_table(texts: list[str], count: int) -> str:
    """Return one row for each number of words, with each of the two ways measured on its own index with the same
    texts.
    """
    rows = []
    for name, end in (("unfinished", ""), ("finished by a blank", " ")):
        with sonicpy.open(":memory:") as index:
            index.push_many(((str(number), text) for number, text in enumerate(texts) if text), collection=C, bucket=B)
            index.consolidate()
            mean_us(index, ["warm up", "the caches of all"], 10)
            gc.collect()
            asked = {words: [text + end for text in questions(texts, words, count)] for words in WORDS}
            first = {words: mean_us(index, asked[words], 10) for words in WORDS}
            again = {words: mean_us(index, asked[words], 11) for words in WORDS}
            rows += [[f"{words} words, {name}", f"{first[words]:.0f}", f"{again[words]:.0f}"] for words in WORDS]
    return table([f"{count:,} queries over {len(texts):,} messages, us", "first", "again"], rows)


def unfinished_table(count: int) -> str:
    """Return a table of the cost of unfinished words with typing errors, one row for one error and one for two: about
    the first 70 % of words of 8 to 13 letters, with two letters swapped in their middle, or with a wrong letter, too.

    Args:
        count: the number of queries in a row.
    """
    chance = random.Random(SEED)
    made = {"".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(4, 13))) for _ in range(LEXICON)}
    words = [word for word in made if len(word) >= 8]
    rows = []
    with sonicpy.open(":memory:") as index:
        held = sorted(made)
        texts = ((str(at), " ".join(held[at : at + 50])) for at in range(0, len(held), 50))
        index.push_many(texts, collection=C, bucket=B)
        index.consolidate()
        for errors in (1, 2):
            typed = [_mistyped(word[: round(0.7 * len(word)) + errors], errors) for word in chance.sample(words, count)]
            rows.append([str(errors), f"{mean_us(index, typed, 10):.0f}"])
    return table([f"errors of an unfinished word, {len(made):,} words", "us"], rows)


def _mistyped(typed: str, errors: int) -> str:
    half = len(typed) // 2
    swapped = typed[: half - 1] + typed[half] + typed[half - 1] + typed[half + 1 :]
    return swapped if errors == 1 else swapped[:-2] + "q" + swapped[-1]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.asked_once", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--messages", type=int, default=330_000)
    parser.add_argument("--queries", type=int, default=1_000)
    arguments = parser.parse_args()
    print(queries_table(messages(arguments.messages), arguments.queries), end="\n\n", flush=True)
    print(unfinished_table(arguments.queries))


if __name__ == "__main__":
    main()
