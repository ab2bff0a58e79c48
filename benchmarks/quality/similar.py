"""SIMILAR beside a query with the whole text of an object: the share of the other objects of the same answer found.

    python -m benchmarks.quality similar

Each object that a judged query should find is asked about; the share of the query's other objects among the first ten
counts, of as many as ten can be.
"""

import random
import time
from collections.abc import Callable
from statistics import mean, median

import sonicpy
from benchmarks.quality.tables import table
from sonicpy.evaluation.inputs import Collection

PLACES = 10
ASKED = 1_500
SEED = 3


def similar_table(given: list[Collection]) -> str:
    """Return the share and the CPU time of SIMILAR and of the whole text for each collection."""
    heads = ["collection", "by the text", "SIMILAR", "of it", "us by the text", "us of SIMILAR"]
    return table(heads, [compared(each) for each in given])


def compared(given: Collection) -> list[str]:
    """Return the figures of a collection."""
    pairs, texts = judged(given), given.documents
    with sonicpy.open(":memory:") as index:
        bucket = index.bucket("texts", "documents")
        bucket.push_many((name, text, "eng") for name, text in texts.items())
        index.consolidate()
        by_text, text_us = asked(pairs, lambda name: [*bucket.query(f"{texts[name]} ", limit=PLACES + 1)])
        by_record, record_us = asked(pairs, lambda name: [*bucket.similar(name, limit=PLACES)])
    figures = [f"{by_text:.4f}", f"{by_record:.4f}", f"{by_record / by_text:.3f}"]
    return [given.name, *figures, f"{text_us:.0f}", f"{record_us:.0f}"]


def judged(given: Collection) -> list[tuple[str, set[str]]]:
    """Return objects, each with the others that the same query should find."""
    found = []
    for grades in given.relevant.values():
        good = {name for name, grade in grades.items() if grade > 0 and name in given.documents}
        found += [(name, good - {name}) for name in sorted(good) if len(good) > 1]
    random.Random(SEED).shuffle(found)
    return found[:ASKED]


def asked(pairs: list[tuple[str, set[str]]], ask: Callable[[str], list[str]]) -> tuple[float, float]:
    """Return the mean share of the others that are found, and the median CPU time of a question in microseconds."""
    shares, times = [], []
    for name, others in pairs:
        began = time.process_time_ns()
        answer = ask(name)
        times.append((time.process_time_ns() - began) / 1e3)
        found = [one for one in answer if one != name][:PLACES]
        shares.append(len(others & set(found)) / min(PLACES, len(others)))
    return mean(shares), median(times)
