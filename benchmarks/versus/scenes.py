"""Figures besides the rates: memory, disk, delays during pushes and consolidation, growth, starts, durability.

Each scene records figures by name and server; bars.py has the limits of some of them.
"""

import time
from collections.abc import Sequence
from functools import partial
from itertools import cycle, repeat
from pathlib import Path
from statistics import median

from benchmarks.accounting import MemoryWatch
from benchmarks.client import Lane, drive
from benchmarks.measure import Run, in_turns, percentile
from benchmarks.measure import load as load_lines
from benchmarks.peers.servers import Server, Sonicpy, ask
from benchmarks.versus.checks import RIGHT_SHARE, WrongAnswers, check_replies
from benchmarks.versus.profiles import Profile
from benchmarks.versus.rates import push_run
from benchmarks.versus.results import Results
from benchmarks.versus.workload import (
    BUCKET,
    COLLECTION,
    EIGHT,
    POP,
    PUSH,
    QUERIES,
    QUERY_1,
    SIXTEEN,
    Commands,
    Mode,
    pop_line,
    push_line,
)

IDLE_MB = "memory idle, MB"
LOADED_MB = "memory after all messages, MB"
PEAK_MB = "memory at most while loading and consolidating, MB"
LOAD_CPU_US = "CPU us a PUSH while loading"
CONSOLIDATE_S = "consolidation, s"
CONSOLIDATE_PING_MS = "slowest PING during consolidation, ms"
ASKED_MB = "memory after all queries, MB"
DISK_MB = "disk after consolidation, MB"
IDLE_DISK_MB = "disk after a restart and an idle minute, MB"
OBJECTS = "objects"
BESIDE_P99_MS = "QUERY p99 beside PUSH with 16 in flight, ms"
BESIDE_PUSH_S = "PUSH ops/s beside QUERY"
FIRST_ANSWER_S = "start to first answer, s"
INTERVAL_S, COMMIT_S = "PUSH ops/s, durability interval", "PUSH ops/s, durability commit"
EARLY_US, LATE_US = "CPU us a PUSH in a small index", "CPU us a PUSH in a large index"
EARLY_S, LATE_S = "PUSH ops/s in a small index", "PUSH ops/s in a large index"
HALF_CHURNED_MB, CHURNED_MB = "tables halfway through the churns, MB", "tables after the churns, MB"
FRESH = 500
"""The number of texts pushed just before a consolidation, so that words are pending."""
MB = 1e6


def idle(server: Server, results: Results, profile: Profile) -> None:
    """Record the memory of a server with one connection right after its start."""
    with server.connect("search") as connection:
        ask(connection, b"PING\n")
        time.sleep(profile.settle_s)
        results.figures[IDLE_MB, server.name] = server.memory_bytes() / MB


def load(server: Server, results: Results, profile: Profile, texts: Sequence[str], start: int) -> None:
    """Push the texts from `start` on, consolidate beside PING of another connection; record memory, disk and CPU time.

    Raises:
        WrongAnswers: the server does not count the pushed objects.
    """
    name = server.name
    fresh = max(start, len(texts) - FRESH)
    with MemoryWatch(server.pid) as watch:
        run = push_numbers(server, texts, start, fresh, profile.rest_s)
        push_numbers(server, texts, fresh, len(texts))
        loaded = server.memory_bytes()
        consolidate(server, results, profile)
    if run.latencies_s:
        results.figures[LOAD_CPU_US, name] = run.cpu_us
    results.figures[PEAK_MB, name] = watch.peak_bytes / MB
    time.sleep(profile.settle_s)
    results.figures[LOADED_MB, name] = max(loaded, server.memory_bytes()) / MB
    results.figures[DISK_MB, name] = server.disk_bytes() / MB
    answer = server.say("ingest", f"COUNTB {COLLECTION} {BUCKET}\n".encode())
    results.figures[OBJECTS, name] = objects = int(answer.removeprefix("RESULT "))
    if not RIGHT_SHARE * len(texts) <= objects <= len(texts):
        raise WrongAnswers(f"{name}: it counts {objects} objects after {len(texts)} were pushed")


def consolidate(server: Server, results: Results, profile: Profile) -> None:
    """Consolidate now; record its time and the slowest PING of another connection meanwhile.

    PINGs are sent for a while longer, because the server removes old files after its answer.
    """
    with server.connect("control") as control, server.connect("search") as pinging:
        trigger = Lane(control, [b"TRIGGER consolidate\n"])
        beside = Lane(pinging, repeat(b"PING\n"), endless=True)
        results.figures[CONSOLIDATE_S, server.name] = drive([trigger, beside])[0]
        after = Lane(pinging, repeat(b"PING\n"))
        drive([after], profile.settle_s)
    results.figures[CONSOLIDATE_PING_MS, server.name] = 1e3 * max(*beside.latencies_s, *after.latencies_s)


