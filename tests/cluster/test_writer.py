"""Group commit: one batch under way, the same batch until it is acknowledged, errors in time."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sonicpy.cluster import writer as module
from sonicpy.cluster.batches import unpack_batch
from sonicpy.cluster.writer import OpenBatch, PartitionWriter
from sonicpy.errors import StoreError
from tests.cluster.memory import MemoryBroker


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 20))


class Noted:
    def __init__(self) -> None:
        self.positions: list[int] = []

    def __call__(self, batch: OpenBatch, position: int) -> None:
        self.positions.append(position)


def writer_on(broker: MemoryBroker, give_up_s: float = 15.0) -> tuple[PartitionWriter, Noted]:
    noted = Noted()
    return PartitionWriter(broker, 0, "n1", 1, noted, give_up_s), noted


def test_the_changes_of_one_turn_are_one_batch() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        writer, noted = writer_on(broker)
        batches = {id(writer.add(f"{number}".encode())): None for number in range(10)}
        last = writer.add(b"last")
        assert await last.done == 1
        assert len(batches) == 1
        assert noted.positions == [1]
        assert unpack_batch(broker.logs[0][0]).records == [*(f"{number}".encode() for number in range(10)), b"last"]

    run(test())


def test_what_comes_while_a_batch_is_under_way_is_the_next_one() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.gate.clear()
        writer, _ = writer_on(broker)
        first = writer.add(b"a")
        await asyncio.sleep(0.01)
        later = [writer.add(b"%d" % number) for number in range(20)]
        await asyncio.sleep(0.01)
        assert broker.most_under_way == 1
        broker.gate.set()
        assert [await first.done, await later[0].done, await later[-1].done] == [1, 2, 2]
        assert broker.most_under_way == 1

    run(test())


@pytest.mark.parametrize(
    ("records", "sizes"),
    [
        ([b"x"] * (module.BATCH_CHANGES_MAX + 1), [500, 1]),
        ([b"x" * 200_000, b"y" * 100_000, b"z"], [1, 2]),
        ([b"x", b"y" * (900 << 10), b"z"], [1, 1, 1]),
    ],
)
def test_a_batch_is_bounded(records: list[bytes], sizes: list[int]) -> None:
    async def test() -> None:
        broker = MemoryBroker()
        writer, _ = writer_on(broker)
        last = [writer.add(record) for record in records][-1]
        await last.done
        assert [len(unpack_batch(entry).records) for entry in broker.logs[0]] == sizes

    run(test())


def test_a_batch_without_an_answer_is_appended_again_before_any_other() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.refused, broker.unanswered = 2, 1
        writer, noted = writer_on(broker)
        first = writer.add(b"a")
        await asyncio.sleep(0.01)
        second = writer.add(b"b")
        assert await first.done == 2
        assert await second.done == 3
        assert broker.keys == ["n1.1.1", "n1.1.1", "n1.1.2"]
        assert broker.logs[0][0] == broker.logs[0][1]
        assert noted.positions == [2, 3]

    run(test())


def test_who_waits_is_told_in_time_and_the_batch_is_appended_in_the_end() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.gate.clear()
        writer, noted = writer_on(broker, give_up_s=0.05)
        sent = writer.add(b"a")
        await asyncio.sleep(0.01)
        waiting = writer.add(b"b")
        with pytest.raises(StoreError, match="outcome is unknown"):
            await sent.done
        with pytest.raises(StoreError, match="was not sent"):
            await waiting.done
        broker.gate.set()
        await writer.add(b"c").done
        records = [unpack_batch(entry).records for entry in broker.logs[0]]
        assert records == [[b"a"], [b"c"]]  # what was not sent is dropped: its client was told
        assert noted.positions == [1, 2]

    run(test())


def test_answers_reach_who_waits_also_before_the_acknowledgement() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.gate.clear()
        writer, _ = writer_on(broker)
        batch = writer.add(b"a")
        batch.wants_answers = True
        await asyncio.sleep(0.01)
        writer.note_answers(2, batch.number, [9])  # of another start of this node
        writer.note_answers(1, batch.number, [4])
        assert await batch.answers == [4]
        broker.gate.set()
        await batch.done
        writer.note_answers(1, batch.number, [5])  # nobody waits any more

    run(test())


def test_a_barrier_lies_behind_everything_acknowledged() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        writer, _ = writer_on(broker)
        await writer.add(b"a").done
        first, second = writer.barrier(), writer.barrier()
        assert first is second
        assert await first.done == 2
        assert unpack_batch(broker.logs[0][1]).records == []

    run(test())
