"""The sonicpy library beside SQLite FTS5 and tantivy, in process: equal texts and queries, no socket.

Each library keeps its index in a folder, commits once for all texts, and returns the ids of the best ten objects.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.accounting import allocated_bytes
from benchmarks.measure import Taken
from benchmarks.peers import tantivy
from benchmarks.peers.kinds import Engine
from benchmarks.peers.ours import Library
from benchmarks.peers.sqlite import Fts5
from benchmarks.peers.tantivy import Tantivy
from benchmarks.versus.results import Results
from benchmarks.versus.workload import QUERY_1, QUERY_2, QUERY_3, Commands, oid

PUSH_CPU_US = "library: CPU us a text"
DISK_MB = "library: disk, MB"
KINDS = (QUERY_1, QUERY_2, QUERY_3)


def engines(folder: Path) -> Iterator[tuple[str, Engine, Callable[[int], int | str]]]:
    """Yield for each library its name, an index below a folder, and a function from numbers to names of texts."""
    yield Library.name, Library(folder / "ours"), oid
    yield Fts5.name, Fts5(folder / "fts5" / "index.db", ", content=''"), lambda number: number + 1
    if tantivy.is_installed():
        yield Tantivy.name, Tantivy(folder / "tantivy", counts=True), oid


def compare(folder: Path, results: Results, texts: Sequence[str], commands: Commands) -> None:
    """Record the CPU time of indexing and of queries, and the disk space, of each library."""
    places = iter(("ours", "fts5", "tantivy"))
    (folder / "fts5").mkdir()
    for name, engine, name_of in engines(folder):
        with Taken() as taken:
            engine.add((name_of(number), text) for number, text in enumerate(texts))
        results.figures[PUSH_CPU_US, name] = taken.cpu_s / len(texts) * 1e6
        for kind in KINDS:
            asked = [command.text for command in commands.by_operation[kind]]
            with Taken() as taken:
                found = sum(bool(engine.any_of(text.split())) for text in asked)
            results.figures[f"library: CPU us a {kind}", name] = taken.cpu_s / len(asked) * 1e6
            results.figures[f"library: share of {kind} that finds something", name] = found / len(asked)
        results.figures[DISK_MB, name] = allocated_bytes(folder / next(places)) / 1e6
        engine.close()