def rest(servers: Sequence[Server], results: Results, profile: Profile) -> None:
    """Restart the servers and leave them idle; record the disk space of their indexes."""
    for server in servers:
        server.stop()
        server.start()
    time.sleep(profile.idle_s)
    for server in servers:
        results.figures[IDLE_DISK_MB, server.name] = server.disk_bytes() / MB


def queries_beside_pushes(
    server: Server, results: Results, profile: Profile, commands: Commands, texts: Sequence[str]
) -> None:
    """Record the time of queries on one connection while another one pushes the texts again, as new objects."""
    lines = (push_line(len(texts) + number, text) for number, text in enumerate(cycle(texts)))
    mixed = interleaved([[command.line for command in commands.by_operation[kind]] for kind in QUERIES])
    with server.connect("search") as asking, server.connect("ingest") as pushing:
        asked = Lane(asking, cycle(mixed), reply_lines=2)
        pushed = Lane(pushing, lines, in_flight=16, endless=True)
        took_s, _ = drive([asked, pushed], profile.beside_s)
    check_replies(server, QUERY_1, asked)
    check_replies(server, PUSH, pushed)
    results.figures[BESIDE_P99_MS, server.name] = percentile(sorted(asked.latencies_s), 99) * 1e3
    results.figures[BESIDE_PUSH_S, server.name] = len(pushed.latencies_s) / took_s


def restart(server: Server, results: Results, commands: Commands) -> None:
    """Restart a server on its data; record the time from the start to the first answer. Raises WrongAnswers if that
    answer is wrong.
    """
    server.stop()
    began = time.perf_counter()
    server.start()
    answer = server.say("search", commands.by_operation[QUERY_1][0].line, 2)
    results.figures[FIRST_ANSWER_S, server.name] = time.perf_counter() - began
    if "\nEVENT QUERY " not in answer:
        raise WrongAnswers(f"{server.name}: its first answer is {answer!r}")


def durability(folder: Path, results: Results, profile: Profile, texts: Sequence[str], name: str) -> None:
    """Record the rate of PUSH of a sonicpy server with each commit waiting for the disk, and by default."""
    with (
        Sonicpy(name, folder / "interval") as interval,
        Sonicpy(name, folder / "commit", {"store.kv.durability": "commit"}) as commit,
    ):

        def push(server: Server, number: int) -> float:
            return push_numbers(server, texts, number * profile.pushes, (number + 1) * profile.pushes, mode=EIGHT).per_s

        acts = {INTERVAL_S: partial(push, interval), COMMIT_S: partial(push, commit)}
        for figure, rates in in_turns(acts, profile.rounds).items():
            results.figures[figure, name] = median(rates)


def growth(server: Server, results: Results, profile: Profile, texts: Sequence[str]) -> None:
    """Record the cost of PUSH in a small and in a large index."""
    small, large = profile.grown
    done = 0
    for until, cost, speed in ((small, EARLY_US, EARLY_S), (large, LATE_US, LATE_S)):
        push_numbers(server, texts, done, until - profile.window)
        run = push_numbers(server, texts, until - profile.window, until)
        results.figures[cost, server.name] = run.cpu_us
        results.figures[speed, server.name] = run.per_s
        done = until


def push_numbers(
    server: Server, texts: Sequence[str], start: int, end: int, rest_s: float = 0.0, mode: Mode = SIXTEEN
) -> Run:
    """Push the texts from number `start` to `end`, exclusive; `rest_s` and `mode` as in `push_run`. Return the
    measurement."""
    return push_run(server, mode, [push_line(number, texts[number]) for number in range(start, end)], rest_s)


def churn(server: Sonicpy, results: Results, profile: Profile, texts: Sequence[str]) -> None:
    """Pop and push the same objects repeatedly; record the size of the tables halfway and at the end."""
    count = profile.churned
    push_numbers(server, texts, 0, count)
    for done in range(1, profile.churns + 1):
        pops = [pop_line(number, text) for number, text in enumerate(texts[:count])]
        load_lines(server, "ingest", pops, in_flight=16, check=partial(check_replies, server, POP))
        push_numbers(server, texts, 0, count)
        if done in (profile.churns // 2, profile.churns):
            time.sleep(profile.settle_s)
            figure = CHURNED_MB if done == profile.churns else HALF_CHURNED_MB
            results.figures[figure, server.name] = server.table_bytes() / MB


def interleaved(kinds: Sequence[Sequence[bytes]]) -> list[bytes]:
    """Return the lines of all kinds, taking one of each kind in turn."""
    return [line for some in zip(*kinds, strict=False) for line in some]
