"""Group commit: one batch at a time, the same batch until it is acknowledged, and errors in time."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sonicpy.cluster.log import writer as module
from sonicpy.cluster.log.batches import unpack_batch, unpack_records
from sonicpy.cluster.log.writer import LogWriter, OpenBatch
from sonicpy.cluster.node.writers import Writers
from sonicpy.cluster.registry.registry import Layout
from sonicpy.errors import StoreError
from tests.cluster.memory import MemoryBroker
from tests.support.patience import WAIT_S

PARTITION = 3


def records_in(entry: bytes) -> list[bytes]:
    return [record for section in unpack_batch(entry).sections.values() for record in unpack_records(section)]


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, WAIT_S))


class Noted:
    def __init__(self) -> None:
        self.positions: list[int] = []

    def __call__(self, batch: OpenBatch, position: int) -> None:
        self.positions.append(position)


def writer_on(broker: MemoryBroker, give_up_s: float = 15.0) -> tuple[LogWriter, Noted]:
    noted = Noted()
    return LogWriter(broker, 0, "n1", 1, noted, give_up_s), noted


def test_the_changes_of_one_turn_are_one_batch() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        writer, noted = writer_on(broker)
        batches = {id(writer.add(PARTITION, f"{number}".encode())): None for number in range(10)}
        last = writer.add(PARTITION, b"last")
        assert await last.done == 1
        assert len(batches) == 1
        assert noted.positions == [1]
        assert records_in(broker.logs[0][0]) == [*(f"{number}".encode() for number in range(10)), b"last"]

    run(test())


def test_what_comes_while_a_batch_is_under_way_is_the_next_one() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.gate.clear()
        writer, _ = writer_on(broker)
        first = writer.add(PARTITION, b"a")
        await asyncio.sleep(0.01)
        later = [writer.add(PARTITION, b"%d" % number) for number in range(20)]
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
        last = [writer.add(PARTITION, record) for record in records][-1]
        await last.done
        assert [len(records_in(entry)) for entry in broker.logs[0]] == sizes

    run(test())


def test_a_batch_without_an_answer_is_appended_again_before_any_other() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.refused, broker.unanswered = 2, 1
        writer, noted = writer_on(broker)
        first = writer.add(PARTITION, b"a")
        await asyncio.sleep(0.01)
        second = writer.add(PARTITION, b"b")
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
        sent = writer.add(PARTITION, b"a")
        await asyncio.sleep(0.01)
        waiting = writer.add(PARTITION, b"b")
        with pytest.raises(StoreError, match="outcome is unknown"):
            await sent.done
        with pytest.raises(StoreError, match="was not sent"):
            await waiting.done
        broker.gate.set()
        await writer.add(PARTITION, b"c").done
        records = [records_in(entry) for entry in broker.logs[0]]
        assert records == [[b"a"], [b"c"]]  # a batch that was not sent is dropped: its client got an error
        assert noted.positions == [1, 2]

    run(test())


def test_answers_reach_who_waits_also_before_the_acknowledgement() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        broker.gate.clear()
        writer, _ = writer_on(broker)
        batch = writer.add(PARTITION, b"a")
        answers = batch.answers_of(PARTITION)
        await asyncio.sleep(0.01)
        writer.note_answers(2, batch.number, PARTITION, [9])  # of another start of this node
        writer.note_answers(1, batch.number, PARTITION + 1, [8])  # of another partition
        writer.note_answers(1, batch.number, PARTITION, [4])
        assert await answers == [4]
        broker.gate.set()
        await batch.done
        writer.note_answers(1, batch.number, PARTITION, [5])  # no client waits any more

    run(test())


def test_a_barrier_lies_behind_everything_acknowledged() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        writer, _ = writer_on(broker)
        await writer.add(PARTITION, b"a").done
        first, second = writer.barrier(), writer.barrier()
        assert first is second
        assert await first.done == 2
        assert records_in(broker.logs[0][1]) == []

    run(test())


def test_what_was_given_up_is_not_appended_any_more() -> None:
    """A change that was given up is not appended later, because its client may have continued at another node."""

    async def test() -> None:
        broker = MemoryBroker()
        broker.refused = 1_000_000
        writer, noted = writer_on(broker, give_up_s=0.1)
        with pytest.raises(StoreError, match="was sent, and its outcome is unknown"):
            await writer.add(PARTITION, b"old").done
        await asyncio.sleep(2 * module.PAUSE_S)
        assert writer.is_idle
        broker.refused = 0
        await writer.add(PARTITION, b"new").done
        assert [records_in(entry) for entry in broker.logs[0]] == [[b"new"]]
        assert unpack_batch(broker.logs[0][0]).number == 2  # so what brokers may still hold of the first has no effect
        assert noted.positions == [1]

    run(test())


def test_changes_of_several_partitions_are_one_batch() -> None:
    async def test() -> None:
        broker = MemoryBroker()
        writer, _ = writer_on(broker)
        batches = [writer.add(partition, f"{partition}".encode()) for partition in (4, 2, 4)]
        await batches[0].done
        sections = unpack_batch(broker.logs[0][0]).sections
        assert {partition: unpack_records(section) for partition, section in sections.items()} == {
            4: [b"4", b"4"],
            2: [b"2"],
        }

    run(test())


def test_a_turn_waits_for_each_of_its_batches() -> None:
    """Changes of one turn in one partition may be in two batches, of which the first may be given up."""

    async def test() -> None:
        broker = MemoryBroker()
        broker.gate.clear()
        writers = Writers(broker, Layout(1, 1, ("n1",)), "n1", 1, None)
        writers.add(0, b"under way")
        await asyncio.sleep(0.01)
        first = writers.add(0, b"of another turn")
        for _ in range(module.BATCH_CHANGES_MAX):
            writers.add_in_turn(0, b"x")
        answer = writers.end_turn()
        assert answer is not None
        assert writers.end_turn() is None
        first.fail(StoreError("a batch was not sent"))
        broker.gate.set()
        with pytest.raises(StoreError, match="a batch was not sent"):
            await answer
        writers.add_in_turn(0, b"of the next turn")
        await (writers.end_turn() or first.done)
        assert [len(records_in(entry)) for entry in broker.logs[0]] == [1, 2]

    run(test())


class SlowBroker(MemoryBroker):
    """A broker that takes some time for each entry, like a disk."""

    async def append(self, log: int, entry: bytes, key: str) -> int:
        await asyncio.sleep(0.02)
        return await super().append(log, entry, key)


def gives_way(coroutine: Coroutine[Any, Any, None]) -> bool:
    """Run a coroutine up to its first wait; return whether it waits."""
    try:
        coroutine.send(None)
    except StopIteration:
        return False
    coroutine.close()
    return True


async def clients(writer: LogWriter, count: int, rounds: int) -> None:
    """Run `count` clients; each sends its next change after an answer, but not all at the same moment."""

    async def client(number: int) -> None:
        for _ in range(rounds):
            await writer.add(PARTITION, b"x").done
            await asyncio.sleep(0.0001 * number)

    await asyncio.gather(*map(client, range(count)))


def test_a_batch_waits_for_the_clients_that_were_just_answered() -> None:
    async def test() -> None:
        broker = SlowBroker()
        writer, _ = writer_on(broker)
        await clients(writer, 8, 10)
        sizes = [len(records_in(entry)) for entry in broker.logs[0]]
        # Without waiting, batches of 1 and 7 would take turns. A busy machine may let some batches go early.
        assert sizes.count(8) >= 3, sizes

    run(test())


def test_one_client_never_waits_for_others() -> None:
    async def test() -> None:
        writer, _ = writer_on(SlowBroker())  # after a slow answer, the next batch could wait for long
        waited = []
        gather = writer._gather

        async def watched() -> None:
            waited.append(gives_way(gather()))

        writer._gather = watched  # type: ignore[method-assign]
        await clients(writer, 1, 10)
        assert waited == [False] * 10

    run(test())
