"""L1 to L4, Letarette's benchmarks: articles in three shards, test sets asked by one to ten agents.

L4 runs the sets on three files of SQLite FTS5, the base of Letarette, with equal agents.
"""

import multiprocessing
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

from benchmarks import corpora
from benchmarks.measure import Taken, in_turns, load, percentile
from benchmarks.peers import cluster
from benchmarks.peers.servers import Server, Sonicpy
from benchmarks.peers.sqlite import Fts5, match, quoted
from benchmarks.published.profiles import Profile
from benchmarks.published.synapse_rows import shard_of
from benchmarks.published.table import NETWORK, Figure, Table
from sonicpy.client.address import Address
from sonicpy.load.agent import measure as ask_servers
from sonicpy.load.report import timings
from sonicpy.load.test_set import TestSet
from tests.processes import HOST
from tests.support.server_process import PASSWORD

SHARDS = 3
SET_S = 10.0
"""L2: the longest time of one set in seconds; a slow system stops before the end of the set."""
FIRST = 100
"""The number of queries after a start that L3 measures."""


def run(table: Table, profile: Profile, folder: Path, wanted: Callable[[str], bool]) -> None:
    """Measure the selected rows of L.

    Args:
        wanted: returns whether a row is selected.
    """
    if not any(map(wanted, ("L1", "L2", "L3", "L4"))):
        return
    texts = corpora.described("articles", corpora.articles(SHARDS * profile.articles), table.say)
    rows = [(f"article:{number}", text) for number, text in enumerate(texts)]
    sharded: list[list[tuple[str, str]]] = [[] for _ in range(SHARDS)]
    for row in rows:
        sharded[shard_of(row[0], SHARDS)].append(row)
    sonicpys: list[Server] = [Sonicpy(f"sonicpy {number}", folder / f"ours {number}") for number in range(SHARDS)]
    systems: dict[str, list[Server]] = {
        "3 sonicpy serve": sonicpys,
        "1 sonicpy serve": [Sonicpy("one", folder / "one")],
    }
    if sonics := table.sonic("L", *(folder / f"sonic {number}" for number in range(SHARDS))):
        systems["3 Sonic"] = sonics
    if reason := cluster.missing():
        table.skip("L", cluster.NAME, reason)
    elif profile.has_cluster:
        systems[cluster.NAME] = list(cluster.Cluster(folder / "cluster", "wp").nodes)
    with multiprocessing.get_context("spawn").Pool(max(profile.agents)) as pool, ExitStack() as stack:
        pool.map(len, ["warm"] * max(profile.agents), chunksize=1)
        asked: dict[str, Shards] = {}
        for name, servers in systems.items():
            for server in servers:
                stack.enter_context(server)
            load_articles(table, name, servers, sharded if len(servers) > 1 else [rows])
            # A node of a cluster merges the answers of all parts; agents merge those of single servers.
            given = servers[:1] if name == cluster.NAME else servers
            asked[name] = Shards("L2", [(HOST, server.port) for server in given])
        if wanted("L4"):
            asked["3 SQLite FTS5"] = Shards("L4", [], fts5_files(folder, sharded))
        sets(table, pool, profile, {name: shards for name, shards in asked.items() if wanted(shards.row)})
    for name in ("3 sonicpy serve", cluster.NAME):
        if wanted("L3") and name in systems:
            first_queries(table, name, systems[name])


def load_articles(
    table: Table, name: str, servers: Sequence[Server], rows: Sequence[Sequence[tuple[str, str]]]
) -> None:
    """L1: push each article to its server, in lines that fit."""
    size = sum(len(text) for some in rows for _, text in some)
    count = sum(map(len, rows))
    with Taken(partial(cluster.cpu_of, servers)) as whole:
        with Taken() as pushing:
            for server, some in zip(servers, rows, strict=True):
                lines = [line for article, text in some for line in push_lines(article, text)]
                load(server, "ingest", lines, in_flight=16)
        for server in servers:
            server.consolidate()
    figure = Figure("L1", "load articles", name, NETWORK, in_flight="16", rounds=[count / pushing.seconds])
    figure.cpu_us = whole.cpu_s / count * 1e6
    figure.more = {"MB/s": size / pushing.seconds / 1e6, "text MB": size / 1e6,
                   "disk MB": sum(server.disk_bytes() for server in servers) / 1e6}  # fmt: skip
    table.add(figure)


def push_lines(article: str, text: str) -> list[bytes]:
    """Return the lines that push an article."""
    words, lines = text.split(), []
    for start in range(0, len(words), 1500):
        lines.append(f'PUSH wp default {article} "{" ".join(words[start : start + 1500])}" LANG(none)\n'.encode())
    return lines


