"""A full disk at one broker, and at all of them: answers of nodes, no loss of acknowledged changes, recovery.

The disks are real ones in memory, filled to the last byte under load.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.cluster.judge import COLLECTION, Channel, Load
from tests.disk import disk, fill

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.operator.dev import DevCluster  # noqa: E402
from sonicpy.cluster.registry.partitions import partition_of  # noqa: E402
from tests.cluster.clusters import broker_program, check, running  # noqa: E402
from tests.support.patience import WAIT_S, is_within

pytestmark = pytest.mark.full

DISK_BYTES = 64 << 20
END_S = 20.0
"""The time in seconds for a broker to end before it is killed, as a service manager does."""
LEFT_BYTES = 200 << 10
"""The free space of a filled disk: enough for a few hundred entries."""


@contextmanager
def cluster_on_disks(folder: Path, brokers: Sequence[str]) -> Iterator[DevCluster]:
    """A cluster in which some brokers have a small disk each."""
    broker_program()
    folder.mkdir()
    with ExitStack() as stack:
        for name in brokers:
            stack.enter_context(disk(folder / name, DISK_BYTES))
        yield stack.enter_context(running(DevCluster(folder, partitions=4, copies=3)))


def make_room(cluster: DevCluster, fillers: dict[str, Path]) -> None:
    """Free space and restart the brokers, as the runbook says; no broker works before most of them do."""
    for filler in fillers.values():
        filler.unlink()
    for name in fillers:
        cluster.brokers[name].terminate()
        try:
            cluster.brokers[name].wait(END_S)
        except subprocess.TimeoutExpired:  # nats-server may hang as it ends after a full disk
            cluster.brokers[name].kill()
            cluster.brokers[name].wait()
        cluster.start_broker(name)
    for name in fillers:
        cluster._wait_for_broker(name, time.monotonic() + 2 * WAIT_S)


def has_disabled_jetstream(cluster: DevCluster, name: str) -> bool:
    """Return whether a broker itself reports this, because the message in its log depends on the file that met the full
    disk first.
    """
    with urlopen(f"http://127.0.0.1:{cluster.monitor_ports[name]}/jsz", timeout=WAIT_S) as answer:
        return bool(json.load(answer).get("disabled"))


def wait_until_it_stops(load: Load) -> int:
    """Wait until no change was acknowledged for four seconds; return the number of acknowledged changes."""
    deadline = time.monotonic() + 2 * WAIT_S
    before = -1
    while (found := load.acknowledged) != before:
        assert time.monotonic() < deadline, "the disks never were full"
        before = found
        time.sleep(4)
    return before


def answer_of(port: int, bucket: str) -> bytes:
    channel = Channel(port)
    began = time.monotonic()
    try:
        return channel.ask(f"COUNTB {COLLECTION} {bucket}\n".encode())
    finally:
        channel.close()
        assert is_within(10, began)


def fill_quiet_bucket(cluster: DevCluster) -> str:
    """Push to a bucket in a partition where the writers have no bucket; return its name."""
    partitions = cluster.layout.partitions
    busy = {partition_of(COLLECTION, f"w{number}", partitions) for number in range(6)}
    quiet = next(name for name in map(str, range(1000)) if partition_of(COLLECTION, name, partitions) not in busy)
    channel = Channel(cluster.node_ports["n1"])
    assert channel.ask(f'PUSH {COLLECTION} {quiet} o1 "apple"\n'.encode()) == b"OK"
    channel.close()
    return quiet


@pytest.mark.timeout(300)
def test_a_full_disk_at_one_broker_stops_no_changes(tmp_path: Path) -> None:
    with cluster_on_disks(tmp_path / "cluster", ["b1"]) as cluster:
        with Load(list(cluster.node_ports.values())) as load:
            load.wait_for(300)
            load.gap_s()
            fillers = {"b1": fill(cluster.folder / "b1", LEFT_BYTES)}
            deadline = time.monotonic() + WAIT_S
            while not has_disabled_jetstream(cluster, "b1"):
                load.wait_for(50)
                assert time.monotonic() < deadline, "b1 goes on with a full disk"
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
        quiet = fill_quiet_bucket(cluster)
        with Load(ports) as load:
            load.wait_for(300)
            fillers = {name: fill(cluster.folder / name, LEFT_BYTES) for name in ("b1", "b2", "b3")}
            stopped_at = wait_until_it_stops(load)
            began = time.monotonic()
            channel = Channel(ports[0])
            assert channel.ask(f'PUSH {COLLECTION} other o1 "apple"\n'.encode()) == b"ERR internal_error"
            assert is_within(17, began)
            channel.close()
            # A node whose replica did not get what the node acknowledged last refuses reads of that partition, because
            # its clients read what they wrote. All other reads go on.
            assert [answer_of(port, quiet) for port in ports] == [b"RESULT 1"] * 3
            assert {answer_of(port, "w0")[:6] for port in ports} <= {b"RESULT", b"ERR in"}
            assert load.acknowledged == stopped_at
            make_room(cluster, fillers)
            load.wait_for(500)
        # The push without an OK may be there or not. Neither bucket is a writer's, so both go before the judge comes.
        channel = Channel(ports[0])
        assert channel.ask(f"FLUSHB {COLLECTION} other\n".encode()) in (b"RESULT 0", b"RESULT 1")
        assert channel.ask(f"FLUSHB {COLLECTION} {quiet}\n".encode()) == b"RESULT 1"
        channel.close()
        check(cluster, load, tmp_path / "replay")
