"""Print the CPU time of a QUERY of three words in reading processes (read_only=True), alone and beside a busy writer.

    python -m benchmarks.readers [--objects N] [--readers N] [--seconds S] [--rounds N]

The readers repeat a few hundred queries: alone, beside a writer of another bucket, and beside a writer of their bucket.
Each round measures the three cases in turn; a figure is the median over rounds and readers.
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median

import sonicpy
from benchmarks import corpora
from benchmarks.stages import BUCKET, COLLECTION
from tests.support.texts import messages, oid, queries

PASS = 50_000
"""The number of messages: enough for many different words, and few enough to be read quickly by every process."""
QUERIES = 300
LIMITS = 50
BATCH = 64
"""The number of changes in a commit of the writer."""
OTHER = "other"
KINDS = {"alone": None, "beside a writer of another bucket": OTHER, "beside a writer of the same bucket": BUCKET}


def main() -> None:
    """Measure, and print a line for each kind."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readers", description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "index")
        with sonicpy.open(path) as index:
            index.push_many(corpora.growing(0, given.objects, messages(PASS)), collection=COLLECTION, bucket=BUCKET)
        with readers(path, given.readers) as links:
            ask(links, given.seconds)  # fills the caches
            for number in range(given.rounds):
                for kind, bucket in KINDS.items():
                    with writing(path, bucket, given.objects + number * 10_000_000):
                        found[kind] += ask(links, given.seconds)
    for kind, figures in found.items():
        ratio = median(figures) / median(found["alone"])
        print(f"{kind:38}{median(figures):8.1f} us CPU a QUERY   x {ratio:.2f}")


def ask(links: list[Connection], seconds: float) -> list[float]:
    """Run queries in all readers for some seconds; return the CPU microseconds per query in each."""
    for link in links:
        link.send(seconds)
    return [link.recv() for link in links]


@contextmanager
def readers(path: Path, number: int) -> Iterator[list[Connection]]:
    """Run `number` processes that read inside a `with` block; yield the connections to them."""
    spawn = multiprocessing.get_context("spawn")
    pairs = [spawn.Pipe() for _ in range(number)]
    processes = [spawn.Process(target=read, args=(path, theirs), daemon=True) for _, theirs in pairs]
    for process in processes:
        process.start()
    yield [ours for ours, _ in pairs]
    for ours, _ in pairs:
        ours.send(None)
    for process in processes:
        process.join()


def read(path: Path, link: Connection) -> None:
    """Run queries for the time that the link sends; send back the CPU microseconds of one query."""
    asked = queries(messages(PASS), 3, QUERIES)
    with sonicpy.open(path, read_only=True) as index:
        while (seconds := link.recv()) is not None:
            deadline, began, done = time.monotonic() + seconds, time.process_time(), 0
            while time.monotonic() < deadline:
                limit = 10 + done // QUERIES % LIMITS  # a new one: answers are kept
                index.query_ids(COLLECTION, BUCKET, asked[done % QUERIES], limit=limit)
                done += 1
            link.send((time.process_time() - began) / done * 1e6)


@contextmanager
def writing(path: Path, bucket: str | None, first: int) -> Iterator[None]:
    """Run a process that keeps pushing into a bucket inside a `with` block; with None, run no process.

    Args:
        first: the number of the first object that it pushes.
    """
    if bucket is None:
        yield
        return
    spawn = multiprocessing.get_context("spawn")
    ready, stop = spawn.Event(), spawn.Event()
    process = spawn.Process(target=write, args=(path, bucket, first, ready, stop), daemon=True)
    process.start()
    ready.wait()
    yield
    stop.set()
    process.join()


def write(path: Path, bucket: str, first: int, ready: Event, stop: Event) -> None:
    """Push into a bucket until `stop` is set.

    Args:
        first: the number of the first object.
        ready: set after the first batch.
    """
    texts = messages(PASS)
    with sonicpy.open(path) as index:
        for start in count(first, BATCH):
            with index.batch():
                for number in range(start, start + BATCH):
                    index.push(COLLECTION, bucket, oid(number), texts[number % PASS])
            ready.set()
            if stop.is_set():
                return


if __name__ == "__main__":
    main()
