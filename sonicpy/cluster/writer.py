"""Group commit: what nodes append to the log of one partition.

One batch is under way. What arrives meanwhile is the next one. A batch without an answer is appended again, the same
bytes, until it is acknowledged: a second batch never overtakes the first. Who waits is told after GIVE_UP_S that the
outcome is unknown; a batch that was not sent yet is dropped then.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from sonicpy.cluster.batches import Batch
from sonicpy.cluster.broker import Broker, Unacknowledged
from sonicpy.cluster.gaps import Gaps
from sonicpy.cluster.versions import FIRST, pack_entry
from sonicpy.errors import StoreError

logger = logging.getLogger(__name__)

BATCH_CHANGES_MAX = 500
BATCH_BYTES_MAX = 256 << 10
GIVE_UP_S = 15.0
PAUSE_S = 0.05
"""Between two tries, where the broker refuses at once because the partition has no leader."""


class OpenBatch:
    """Changes that are appended together.

    Attributes:
        records: of the changes.
        size: of the records, in bytes.
        done: resolves with the position once it is acknowledged.
        number: once it is sent.
        wants_answers: whether someone waits for what the changes answer.
    """

    __slots__ = ("answers", "done", "number", "records", "size", "timer", "wants_answers")

    def __init__(self, loop: asyncio.AbstractEventLoop, give_up_s: float) -> None:
        self.records: list[bytes] = []
        self.size = 0
        self.number = 0
        self.wants_answers = False
        self.done: asyncio.Future[int] = loop.create_future()
        self.done.add_done_callback(_look_at)
        self.answers: asyncio.Future[list[int]] = loop.create_future()
        self.answers.add_done_callback(_look_at)
        self.timer = loop.call_later(give_up_s, self._give_up)

    def has_room(self, size: int) -> bool:
        """Return whether a record of `size` bytes may be added; 0: a barrier."""
        if self.done.done():
            return False
        return not size or (len(self.records) < BATCH_CHANGES_MAX and self.size + size <= BATCH_BYTES_MAX)

    def fail(self, error: StoreError) -> None:
        """Tell everybody who waits that it failed."""
        self.timer.cancel()
        for future in (self.done, self.answers):
            if not future.done():
                future.set_exception(error)

    def _give_up(self) -> None:
        sent = "was sent, and its outcome is unknown" if self.number else "was not sent"
        self.fail(StoreError(f"a batch of {len(self.records)} changes {sent}: no broker acknowledged in time"))


def _look_at(future: "asyncio.Future[int] | asyncio.Future[list[int]]") -> None:
    """Mark an error as seen: there may be nobody who waits any more."""
    if not future.cancelled():
        future.exception()


class PartitionWriter:
    """Appends the changes of this node to one partition. To be made while the loop runs.

    Args:
        partition: its number.
        writer: the name of this node.
        incarnation: above that of every earlier start of the node.
        acknowledged: called with the batch and its position, before those who wait go on.
    """

    def __init__(
        self,
        broker: Broker,
        partition: int,
        writer: str,
        incarnation: int,
        acknowledged: Callable[[OpenBatch, int], None],
        give_up_s: float = GIVE_UP_S,
    ) -> None:
        self._broker = broker
        self._partition = partition
        self._writer = writer
        self._incarnation = incarnation
        self._acknowledged = acknowledged
        self._give_up_s = give_up_s
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[OpenBatch] = deque()
        self._under_way: dict[int, OpenBatch] = {}
        self._number = 0
        self._task: asyncio.Task[None] | None = None
        self.batches = 0
        """How many were acknowledged."""
        self.version = FIRST
        """Of the entries that it writes."""
        self.gaps = Gaps()

    def add(self, record: bytes) -> OpenBatch:
        """Add a change; return the batch that it is in, as its last record."""
        batch = self._last(len(record))
        batch.records.append(record)
        batch.size += len(record)
        return batch

    def barrier(self) -> OpenBatch:
        """Return a batch that is not sent yet: all that was acknowledged before this call lies before it."""
        return self._last(0)

    def note_answers(self, incarnation: int, number: int, answers: list[int]) -> None:
        """Take what the changes of a batch answer, from the replica that applied it."""
        batch = self._under_way.get(number) if incarnation == self._incarnation else None
        if batch is not None and not batch.answers.done():
            batch.answers.set_result(answers)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits for the broker."""
        return self._task is None

    async def stop(self) -> None:
        """Give up what is under way, and refuse what waits."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        for batch in (*self._under_way.values(), *self._waiting):
            batch.fail(StoreError("the node stops"))

    def _last(self, size: int) -> OpenBatch:
        if not self._waiting or not self._waiting[-1].has_room(size):
            self._waiting.append(OpenBatch(self._loop, self._give_up_s))
            if self._task is None:
                # It begins after this turn of a connection: the changes of a turn are one batch.
                self._task = self._loop.create_task(self._append_all())
        return self._waiting[-1]

    async def _append_all(self) -> None:
        try:
            while self._waiting:
                batch = self._waiting.popleft()
                if not batch.done.done():
                    await self._append(batch)
        finally:
            self._task = None

    async def _append(self, batch: OpenBatch) -> None:
        self._number += 1
        batch.number = self._number
        named = Batch(self._writer, self._incarnation, batch.number, batch.records)
        entry = pack_entry(named, self.version)
        self._under_way[batch.number] = batch
        with self.gaps.waiting():
            position = await self._append_until_acknowledged(entry, named.key)
        self.batches += 1
        batch.timer.cancel()
        self._acknowledged(batch, position)
        if not batch.done.done():
            batch.done.set_result(position)
        if batch.wants_answers and not batch.answers.done():
            batch.answers.add_done_callback(lambda _: self._under_way.pop(batch.number, None))
        else:
            del self._under_way[batch.number]

    async def _append_until_acknowledged(self, entry: bytes, key: str) -> int:
        is_told = False
        while True:
            try:
                return await self._broker.append(self._partition, entry, key)
            except Unacknowledged as error:
                if not is_told:
                    logger.warning("partition %d: %s; the batch is appended again", self._partition, error)
                    is_told = True
                await asyncio.sleep(PAUSE_S)
