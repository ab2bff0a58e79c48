"""Measure the operations of a server as it grows to ten million objects, as a table and a plot.

    python -m benchmarks.ten_million [--objects N] [--marks SHARE ...] [--folder F] [--seconds S]

A server with default settings takes the corpus of `corpora.growing` over one connection, 16 in flight. At each mark, a
share of the objects (1, 2, 5, 10 ... %), it is measured: CPU time of a PUSH, a QUERY of three words and a SUGGEST over
eight connections, QUERY beside PUSH, consolidation, backup and VERIFY, memory and disk space, a restart up to the first
answer, and QUERY and memory with a larger cache. Meanwhile another process sends PING every two milliseconds; its
longest wait is the longest pause. The files `ten-million.csv` and `ten-million.svg` are written into the folder. No
query is repeated with an equal limit, so each one searches.
"""

import argparse
import multiprocessing
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks import corpora
from benchmarks.as_csv import markdown_as_csv
from benchmarks.client import Lane, connect, drive
from benchmarks.measure import Taken, percentile, wait_until_quiet
from benchmarks.peers.servers import Sonicpy, ask, read_lines
from benchmarks.published.plots import Plot, svg
from benchmarks.versus.rates import push_run, read_run
from benchmarks.versus.workload import EIGHT, ONE, QUERY_3, SIXTEEN, SUGGEST, Commands, push_line
from tests.processes import HOST
from tests.support.server_process import PASSWORD
from tests.support.texts import messages

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
CHUNK = 50_000
"""The number of pushes whose latencies are kept at a time; the CPU time of a PUSH is that of the last chunk before a
mark.
"""
ASKED = 20_000
"""The number of first messages of whose words queries are made."""
PATIENCE_S = 3_600
"""The longest time of VERIFY and other long commands in seconds."""
PROBE_S = 0.002
CACHE_MB = 1024

Figures = dict[str, float]
"""Name of a figure, with its unit -> value."""


