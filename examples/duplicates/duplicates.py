"""Find records that mean the same: `python duplicates.py customers.csv`.

The index proposes a few similar records in microseconds, so that not every record has to be compared with every other
one. A comparison of the whole texts then decides.
"""

import csv
import sys
from collections.abc import Iterable, Iterator

from rapidfuzz.fuzz import token_sort_ratio
from rapidfuzz.utils import default_process

import sonicpy

ALIKE_PERCENT = 92
PROPOSED = 5


def duplicates(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, float]]:
    """Yield (name, name of an earlier record that means the same, their likeness in per cent)."""
    seen: dict[str, str] = {}
    with sonicpy.open(":memory:") as index, index.batch():
        records = index.bucket("records", "default")
        for name, text in rows:
            alike = {other: likeness(text, seen[other]) for other in records.query(text, limit=PROPOSED)}
            best = max(alike, key=lambda other: alike[other], default=None)
            if best is not None and alike[best] >= ALIKE_PERCENT:
                yield name, best, alike[best]
            else:
                seen[name] = text
                records.push(name, text)


def likeness(one: str, other: str) -> float:
    """Return the likeness of two texts in per cent, ignoring the order of their words."""
    return token_sort_ratio(one, other, processor=default_process)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        texts = {row["id"]: row["customer"] for row in csv.DictReader(file)}
    for name, other, percent in duplicates(texts.items()):
        print(f'{name:>2} is {other:>2}: "{texts[name]}" = "{texts[other]}" ({percent:.0f} %)')
