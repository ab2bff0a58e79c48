"""Compare the disk space of sonicpy and of Sonic for equal texts, consolidated, restarted and idle.

    python -m benchmarks.disk [TEXTS ...] [--buckets NUMBER] [--rest SECONDS] [--folder FOLDER]

Each of TEXTS is `messages` (330,000 chat messages), `joined` (1,000,000 texts of 90 bytes and more, made of messages)
or a number of messages. They go into one bucket, or into NUMBER buckets in no order. Sonic is $SONIC_BIN or `sonic` on
the PATH. The texts are sent over a socket with 16 in flight. For sonicpy the program also prints the size of each table
and each group of files; then, of one bucket, the size of an index that `push_many` made of the texts, just after
closing it, and the sizes of SQLite FTS5, with the texts and without them.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice, starmap
from pathlib import Path

import sonicpy
from benchmarks.accounting import BLOCK_BYTES, allocated_bytes
from benchmarks.peers.servers import Server, Sonicpy, open_sonic
from benchmarks.peers.sqlite import Fts5
from benchmarks.tables import MB, print_tables
from benchmarks.versus.rates import push_run
from benchmarks.versus.workload import BUCKET, SIXTEEN, push_line
from sonicpy.store.disk.environment import Environment
from tests.support.texts import SEED, messages, oid

MESSAGES, JOINED = "messages", "joined"
COUNTS = {MESSAGES: 330_000, JOINED: 1_000_000}
JOINED_BYTES = 90
MAP_BYTES = 1 << 30
PUSHES_AT_ONCE = 10_000
FTS5 = {"SQLite FTS5": "", "FTS5 without texts": ", content=''"}
"""Kind of table of FTS5 -> its options."""


def main() -> None:
    """Load, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.disk", description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="*", default=[MESSAGES], help="messages, joined, or a number of messages")
    parser.add_argument(
        "--buckets", type=int, default=1, metavar="NUMBER", help="spread the texts over this many buckets"
    )
    parser.add_argument("--rest", type=float, default=60.0, metavar="SECONDS", help="idle time before measuring")
    parser.add_argument("--folder", type=Path, help="create the temporary folder of all stores here")
    arguments = parser.parse_args()
    for kind in arguments.texts:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            compare(Path(folder), kind, arguments.buckets, arguments.rest)


def compare(folder: Path, kind: str, buckets: int, rest_s: float) -> None:
    """Load the servers with a kind of texts and print their disk space."""
    texts = list(texts_of(kind))
    lines = list(starmap(push_line, enumerate(texts)))
    if buckets > 1:
        bucket = f" {BUCKET} ".encode()
        lines = [line.replace(bucket, b" b%d " % (place % buckets), 1) for place, line in enumerate(lines)]
        random.Random(SEED).shuffle(lines)
    print(f"{kind}: {len(texts)} texts, {sum(map(len, texts)) / len(texts):.0f} characters on average")
    ours = Sonicpy("sonicpy", folder / "sonicpy")
    servers: list[Server] = [ours, *open_sonic("sonic", folder / "sonic")]
    if len(servers) == 1:
        print("skipped: Sonic, which is not installed ($SONIC_BIN, or `sonic` on the PATH)")
    taken = {server.name: load(server, lines, rest_s) for server in servers}
    for name, size in taken.items():
        print(f"{name:10} {size / MB:8.2f} MB, {size / taken[servers[-1].name]:.3f} of {servers[-1].name}'s")
    store = ours.folder / "store"
    for name, paths in groups(store).items():
        print(f"{name:20} {sum(path.stat().st_blocks for path in paths) * BLOCK_BYTES / MB:7.2f}")
    print_tables(store)
    print(f"{'a compacted copy':20} {compacted_bytes(store, folder / 'copy') / MB:7.2f}", flush=True)
    if buckets > 1:
        return
    loaded = folder / "library"
    with sonicpy.open(loaded) as index:
        index.push_many(
            ((oid(number), text) for number, text in enumerate(texts)), collection="messages", bucket="default"
        )
    print(f"{'behind push_many':20} {allocated_bytes(loaded) / MB:7.2f}")
    print(f"{'a compacted copy':20} {compacted_bytes(loaded, folder / 'copy') / MB:7.2f}", flush=True)
    for name, options in FTS5.items():
        print(f"{name:20} {fts5_bytes(folder / 'texts.db', options, texts) / MB:7.2f}", flush=True)


def fts5_bytes(path: Path, options: str, texts: list[str]) -> int:
    """Return the size of a new file of FTS5 with these texts, as small as `optimize` and VACUUM make it."""
    path.unlink(missing_ok=True)
    table = Fts5(path, options)
    table.add(enumerate(texts))
    table.database.execute("INSERT INTO texts(texts) VALUES ('optimize')")
    table.database.execute("VACUUM")
    table.close()
    return path.stat().st_size


def texts_of(kind: str) -> Iterator[str]:
    """Return the texts that an argument names."""
    if kind == JOINED:
        return islice(joined(cycle(messages(COUNTS[MESSAGES]))), COUNTS[JOINED])
    return iter(messages(COUNTS.get(kind) or int(kind)))


def joined(texts: Iterator[str]) -> Iterator[str]:
    """Yield texts of at least JOINED_BYTES characters, each made of one or more messages."""
    text = ""
    for more in texts:
        text = f"{text} {more}".strip()
        if len(text) >= JOINED_BYTES:
            yield text
            text = ""


def load(server: Server, lines: list[bytes], rest_s: float) -> int:
    """Send lines of PUSH, consolidate, restart, let the server rest; return the size of its files while it runs."""
    with server:
        before_s = server.cpu_s()
        for first in range(0, len(lines), PUSHES_AT_ONCE):
            push_run(server, SIXTEEN, lines[first : first + PUSHES_AT_ONCE])
        loaded_s = server.cpu_s()
        cpu_us = (loaded_s - before_s) / len(lines) * 1e6
        print(f"{server.name}: {cpu_us:.0f} us of CPU a PUSH, {server.disk_bytes() / MB:.2f} MB", end="", flush=True)
        server.consolidate()
        memory, cpu_s = server.memory_bytes(), server.cpu_s() - loaded_s
        print(
            f", consolidated in {cpu_s:.1f} s of CPU {server.disk_bytes() / MB:.2f} (memory {memory / MB:.1f} MB)",
            end="",
            flush=True,
        )
        server.stop()
        print(f", stopped {server.disk_bytes() / MB:.2f}", end="", flush=True)
        server.start()
        time.sleep(rest_s)
        print(f", at rest {server.disk_bytes() / MB:.2f}", flush=True)
        return server.disk_bytes()


def groups(store: Path) -> dict[str, list[Path]]:
    """Return the files of a store by their kind."""
    found: dict[str, list[Path]] = {}
    for path in sorted(store.rglob("*")):
        if path.is_file():
            found.setdefault(str(path.relative_to(store).parts[0]), []).append(path)
    return found


def compacted_bytes(store: Path, copy: Path) -> int:
    """Return the size of a compacted copy of the data file."""
    environment = Environment(store, MAP_BYTES, read_only=True)
    try:
        with open(copy, "wb") as file:
            environment.copy(file.fileno())
        return copy.stat().st_size
    finally:
        environment.close()


if __name__ == "__main__":
    sys.exit(main())
