"""The model: computes machines, nodes, memory, disks and network from measurements and assumptions.

The model adds up CPU times and bytes; it includes neither queues nor latency. `python -m benchmarks.scale` prints its
tables.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

SIZES = (10**9, 10**10, 10**11)
PARTITIONS_MAX = 1024
DAY_S = 86_400
GIB = 1 << 30
TIB = 1 << 40

ASSUMED: dict[str, tuple[float, str]] = {
    "queries per second": (100_000, "all of them QUERYs of two words"),
    "objects per bucket": (
        100_000,
        "more objects mean more buckets: a query reads one bucket, so it costs what was measured",
    ),
    "days until every object was pushed again": (100, "spread evenly: this decides how many changes there are"),
    "changes per batch": (1, "the dearest case: no change finds company on its way to the brokers"),
    "copies": (3, "nodes that hold each partition"),
    "share of a node's time that may be used": (0.5, "the rest is for peaks, and for the work of a node that is down"),
    "share of the stores in memory": (0.2, "in the page cache; the rest is seldom read"),
    "room for each byte of a store": (1.6, "free pages of LMDB, a snapshot on its way, new word graphs"),
    "days of the log": (2, "two snapshots, one a day"),
    "cores of a machine": (32, "a node uses one"),
    "cores without a node": (4, "of each machine: for its broker, if it has one, and the system"),
    "memory of a machine, GiB": (256, ""),
    "disk of a machine, TiB": (8, "local NVMe, filled to 70 %"),
    "network of a machine, Gbit/s": (25, "filled to 50 %"),
}
"""Assumption -> (value, reason)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The hardware for a number of objects.

    Attributes:
        nodes_by_cpu: the number of processes that answer queries and apply changes, at one core each.
        by_*: the number of machines that this resource alone needs.
    """

    objects: int
    changes_per_s: float
    passed_on: float
    query_cores: float
    change_cores: float
    broker_cores: float
    nodes_by_cpu: int
    stores_tib: float
    memory_gib: float
    log_tib: float
    network_gbit: float
    by_cpu: int
    by_memory: int
    by_disk: int
    by_network: int
    machines: int
    nodes: int
    passing_cores: float
    fill_hours: float
    replace_minutes: float

    @property
    def limit(self) -> str:
        """The resources that decide the number of machines."""
        needs = {"processors": self.by_cpu, "memory": self.by_memory, "disks": self.by_disk, "network": self.by_network}
        return max(needs, key=lambda name: needs[name])


def plan(objects: int, measured: Mapping[str, float], assumed: Mapping[str, float]) -> Plan:
    """Return the plan for a number of objects.

    Args:
        measured: name -> measured value.
        assumed: name -> assumed value.
    """
    changes = objects / (assumed["days until every object was pushed again"] * DAY_S)
    queries, copies, busy = (
        assumed["queries per second"],
        assumed["copies"],
        assumed["share of a node's time that may be used"],
    )
    change_us = measured["entry us"] + copies * measured["replica us"]
    change_cores = changes * change_us / 1e6
    nodes = int(copies)
    while True:  # more nodes pass on more queries, which takes more nodes
        passed_on = 1 - copies / nodes
        query_cores = queries * (measured["query us"] + passed_on * measured["passing on: nodes us"]) / 1e6
        idle = nodes * measured["idle node, share of a core"]
        needed = math.ceil((query_cores + change_cores + idle) / busy)
        if needed <= nodes:
            break
        nodes += 1
    broker_cores = (changes * measured["brokers us"] + queries * passed_on * measured["passing on: brokers us"]) / 1e6
    stores = objects * (measured["store bytes per object"] + measured["graph bytes per object"]) * copies
    memory = (
        stores * assumed["share of the stores in memory"] + nodes * measured["node MB, page cache not counted"] * 1e6
    )
    log = changes * DAY_S * assumed["days of the log"] * measured["broker disk bytes per change"]
    answer = measured["query bytes"] + measured["answer bytes"]
    network_bytes = queries * answer * (1 + 2 * passed_on) + changes * measured["wire bytes per change"]
    per_machine = assumed["cores of a machine"] - assumed["cores without a node"]
    disk = 0.7 * assumed["disk of a machine, TiB"] * TIB
    network = 0.5 * assumed["network of a machine, Gbit/s"] * 1e9 / 8
    by = {
        "cpu": math.ceil(nodes / per_machine + broker_cores / busy / assumed["cores of a machine"]),
        "memory": math.ceil(memory / (0.8 * assumed["memory of a machine, GiB"] * GIB)),
        "disk": math.ceil((stores * assumed["room for each byte of a store"] + log) / disk),
        "network": math.ceil(network_bytes / network),
    }
    machines = max(3, *by.values())
    started = max(nodes, machines)
    filled_us = measured["64 under way: entry us"] + copies * measured["64 under way: replica us"]
    return Plan(
        objects=objects,
        changes_per_s=changes,
        passed_on=passed_on,
        query_cores=query_cores,
        change_cores=change_cores,
        broker_cores=broker_cores,
        nodes_by_cpu=nodes,
        stores_tib=stores / TIB,
        memory_gib=memory / GIB,
        log_tib=log / TIB,
        network_gbit=network_bytes * 8 / 1e9,
        by_cpu=by["cpu"],
        by_memory=by["memory"],
        by_disk=by["disk"],
        by_network=by["network"],
        machines=machines,
        nodes=started,
        passing_cores=queries
        * passed_on
        * (measured["passing on: nodes us"] + measured["passing on: brokers us"])
        / 1e6,
        fill_hours=objects * filled_us / 1e6 / started / 3600,
        replace_minutes=stores / machines / network / 60,
    )


# -- tables ------------------------------------------------------------------------------------------------------------


def tables(found: Mapping[str, float | int | str]) -> dict[str, str]:
    """Return the tables of the page by name, in Markdown."""
    measured = {key: float(value) for key, value in found.items() if not isinstance(value, str)}
    assumed = {key: value for key, (value, _) in ASSUMED.items()}
    plans = [plan(objects, measured, assumed) for objects in SIZES]
    return {
        "assumed": table(
            ["assumed", "value", "why"], [[key, shown(value), why] for key, (value, why) in ASSUMED.items()]
        ),
        "needed": needed_table(plans, measured),
    }


def needed_table(plans: list[Plan], measured: Mapping[str, float]) -> str:
    """Return the table of plans, one column for each number of objects."""
    rows: list[tuple[str, list[str]]] = [
        ("changes per second", [shown(round(one.changes_per_s)) for one in plans]),
        ("cores for queries", [shown(round(one.query_cores, 1)) for one in plans]),
        ("cores for changes", [shown(round(one.change_cores, 1)) for one in plans]),
        ("cores for brokers", [shown(round(one.broker_cores, 1)) for one in plans]),
        ("nodes for this processor time", [shown(one.nodes_by_cpu) for one in plans]),
        ("queries that another node answers", [f"{one.passed_on:.0%}" for one in plans]),
        ("stores, all copies, TiB", [shown(round(one.stores_tib, 2)) for one in plans]),
        ("memory, GiB", [shown(round(one.memory_gib)) for one in plans]),
        ("log at the brokers, TiB", [shown(round(one.log_tib, 2)) for one in plans]),
        ("network, Gbit/s", [shown(round(one.network_gbit, 2)) for one in plans]),
        ("machines for processors", [shown(one.by_cpu) for one in plans]),
        ("machines for memory", [shown(one.by_memory) for one in plans]),
        ("machines for disks", [shown(one.by_disk) for one in plans]),
        ("machines for network", [shown(one.by_network) for one in plans]),
        ("**machines**", [f"**{shown(one.machines)}**" for one in plans]),
        ("**nodes**", [f"**{shown(one.nodes)}**" for one in plans]),
        ("decided by", [one.limit for one in plans]),
        ("cores that only pass queries on", [shown(round(one.passing_cores, 1)) for one in plans]),
        ("hours to push all objects once, 64 under way", [shown(round(one.fill_hours, 1)) for one in plans]),
        ("minutes to copy a lost machine's replicas", [shown(round(one.replace_minutes)) for one in plans]),
        *partition_rows(plans, measured),
    ]
    return table(["", *(named(one.objects) for one in plans)], [[name, *values] for name, values in rows])


def partition_rows(plans: list[Plan], measured: Mapping[str, float]) -> list[tuple[str, list[str]]]:
    """Return rows about partitions, for the default and the largest number of them."""
    size = measured["store bytes per object"] + measured["graph bytes per object"]
    rows = []
    for partitions in (16, PARTITIONS_MAX):
        for name, value in (
            ("GiB of a replica", lambda one, p: one.objects / p * size / GIB),
            ("replicas on a node", lambda one, p: p * 3 / one.nodes),
        ):
            values = [shown(rounded(value(one, partitions))) for one in plans]
            rows.append((f"{name}, P = {shown(partitions)}", values))
    return rows


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown with a head."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def named(objects: int) -> str:
    """Return a number of objects in words."""
    return f"{objects // 10**9} billion"


def rounded(value: float) -> float:
    """Return a value rounded to one decimal if it is below 100, else to a whole number."""
    return round(value, 1) if value < 100 else round(value)


def shown(value: float | str) -> str:
    """Return a value as text for a table."""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value == int(value) else f"{value:,}"
