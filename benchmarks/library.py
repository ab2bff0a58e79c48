"""Print the indexing rate of the library in texts per second, and the times of its queries, in one process and thread.

    python -m benchmarks.library [TEXTS]

Texts are chat messages, queries are neighbouring words of random messages (tests/support/texts.py). Rates are texts per
second of CPU time of the process, commits included; tantivy with one indexing thread is measured, too, if it is
installed. Query times are wall-clock times of queries that run one after the other, after a warm-up of 5,000 other
queries.
"""

import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import quantiles

import sonicpy
from benchmarks.command_line import parse_count
from benchmarks.peers import tantivy
from tests.support.texts import messages, oid, queries

TEXTS = 330_000
FREQUENT = 50
"""The number of texts per commit in the runs with frequent commits."""
FREQUENT_TEXTS = 5_000
"""The number of texts in the runs with frequent commits; with more, tantivy would take minutes."""
QUERIES = 5_000
C, B = "messages", "default"

TEXTS_PER_S_BAR = 40_000
EXACT_US_BAR = 15
DEFAULT_US_BAR = 40

Rows = list[tuple[str, str]]


def main() -> None:
    count = parse_count("library", __doc__, "TEXTS", TEXTS)
    texts = messages(count)
    rows = [(oid(number), text) for number, text in enumerate(texts)]
    print(f"{count} texts of {sum(map(len, texts)) / count:.0f} characters")
    with tempfile.TemporaryDirectory() as folder:
        push(Path(folder), rows)
        for name, expansions_max, bar in (("exact", 0, EXACT_US_BAR), ("with expansions", None, DEFAULT_US_BAR)):
            search = {} if expansions_max is None else {"query_alternates_try": expansions_max}
            config = sonicpy.Config.model_validate({"search": search})
            with sonicpy.open(Path(folder, "ours"), config) as index:
                for words in (1, 2, 3):
                    for text in queries(texts, words, 2 * QUERIES)[QUERIES:]:
                        index.query(C, B, text)  # warm up with other queries than the timed ones
                    ask(f"query of {words}, {name}", index, queries(texts, words, QUERIES), bar)


def push(folder: Path, rows: Rows) -> None:
    """Print the indexing rates; the index of sonicpy stays in `folder`."""
    has_tantivy = tantivy.is_installed()
    with sonicpy.open(folder / "ours") as index:
        line("push_many", rate(lambda: index.push_many(rows, collection=C, bucket=B), len(rows)), TEXTS_PER_S_BAR)
        index.consolidate()
    if has_tantivy:
        once = rate(lambda: tantivy.Tantivy(folder / "tantivy").add(rows), len(rows))
        line("tantivy, one commit", once)
    some = rows[:FREQUENT_TEXTS]
    theirs = None
    if has_tantivy:
        theirs = rate(lambda: tantivy.Tantivy(folder / "often").add(some, FREQUENT), len(some))
    with sonicpy.open(folder / "ours often") as index:
        line(f"push_many, {FREQUENT} rows a call", rate(lambda: push_often(index, some), len(some)), theirs)
    if theirs is not None:
        line(f"tantivy, a commit every {FREQUENT}", theirs)


def push_often(index: sonicpy.Index, rows: Rows) -> None:
    left = iter(rows)
    while some := list(islice(left, FREQUENT)):
        index.push_many(some, collection=C, bucket=B)


def rate(work: Callable[[], object], texts: int) -> float:
    """Return the number of texts per second of CPU time."""
    began = time.process_time()
    work()
    return texts / (time.process_time() - began)


def line(name: str, texts_per_s: float, bar: float | None = None) -> None:
    verdict = "" if bar is None else f"   at least {bar:,.0f}: {'met' if texts_per_s >= bar else 'MISSED'}"
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
    verdict = f"   p50 at most {bar}: {'met' if cuts[49] <= bar else 'MISSED'}"
    print(f"  {name:32} p50 {cuts[49]:6.1f} us, p90 {cuts[89]:6.1f}, p99 {cuts[98]:7.1f}; "
          f"{found / len(asked):.1%} find objects{verdict}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
