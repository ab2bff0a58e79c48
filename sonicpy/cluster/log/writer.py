"""Group commit: appends the changes of a node to one log.

One batch is under way. Changes in all partitions that arrive meanwhile form the next batch. A batch without an answer
is appended again, with the same bytes, until it is acknowledged, so batches keep their order. After GIVE_UP_S the
waiting callers get an error: the outcome is unknown. The batch is then not appended again, and the next one, not yet
sent, is dropped: clients continue at other nodes, and an old change must not undo a newer one. Copies of the batch that
are still on their way have no effect behind the next batch.

An entry costs the brokers the same whether it holds one change or fifty. So after an acknowledgement the next batch
waits a moment for the clients that were just answered, if several were at work: see `_gather`.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

from sonicpy.cluster.log.agreement import Agreement
from sonicpy.cluster.log.batches import Batch, pack_records
from sonicpy.cluster.log.broker import LogKeeper, Unacknowledged
from sonicpy.cluster.log.ending import end
from sonicpy.cluster.log.gaps import Gaps
from sonicpy.cluster.log.limits import GIVE_UP_S
from sonicpy.cluster.log.versions import names_in, pack_entry
from sonicpy.errors import StoreError

logger = logging.getLogger(__name__)

BATCH_CHANGES_MAX = 500
BATCH_BYTES_MAX = 256 << 10
PAUSE_S = 0.05
"""The pause in seconds between two attempts, if the broker refuses at once because the log has no leader."""
GATHER_SHARE = 1.0
"""The longest wait of a batch for further changes, as a share of the time that the last batch took."""
GATHER_S = 0.005
"""The longest wait of a batch for further changes in seconds."""


class RightToWrite(Protocol):
    """The part of `NameClaim` that a writer uses."""

    loss: str | None

    async def may_begin(self) -> None:
        """Wait until no other process can write under the name."""
        ...

    async def confirm(self, effect: "asyncio.Future[None]") -> None:
        """Raise StoreError if the batch just acknowledged may have no effect, because another process has the name.

        Args:
            effect: resolves once a replica of this node has applied the batch, which shows its effect.
        """
        ...


class OpenBatch:
    """Changes that are appended together.

    Attributes:
        records: partition -> the records of its changes.
        changes: the number of changes.
        size: the size of the records in bytes.
        done: resolves with the position of the batch once it is acknowledged.
        effect: resolves once replicas of this node have applied the batch in all of its partitions.
        number: the number of the batch; set when it is sent.
        uses: names of the features that its changes use.
    """

    __slots__ = (
        "_effective",
        "_loop",
        "answers",
        "changes",
        "done",
        "effect",
        "number",
        "records",
        "size",
        "timer",
        "uses",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, give_up_s: float) -> None:
        self.records: dict[int, list[bytes]] = {}
        self.changes = 0
        self.size = 0
        self.number = 0
        self.uses: frozenset[str] = frozenset()
        self.done: asyncio.Future[int] = loop.create_future()
        self.done.add_done_callback(_look_at)
        self.effect: asyncio.Future[None] = loop.create_future()
        self._effective: set[int] = set()
        self.answers: dict[int, asyncio.Future[list[int]]] = {}
        self.timer = loop.call_later(give_up_s, self._give_up)
        self._loop = loop

    def has_room(self, size: int) -> bool:
        """Return whether the batch has room for a record of `size` bytes; `size` is 0 for a barrier."""
        if self.done.done():
            return False
        return not size or (self.changes < BATCH_CHANGES_MAX and self.size + size <= BATCH_BYTES_MAX)

    def add(self, partition: int, record: bytes) -> int:
        """Add a change in a partition; return its place among the changes in that partition."""
        records = self.records.setdefault(partition, [])
        records.append(record)
        self.changes += 1
        self.size += len(record)
        return len(records) - 1

    def answers_of(self, partition: int) -> "asyncio.Future[list[int]]":
        """Return the future of the results of a partition's changes. Call it before the batch is acknowledged."""
        future = self.answers.get(partition)
        if future is None:
            future = self.answers[partition] = self._loop.create_future()
            future.add_done_callback(_look_at)
        return future

    def note_effect(self, partition: int) -> None:
        """Note that the changes of the batch in a partition were applied, not skipped."""
        self._effective.add(partition)
        if len(self._effective) == len(self.records):
            _resolve(self.effect)

    @property
    def wants_answers(self) -> bool:
        """Whether a caller still waits for results of changes."""
        return any(not future.done() for future in self.answers.values())

    def fail(self, error: StoreError) -> None:
        """Raise an error in all waiting callers."""
        self.timer.cancel()
        if not self.done.done():
            self.done.set_exception(error)
        for future in self.answers.values():
            if not future.done():
                future.set_exception(error)

    def _give_up(self) -> None:
        sent = "was sent, and its outcome is unknown" if self.number else "was not sent"
        self.fail(StoreError(f"a batch of {self.changes} changes {sent}: no broker acknowledged in time"))


def _look_at(future: "asyncio.Future[int] | asyncio.Future[list[int]]") -> None:
    """Mark an error as retrieved, because all callers that waited for it may be gone."""
    if not future.cancelled():
        future.exception()


