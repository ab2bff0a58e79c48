"""Print the cost of a cluster and the length of its faults: three nodes with three brokers on this machine.

    python -m benchmarks.in_cluster cost [--pushes N] [--buckets N] [--logs N]
    python -m benchmarks.in_cluster idle
    python -m benchmarks.in_cluster faults
    python -m benchmarks.in_cluster away [--seconds S]
    python -m benchmarks.in_cluster new [--objects N]

cost    CPU of all processes for a PUSH and a QUERY, beside that of one server with equal objects. Eight
        connections, each with eight PUSHes under way, then one with one; QUERYs one at a time, at a node that holds the
        bucket (three copies) and at one that does not (one copy). The sides take turns, so that other
        work on the machine affects all of them. Times on one machine with two cores do not predict the speed of three
        machines; the total CPU time of an operation does transfer.
idle    memory and CPU of idle processes
faults  the longest time without an acknowledgement when a node or a broker is killed
away    time until a killed node is current again, under 2,000 PUSH/s
new     time until a node with an empty folder is current, by the log and by snapshots
"""

import argparse
import asyncio
import json
import random
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nats.aio.msg import Msg

from benchmarks.accounting import own_cpu_s, resident_bytes
from benchmarks.peers.servers import Sonicpy
from sonicpy.cluster.log.ending import close
from sonicpy.cluster.log.jetstream import connect
from sonicpy.cluster.node.replica import COMMIT_AFTER_S
from sonicpy.cluster.node.snapshots import snapshot_all
from sonicpy.cluster.operator.dev import DevCluster
from sonicpy.cluster.registry.partitions import partition_of
from sonicpy.cluster.registry.status import SUBJECT as STATUS
from tests.processes import HOST
from tests.support.server_process import PASSWORD
from tests.support.texts import messages, queries, quoted

CONNECTIONS = 8
DEPTH = 8
PARTITIONS = 16
ROUNDS = 4
OBJECTS = 50_000
IDLE_S = 3.0
SETTLE_S = COMMIT_AFTER_S + 0.5
"""The time in seconds after changes until everything is committed and no work is left."""
TEXTS = messages(20_000)
QUERIES = queries(TEXTS, 2, 2_000)
TIMEOUT_S = 60.0
CURRENT_S = 600.0
LOOK_S = 0.05


class Connection:
    """A connection to a node."""

    def __init__(self, port: int, mode: str) -> None:
        self._socket = socket.create_connection((HOST, port), TIMEOUT_S)
        self._file = self._socket.makefile("rb")
        self.take(1)
        self.send(f"START {mode} {PASSWORD}\n")
        self.take(1)

    def send(self, text: str) -> None:
        self._socket.sendall(text.encode())

    def take(self, lines: int) -> None:
        """Read `lines` lines of answers. Raises ConnectionError if an answer is an error or missing."""
        for _ in range(lines):
            line = self._file.readline()
            if not line or line.startswith(b"ERR"):
                raise ConnectionError(f"the server answered {line!r}")

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def cpu_s(pids: Sequence[int]) -> float:
    """Return the CPU time of processes so far, in seconds."""
    return sum(map(own_cpu_s, pids))


def push_line(pick: random.Random, buckets: Sequence[str], objects: int = OBJECTS) -> str:
    """Return a PUSH of one of `objects` objects into one of some buckets, both chosen at random."""
    return f"PUSH bench {pick.choice(buckets)} o{pick.randrange(objects)} {quoted(pick.choice(TEXTS))}\n"


