"""The measurements for `benchmarks.scale.model`, on this machine; they take about three minutes.

The measured systems are a store of chat messages in buckets of 100,000, a server that answers queries on it, and two
clusters of three brokers and three nodes: one whose nodes all hold everything, and one in which two of three queries go
to another node. CPU times come from the kernel; only sums over processes are used, so other work on the machine has
little effect.
"""

import json
import os
import platform
import random
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.request import urlopen

import sonicpy
from benchmarks.accounting import BLOCK_BYTES
from benchmarks.in_cluster import PARTITIONS, Connection, cpu_s
from benchmarks.in_cluster import cluster as running
from benchmarks.peers.servers import Sonicpy
from sonicpy.cluster.operator.dev import DevCluster
from sonicpy.cluster.registry.partitions import partition_of
from tests.processes import HOST
from tests.support.texts import messages, oid, queries, quoted

OBJECTS = 300_000
BUCKET_OBJECTS = 100_000
QUERIES = 4_000
CHANGES = 6_000
BATCHED_CHANGES = 24_000
DEPTH = 64
IDLE_S = 5.0

Measured = dict[str, float | int | str]


class Asking(Connection):
    """A connection for queries that counts received bytes."""

    def answer(self) -> int:
        """Read the two lines of an answer; return their size in bytes."""
        return len(self._file.readline()) + len(self._file.readline())


