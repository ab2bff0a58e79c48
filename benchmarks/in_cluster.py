"""CPU of a PUSH and of a QUERY: one machine, and three nodes with three brokers on this one.

    python -m benchmarks.in_cluster [SECONDS]

Eight connections, each with eight PUSHes under way, then with one; QUERYs one at a time. The time of all processes of a
side is added up; that of this program is not counted. Times of one machine with two cores say nothing about how fast
three machines are; what an operation costs in all says what they need.
"""

import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sonicpy.cluster.dev import DevCluster, free_ports

HOST = "127.0.0.1"
CONNECTIONS = 8
DEPTH = 8
BUCKETS = 8
WORDS = [
    f"{a}{b}{c}" for a in ("ba", "ko", "li", "mu") for b in ("ra", "ne", "ti", "so") for c in ("n", "x", "lo", "p")
]
TICKS = os.sysconf("SC_CLK_TCK")


class Connection:
    """A connection to a node."""

    def __init__(self, port: int, mode: str) -> None:
        self._socket = socket.create_connection((HOST, port))
        self._file = self._socket.makefile("rb")
        self.take(1)
        self.send(f"START {mode}\n")
        self.take(1)

    def send(self, text: str) -> None:
        self._socket.sendall(text.encode())

    def take(self, lines: int) -> None:
        for _ in range(lines):
            line = self._file.readline()
            if not line or line.startswith(b"ERR"):
                raise SystemExit(f"the server answered {line!r}")

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def cpu_s(pids: Sequence[int]) -> float:
    """Return the processor time that processes have used."""
    total = 0.0
    for pid in pids:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += (int(words[11]) + int(words[12])) / TICKS
    return total


def push(port: int, number: int, depth: int, until: float) -> int:
    """Push until a time; return how many were acknowledged."""
    pick = random.Random(number)
    connection, done = Connection(port, "ingest"), 0
    while time.monotonic() < until:
        lines = []
        for _ in range(depth):
            text = " ".join(pick.choices(WORDS, k=8))
            lines.append(f'PUSH bench b{pick.randrange(BUCKETS)} o{pick.randrange(50_000)} "{text}"\n')
        connection.send("".join(lines))
        connection.take(depth)
        done += depth
    connection.close()
    return done


def query(port: int, number: int, depth: int, until: float) -> int:
    """Query until a time; return how many were answered."""
    pick = random.Random(number)
    connection, done = Connection(port, "search"), 0
    while time.monotonic() < until:
        connection.send(f'QUERY bench b{pick.randrange(BUCKETS)} "{" ".join(pick.choices(WORDS, k=2))}"\n')
        connection.take(2)
        done += 1
    connection.close()
    return done


Work = Callable[[int, int, int, float], int]


def measure(
    work: Work, ports: Sequence[int], pids: Sequence[int], connections: int, depth: int, seconds: float
) -> float:
    """Run some work; return the microseconds of CPU that one operation took of all processes."""
    counts = [0] * connections
    until = time.monotonic() + seconds

    def run(number: int) -> None:
        counts[number] = work(ports[number % len(ports)], number, depth, until)

    before = cpu_s(pids)
    threads = [threading.Thread(target=run, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (cpu_s(pids) - before) / sum(counts) * 1e6


def report(name: str, ports: Sequence[int], pids: Sequence[int], seconds: float) -> list[float]:
    """Measure one side; print and return what PUSH with 64 and with one under way, and QUERY cost."""
    found = [
        measure(push, ports, pids, CONNECTIONS, DEPTH, seconds),
        measure(push, ports, pids, 1, 1, seconds),
        measure(query, ports, pids, 1, 1, seconds),
    ]
    print(f"{name:28}{found[0]:10.0f}{found[1]:12.0f}{found[2]:12.0f}", flush=True)
    return found


def one_machine(folder: Path, seconds: float) -> list[float]:
    """Measure a single server."""
    port = free_ports(1)[0]
    command = [sys.executable, "-m", "sonicpy", "serve", "--inet", f"{HOST}:{port}", "--data", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            return report("one machine", [port], [process.pid], seconds)
        finally:
            process.terminate()


def cluster(folder: Path, copies: int, seconds: float) -> list[float]:
    """Measure a cluster; with one copy, two of three questions go to another node."""
    dev = DevCluster(folder, partitions=16, copies=copies)
    try:
        dev.start()
        pids = [process.pid for process in (*dev.nodes.values(), *dev.brokers.values())]
        found = report(f"three nodes, {copies} copies", list(dev.node_ports.values())[:1], pids, seconds)
        idle = cpu_s(pids)
        time.sleep(seconds)
        print(
            f"  idle: {(cpu_s(pids) - idle) / seconds:.1%} of a core; resident memory of a node: {memory(dev):.0f} MB"
        )
        return found
    finally:
        dev.stop()


def memory(dev: DevCluster) -> float:
    """Return the resident memory of the largest node, in MB."""
    pages = [int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) for process in dev.nodes.values()]
    return max(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    print(f"{'CPU in us of':28}{'PUSH, 64':>10}{'PUSH, one':>12}{'QUERY':>12}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one = one_machine(folder / "one", seconds)
        three = cluster(folder / "three", 3, seconds)
        spread = cluster(folder / "spread", 1, seconds)
    print(
        f"{'three copies / one machine':28}{three[0] / one[0]:10.1f}{three[1] / one[1]:12.1f}{three[2] / one[2]:12.2f}"
    )
    print(
        f"{'one copy / one machine':28}{spread[0] / one[0]:10.1f}{spread[1] / one[1]:12.1f}{spread[2] / one[2]:12.2f}"
    )


if __name__ == "__main__":
    main()