def push(port: int, seed: int, depth: int, count: int, buckets: Sequence[str]) -> None:
    """Push `count` objects to the server at `port`, each into a bucket chosen at random from `seed`, `depth` at a
    time."""
    pick = random.Random(seed)
    connection = Connection(port, "ingest")
    for _ in range(count // depth):
        connection.send("".join(push_line(pick, buckets) for _ in range(depth)))
        connection.take(depth)
    connection.close()


def query(port: int, seed: int, depth: int, count: int, buckets: Sequence[str]) -> None:
    """Send `count` queries to the server at `port`, each in a bucket chosen at random from `seed`, one at a time;
    `depth` is not used."""
    pick = random.Random(seed)
    connection = Connection(port, "search")
    for _ in range(count):
        asked = quoted(pick.choice(QUERIES))
        connection.send(f"QUERY bench {pick.choice(buckets)} {asked} LIMIT({pick.randint(10, 19)})\n")
        connection.take(2)
    connection.close()


def consolidate(port: int) -> None:
    """Build the word graphs of a server now, because queries cost more while words are pending."""
    connection = Connection(port, "control")
    connection.send("TRIGGER consolidate\n")
    connection.take(1)
    connection.close()


Work = Callable[[int, int, int, int, Sequence[str]], None]


@dataclass
class Side:
    """A measured server or cluster.

    Attributes:
        found: name of the measurement -> CPU microseconds of an operation in each round.
        by_process: process -> sums of `found` over the rounds.
        idle: the share of a second that each idle process uses.
    """

    name: str
    port: int
    pids: dict[str, int]
    buckets: Sequence[str]
    found: dict[str, list[float]] = field(default_factory=dict)
    by_process: dict[str, dict[str, float]] = field(default_factory=dict)
    idle: dict[str, float] = field(default_factory=dict)

    def measure_idle(self, seconds: float) -> None:
        """Record the CPU time of each idle process during `seconds`, which is not a part of the cost of an
        operation."""
        before = {name: cpu_s([pid]) for name, pid in self.pids.items()}
        time.sleep(seconds)
        self.idle = {name: (cpu_s([pid]) - before[name]) / seconds for name, pid in self.pids.items()}

    def measure(self, what: str, work: Work, connections: int, depth: int, count: int, seed: int) -> None:
        """Run some work over connections; record the CPU time per operation.

        Args:
            what: the name of the measurement.
            work: called in a thread for each connection.
            depth: the number of operations under way over a connection.
            count: the number of operations over all connections.
            seed: decides the operations.
        """
        before, began = {name: cpu_s([pid]) for name, pid in self.pids.items()}, time.monotonic()
        each = count // connections
        together(connections, lambda number: work(self.port, seed * 100 + number, depth, each, self.buckets))
        if work is push:
            time.sleep(SETTLE_S)
        seconds = time.monotonic() - began
        spent = {
            name: (cpu_s([pid]) - before[name] - self.idle[name] * seconds) / count * 1e6
            for name, pid in self.pids.items()
        }
        self.found.setdefault(what, []).append(sum(spent.values()))
        of_processes = self.by_process.setdefault(what, dict.fromkeys(spent, 0.0))
        for name, microseconds in spent.items():
            of_processes[name] += microseconds

    def typical(self, what: str) -> float:
        """Return the median over the rounds of the figures named `what`."""
        return sorted(self.found[what])[len(self.found[what]) // 2]


def together(count: int, work: Callable[[int], None]) -> None:
    """Call `work` with 0, 1, ... in threads, and wait for all. An exception in a thread is raised again."""
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work, number) for number in range(count)]:
            done.result()


# -- cost --------------------------------------------------------------------------------------------------------------

PUSH_MANY, PUSH_ONE, QUERY = "PUSH, 64", "PUSH, one", "QUERY"
COPIES = {3: "three copies", 1: "one copy"}