Result = tuple[float, float, int]
"""(start, end, number of hits) of a query; times are in seconds."""


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards that the agents query: servers, or files of SQLite."""

    row: str
    servers: list[tuple[str, int]]
    files: list[str] | None = None


def sets(table: Table, pool: Pool, profile: Profile, systems: Mapping[str, Shards]) -> None:
    """Run every set with every number of agents, each a process; the systems take turns in each round."""
    for set_name, given in made_sets().items():
        asked = given.model_copy(
            update={"Iterations": max(1, min(given.Iterations, profile.iterations) // profile.rounds)}
        )
        fit = {name: shards for name, shards in systems.items() if shards.files is None or asked.Op == "query"}
        for agents in profile.agents:
            acts = {name: partial(run_agents, pool, agents, asked, fit[name], SET_S / profile.rounds) for name in fit}
            for name, rounds in in_turns(acts, profile.rounds).items():
                results = [result for some in rounds for result in some]
                case = f"{set_name}, {agents} agents"
                figure = Figure(fit[name].row, case, name, NETWORK, in_flight=f"1 on each of {agents}")
                figure.rounds = [len(some) / (max(end for _, end, _ in some) - min(some)[0]) for some in rounds]
                found = sum(hits > 0 for _, _, hits in results) / len(results)
                figure.note = "" if found > 0.5 or set_name == "mixed" else f"finds something in {found:.0%}"
                roundtrips = [end - begun for begun, end, _ in results]
                figure.more = {f"roundtrip {key} s": value for key, value in timings(roundtrips).items()}
                table.add(figure)


def run_agents(pool: Pool, agents: int, asked: TestSet, shards: Shards, seconds_max: float, _: int) -> list[Result]:
    """Run queries of several agents; return the results of all of them together."""
    work = [(asked.model_dump(), shards, number, seconds_max) for number in range(agents)]
    return [result for some in pool.map(be_agent, work, chunksize=1) for result in some]


def be_agent(work: tuple[dict[str, Any], Shards, int, float]) -> list[Result]:
    """Run the queries of one agent; return their results. All processes of a machine share the clock.

    Args:
        work: the fields of a TestSet, the shards, the number of the agent, and its time limit in seconds.

    Raises:
        AssertionError: a query failed; the message is its error.
    """
    held, shards, number, seconds_max = work
    asked = TestSet.model_validate(held)
    if shards.files is None:
        addresses = [Address(host, port, password=PASSWORD) for host, port in shards.servers]
        stopped = threading.Event()
        timer = threading.Timer(seconds_max, stopped.set)
        timer.start()
        results = ask_servers(addresses, asked, 10.0, number, stopped)
        timer.cancel()
        if any(result.error for result in results):
            raise AssertionError(next(result.error for result in results if result.error))
        return [(result.start, result.end, result.hits) for result in results]
    chance = random.Random(number)
    databases = [sqlite3.connect(f"file:{path}?mode=ro", uri=True) for path in shards.files]
    limit = asked.limit_of_shard(len(databases))
    rows = []
    for _ in range(asked.Iterations):
        query = quoted(chance.choice(asked.Queries).split())
        begun = time.perf_counter()
        hits = sum(len(match(database, query, limit)) for database in databases)
        rows.append((begun, time.perf_counter(), hits))
    return rows


def fts5_files(folder: Path, sharded: Sequence[Sequence[tuple[str, str]]]) -> list[str]:
    """Return the paths of one FTS5 file for each shard."""
    paths = [folder / f"shard{number}.db" for number in range(len(sharded))]
    for path, some in zip(paths, sharded, strict=True):
        texts = Fts5(path)
        texts.add(enumerate((text for _, text in some), 1))
        texts.close()
    return list(map(str, paths))


def first_queries(table: Table, name: str, servers: Sequence[Server]) -> None:
    """L3: measure the first queries after a start of the servers of the system `name`, and a repetition of them."""
    lines = [f'QUERY wp default "{word}"\n'.encode() for word in corpora.made_up_words(FIRST, 5)]
    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(server)
        for case in ("the first 100 queries after a start", "the same again"):
            runs = [load(server, "search", lines, reply_lines=2) for server in servers]
            latencies = sorted(latency for run in runs for latency in run.latencies_s)
            figure = Figure("L3", case, name, NETWORK, unit=" us p50")
            figure.rounds = [percentile(latencies, 50) * 1e6]
            figure.more = {"p99_us": percentile(latencies, 99) * 1e6}
            table.add(figure)


def made_sets() -> dict[str, TestSet]:
    """Return the test sets, made of words of the articles, by name."""
    words = corpora.made_up_words(30_000, 5)
    middle = words[2000:2100]
    half = [middle[5][:6], f"{middle[6][:-1]}q", "qqqqqq"]
    prefixes = [word[:length] for word in middle for length in (2, 3, 4)]
    made: dict[str, tuple[list[str], dict[str, str]]] = {
        "common": (corpora.COMMON_WORDS, {}),
        "mixed": ([middle[2], f"{middle[3]} {words[20]}", f"{middle[4]} {words[60]}", *half], {}),
        "pair": ([f"{middle[1]} {words[50]}"], {}),
        "simple": ([middle[0]], {}),
        "suggest": (prefixes, {"Op": "suggest"}),
    }
    return {
        name: TestSet(Iterations=250, Spaces=["wp/default"], Queries=queries, Limit=10, **more)  # type: ignore[arg-type]
        for name, (queries, more) in made.items()
    }
