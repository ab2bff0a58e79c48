"""Acknowledged changes are kept, whichever processes die: processes on this machine are killed under load."""

import asyncio
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.judge import Channel, Load
from tests.processes import environment

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.log.jetstream import JetStream, connect  # noqa: E402
from sonicpy.cluster.log.limits import ANSWER_S  # noqa: E402
from sonicpy.cluster.node.moves import rebalance  # noqa: E402
from sonicpy.cluster.node.snapshots import snapshot_all  # noqa: E402
from sonicpy.cluster.operator.dev import HOST, DevCluster, free_ports  # noqa: E402
from sonicpy.cluster.operator.setup import add, drain  # noqa: E402
from sonicpy.cluster.registry.partitions import partition_of  # noqa: E402
from sonicpy.cluster.registry.status import status  # noqa: E402
from tests.cluster.clusters import EncryptedCluster, check, kill, make_again, restart_everything, running, wait_for_port  # noqa: E402
from tests.support.patience import WAIT_S, is_within


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DevCluster]:
    with running(DevCluster(tmp_path / "cluster", partitions=4, copies=3, logs=2)) as cluster:
        yield cluster


def test_a_killed_node_loses_nothing(cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(60)
        kill(cluster, "n2")
        load.wait_for(60)
        cluster.start_node("n2")
        load.wait_for(60)
    assert any(writer.repeated for writer in load.writers)
    check(cluster, load, tmp_path / "replay")


@pytest.mark.full
def test_a_node_without_its_folder_begins_with_a_snapshot(cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        for _ in range(3):
            load.wait_for(400)
            done = snapshot_all(cluster.addresses)
        assert all(one["log_from"] > 1 for one in done if one["position"]), done
        assert sum(one["position"] > 0 for one in done) > 1
        kill(cluster, "n2")
        shutil.rmtree(cluster.folder / "n2")
        load.wait_for(100)
        cluster.start_node("n2")
        load.wait_for(100)
    firsts = asyncio.run(first_positions(cluster))
    assert firsts == [one["log_from"] if one["position"] else 0 for one in done]
    check(cluster, load, tmp_path / "replay")


async def first_positions(cluster: DevCluster) -> list[int]:
    connection = await connect(cluster.addresses, "test")
    try:
        log = JetStream(connection)
        layout = cluster.layout
        return [(await log.epoch(layout.log_of(number))).first for number in range(layout.partitions)]
    finally:
        await connection.close()


@pytest.mark.full
def test_a_log_that_was_made_again_stops_its_replicas(cluster: DevCluster) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(100)
    asyncio.run(make_again(cluster, 0))
    deadline = time.monotonic() + WAIT_S
    while len(found := status(cluster.addresses).figures["faults"]) < 3 * len(cluster.layout.partitions_of(0)):
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
    assert all("have lost their data" in fault for fault in found)
    assert {int(fault.split()[1]) for fault in found} == set(cluster.layout.partitions_of(0))


@pytest.mark.full
def test_nodes_come_and_go_under_load(cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(200)
        add(cluster.addresses, "n4")
        cluster.node_ports["n4"] = free_ports(1)[0]
        cluster.start_node("n4")
        load.wait_for(200)
        drain(cluster.addresses, "n1")
        for name in ("n2", "n3", "n4"):  # which may start again while partitions move
            cluster.nodes[name].terminate()
            cluster.nodes[name].wait()
            cluster.start_node(name)
            load.wait_for(50)
        rebalance(cluster.addresses, 60, print)
        load.wait_for(200)
    leaving = cluster.nodes.pop("n1")
    leaving.terminate()
    assert leaving.wait(WAIT_S) == 0
    check(cluster, load, tmp_path / "replay")


@pytest.mark.full
@pytest.mark.timeout(300)
def test_everything_may_die_and_start_at_once(cluster: DevCluster, tmp_path: Path) -> None:
    order = random.Random(1)
    with Load(list(cluster.node_ports.values())) as load:
        for _ in range(3):
            load.wait_for(200)
            restart_everything(cluster, order)
        load.wait_for(200)
        assert list(cluster.ended()) == []
    check(cluster, load, tmp_path / "replay")


@pytest.mark.full
@pytest.mark.timeout(120)
def test_every_command_is_answered_in_time_without_most_brokers(cluster: DevCluster, tmp_path: Path) -> None:
    """Every command is answered in time, even reads that a node passes on to see changes that another node
    acknowledged.
    """
    port = free_ports(1)[0]
    strong = subprocess.Popen(
        [
            *(sys.executable, "-m", "sonicpy", "serve", "--cluster", cluster.addresses, "--node", "n8"),
            *("--consistency", "strong", "--inet", f"{HOST}:{port}", "--data", str(tmp_path / "strong")),
        ],
        env=environment({}),
    )
    try:
        wait_for_port(port)
        first = Channel(cluster.node_ports["n1"])
        assert first.ask(b'PUSH c b o1 "apple"\n') == b"OK"
        first.close()
        lines = [b'PUSH c b o2 "apple"', b'POP c b o1 "apple"', b"FLUSHO c b o1", b"FLUSHB c b", b"FLUSHC c"]
        asked = [(cluster.node_ports["n1"], line) for line in lines] + [
            (port, line) for line in [b"COUNTB c b", *lines]
        ]
        channels = [Channel(port) for port, _ in asked]
        kill(cluster, "b1", "b2")
        with ThreadPoolExecutor(len(asked)) as pool:
            answers = list(pool.map(timed, channels, [line for _, line in asked]))
        assert {answer for answer, _ in answers} == {b"ERR internal_error"}
        assert max(seconds for _, seconds in answers) < ANSWER_S + 1
    finally:
        strong.terminate()
        strong.wait(WAIT_S)


def timed(channel: Channel, line: bytes) -> tuple[bytes, float]:
    """Return the answer to a line, and its time in seconds; close the channel."""
    began = time.monotonic()
    try:
        return channel.ask(line + b"\n"), time.monotonic() - began
    finally:
        channel.close()


@pytest.mark.full
@pytest.mark.parametrize("name", ["n1", "n3"])
def test_any_node_may_die(name: str, cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(300)
        load.gap_s()
        kill(cluster, name)
        load.wait_for(500)
        print(f"{name} killed: at most {load.gap_s():.3f} s without an acknowledgement for one writer")
        cluster.start_node(name)
        load.wait_for(500)
    check(cluster, load, tmp_path / "replay")


@pytest.mark.full
@pytest.mark.parametrize("name", ["b1", "b2", "b3"])
def test_any_broker_may_die(name: str, cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(300)
        load.gap_s()
        kill(cluster, name)
        load.wait_for(1000)
        time.sleep(10)
        gap_s = load.gap_s()
        print(f"{name} killed: at most {gap_s:.3f} s without an acknowledgement for one writer")
        assert gap_s < 15
        cluster.start_broker(name)
        load.wait_for(500)
    check(cluster, load, tmp_path / "replay")


@pytest.mark.full
def test_all_brokers_may_die_at_once(cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(300)
        kill(cluster, *cluster.brokers)
        time.sleep(0.5)
        for name in list(cluster.brokers):
            cluster.start_broker(name)
        load.wait_for(500)
    check(cluster, load, tmp_path / "replay")


@pytest.mark.full
def test_a_broker_that_stands_still_loses_nothing(cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(300)
        cluster.brokers["b1"].send_signal(signal.SIGSTOP)
        time.sleep(9)
        cluster.brokers["b1"].send_signal(signal.SIGCONT)
        load.wait_for(500)
    check(cluster, load, tmp_path / "replay")


@pytest.mark.full
@pytest.mark.parametrize("kind", [DevCluster, EncryptedCluster])
def test_changes_pass_by_a_node_that_stands_still(
    kind: type[DevCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = kind(tmp_path / "cluster", partitions=4, copies=2)
    if isinstance(made, EncryptedCluster):
        monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
    with running(made) as cluster:
        others = [name for name in cluster.node_ports if name != "n1"]
        bucket = next(
            bucket
            for bucket in (f"b{number}" for number in range(100))
            if sorted(cluster.layout.holders(partition_of("c", bucket, 4))) == others
        )
        channel = Channel(cluster.node_ports["n1"])
        for number in range(20):
            assert channel.ask(f'PUSH c {bucket} o{number} "apple pie"\n'.encode()) == b"OK"
        assert channel.ask(f'POP c {bucket} o0 "apple"\n'.encode()) == b"RESULT 1"
        for name in others:
            cluster.nodes[name].send_signal(signal.SIGSTOP)
            for number in range(1, 6):
                began = time.monotonic()
                assert channel.ask(f'POP c {bucket} o{number} "apple"\n'.encode()) == b"RESULT 1"
                assert channel.ask(f"FLUSHO c {bucket} o{number}\n".encode()).startswith(b"RESULT 1")
                assert is_within(4, began)
            cluster.nodes[name].send_signal(signal.SIGCONT)
            assert channel.ask(f'PUSH c {bucket} o1 "apple"\n'.encode()) == b"OK"
            for number in range(1, 6):
                assert channel.ask(f'PUSH c {bucket} o{number} "apple pie"\n'.encode()) == b"OK"
        for name in others:
            cluster.nodes[name].send_signal(signal.SIGSTOP)
        began = time.monotonic()
        assert channel.ask(f'POP c {bucket} o9 "apple"\n'.encode()).startswith(b"ERR")
        assert is_within(8, began)
        for name in others:
            cluster.nodes[name].send_signal(signal.SIGCONT)
        assert channel.ask(f'POP c {bucket} o9 "apple"\n'.encode()) == b"RESULT 1"  # which the ERR has not done
        channel.close()


@pytest.mark.full
def test_a_node_that_was_away_catches_up(cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(100)
        kill(cluster, "n2")
        load.wait_for(3000)
        cluster.start_node("n2")
        began = time.monotonic()
        cluster.wait_until_ready(time.monotonic() + WAIT_S)
        print(f"current {time.monotonic() - began:.1f} s after its start")
        load.wait_for(300)
    check(cluster, load, tmp_path / "replay")


@pytest.mark.full
def test_a_node_whose_name_was_taken_acknowledges_nothing_more(cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(100)
        old, old_port = cluster.nodes["n1"], cluster.node_ports["n1"]
        other = tmp_path / "other"
        cluster.node_ports["n1"] = free_ports(1)[0]
        command = [*(sys.executable, "-m", "sonicpy", "serve", "--cluster", cluster.addresses, "--node", "n1")]
        command += ["--inet", f"{HOST}:{cluster.node_ports['n1']}", "--data", str(other)]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
        assert refused.returncode == 2
        assert f"and a running node has this one (process {old.pid} of" in refused.stderr
        load.wait_for(100)
        old.send_signal(signal.SIGSTOP)
        new = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            cluster.wait_until_ready(time.monotonic() + WAIT_S)
            load.wait_for(100)
            old.send_signal(signal.SIGCONT)
            assert old.wait(WAIT_S) == 1
            assert "another process has taken the name n1" in (cluster.folder / "n1" / "log.txt").read_text()
            load.wait_for(100)
        finally:
            new.terminate()
            new.wait()
    cluster.node_ports["n1"] = old_port
    check(cluster, load, tmp_path / "replay")
