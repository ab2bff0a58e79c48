"""Count the instructions of a commit and of the first query after it, by the number of objects.

    python -m benchmarks.commits [--objects N ...] [--kinds KIND ...] [--folder F]

A round pushes a few messages, commits, and runs a query of three words: one of a few earlier queries, with another
limit. Four kinds of processes are counted: the writer (pushes and the commit included), a reader with read_only=True, a
search process of a server, and, as the cost of searching alone, a process that runs the queries while nothing changes.
Each process runs twice under callgrind, with few and with many rounds; the difference is the cost of the additional
rounds. Missing stores are filled below `--folder`, and each run works on a copy.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

from benchmarks import corpora
from benchmarks.instructions import VALGRIND, parse_counter
from benchmarks.stages import BUCKET, COLLECTION
from sonicpy import Config
from sonicpy.index.index import Index
from sonicpy.index.read_only_index import ReadOnlyIndex
from sonicpy.store.store import Store
from tests.support.texts import messages, queries

OBJECTS = (100_000, 1_000_000)
KINDS = ("write", "read", "search", "peace")
SHORT, LONG = 60, 160
"""The numbers of rounds of the two runs."""
QUERIES = 20
"""The number of different queries; the shorter run repeats each of them three times."""
PUSHED = 16
"""The number of messages that are pushed in a round."""
CHANGES = 1_024
"""The number of changes per commit while a store is filled."""
ASKED_AND_PUSHED = 5_000
"""The number of first messages of which rounds are made."""
MAP_MB = 4_096


def main() -> None:
    """Print a line for each kind of process; in a process that this program started, do the rounds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commits", description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, nargs="+", default=list(OBJECTS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "sonicpy-commits"))
    parser.add_argument("--rounds", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--board", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rounds is not None:
        do_rounds(given.kinds[0], given.folder, given.objects[0], given.rounds, given.board)
        return
    stores = {count: filled(given.folder, count) for count in given.objects}
    print(f"{'a commit of ' + str(PUSHED) + ' and a query':32}" + "".join(f"{count:>14,}" for count in stores))
    for kind in given.kinds:
        counts = []
        for count, store in stores.items():
            few, many = (counted(kind, store, count, rounds) for rounds in (SHORT, LONG))
            counts.append(round((many - few) / (LONG - SHORT)))
        change = f"   x {counts[-1] / counts[0]:.2f}" if len(counts) > 1 else ""
        print(f"{kind:32}" + "".join(f"{count:14,}" for count in counts) + change, flush=True)


def filled(folder: Path, count: int) -> Path:
    """Return the folder of a store with `count` objects; a missing store is filled and consolidated."""
    store = folder / str(count)
    if not store.exists():
        building = store.with_suffix(".part")
        shutil.rmtree(building, ignore_errors=True)
        with opened(building) as index:
            for number, (oid, text) in enumerate(corpora.growing(0, count, messages(corpora.PASS))):
                index.push(COLLECTION, BUCKET, oid, text)
                if number % CHANGES == CHANGES - 1:
                    index.engine.commit()
            index.consolidate()
        building.rename(store)
    return store


def config() -> Config:
    """Return settings with room for the largest store."""
    return Config.model_validate({"store": {"kv": {"map_size_mb": MAP_MB}}})


def opened(folder: Path) -> Index:
    """Return an index that commits only on request."""
    index = Index(folder, config(), autocommit=False)
    index.engine.lexer.prepare()
    return index


def counted(kind: str, store: Path, count: int, rounds: int) -> int:
    """Return the number of instructions of a process for its start and `rounds` rounds.

    Args:
        kind: the kind of the process.
        store: the folder of the store, of which the process gets a copy.
        count: the number of objects in the store.
    """
    with tempfile.TemporaryDirectory(dir=store.parent) as folder:
        copy = shutil.copytree(store, Path(folder, "store"))
        command = [*VALGRIND, sys.executable, "-m", "benchmarks.commits", "--rounds", str(rounds)]
        command += ["--kinds", kind, "--folder", str(copy), "--objects", str(count)]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        if kind in ("write", "peace"):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            return read_count(done.stderr, done.returncode)
        with opened(copy) as index:
            board = share(index)
            command += ["--board", str(board)]
            reading = subprocess.Popen(
                command, env=environment, text=True, pass_fds=[board],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            assert reading.stdin is not None and reading.stdout is not None
            for pushes in rounds_of(count, rounds):
                if not reading.stdout.readline():
                    break
                push(index, pushes)
                print(file=reading.stdin, flush=True)
            _, errors = reading.communicate()
            return read_count(errors, reading.returncode)


def share(index: Index) -> int:
    """Return the descriptor of a new change board, by which readers notice commits."""
    store = index.engine.store
    assert isinstance(store, Store)
    return store.share_changes().descriptor


def read_count(errors: str, status: int) -> int:
    """Return the number of instructions in the output of callgrind. Raises RuntimeError if the process failed."""
    found = parse_counter(errors)
    if status or found is None:
        raise RuntimeError(f"a process ended with status {status}:\n{errors}")
    return found


def rounds_of(count: int, rounds: int) -> list[list[tuple[str, str]]]:
    """Return the (OID, text) pairs that each round pushes, after the `count` objects of the store."""
    more = corpora.growing(count, count + rounds * PUSHED, messages(ASKED_AND_PUSHED))
    return [list(islice(more, PUSHED)) for _ in range(rounds)]


def push(index: Index, pushes: list[tuple[str, str]]) -> None:
    """Push some objects, and commit."""
    for oid, text in pushes:
        index.push(COLLECTION, BUCKET, oid, text)
    index.engine.commit()


def do_rounds(kind: str, folder: Path, count: int, rounds: int, board: int | None) -> None:
    """Run the rounds of a process of the kind `kind`; a reading process runs only their queries.

    Args:
        count: the number of objects in the store.
        board: the descriptor of the change board, for the kind "search".
    """
    asked = queries(messages(ASKED_AND_PUSHED), 3, QUERIES)
    if kind == "write":
        with opened(folder) as index:
            for number, pushes in enumerate(rounds_of(count, rounds)):
                push(index, pushes)
                ask(index, asked, number)
        return
    with ReadOnlyIndex(folder, config()) as reading:
        reading.engine.lexer.prepare()
        if kind == "search":
            assert board is not None
            reading.maintainer.watch_changes(board)
        for number in range(rounds):
            if kind != "peace":
                print("next", flush=True)
                sys.stdin.readline()
            ask(reading, asked, number)


def ask(index: Index | ReadOnlyIndex, asked: list[str], number: int) -> None:
    """Run the query of round `number`."""
    index.query_ids(COLLECTION, BUCKET, asked[number % QUERIES], limit=10 + number // QUERIES)


if __name__ == "__main__":
    main()