def cost(arguments: argparse.Namespace) -> None:
    """Print the costs of operations."""
    buckets = [f"b{number}" for number in range(arguments.buckets)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sides = [stack.enter_context(one_machine(folder / "one", buckets))]
        clusters: list[DevCluster] = []
        for count, name in COPIES.items():
            dev = stack.enter_context(cluster(folder / str(count), count, arguments.logs))
            clusters.append(dev)
            sides.append(Side(f"three nodes, {name}", dev.node_ports["n1"], pids_of(dev), buckets))
        # With one copy, the node n1 is asked about buckets that another one holds.
        elsewhere = [bucket for bucket in buckets if "n1" not in holders(dev, bucket)]
        for side in sides:  # an index with something in it: an empty one costs less than any that is in use
            push_all(side, arguments.filled)
        time.sleep(2 * SETTLE_S)
        for side in sides:
            side.measure_idle(IDLE_S)
        for seed in range(ROUNDS):
            for side in sides:
                side.measure(PUSH_MANY, push, CONNECTIONS, DEPTH, arguments.pushes // ROUNDS, seed)
        for seed in range(ROUNDS):
            for side in sides:
                side.measure(PUSH_ONE, push, 1, 1, arguments.pushes // ROUNDS // 20, seed + ROUNDS)
        for server in (sides[0].port, *(port for dev in clusters for port in dev.node_ports.values())):
            consolidate(server)
        for seed in range(2 * ROUNDS):
            for side in sides:
                side.buckets = elsewhere
                side.measure(QUERY, query, 1, 1, arguments.queries // ROUNDS // 2, seed)
    print_costs(sides)


def push_all(side: Side, count: int) -> None:
    """Push `count` objects, many at a time."""
    each = count // CONNECTIONS
    together(CONNECTIONS, lambda number: push(side.port, 9_000 + number, 100, each, side.buckets))


def print_costs(sides: Sequence[Side]) -> None:
    """Print the costs of operations on each side, and their ratios to those of one machine."""
    names = (PUSH_MANY, PUSH_ONE, QUERY)
    print(f"{'CPU in us of':40}" + "".join(f"{name:>12}" for name in names))
    for side in sides:
        print(f"{side.name:40}" + "".join(f"{side.typical(name):12.0f}" for name in names))
        if len(side.pids) > 1:
            shares = side.by_process[PUSH_MANY]
            print("    of PUSH, 64: " + ", ".join(f"{name} {us / ROUNDS:.0f}" for name, us in shares.items()))
            print(f"    idle: {sum(side.idle.values()):.1%} of a core, which is not counted above")
    one = sides[0]
    for side in sides[1:]:
        ratios = [side.typical(name) / one.typical(name) for name in names]
        print(f"{side.name + ' / one machine':40}" + "".join(f"{ratio:12.2f}" for ratio in ratios))
    more = sides[-1].typical(QUERY) - one.typical(QUERY)
    print(f"a QUERY at a node that has to ask another one: {more:.0f} us more than on one machine")


@contextmanager
def one_machine(folder: Path, buckets: Sequence[str]) -> Iterator[Side]:
    """Run a single server inside a `with` block."""
    with Sonicpy("one machine", folder) as server:
        yield Side(server.name, server.port, {"server": server.pid}, buckets)


@contextmanager
def cluster(folder: Path, copies: int = 3, logs: int = 1) -> Iterator[DevCluster]:
    """Run a cluster inside a `with` block, with `copies` nodes that hold each partition, and `logs` logs."""
    dev = DevCluster(folder, partitions=PARTITIONS, copies=copies, logs=logs)
    try:
        dev.start()
        yield dev
    finally:
        dev.stop()


def pids_of(dev: DevCluster) -> dict[str, int]:
    """Return the processes of a cluster by name."""
    return {name: process.pid for name, process in (*dev.nodes.items(), *dev.brokers.items())}


def holders(dev: DevCluster, bucket: str) -> list[str]:
    """Return the nodes that hold a bucket, by name."""
    return dev.layout.holders(partition_of("bench", bucket, dev.layout.partitions))


# -- idle --------------------------------------------------------------------------------------------------------------


def idle(arguments: argparse.Namespace) -> None:
    """Print the memory and the CPU of an idle cluster."""
    with tempfile.TemporaryDirectory() as name, cluster(Path(name), logs=arguments.logs) as dev:
        pids = pids_of(dev)
        before, seconds = cpu_s(list(pids.values())), 10.0
        time.sleep(seconds)
        print(f"CPU of all: {(cpu_s(list(pids.values())) - before) / seconds:.1%} of a core")
        print("resident MB: " + ", ".join(f"{name} {resident_bytes(pid) / 1e6:.0f}" for name, pid in pids.items()))


# -- faults ------------------------------------------------------------------------------------------------------------


class Watcher(threading.Thread):
    """A thread that pushes one object at a time, past dead nodes, and records the longest time without an OK."""

    def __init__(self, ports: Sequence[int], bucket: str, number: int) -> None:
        super().__init__(daemon=True)
        self.bucket = bucket
        self.gap_s = 0.0
        self.pushed = 0
        self._ports = list(ports)
        self._place = number
        self._pick = random.Random(number)
        self._is_over = threading.Event()

    def run(self) -> None:
        connection: Connection | None = None
        last = time.monotonic()
        while not self._is_over.is_set():
            try:
                connection = connection or Connection(self._ports[self._place % len(self._ports)], "ingest")
                connection.send(push_line(self._pick, [self.bucket]))
                connection.take(1)
            except OSError:
                connection = None
                self._place += 1
                continue
            now = time.monotonic()
            self.gap_s, last = max(self.gap_s, now - last), now
            self.pushed += 1

    def stop(self) -> None:
        self._is_over.set()
        self.join(TIMEOUT_S)


def faults(arguments: argparse.Namespace) -> None:
    """Kill each node and broker in turn under load; print the longest gaps.

    The first gap, without a kill, is caused by other work on the machine.
    """
    with tempfile.TemporaryDirectory() as name, cluster(Path(name), logs=arguments.logs) as dev:
        ports = list(dev.node_ports.values())
        for victim in (None, *dev.node_ports, *dev.broker_ports):
            watchers = [Watcher(ports, f"b{number}", number) for number in range(CONNECTIONS)]
            for watcher in watchers:
                watcher.start()
            time.sleep(2)
            for watcher in watchers:
                watcher.gap_s = 0.0
            if victim is not None:
                process_of(dev, victim).kill()
            time.sleep(15 if victim in dev.brokers else 3)
            gaps = {watcher.bucket: watcher.gap_s for watcher in watchers}
            if victim is not None:
                process_of(dev, victim).wait()
                (dev.start_node if victim in dev.nodes else dev.start_broker)(victim)
                dev.wait_until_ready(time.monotonic() + TIMEOUT_S)
            for watcher in watchers:
                watcher.stop()
            by_log: dict[int, float] = {}
            for bucket, gap_s in gaps.items():
                number = dev.layout.log_of(partition_of("bench", bucket, PARTITIONS))
                by_log[number] = max(gap_s, by_log.get(number, 0.0))
            print(
                f"{victim or 'nobody'} killed: the longest gap in s "
                + ", ".join(f"log {number}: {gap_s:.2f}" for number, gap_s in sorted(by_log.items())),
                flush=True,
            )


def process_of(dev: DevCluster, name: str) -> "subprocess.Popen[bytes]":
    """Return the process of a node or broker."""
    return (dev.nodes if name in dev.nodes else dev.brokers)[name]


# -- catching up -------------------------------------------------------------------------------------------------------


def away(arguments: argparse.Namespace) -> None:
    """Kill a node for a while under 2,000 PUSH/s; print the time until it is up to date again."""
    buckets = [f"b{number}" for number in range(CONNECTIONS)]
    with tempfile.TemporaryDirectory() as name, cluster(Path(name), logs=arguments.logs) as dev:
        is_over = threading.Event()
        pushed: list[int] = [0] * CONNECTIONS
        threads = [
            threading.Thread(target=push_at_rate, args=(dev.node_ports["n1"], number, buckets, is_over, pushed))
            for number in range(CONNECTIONS)
        ]
        for thread in threads:
            thread.start()
        time.sleep(2)
        dev.nodes["n2"].kill()
        dev.nodes["n2"].wait()
        before, began = sum(pushed), time.monotonic()
        time.sleep(arguments.seconds)
        missed, seconds = sum(pushed) - before, time.monotonic() - began
        dev.start_node("n2")
        took = time_until_current(dev, "n2")
        is_over.set()
        for thread in threads:
            thread.join()
    print(f"away {seconds:.0f} s at {missed / seconds:.0f} PUSH/s: current {took} after its start")


def push_at_rate(port: int, number: int, buckets: Sequence[str], is_over: threading.Event, pushed: list[int]) -> None:
    """Push 2,000 objects per second together with the other connections."""
    pick, depth = random.Random(number), 10
    connection = Connection(port, "ingest")
    pause_s = CONNECTIONS * depth / 2000
    due = time.monotonic() + pause_s * number / CONNECTIONS
    while not is_over.is_set():
        time.sleep(max(0.0, due - time.monotonic()))
        due += pause_s
        connection.send("".join(push_line(pick, buckets) for _ in range(depth)))
        connection.take(depth)
        pushed[number] += depth
    connection.close()


def new(arguments: argparse.Namespace) -> None:
    """Fill a cluster, then empty the folder of a node; print the time until it is up to date again."""
    with tempfile.TemporaryDirectory() as name, cluster(Path(name), logs=arguments.logs) as dev:
        began = time.monotonic()
        each = arguments.objects // CONNECTIONS
        together(CONNECTIONS, lambda number: fill(dev.node_ports["n1"], number, each))
        print(f"{arguments.objects} objects pushed in {time.monotonic() - began:.0f} s", flush=True)
        print(f"by the log: current {time_of_new(dev)} after its start", flush=True)
        began = time.monotonic()
        for _ in range(2):
            size = sum(one["bytes"] for one in snapshot_all(dev.addresses))
        print(f"two snapshots of {size / 1e6:.0f} MB in {time.monotonic() - began:.1f} s", flush=True)
        print(f"by snapshots: current {time_of_new(dev)} after its start", flush=True)


def fill(port: int, number: int, count: int) -> None:
    """Push `count` objects to the bucket of connection `number`, many at a time."""
    pick, depth = random.Random(number), 100
    connection = Connection(port, "ingest")
    for first in range(0, count, depth):
        lines = [f"PUSH bench b{number} o{oid} {quoted(pick.choice(TEXTS))}\n" for oid in range(first, first + depth)]
        connection.send("".join(lines))
        connection.take(depth)
    connection.close()


def time_of_new(dev: DevCluster) -> str:
    """Replace node n3 by one with an empty folder; return the time until it is up to date, as text."""
    dev.nodes["n3"].kill()
    dev.nodes["n3"].wait()
    shutil.rmtree(dev.folder / "n3" / "data")
    dev.start_node("n3")
    return time_until_current(dev, "n3")


def time_until_current(dev: DevCluster, node: str) -> str:
    """Return the time and the CPU time, as text, until a node that was just started is up to date. Raises SystemExit if
    it is not after CURRENT_S seconds.
    """
    began = time.monotonic()
    try:
        asyncio.run(asyncio.wait_for(wait_until_current(dev, node), CURRENT_S))
    except TimeoutError as error:
        raise SystemExit(f"{node} is not current after {CURRENT_S:.0f} s") from error
    return f"{time.monotonic() - began:.1f} s ({cpu_s([dev.nodes[node].pid]):.1f} s of CPU)"


async def wait_until_current(dev: DevCluster, node: str) -> None:
    """Wait until a node answers for all its replicas, which is after it has applied the logs as of its start."""
    connection = await connect(dev.addresses, "sonicpy benchmarks", patient=False)
    current = asyncio.Event()

    async def take(message: Msg) -> None:
        answer = json.loads(message.data)
        if answer["name"] == node and all(replica["fault"] is None for replica in answer["replicas"].values()):
            current.set()

    inbox = connection.new_inbox()
    await connection.subscribe(inbox, cb=take)
    while not current.is_set():  # `status` would wait a second for a node that has not started yet
        await connection.publish(STATUS, b"", reply=inbox)
        await asyncio.sleep(LOOK_S)
    await close(connection)


def main() -> None:
    """Carry out the measurement that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.in_cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=1, help="logs that the partitions share (default 1)")
    below = parser.add_subparsers(metavar="WHAT", required=True)
    for name, run in (("cost", cost), ("idle", idle), ("faults", faults), ("away", away), ("new", new)):
        part = below.add_parser(name)
        part.set_defaults(run=run)
        if run is cost:
            part.add_argument("--buckets", type=int, default=8)
            part.add_argument("--filled", type=int, default=64_000)
            part.add_argument("--pushes", type=int, default=64_000)
            part.add_argument("--queries", type=int, default=8_000)
        elif run is away:
            part.add_argument("--seconds", type=float, default=60.0)
        elif run is new:
            part.add_argument("--objects", type=int, default=1_000_000)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