def measure() -> Measured:
    """Return all measurements by name; the names include the units."""
    texts = messages(OBJECTS)
    found: Measured = {
        "machine": f"{os.cpu_count()} CPUs, {platform.machine()}, Python {platform.python_version()}",
        "characters per text": round(sum(map(len, texts)) / len(texts), 1),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found |= of_store(folder / "one server" / "store", texts)
        found |= of_queries(folder / "one server" / "store", texts)
        found |= of_changes(folder / "three", texts)
        found |= of_passing_on(folder / "one", texts)
    return {
        key: value if isinstance(value, str) else round(value, 2 if value > 1 else 4) for key, value in found.items()
    }


def of_store(folder: Path, texts: Sequence[str]) -> Measured:
    """Return the disk space of an object on a node."""
    rows = [("messages", f"b{n // BUCKET_OBJECTS}", oid(n), text, "eng") for n, text in enumerate(texts)]
    with sonicpy.open(folder) as index:
        index.push_many(rows)
        index.consolidate()
        figures = index.stats()
    used, graphs = figures["used_bytes"], figures["graph_bytes"]
    return {"store bytes per object": used / len(texts), "graph bytes per object": graphs / len(texts)}


def of_queries(folder: Path, texts: Sequence[str]) -> Measured:
    """Return the CPU time and the bytes of a query of two words on one server."""
    # The store lies in the folder that a server takes for it.
    with Sonicpy("one machine", folder.parent) as server:
        pid, connection = server.pid, Asking(server.port, "search")
        lines = [f"QUERY messages b0 {quoted(text)}\n" for text in queries(list(texts[:BUCKET_OBJECTS]), 2, QUERIES)]
        ask(connection, lines[:500])
        before = cpu_s([pid])
        answered = ask(connection, lines)
        cpu_us = (cpu_s([pid]) - before) / len(lines) * 1e6
        connection.close()
    return {
        "query us": cpu_us,
        "query bytes": sum(map(len, lines)) / len(lines),
        "answer bytes": answered / len(lines),
    }


def of_changes(folder: Path, texts: Sequence[str]) -> Measured:
    """Return the cost of a PUSH for the node that receives it, for each replica, and for all brokers together."""
    with running(folder, copies=3) as cluster:
        time.sleep(1)
        idle = Spent(cluster)
        time.sleep(IDLE_S)
        idle.stop()
        found: Measured = {
            "idle node, share of a core": (idle.entry_s + idle.others_s) / len(cluster.nodes) / idle.seconds,
            "idle broker, share of a core": idle.brokers_s / len(cluster.brokers) / idle.seconds,
            "idle wire bytes per second": idle.wire_bytes / idle.seconds,
        }
        found |= pushed(cluster, texts[:CHANGES], 1, idle)
        found |= pushed(cluster, texts[CHANGES : CHANGES + BATCHED_CHANGES], DEPTH, idle)
        time.sleep(3)  # brokers write what they know of their streams
        changes = CHANGES + BATCHED_CHANGES
        on_disk = sum(disk_bytes(cluster.folder / name) for name in cluster.brokers)
        found["broker disk bytes per change"] = on_disk / changes
        found["node MB, page cache not counted"] = private_mb(pids_of(cluster)[0])
    return found


class Spent:
    """The costs of a cluster from the creation of this object to `stop`: CPU seconds by role, and bytes."""

    def __init__(self, cluster: DevCluster) -> None:
        self._cluster = cluster
        self._began = self._now()

    def stop(self) -> None:
        """Note the differences since the start."""
        found = [now - was for now, was in zip(self._now(), self._began, strict=True)]
        self.seconds, self.entry_s, self.others_s, self.brokers_s, self.wire_bytes = found

    def _now(self) -> list[float]:
        (entry, *others), brokers = pids_of(self._cluster)
        return [time.monotonic(), cpu_s([entry]), cpu_s(others), cpu_s(brokers), traffic(self._cluster)]


def pushed(cluster: DevCluster, texts: Sequence[str], depth: int, idle: Spent) -> Measured:
    """Push through one node, `depth` lines in flight; return the cost by role, minus that of an idle cluster."""
    pick = random.Random(depth)
    spent = Spent(cluster)
    connection = Connection(cluster.node_ports["n1"], "ingest")
    for first in range(0, len(texts), depth):
        lines = [f"PUSH messages b{pick.randrange(64)} {oid(pick.randrange(10**9))} {quoted(text)} LANG(eng)\n"
                 for text in texts[first : first + depth]]  # fmt: skip
        connection.send("".join(lines))
        connection.take(len(lines))
    connection.close()
    time.sleep(0.5)
    spent.stop()
    times = spent.seconds / idle.seconds
    others = len(cluster.nodes) - 1
    replica_us = (spent.others_s - idle.others_s * times) / others / len(texts) * 1e6
    name = f"{depth} under way: " if depth > 1 else ""
    return {
        f"{name}entry us": (spent.entry_s - idle.entry_s * times) / len(texts) * 1e6 - replica_us,
        f"{name}replica us": replica_us,
        f"{name}brokers us": (spent.brokers_s - idle.brokers_s * times) / len(texts) * 1e6,
        f"{name}wire bytes per change": (spent.wire_bytes - idle.wire_bytes * times) / len(texts),
    }


def of_passing_on(folder: Path, texts: Sequence[str]) -> Measured:
    """Return the additional cost of a query that another node answers."""
    with running(folder, copies=1) as cluster:
        nodes, brokers = pids_of(cluster)
        connection = Connection(cluster.node_ports["n1"], "ingest")
        buckets = [f"b{number}" for number in range(60)]
        for bucket in buckets:
            for number, text in enumerate(texts[:30]):
                connection.send(f"PUSH messages {bucket} {oid(number)} {quoted(text)} LANG(eng)\n")
                connection.take(1)
        connection.close()
        here = {bucket for bucket in buckets if "n1" in cluster.layout.holders(partition(bucket))}
        costs = []
        search = Asking(cluster.node_ports["n1"], "search")
        for wanted in (sorted(here), sorted(set(buckets) - here)):
            pick = random.Random(1)
            asked = queries(list(texts[:30]), 2, QUERIES)
            lines = [f"QUERY messages {pick.choice(wanted)} {quoted(text)}\n" for text in asked]
            ask(search, lines[:300])
            before = cpu_s(nodes), cpu_s(brokers)
            ask(search, lines)
            after = cpu_s(nodes), cpu_s(brokers)
            costs.append([(now - was) / len(lines) * 1e6 for now, was in zip(after, before, strict=True)])
        search.close()
    return {
        "passing on: nodes us": max(0.0, costs[1][0] - costs[0][0]),
        "passing on: brokers us": max(0.0, costs[1][1] - costs[0][1]),
    }


# -- processes ---------------------------------------------------------------------------------------------------------


def ask(connection: Asking, lines: Sequence[str]) -> int:
    """Send queries one at a time; return the size of the answers in bytes."""
    answered = 0
    for line in lines:
        connection.send(line)
        answered += connection.answer()
    return answered


def partition(bucket: str) -> int:
    """Return the partition of a bucket of messages."""
    return partition_of("messages", bucket, PARTITIONS)


def pids_of(cluster: DevCluster) -> tuple[list[int], list[int]]:
    """Return the process ids of the nodes and of the brokers."""
    return [one.pid for one in cluster.nodes.values()], [one.pid for one in cluster.brokers.values()]


def traffic(cluster: DevCluster) -> int:
    """Return the bytes that all brokers have received and sent; bytes between brokers count once."""
    total = 0
    for port in cluster.monitor_ports.values():
        for page, key, times in (("connz", "connections", 1.0), ("routez", "routes", 0.5)):
            with urlopen(f"http://{HOST}:{port}/{page}?limit=1000", timeout=5) as answer:
                for one in json.load(answer)[key] or ():
                    total += int((one["in_bytes"] + one["out_bytes"]) * times)
    return total


def disk_bytes(folder: Path) -> int:
    """Return the disk space of the files below a folder in bytes."""
    return sum(path.stat().st_blocks * BLOCK_BYTES for path in folder.rglob("*") if path.is_file())


def private_mb(pids: Sequence[int]) -> float:
    """Return the mean anonymous memory of some processes in MB."""
    found = [re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text()) for pid in pids]
    return sum(int(one[1]) for one in found if one) / len(pids) * 1024 / 1e6
