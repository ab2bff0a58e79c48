"""Compare rates and CPU times of QUERY, and of PUSH beside QUERY, of a server with and without search processes.

    python -m benchmarks.cores [--processes N] [--messages N] [--rounds N] [--seconds S]

Each ratio is the median over the rounds, in each of which both servers run one after the other. The machine should have
a free core for each process, and one for the client.
"""

import argparse
import tempfile
import time
from itertools import count, cycle
from pathlib import Path
from statistics import median

from benchmarks.client import Lane, drive
from benchmarks.corpora import chat_messages
from benchmarks.measure import Run, percentile
from benchmarks.peers.servers import Server, Sonicpy
from benchmarks.versus.rates import push_run, read_run
from benchmarks.versus.workload import COLLECTION, EIGHT, QUERY_3, SIXTEEN, Commands, push_line

READY_S = 1.5
"""The time in seconds after which the search processes run, and the background work of the pushes is done."""
WARM = 3
"""The length of the first round, in rounds: it fills the caches and does not count."""
OTHER_BUCKET = "other"
Figures = dict[str, list[float]]


def main() -> None:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cores", description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    pushed = chat_messages(given.messages)
    commands = Commands(pushed)
    with (
        tempfile.TemporaryDirectory() as folder,
        Sonicpy("one process", Path(folder, "one")) as one,
        Sonicpy("more", Path(folder, "more"), {"server.search_processes": given.processes}) as more,
    ):
        for server in (one, more):
            push_run(server, SIXTEEN, [push_line(number, text) for number, text in enumerate(pushed)])
            server.consolidate()
        time.sleep(READY_S)
        found: dict[Server, Figures] = {one: {}, more: {}}
        numbers = count(len(pushed))
        for number in range(given.rounds + 1):  # first, before the two servers hold different objects
            for server in found:
                run = read_run(server, QUERY_3, EIGHT, commands.lines(QUERY_3), given.seconds * (1 if number else WARM))
                if number:
                    note(found[server], "QUERY", run)
        for _ in range(given.rounds):
            for server in found:
                measure(server, found[server], commands, pushed, numbers, given.seconds)
    for name, alone in found[one].items():
        ratios = [b / a for a, b in zip(alone, found[more][name], strict=True)]
        low, high = min(ratios), max(ratios)
        print(
            f"{name:44} {median(alone):10.1f} {median(found[more][name]):10.1f}   x {median(ratios):.2f}"
            f" ({low:.2f} to {high:.2f})"
        )


def measure(
    server: Server, figures: Figures, commands: Commands, pushed: list[str], numbers: "count[int]", seconds: float
) -> None:
    """Measure queries beside changes once.

    Args:
        pushed: the texts to push.
        numbers: the numbers of the objects to push.
        seconds: the duration of each measurement.
    """
    for where, bucket in (("the same bucket", None), ("another bucket", OTHER_BUCKET)):
        with server.connect("search") as asking, server.connect("ingest") as pushing:
            asked = Lane(asking, commands.lines(QUERY_3), reply_lines=2, endless=True)
            lines = (line_of(next(numbers), text, bucket) for text in cycle(pushed))
            changed = Lane(pushing, lines, in_flight=16)
            took_s, _ = drive([changed, asked], seconds)
        figures.setdefault(f"PUSH/s into {where}", []).append(len(changed.latencies_s) / took_s)
        figures.setdefault(f"QUERY/s beside it ({where})", []).append(len(asked.latencies_s) / took_s)
        p99 = percentile(sorted(asked.latencies_s), 99)
        figures.setdefault(f"QUERY p99 beside it ({where}), ms", []).append(p99 * 1e3)


def line_of(number: int, text: str, bucket: str | None) -> bytes:
    """Return a PUSH into the bucket of the queries, or into another bucket."""
    line = push_line(number, text)
    if bucket is None:
        return line
    words = line.split(b" ", 3)
    return b" ".join([words[0], COLLECTION.encode(), bucket.encode(), words[3]])


def note(figures: Figures, name: str, run: Run) -> None:
    """Note the rate and the CPU time of a run in the figures."""
    figures.setdefault(f"{name}/s over 8 connections", []).append(run.per_s)
    figures.setdefault(f"CPU us a {name}", []).append(run.cpu_us)


if __name__ == "__main__":
    main()
