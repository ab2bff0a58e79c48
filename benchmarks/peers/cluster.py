"""A cluster on this machine as a peer: three brokers and three nodes of `sonicpy cluster dev`.

The processes share the cores of this machine, so their rates do not predict those of three machines, but the CPU time
of all processes together does.
"""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.peers.servers import Server
from sonicpy.cli.cluster_room import load_cluster
from sonicpy.errors import SonicError
from tests.processes import HOST, environment
from tests.support.paths import ROOT
from tests.support.server_process import PASSWORD, START_S, end

NAME = "3 nodes of a cluster"
NODES = 3
NODE = re.compile(rf"^node (n\d) {re.escape(HOST)}:(\d+)$", re.MULTILINE)
BROKERS = re.compile(r"^brokers (\S+)$", re.MULTILINE)


def missing() -> str | None:
    """Return the reason why no cluster can run here, or None."""
    try:
        load_cluster("operator.dev").nats_server()
    except SonicError as error:
        return str(error)
    return None


class Node(Server):
    """A node of a cluster. The figures of the first node are those of all processes and files; other nodes have
    none.
    """

    def __init__(self, cluster: "Cluster", number: int) -> None:
        super().__init__(f"node {number + 1}", cluster.folder)
        self._cluster = cluster
        self._is_first = number == 0

    def command(self) -> list[str]:
        raise AssertionError("the cluster starts its nodes")

    @property
    def pid(self) -> int:
        return self._cluster.pid

    def cpu_s(self) -> float:
        return super().cpu_s() if self._is_first else 0.0

    def disk_bytes(self) -> int:
        return super().disk_bytes() if self._is_first else 0

    def start(self) -> None:
        if self._is_first:
            self._cluster.start()

    def stop(self) -> None:
        if self._is_first:
            self._cluster.stop()


class Cluster:
    """Three nodes and three brokers.

    Args:
        folder: the folder of the data, which is kept, so that the cluster can be started again.
        collection: a collection whose buckets have a part for each node.
    """

    def __init__(self, folder: Path, collection: str) -> None:
        self.folder = folder
        self.nodes: Sequence[Server] = [Node(self, number) for number in range(NODES)]
        self._collection = collection
        self._is_spread = False
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The id of the parent of all other processes."""
        assert self._process is not None, "it was not started"
        return self._process.pid

    def start(self) -> None:
        """Start the cluster, wait until every node answers, and, at the first start, spread the collection over the
        nodes. Raises RuntimeError if the cluster is not ready in time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder.with_name(f"{self.folder.name}.log")
        variables = {**environment({"channel.auth_password": PASSWORD}), "PYTHONPATH": str(ROOT)}
        sonicpy = [sys.executable, "-m", "sonicpy", "cluster"]
        with open(log, "wb") as output:
            self._process = subprocess.Popen(
                [*sonicpy, "dev", "--data", str(self.folder)], env=variables, stdout=output, stderr=output
            )
        deadline = time.monotonic() + START_S
        while "\nready\n" not in (said := log.read_text(errors="replace")):
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.stop()
                raise RuntimeError(f"the cluster did not start:\n{said}")
            time.sleep(0.05)
        for node, (_, port) in zip(self.nodes, NODE.findall(said), strict=True):
            node.port = int(port)
        brokers = BROKERS.search(said)
        if brokers is not None and not self._is_spread:
            spread = ["spread", self._collection, str(NODES), "--cluster", brokers[1]]
            subprocess.run([*sonicpy, *spread], env=variables, check=True, stdout=subprocess.DEVNULL, timeout=START_S)
            self._is_spread = True

    def stop(self) -> None:
        """End the cluster."""
        if self._process is not None:
            end(self._process, START_S)
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def cpu_of(servers: Sequence[Server]) -> float:
    """Return the CPU seconds of servers."""
    return sum(server.cpu_s() for server in servers)
