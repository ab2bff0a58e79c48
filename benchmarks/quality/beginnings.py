"""The beginning of each text as a field: nDCG@10 without it and with it, and its cost of disk and CPU.

    python -m benchmarks.quality beginnings

The first eight words of each document are also a field, with the weight .15, as if every bucket had this rule.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median

import sonicpy
from benchmarks.quality.tables import table
from sonicpy.api.rows import Row
from sonicpy.evaluation.inputs import Collection
from sonicpy.evaluation.measures import measure

FIRST_WORDS = 8
WEIGHT = 0.15
PLACES = 10
TURNS = 3
COLLECTION, BUCKET, FIELD = "texts", "documents", "beginning"


def beginnings_table(given: list[Collection]) -> str:
    """Return the figures of each collection without and with the field, and the ratios of disk and CPU."""
    rows = []
    for each in given:
        before, after = (mean(figures(each, has_field)) for has_field in (False, True))
        cpu, disk = costs(each)
        rows.append([each.name, f"{before:.4f}", f"{after:.4f}", f"{after - before:+.4f}", f"{cpu:.2f}", f"{disk:.2f}"])
    return table(["collection", "without", "with the field", "difference", "CPU of a PUSH x", "disk x"], rows)


def figures(given: Collection, has_field: bool) -> list[float]:
    """Return nDCG@10 of each query, with the field or without."""
    names = list(given.documents)
    fields = {FIELD: WEIGHT} if has_field else None
    found = []
    with sonicpy.open(":memory:") as index:
        index.push_many(rows_of(given, has_field))
        for query, text in given.queries.items():
            hits = index.query_ids(COLLECTION, BUCKET, text, limit=PLACES, fields=fields)
            found.append(measure({query: given.relevant[query]}, {query: [names[int(hit)] for hit in hits]}).ndcg_10)
    return found


def rows_of(given: Collection, has_field: bool) -> Iterator[Row]:
    """Yield the documents, named by number, with their first words as a field or without."""
    for number, text in enumerate(given.documents.values()):
        words = text.split()
        texts = {FIELD: " ".join(words[:FIRST_WORDS]), "": " ".join(words[FIRST_WORDS:])} if has_field else None
        yield Row(COLLECTION, BUCKET, str(number), text, None, texts=texts)


def costs(given: Collection) -> tuple[float, float]:
    """Return the ratios of CPU and of disk, with the field to without: medians of turns one after the other."""
    seconds: dict[bool, list[float]] = {False: [], True: []}
    sizes: dict[bool, int] = {}
    for _ in range(TURNS):
        for has_field in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                rows = list(rows_of(given, has_field))
                with sonicpy.open(folder) as index:
                    began = time.process_time()
                    index.push_many(rows)
                    seconds[has_field].append(time.process_time() - began)
                    index.consolidate()
                sizes[has_field] = sum(path.stat().st_blocks * 512 for path in Path(folder).rglob("*"))
    return median(seconds[True]) / median(seconds[False]), sizes[True] / sizes[False]
