"""The judge finds the faults of a writer that pipelines, and none of a node's writer, with the same faulty broker."""

import asyncio
import random
from pathlib import Path

import pytest

from sonicpy.cluster.log.batches import Batch, pack_batch, pack_records
from sonicpy.cluster.log.broker import Unacknowledged
from sonicpy.cluster.log.writer import LogWriter
from sonicpy.cluster.node.follower import LogFollower
from sonicpy.cluster.node.replica import Replica
from sonicpy.config import Config
from sonicpy.index.recorder import Recorder
from sonicpy.index.replica_index import ReplicaIndex
from sonicpy.server.watching.server_statistics import ServerStatistics
from tests.cluster.judge import Change, contents, differences, expected
from tests.cluster.memory import MemoryBroker
from tests.support.patience import WAIT_S

FAULTY = 0.3
"""The probability of each fault of the broker in memory."""


class FaultyBroker(MemoryBroker):
    """A broker that answers late, refuses, and stores without an answer, at random from a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    async def append(self, log: int, entry: bytes, key: str) -> int:
        await asyncio.sleep(self._random.random() * 0.002)
        self.refused = int(self._random.random() < FAULTY)
        self.unanswered = int(not self.refused and self._random.random() < FAULTY)
        return await super().append(log, entry, key)


class PipeliningWriter:
    """A writer with a fault: it has many batches in flight, and repeats each separately."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker
        self._number = 0

    async def push(self, record: bytes) -> None:
        self._number += 1
        batch = Batch("n1", 1, self._number, {0: pack_records([record])})
        while True:
            try:
                await self._broker.append(0, pack_batch(batch), batch.key)
                return
            except Unacknowledged:
                await asyncio.sleep(0.001)


class GoodWriter:
    """A node's writer, which makes the same changes turn by turn."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._writer = LogWriter(broker, 0, "n1", 1, lambda batch, position: None)

    async def push(self, record: bytes) -> None:
        await self._writer.add(0, record).done


async def wrong_after(
    writer: GoodWriter | PipeliningWriter, broker: MemoryBroker, folder: Path, pause_s: float
) -> list[str]:
    """Acknowledge 150 changes through a writer; return the faults that the judge finds in a replica.

    Args:
        pause_s: the pause between two changes in seconds.
    """
    recorder = Recorder(Config())
    pushes, changes = [], []
    for number in range(150):
        change = Change(*("PUSH", "b", f"o{number % 20}", f"word{number}")) if number % 3 else flushed(number)
        change.carry_out(recorder)
        changes.append(change)
        pushes.append(asyncio.create_task(writer.push(recorder.take_record())))
        await asyncio.sleep(pause_s)
    await asyncio.gather(*pushes)
    index = ReplicaIndex(folder / "replica", recorder)
    replica = Replica(0, index, recorder.config, ServerStatistics(), lambda *_: None, lambda _: None)
    follower = LogFollower(0, broker)
    follower.follow(replica)
    following = asyncio.create_task(follower.run())
    await replica.wait_for(len(broker.logs[0]), WAIT_S)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    held = contents(index)
    await replica.close()
    return differences(expected(changes, folder / "replay"), {"n1": held})


def flushed(number: int) -> Change:
    return Change("FLUSHO", "b", f"o{(number - 1) % 20}")


@pytest.mark.full
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_writer_keeps_the_order_at_a_faulty_broker(seed: int, tmp_path: Path) -> None:
    async def test() -> None:
        broker = FaultyBroker(seed)
        assert await wrong_after(GoodWriter(broker), broker, tmp_path, 0.0005) == []

    asyncio.run(asyncio.wait_for(test(), WAIT_S))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_judge_notices_a_writer_that_pipelines(seed: int, tmp_path: Path) -> None:
    async def test() -> None:
        broker = FaultyBroker(seed)
        # Without a pause all changes are under way together, however slow the machine is.
        assert await wrong_after(PipeliningWriter(broker), broker, tmp_path, 0.0)

    asyncio.run(asyncio.wait_for(test(), WAIT_S))
