"""Measure `sonicpy mirror` of a table of SQLite, or kill it and the writer of the table again and again.

    python -m benchmarks.following [--rows 1000000] [--changed 1000]
    python -m benchmarks.following --kills 500 [--rows 20000] [--changes 1000000]

The first form prints the CPU of a first pass beside that of `push_many`, of a pass with some changed rows, of one
without, and of `--check`. In the second one a process changes random rows in transactions and another one mirrors; one
of them or both are killed at random moments. At the end a last pass runs; the words of all objects are compared with
the table, then `--check` compares digests.
"""

import argparse
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import sonicpy
from benchmarks.corpora import chat_messages
from sonicpy.cli.main import main as run_verb

COLLECTION, BUCKET = "messages", "default"
SEED = 5
AT_ONCE = 200
"""The changes of a transaction of the writer."""
WORDS = [f"word{number}" for number in range(200)]
GONE_SHARE = 0.2
KILLED = WRITES, MIRRORS = "writer", "mirror"
VICTIMS = (WRITES,), (MIRRORS,), KILLED
"""The processes that are killed at one moment."""

PAUSE_S = 0.02
"""The pause in seconds between two transactions of the writer."""
LIFES = 1.5
"""The longest time between two kills, as a multiple of the time that a first pass takes, with its start."""
WRITER = "import sys; from benchmarks.following import write; write(sys.argv[1], *map(int, sys.argv[2:]))"


def main() -> int:
    """Run the passes of a mirror, or the kills with --kills; return the exit status: 1 if rows and objects differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.following", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, help="of the table (default: 1000000, with --kills 20000)")
    parser.add_argument("--changed", type=int, default=1_000, help="the rows that change between passes")
    parser.add_argument("--kills", type=int, default=0, help="of the writer and of the mirror, in turns")
    parser.add_argument("--changes", type=int, default=1_000_000, help="of rows, with --kills")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.kills:
            return killed(Path(folder), given.rows or 20_000, given.changes, given.kills)
        return measured(Path(folder), given.rows or 1_000_000, given.changed)


def measured(folder: Path, count: int, changed: int) -> int:
    """Print the CPU of each pass; return the exit status.

    Args:
        count: the number of rows.
        changed: the number of rows that change between passes.
    """
    with sqlite3.connect(folder / "table.db") as database:
        database.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, text TEXT)")
        database.executemany("INSERT INTO p VALUES (?, ?)", enumerate(chat_messages(count)))
    database.commit()
    print(f"{count:,} rows, CPU seconds of all threads")
    pushed = shown("push_many", lambda: push(folder))
    first = shown("mirror, first pass", lambda: mirror(folder))
    print(f"  the first pass takes {first / pushed:.2f} x the CPU of push_many")
    chance = random.Random(SEED)
    ids = chance.sample(range(count), changed)
    with database:
        database.executemany("UPDATE p SET text = text || ' again' WHERE id = ?", ((number,) for number in ids))
    shown(f"mirror, {changed:,} rows changed", lambda: mirror(folder))
    shown("mirror, nothing changed", lambda: mirror(folder))
    shown("mirror --check", lambda: mirror(folder, "--check"))
    database.close()
    return 0


def shown(name: str, work: Callable[[], object]) -> float:
    """Print the CPU seconds of some work, and return them."""
    began = time.process_time()
    work()
    took = time.process_time() - began
    print(f"{name:<30} {took:8.2f}", flush=True)
    return took


def push(folder: Path) -> None:
    """Push the rows of the table into another index."""
    database = sqlite3.connect(folder / "table.db")
    with sonicpy.open(folder / "pushed") as index:
        rows = database.execute("SELECT id, text FROM p")
        index.push_many(rows, collection=COLLECTION, bucket=BUCKET)
    database.close()


def mirror(folder: Path, *flags: str) -> None:
    """Run a pass. Raises SystemExit if its status at the end is not 0."""
    if status := run_verb(arguments(folder, *flags)):
        raise SystemExit(f"sonicpy mirror ended with status {status}")


def arguments(folder: Path, *flags: str) -> list[str]:
    """Return the arguments of `sonicpy` for a pass."""
    source = f"sqlite:///{folder / 'table.db'}?table=p"
    place = ["--collection", COLLECTION, "--bucket", BUCKET, "--data", str(folder / "mirror")]
    return ["mirror", source, *place, "--quiet", *flags]


def killed(folder: Path, count: int, changes: int, kills: int) -> int:
    """Kill both processes until all changes are made; return 1 if rows and objects differ then.

    Args:
        count: the number of rows.
    """
    with sqlite3.connect(folder / "table.db") as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, text TEXT)")
        database.execute("CREATE TABLE done (changes INTEGER)")
        database.execute("INSERT INTO done VALUES (0)")
        chance = random.Random(SEED)
        database.executemany("INSERT INTO p VALUES (?, ?)", ((number, text(chance)) for number in range(count)))
    database.commit()
    began = time.monotonic()
    start(MIRRORS, folder, count, 0).wait()
    longest = (time.monotonic() - began) * LIFES
    running: dict[str, subprocess.Popen[bytes]] = {}
    deaths = dict.fromkeys(KILLED, 0)
    while sum(deaths.values()) < kills or made(database) < changes:
        for name in KILLED:
            if name not in running or running[name].poll() is not None:
                running[name] = start(name, folder, count, sum(deaths.values()))
        time.sleep(chance.random() * longest)
        for victim in chance.choice(VICTIMS):
            if running[victim].poll() is None:
                end(running.pop(victim))
                deaths[victim] += 1
    for process in running.values():
        end(process)
    print(f"{made(database):,} changes of {count:,} rows; killed: {deaths}")
    mirror(folder)
    differing = compare(folder, database)
    print(f"{differing} objects differ from their rows")
    mirror(folder, "--check")
    database.close()
    return 1 if differing else 0


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process, and wait for its end."""
    process.kill()
    process.wait()