def main() -> None:
    """Measure, print a table, and write it and the plot."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ten_million", description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=corpora.GROWN)
    parser.add_argument(
        "--marks", type=float, nargs="+", default=SHARES, help="shares of the objects (default: 0.01 ... 1)"
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="of each run of queries")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "sonicpy-ten-million"))
    given = parser.parse_args()
    shutil.rmtree(given.folder / "server", ignore_errors=True)
    given.folder.mkdir(parents=True, exist_ok=True)
    marks = [int(given.objects * share) for share in sorted(given.marks)]
    server = Sonicpy("server", given.folder / "server")
    try:
        found = measured(server, marks, given.seconds)
    finally:
        server.stop()
    table = table_of(found)
    print(table)
    (given.folder / "ten-million.csv").write_text(markdown_as_csv(table), encoding="utf-8")
    (given.folder / "ten-million.svg").write_text(plot_of(found), encoding="utf-8")


def measured(server: Sonicpy, marks: list[int], seconds: float) -> dict[int, Figures]:
    """Return the figures at each mark.

    Args:
        marks: the numbers of objects at which the server is measured.
        seconds: the duration of each measurement.
    """
    passed, asked = messages(corpora.PASS), Commands(messages(ASKED))
    found: dict[int, Figures] = {}
    server.start()
    done = 0
    for mark in marks:
        figures = found[mark] = {}
        with probed(server, figures, "longest pause while pushing, ms"):
            while done < mark:
                end = min(done + CHUNK, mark)
                figures["PUSH, CPU us"] = push_chunk(server, lines(done, end, passed))
                done = end
        wait_until_quiet(server)
        measure(server, figures, asked, lines(mark, mark + CHUNK, passed), seconds)
        restart(server, figures, next(asked.lines(QUERY_3)))
        measure_with_cache(server, figures, asked, seconds)
        print(f"{mark:,}: " + ", ".join(f"{name} {value:,.1f}" for name, value in figures.items()), flush=True)
    return found


def lines(first: int, end: int, passed: list[str]) -> Iterator[bytes]:
    """Yield the PUSH lines of some objects.

    Args:
        first, end: the numbers of the first object and of the one behind the last.
    """
    for number, (_, text) in enumerate(corpora.growing(first, end, passed), first):
        yield push_line(number, text)


def push_chunk(server: Sonicpy, pushes: Iterator[bytes]) -> float:
    """Push lines; return the CPU time per line in microseconds."""
    return push_run(server, SIXTEEN, pushes).cpu_us


def measure(server: Sonicpy, figures: Figures, asked: Commands, more: Iterator[bytes], seconds: float) -> None:
    """Measure everything that needs no restart.

    Args:
        more: PUSH lines of further objects.
    """
    timed(server, figures, "consolidation", b"TRIGGER consolidate\n")
    for operation in (QUERY_3, SUGGEST):
        with probed(server, figures, f"longest pause, {operation}, ms"):
            read_run(server, operation, EIGHT, asked.lines(operation), seconds)  # fills the caches
            done = read_run(server, operation, EIGHT, asked.lines(operation), seconds)
        figures[f"{operation}, CPU us"] = done.cpu_us
        for mode in (EIGHT, ONE):
            alone = read_run(server, operation, mode, asked.lines(operation), seconds)
            figures[f"{operation}, {mode.name}, p99 ms"] = alone.percentile_s(99) * 1e3
    with server.connect("search") as asking, server.connect("ingest") as pushing:
        queries = Lane(asking, asked.lines(QUERY_3), reply_lines=2, endless=True)
        pushes = Lane(pushing, islice(more, CHUNK), in_flight=16)
        drive([pushes, queries], seconds)
        figures["QUERY beside PUSH, p99 ms"] = percentile(sorted(queries.latencies_s), 99) * 1e3
    wait_until_quiet(server)
    figures["anonymous memory, MB"] = server.memory_bytes() / 1e6
    figures["disk, MB"] = server.table_bytes() / 1e6
    backup = server.folder / "backup"
    shutil.rmtree(backup, ignore_errors=True)
    timed(server, figures, "backup", f"TRIGGER backup {backup}\n".encode())
    shutil.rmtree(backup, ignore_errors=True)
    timed(server, figures, "VERIFY", b"VERIFY\n")


def timed(server: Sonicpy, figures: Figures, name: str, line: bytes) -> None:
    """Send a long command; record its time and the longest pause meanwhile.

    Raises:
        RuntimeError: the server refused it.
    """
    with server.connect("control") as control, probed(server, figures, f"longest pause, {name}, ms"):
        control.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", PATIENCE_S, 0))
        with Taken(server.cpu_s) as taken:
            answer = ask(control, line)
        figures[f"{name}, s"], figures[f"{name}, CPU s"] = taken.seconds, taken.cpu_s
    if answer.startswith("ERR"):
        raise RuntimeError(f"{line!r}: {answer}")


def restart(server: Sonicpy, figures: Figures, line: bytes) -> None:
    """Restart the server; record the time until its first answer."""
    server.stop()
    began = time.perf_counter()
    server.start()
    server.say("search", line, 2)
    figures["start to first answer, s"] = time.perf_counter() - began


def measure_with_cache(server: Sonicpy, figures: Figures, asked: Commands, seconds: float) -> None:
    """Measure queries of a server with a larger cache, which is started in place of the first server."""
    cache = f"{CACHE_MB:,} MiB of cache"
    larger = Sonicpy("larger", server.folder, {"store.kv.query_cache_mb": CACHE_MB})
    server.stop()
    larger.start()
    try:
        for _ in range(4):  # fills the cache
            read_run(larger, QUERY_3, EIGHT, asked.lines(QUERY_3), seconds)
        done = read_run(larger, QUERY_3, EIGHT, asked.lines(QUERY_3), seconds)
        figures[f"{QUERY_3}, {cache}, CPU us"] = done.cpu_us
        figures[f"{QUERY_3}, {cache}, p99 ms"] = done.percentile_s(99) * 1e3
        figures[f"anonymous memory, {cache}, MB"] = larger.memory_bytes() / 1e6
    finally:
        larger.stop()
    server.start()


@contextmanager
def probed(server: Sonicpy, figures: Figures, name: str) -> Iterator[None]:
    """Record the longest wait of a PING inside a `with` block, in milliseconds."""
    ours, theirs = multiprocessing.Pipe()
    probe = multiprocessing.get_context("spawn").Process(target=send_pings, args=(server.port, theirs), daemon=True)
    probe.start()
    ours.recv()
    try:
        yield
    finally:
        ours.send(None)
        figures[name] = max(figures.get(name, 0.0), ours.recv() * 1e3)
        probe.join()


def send_pings(port: int, link: Connection) -> None:
    """Send PING every PROBE_S seconds until a message arrives on the link; send back the longest wait in seconds."""
    worst = 0.0
    with connect(HOST, port) as connection:
        read_lines(connection, 1)
        ask(connection, f"START control {PASSWORD}\n".encode())
        link.send(None)
        while not link.poll(PROBE_S):
            began = time.perf_counter()
            ask(connection, b"PING\n")
            worst = max(worst, time.perf_counter() - began)
    link.recv()
    link.send(worst)


def table_of(found: dict[int, Figures]) -> str:
    """Return the figures as a table of Markdown, with the ratio of the last mark to the mark at a tenth of its size."""
    marks = list(found)
    tenth = min(marks, key=lambda mark: abs(mark - marks[-1] / 10))
    rows = [["", *(f"{mark:,}" for mark in marks), f"{marks[-1]:,} / {tenth:,}"]]
    for name, value in found[marks[-1]].items():
        ratio = f"{value / found[tenth][name]:.2f}" if found[tenth].get(name) else ""
        rows.append([name, *(f"{found[mark][name]:,.1f}" for mark in marks), ratio])
    rows.insert(1, ["---", *["---:"] * (len(marks) + 1)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def plot_of(found: dict[int, Figures]) -> str:
    """Return the costs of operations as SVG, each relative to the first mark."""
    first = next(iter(found.values()))
    names = [
        name for name in first if name.endswith(("CPU us", "memory, MB", "first answer, s")) and "cache" not in name
    ]
    shown = {
        name.rpartition(",")[0]: [(mark / 1e6, figures[name] / first[name] * 100) for mark, figures in found.items()]
        for name in names
        if first[name]
    }
    return svg(Plot(f"Costs by objects, at {min(found):,} objects 100", "million objects", "percent", shown))


if __name__ == "__main__":
    main()
