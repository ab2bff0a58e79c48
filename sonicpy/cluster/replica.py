"""A replica of a partition on this node: it applies the log, entry by entry, and answers.

It answers once it has caught up with what the log held when the node started. It stops for good, and says why, if the
log is another one than it knows, or an entry cannot be applied.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from sonicpy.cluster.batches import following
from sonicpy.cluster.broker import Broker, Epoch, LogGone, Unacknowledged
from sonicpy.cluster.versions import unpack_entry
from sonicpy.config import Config
from sonicpy.errors import StoreError, StoreFull
from sonicpy.index.replica import ReplicaIndex
from sonicpy.server.committer import Committer
from sonicpy.server.maintenance import Maintenance
from sonicpy.server.readers import ReaderWatch
from sonicpy.server.statistics import Statistics
from sonicpy.server.tasks import PeriodicTasks

logger = logging.getLogger(__name__)

APPLY_S = 0.002
"""Entries are applied for this time, then connections are served."""
TRY_AGAIN_S = 1.0
EXPECTED_S = 0.5
"""An entry that was acknowledged is asked for again after this time."""

SYNC_TICKS = 30
"""A replica that loses what was not synced reads it again from the log, so it syncs less often than an index alone."""

Answered = Callable[[str, int, int, list[int]], None]
"""Called with writer, incarnation and number of a batch, and what its changes answered."""


class Replica:
    """One partition. To be made while the loop runs.

    Args:
        partition: its number.
        index: its folder, opened.
        broker: keeps the log.
        answered: called for each batch that is applied.
        late: called with the partition when an entry that exists has not come for EXPECTED_S.
    """

    def __init__(
        self,
        partition: int,
        index: ReplicaIndex,
        broker: Broker,
        config: Config,
        statistics: Statistics,
        answered: Answered,
        late: Callable[[int], None],
    ) -> None:
        self.partition = partition
        self.index = index
        self.config = config
        self.applied = index.progress.position
        """The position of the last entry that reads see."""
        self.fault: str | None = "it has not caught up with the log"
        """Why it does not answer, as the rest of a sentence; None: it does."""
        self.is_broken = False
        """Whether it has stopped for good."""
        self.committer = Committer(index.maintainer, syncs_before_reply=False)
        self.maintenance = Maintenance(index.maintainer, config, self.committer, statistics)
        self.readers = ReaderWatch(index.maintainer, self.maintenance, config.store.kv.reader_limit_mb << 20)
        self._broker = broker
        self._answered = answered
        self._late = late
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []

    async def run(self) -> None:
        """Apply the log until cancelled, or until the replica cannot go on."""
        while True:
            try:
                await self._follow()
            except Unacknowledged:
                await asyncio.sleep(TRY_AGAIN_S / 10)
            except StoreFull as error:
                logger.error("partition %d: %s", self.partition, error)
                await asyncio.sleep(TRY_AGAIN_S)
            except StoreError as error:
                self._stop_for_good(error)
                return

    def note_end(self, task: "asyncio.Task[None]") -> None:
        """Take the end of `run`: after an error that nobody foresaw, the replica must not answer from old contents."""
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("an unexpected error in partition %d", self.partition, exc_info=error)
            self._stop_for_good(StoreError(f"an unexpected error: {type(error).__name__}"))

    async def wait_for(self, position: int, timeout_s: float) -> None:
        """Wait until the entry at `position` is applied.

        Raises:
            StoreError: it is not applied in that time, or the replica has stopped.
        """
        deadline = time.monotonic() + timeout_s
        while self.applied < position:
            left = deadline - time.monotonic()
            if left <= 0 or self.is_broken:
                raise StoreError(f"partition {self.partition} is at {self.applied}, and {position} does not come")
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append((position, future))
            await asyncio.wait([future], timeout=min(left, EXPECTED_S))
            if not future.done():
                self._waiters = [(wanted, waiter) for wanted, waiter in self._waiters if waiter is not future]
                self._late(self.partition)

    def apply(self, position: int, entry: bytes, epoch: str) -> None:
        """Apply the next entry.

        Raises:
            StoreError: it was not applied.
        """
        if position != self.applied + 1:
            raise StoreError(f"the log gave the entry at {position} behind the one at {self.applied}")
        batch = unpack_entry(entry)
        records, progress = following(self.index.progress, batch, entry, epoch)
        answers = self.index.apply_batch(records, progress)
        self.applied = position
        self.committer.seal(self)
        if records:
            self._answered(batch.writer, batch.incarnation, batch.number, answers)
        self._wake()

    def state(self) -> dict[str, Any]:
        """Return position, chain hash and fault, for JSON."""
        return {"position": self.applied, "chain": self.index.progress.chain, "fault": self.fault}

    async def close(self) -> None:
        """Commit and release the folder."""
        await self.maintenance.stop()
        self.index.close()

    # -- inside --------------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        epoch = await self._broker.epoch(self.partition)
        self._check(epoch)
        caught_up = epoch.last
        began = time.perf_counter()
        self._note_caught_up(caught_up)
        async for position, entry in self._broker.read(self.partition, self.applied):
            self.apply(position, entry, epoch.name)
            self._note_caught_up(caught_up)
            if time.perf_counter() - began > APPLY_S:
                await asyncio.sleep(0)
                began = time.perf_counter()

    def _check(self, epoch: Epoch) -> None:
        known = self.index.progress
        if known.epoch and known.epoch != epoch.name:
            raise LogGone(
                f"the log of partition {self.partition} was made at {epoch.name}, but this replica holds entries of "
                f"the one made at {known.epoch}: the brokers have lost their data"
            )
        if epoch.last < known.position:
            raise LogGone(
                f"the log of partition {self.partition} ends at {epoch.last}, but this replica holds entries up to "
                f"{known.position}: the brokers have lost their newest data"
            )
        if epoch.first > known.position + 1:
            raise LogGone(
                f"the log of partition {self.partition} begins at {epoch.first}, but this replica needs it from "
                f"{known.position + 1} on"
            )

    def _note_caught_up(self, position: int) -> None:
        if self.fault is not None and self.applied >= position:
            self.fault = None

    def _stop_for_good(self, error: StoreError) -> None:
        self.is_broken = True
        self.fault = str(error)
        logger.error("partition %d answers nothing from now on: %s", self.partition, error)
        self._wake()

    def _wake(self) -> None:
        if not self._waiters:
            return
        for position, future in self._waiters:
            if not future.done() and (position <= self.applied or self.is_broken):
                future.set_result(None)
        self._waiters = [(position, future) for position, future in self._waiters if not future.done()]


class ReplicaTasks(PeriodicTasks):
    """The periodic work of one replica."""

    def __init__(self, replica: Replica) -> None:
        super().__init__(replica)
        self._sync = replica.committer.sync
        self._ticks = replica.partition  # so that not all replicas sync in the same second

    def _due(self) -> list[Callable[[], Awaitable[None]]]:
        self._ticks += 1
        due: list[Callable[[], Awaitable[None]]] = [self._commit, self._committer.sweep, self._consolidate_due]
        return [*due, self._close_idle_graphs, *([self._sync] if self._ticks % SYNC_TICKS == 0 else [])]