def start(name: str, folder: Path, rows: int, seed: int) -> "subprocess.Popen[bytes]":
    """Start the writer, or a pass of the mirror, as a process, and return it."""
    if name == WRITES:
        words = ["-c", WRITER, str(folder / "table.db"), str(rows), str(seed)]
    else:
        words = ["-m", "sonicpy", *arguments(folder)]
    return subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)


def write(path: str, rows: int, seed: int) -> None:
    """Change random rows until this process is killed; each transaction adds their number to the table `done`."""
    database, chance = sqlite3.connect(path, timeout=60), random.Random(seed)
    while True:
        with database:
            for _ in range(AT_ONCE):
                number = chance.randrange(rows * 5 // 4)
                if chance.random() < GONE_SHARE:
                    database.execute("DELETE FROM p WHERE id = ?", (number,))
                else:
                    database.execute("REPLACE INTO p VALUES (?, ?)", (number, text(chance)))
            database.execute("UPDATE done SET changes = changes + ?", (AT_ONCE,))
        time.sleep(PAUSE_S)


def made(database: sqlite3.Connection) -> int:
    """Return the number of committed changes."""
    return int(database.execute("SELECT changes FROM done").fetchone()[0])


def text(chance: random.Random) -> str:
    """Return some random words."""
    return " ".join(chance.choices(WORDS, k=chance.randint(1, 8)))


def compare(folder: Path, database: sqlite3.Connection) -> int:
    """Return the number of names whose row and object have different words, or that only one of both has."""
    wanted = {str(number): frozenset(words.split()) for number, words in database.execute("SELECT id, text FROM p")}
    with sonicpy.open(folder / "mirror") as index:
        names = list(index.iterate_objects(COLLECTION, BUCKET))
        held = dict(zip(names, map(frozenset, words_of(index, names)), strict=True))
    return sum(wanted.get(name) != held.get(name) for name in wanted.keys() | held.keys())


def words_of(index: sonicpy.Index, names: list[str]) -> Iterator[list[str]]:
    """Yield the words of each object."""
    for first in range(0, len(names), AT_ONCE):
        yield from index.words_of_objects(COLLECTION, BUCKET, names[first : first + AT_ONCE])


if __name__ == "__main__":
    sys.exit(main())