class LogWriter:
    """Appends the changes of this node to one log. Create it while the loop runs.

    Args:
        log: the number of the log.
        writer: the name of this node.
        incarnation: a number above those of all earlier starts of the node.
        acknowledged: called with the batch and its position, before the waiting callers continue.
        claim: the claim of the name; None: no other process uses the name.
    """

    def __init__(
        self,
        broker: LogKeeper,
        log: int,
        writer: str,
        incarnation: int,
        acknowledged: Callable[[OpenBatch, int], None],
        give_up_s: float = GIVE_UP_S,
        claim: RightToWrite | None = None,
    ) -> None:
        self._claim = claim
        self._broker = broker
        self._log = log
        self._writer = writer
        self._incarnation = incarnation
        self._acknowledged = acknowledged
        self._give_up_s = give_up_s
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[OpenBatch] = deque()
        self._under_way: dict[int, OpenBatch] = {}
        self._number = 0
        self._task: asyncio.Task[None] | None = None
        self._gathered: asyncio.Future[None] | None = None
        self._expected = 0  # changes that the next batch may wait for
        self._gather_until = 0.0
        self.batches = 0
        """The number of acknowledged batches."""
        self.agreed = Agreement()
        """The agreement of the nodes by which batches are written."""
        self.gaps = Gaps()

    def add(self, partition: int, record: bytes) -> OpenBatch:
        """Add a change of a partition; return the batch that it is in, as the last record of that partition.

        Raises:
            InvalidArgument: the record uses a feature that the nodes have not agreed to write.
        """
        names = names_in(record, self.agreed)
        batch = self._last(len(record))
        batch.add(partition, record)
        if names:
            batch.uses |= names
        if self._gathered is not None and batch.changes >= self._expected and not self._gathered.done():
            self._gathered.set_result(None)
        return batch

    def barrier(self) -> OpenBatch:
        """Return a batch that is not sent yet: all changes acknowledged before this call precede it in the log."""
        return self._last(0)

    def note_answers(self, incarnation: int, number: int, partition: int, answers: list[int]) -> None:
        """Take the results of a batch's changes in a partition, from the replica that applied it.

        Args:
            incarnation, number: the batch; one of another incarnation of the writer is ignored.
            answers: the results.
        """
        batch = self._under_way.get(number) if incarnation == self._incarnation else None
        if batch is None:
            return
        batch.note_effect(partition)
        future = batch.answers.get(partition)
        if future is not None and not future.done():
            future.set_result(answers)
            self._forget(batch)

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits for the broker."""
        return self._task is None

    async def stop(self) -> None:
        """Give up the batch under way, and refuse waiting changes."""
        if self._task is not None:
            await end([self._task])
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
            if self._claim is not None:
                await self._claim.may_begin()
            while self._waiting:
                await self._gather()
                batch = self._waiting.popleft()
                if self._claim is not None and self._claim.loss is not None:
                    batch.fail(StoreError(self._claim.loss))
                if not batch.done.done():
                    await self._append(batch)
        finally:
            self._task = None

    async def _gather(self) -> None:
        """Wait a moment until the next batch has as many changes as clients had under way.

        A single client that waits for each OK is never delayed: its next change completes the batch.
        """
        left = self._gather_until - self._loop.time()
        if left <= 0 or len(self._waiting) > 1 or self._waiting[0].changes >= self._expected:
            return
        self._gathered = self._loop.create_future()
        timer = self._loop.call_later(left, _resolve, self._gathered)
        try:
            await self._gathered
        finally:
            timer.cancel()
            self._gathered = None

    async def _append(self, batch: OpenBatch) -> None:
        self._number += 1
        batch.number = self._number
        sections = {partition: pack_records(records) for partition, records in batch.records.items()}
        named = Batch(self._writer, self._incarnation, batch.number, sections, batch.uses)
        entry = pack_entry(named, self.agreed.version)
        self._under_way[batch.number] = batch
        began = self._loop.time()
        with self.gaps.waiting():
            position = await self._append_until_acknowledged(entry, named.key, batch)
            if position is None:
                self._under_way.pop(batch.number, None)
                return
            if not await self._is_confirmed(batch):
                return
        now = self._loop.time()
        self._expected = batch.changes + sum(waiting.changes for waiting in self._waiting)
        self._gather_until = now + min(GATHER_S, GATHER_SHARE * (now - began))
        self.batches += 1
        batch.timer.cancel()
        self._acknowledged(batch, position)
        if not batch.done.done():
            batch.done.set_result(position)
        self._forget(batch)

    async def _is_confirmed(self, batch: OpenBatch) -> bool:
        """Return whether an acknowledged batch takes effect; if not, drop it and raise the error in its callers."""
        try:
            if self._claim is not None and batch.records:  # a barrier marks a place in the log and needs no claim
                await self._claim.confirm(batch.effect)
        except StoreError as error:
            batch.fail(StoreError(f"a batch of {batch.changes} changes was sent, and its outcome is unknown: {error}"))
            self._under_way.pop(batch.number, None)
            return False
        return True

    def _forget(self, batch: OpenBatch) -> None:
        """Drop an acknowledged batch without waiting callers."""
        if batch.done.done() and not batch.wants_answers:
            self._under_way.pop(batch.number, None)

    async def _append_until_acknowledged(self, entry: bytes, key: str, batch: OpenBatch) -> int | None:
        """Return the position of an entry; None: it failed, and the waiting callers got the error."""
        is_told = False
        while True:
            try:
                return await self._broker.append(self._log, entry, key)
            except Unacknowledged as error:
                if not is_told:
                    logger.warning("log %d: %s; the batch is appended again", self._log, error)
                    is_told = True
                await asyncio.sleep(PAUSE_S)
                if batch.done.done():
                    return None


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
