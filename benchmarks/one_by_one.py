"""Print the cost of single changes in the library: CPU time of the process per change, commits included.

    python -m benchmarks.one_by_one [TEXTS]

Texts are chat messages (tests/support/texts.py), each an object of its own, pushed in a loop. `push + query`: the query
is the longest word of the text, and has to find the object. `upsert + query` and `flush, push + query` give each object
the text of another one. With `autocommit=True`, a tenth of the texts is pushed. Vectors have NUMBERS numbers. Many
buckets: a bucket for BUCKET_TEXTS texts, in no order, or all texts of a bucket behind each other. The runs take turns,
and their medians are printed, with the ratio to the first line, and how much more a change takes than that.
"""

import random
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from statistics import median
from typing import Any, TypeVar

import sonicpy
from benchmarks.command_line import parse_count
from tests.support.texts import messages, oid

TEXTS = 20_000
SHARE = 10
"""The slow runs use one in this many texts."""
RUNS = 3
BUCKET_TEXTS = 8
NUMBERS = 384
VECTORS = 64
"""The number of different vectors."""
STRIDE = 7_919
"""The number of objects from one updated object to the next."""
C, B = "messages", "default"

Rows = list[tuple[str, str]]
Value = TypeVar("Value")
Work = Callable[[sonicpy.Index, Rows], None]


def main() -> None:
    count = parse_count("one_by_one", __doc__, "TEXTS", TEXTS)
    rows = [(oid(number), text) for number, text in enumerate(messages(count))]
    chance = random.Random(STRIDE)
    floats = [array("f", (chance.gauss(0, 1) for _ in range(NUMBERS))) for _ in range(VECTORS)]
    bits = [chance.randbytes(NUMBERS // 8) for _ in range(VECTORS)]
    some = rows[: max(1, count // SHARE)]
    ways: dict[str, Callable[[], float]] = {
        "push": partial(cost, push, rows),
        "push, two threads": partial(cost, push_in_threads, rows),
        "push, autocommit=True": partial(cost, push, some, autocommit=True),
        "push with a vector of floats": partial(cost, partial(push_vectors, vectors=floats), rows),
        "push with a vector of bits": partial(cost, partial(push_vectors, vectors=bits), rows),
        "push + query": partial(cost, push_and_query, rows),
        "push + query, autocommit=True": partial(cost, push_and_query, some, autocommit=True),
        "upsert": partial(cost, upsert, rows, is_filled=True),
        "upsert + query": partial(cost, upsert_and_query, rows, is_filled=True),
        "flush, push + query": partial(cost, flush_push_and_query, rows, is_filled=True),
        "upsert, a word more": partial(cost, upsert_word, rows, is_filled=True),
        "upsert, unchanged": partial(cost, upsert_again, rows, is_filled=True),
        "push to an object that is there": partial(cost, push_more, rows, is_filled=True),
        "pop a word": partial(cost, pop_word, rows, is_filled=True),
        "flush an object": partial(cost, flush, rows, is_filled=True),
        "push to many buckets": partial(cost, push_to_buckets, rows),
        "push_many to many buckets": partial(cost, push_many_to_buckets, rows),
        "the same, by bucket": partial(cost, push_many_by_bucket, rows),
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(RUNS):
        for name, way in ways.items():
            took[name].append(way())
    for name, costs in took.items():
        more = median(one - plain for one, plain in zip(costs, took["push"], strict=True))
        print(
            f"  {name:32} {median(costs):7.1f} us   x {median(costs) / median(took['push']):.2f} {more:+9.1f}",
            flush=True,
        )


def cost(work: Work, rows: Rows, *, autocommit: bool = False, is_filled: bool = False) -> float:
    """Return the CPU time of some work in microseconds per row, commits included.

    Args:
        work: gets an index and the rows.
        autocommit: as in `sonicpy.open`.
        is_filled: whether the index holds all rows before.
    """
    with tempfile.TemporaryDirectory() as folder, sonicpy.open(folder, autocommit=autocommit) as index:
        if is_filled:
            for name, text in rows:
                index.upsert(C, B, name, text)
            index.commit()
        began = time.process_time()
        work(index, rows)
        index.commit()
        return (time.process_time() - began) / len(rows) * 1e6


def push(index: sonicpy.Index, rows: Rows) -> None:
    for name, text in rows:
        index.push(C, B, name, text)


def push_vectors(index: sonicpy.Index, rows: Rows, *, vectors: Sequence[Any]) -> None:
    for (name, text), vector in zip(rows, cycle(vectors), strict=False):
        index.push(C, B, name, text, vector=vector)


def push_in_threads(index: sonicpy.Index, rows: Rows) -> None:
    threads = [threading.Thread(target=push, args=(index, rows[start::2])) for start in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def push_and_query(index: sonicpy.Index, rows: Rows) -> None:
    for name, text in rows:
        index.push(C, B, name, text)
        query(index, text)


def query(index: sonicpy.Index, text: str) -> None:
    index.query(C, B, max(text.split(), key=len, default=""))


def updates(rows: Rows) -> Rows:
    """Return the objects in scattered order, each with the text of another one."""
    return [(rows[number * STRIDE % len(rows)][0], text) for number, (_, text) in enumerate(rows)]


def upsert(index: sonicpy.Index, rows: Rows) -> None:
    for name, text in updates(rows):
        index.upsert(C, B, name, text)


def upsert_and_query(index: sonicpy.Index, rows: Rows) -> None:
    for name, text in updates(rows):
        index.upsert(C, B, name, text)
        query(index, text)


def flush_push_and_query(index: sonicpy.Index, rows: Rows) -> None:
    for name, text in updates(rows):
        index.flush_object(C, B, name)
        index.push(C, B, name, text)
        query(index, text)


def upsert_word(index: sonicpy.Index, rows: Rows) -> None:
    texts = dict(rows)
    for name, other in updates(rows):
        index.upsert(C, B, name, f"{texts[name]} {other.split(maxsplit=1)[0]}")


def upsert_again(index: sonicpy.Index, rows: Rows) -> None:
    for name, text in in_no_order(rows):
        index.upsert(C, B, name, text)


def push_more(index: sonicpy.Index, rows: Rows) -> None:
    for name, text in updates(rows):
        index.push(C, B, name, text)


def pop_word(index: sonicpy.Index, rows: Rows) -> None:
    for name, text in in_no_order(rows):
        index.pop(C, B, name, text.split(maxsplit=1)[0])


def flush(index: sonicpy.Index, rows: Rows) -> None:
    for name, _ in in_no_order(rows):
        index.flush_object(C, B, name)


def push_to_buckets(index: sonicpy.Index, rows: Rows) -> None:
    for row in in_buckets(rows):
        index.push(*row)


def push_many_to_buckets(index: sonicpy.Index, rows: Rows) -> None:
    index.push_many(in_buckets(rows))


def push_many_by_bucket(index: sonicpy.Index, rows: Rows) -> None:
    index.push_many(sorted(in_buckets(rows)))


def in_no_order(rows: Sequence[Value]) -> list[Value]:
    """Return the rows in another order: each comes once."""
    return random.Random(STRIDE).sample(rows, len(rows))


def in_buckets(rows: Rows) -> list[tuple[str, str, str, str]]:
    """Return the rows in no order, each of one of many buckets."""
    return in_no_order([(C, f"b{number // BUCKET_TEXTS}", *row) for number, row in enumerate(rows)])


if __name__ == "__main__":
    main()
