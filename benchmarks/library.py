"""Print what the library does in one process and on one thread: texts a second, and how long queries take.

    python -m benchmarks.library [TEXTS]

Texts and queries are chat messages and neighbouring words of random ones (benchmarks/data.py). Rates are over the CPU
time of the process, commits included; beside ours stands tantivy with one indexing thread, where it is installed.
Queries are asked one after the other behind as many others, none twice on purpose; their times are of the clock.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import quantiles
from typing import Any

import sonicpy
from benchmarks.data import messages, queries
from benchmarks.versus.libraries import find_tantivy

TEXTS = 330_000
FREQUENT = 50
"""Texts a commit, where commits are frequent."""
FREQUENT_TEXTS = 5_000
"""Indexed with frequent commits; more would take tantivy minutes."""
QUERIES = 5_000
C, B = "messages", "default"

TEXTS_PER_S_BAR = 40_000
EXACT_US_BAR = 15
DEFAULT_US_BAR = 40

Rows = list[tuple[str, str]]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else TEXTS
    texts = messages(count)
    rows = [(f"message:{number}", text) for number, text in enumerate(texts)]
    print(f"{count} texts of {sum(map(len, texts)) / count:.0f} characters")
    with tempfile.TemporaryDirectory() as folder:
        push(Path(folder), rows)
        for name, alternates, bar in (("exact", 0, EXACT_US_BAR), ("with alternates", None, DEFAULT_US_BAR)):
            search = {} if alternates is None else {"query_alternates_try": alternates}
            config = sonicpy.Config.model_validate({"search": search})
            with sonicpy.open(Path(folder, "ours"), config) as index:
                for words in (1, 2, 3):
                    for text in queries(texts, words, 2 * QUERIES)[QUERIES:]:
                        index.query(C, B, text)  # others than those that are timed
                    ask(f"query of {words}, {name}", index, queries(texts, words, QUERIES), bar)


def push(folder: Path, rows: Rows) -> None:
    """Print the rates of indexing; our index stays in `folder`."""
    tantivy = find_tantivy()
    with sonicpy.open(folder / "ours") as index:
        line("push_many", rate(lambda: index.push_many(rows, collection=C, bucket=B), len(rows)), TEXTS_PER_S_BAR)
        index.consolidate()
    if tantivy is not None:
        once = rate(lambda: index_by_tantivy(tantivy, folder / "tantivy", rows, len(rows)), len(rows))
        line("tantivy, one commit", once)
    some = rows[:FREQUENT_TEXTS]
    theirs = None
    if tantivy is not None:
        theirs = rate(lambda: index_by_tantivy(tantivy, folder / "often", some, FREQUENT), len(some))
    with sonicpy.open(folder / "ours often") as index:
        line(f"push_many of {FREQUENT}", rate(lambda: push_often(index, some), len(some)), theirs)
    if theirs is not None:
        line(f"tantivy, a commit every {FREQUENT}", theirs)


def push_often(index: sonicpy.Index, rows: Rows) -> None:
    left = iter(rows)
    while some := list(islice(left, FREQUENT)):
        index.push_many(some, collection=C, bucket=B)


def index_by_tantivy(tantivy: Any, folder: Path, rows: Rows, commit_every: int) -> None:
    folder.mkdir()
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("oid", stored=True, tokenizer_name="raw")
    schema.add_text_field("text", stored=False)
    writer = tantivy.Index(schema.build(), path=str(folder)).writer(num_threads=1)
    for number, (oid, text) in enumerate(rows, 1):
        writer.add_document(tantivy.Document(oid=oid, text=text))
        if number % commit_every == 0:
            writer.commit()
    writer.commit()
    writer.wait_merging_threads()


def rate(work: Callable[[], object], texts: int) -> float:
    """Return texts a second of CPU time."""
    began = time.process_time()
    work()
    return texts / (time.process_time() - began)


def line(name: str, texts_per_s: float, bar: float | None = None) -> None:
    verdict = "" if bar is None else f"   bar {bar:,.0f}: {'met' if texts_per_s >= bar else 'MISSED'}"
    print(f"  {name:32} {texts_per_s:10,.0f} texts/s{verdict}", flush=True)


def ask(name: str, index: sonicpy.Index, asked: list[str], bar: float) -> None:
    took = []
    found = 0
    for text in asked:
        began = time.perf_counter_ns()
        hits = index.query(C, B, text)
        took.append((time.perf_counter_ns() - began) / 1000)
        found += bool(hits)
    cuts = quantiles(took, n=100)
    verdict = f"   bar {bar} of p50: {'met' if cuts[49] <= bar else 'MISSED'}"
    print(f"  {name:32} p50 {cuts[49]:6.1f} us, p90 {cuts[89]:6.1f}, p99 {cuts[98]:7.1f}; "
          f"{found / len(asked):.1%} find something{verdict}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
