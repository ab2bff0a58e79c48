"""A replica of a partition on this node: it applies the entries of its log for the partition, and answers.

It answers once it has caught up with the log as of the node's start. It stops for good, with a reason, if the log is
not the one that it has followed, or an entry cannot be applied. `follower.py` reads the log for it.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from sonicpy.cluster.log.batches import Batch, following
from sonicpy.cluster.log.broker import Epoch, LogGone, LogLost
from sonicpy.cluster.log.limits import EXPECTED_S
from sonicpy.config import Config
from sonicpy.errors import StoreError, StoreFull
from sonicpy.server.jobs.committer import Committer
from sonicpy.server.jobs.maintenance import Maintenance
from sonicpy.server.jobs.readers import ReaderWatch
from sonicpy.server.jobs.tasks import PeriodicTasks
from sonicpy.server.watching.server_statistics import ServerStatistics

if TYPE_CHECKING:
    from sonicpy.index.replica_index import ReplicaIndex

logger = logging.getLogger(__name__)

COMMIT_AFTER_S = 3.0
"""The longest time in seconds from a change to its commit. Commits can be rare: reads see uncommitted changes, and
after the death of the process the log still has them. Larger commits cost less per change.
"""
COMMIT_AFTER_READ_S = 0.2
"""Replaces COMMIT_AFTER_S while there are reads, because these cost more with uncommitted changes."""
COMMIT_CHANGES = 1024
"""The number of changes after which a commit is due; few, because connections wait for the commit."""
CATCHING_UP_CHANGES = 4096
"""Replaces COMMIT_CHANGES while the replica has not caught up, and so has no readers."""
TOGETHER_BYTES = 8 << 10
"""The most bytes of sections that are applied together while the replica catches up, so that connections get their
turns. Applied one by one, small entries cost more per change.
"""

SYNC_TICKS = 30
"""The number of ticks between two syncs: rarer than for an index alone, because a replica reads unsynced changes from
the log again."""

Answered = Callable[[str, int, int, list[int]], None]
"""A function that is called with the partition's results of a batch: writer, incarnation, number, results."""


class Replica:
    """The replica of one partition. Create it while the loop runs.

    Args:
        partition: the number of the partition.
        index: the opened index of the replica.
        answered: called for each batch that is applied.
        late: called with the partition when an entry that exists is awaited, and none was applied for EXPECTED_S.
    """

    def __init__(
        self,
        partition: int,
        index: "ReplicaIndex",
        config: Config,
        statistics: ServerStatistics,
        answered: Answered,
        late: Callable[[int], None],
    ) -> None:
        self.partition = partition
        self.index = index
        self.config = config
        self.applied = index.progress.position
        """The position in the log up to which reads include all changes."""
        self.fault: str | None = "it has not caught up with the log"
        """The reason why the replica does not answer, as the rest of a sentence; None: it answers."""
        self.held_up: str | None = None
        """The reason why the entry behind `applied` is not applied yet: the disk is full. None: nothing holds it up."""
        self.is_broken = False
        """Whether the replica has stopped for good."""
        self.is_ahead = False
        """Whether the log lacks entries that the replica has applied, so that the replica has stopped."""
        self.adopted: int | None = None
        """The position in a lost log from which it went over to the present one, if that was since the node's start."""
        self.committer = Committer(index.engine, syncs_before_reply=False, commit_after_s=COMMIT_AFTER_S)
        self.committer.commit_changes = CATCHING_UP_CHANGES
        self.maintenance = Maintenance(index.maintainer, config, self.committer, statistics)
        self.readers = ReaderWatch(index.engine, self.maintenance, config.store.kv.reader_limit_mb << 20)
        self._answered = answered
        self._late = late
        self._epoch = Epoch("", 1, 0)
        self._gathered: list[tuple[int, Batch]] = []
        """Entries behind `applied` that will be applied together."""
        self._gathered_bytes = 0
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []

    def begin(self, epoch: Epoch) -> None:
        """Begin to apply a log behind `applied`; stop for good if it is not the log of this replica.

        Args:
            epoch: the state of the log.
        """
        self._gathered, self._gathered_bytes = [], 0
        try:
            self._check(epoch)
        except LogGone as error:
            self.stop_for_good(error)
            return
        self._epoch = epoch
        self._note_caught_up()

    def take(self, position: int, batch: Batch) -> None:
        """Apply the next entry of the log, if it has a section for this partition; while catching up, apply several
        together.

        Raises:
            StoreFull: entries that were taken but not applied are lost; the log has to be read again from `applied` on.
        """
        if self.partition in batch.sections:
            self._gathered.append((position, batch))
            self._gathered_bytes += len(batch.sections[self.partition])
        if self._gathered:
            if self.fault is not None and position < self._epoch.last and self._gathered_bytes < TOGETHER_BYTES:
                return
            try:
                self._apply_gathered()
            except StoreFull:
                raise
            except StoreError as error:
                self.stop_for_good(error)
                return
        self.applied, self.held_up = position, None
        if self.fault is not None:
            self._note_caught_up()
        if self._waiters:
            self._wake()

    def stop_for_good(self, error: StoreError) -> None:
        """Apply the entries that were read, then stop answering and applying for ever, because of `error`."""
        if self._gathered and not self.is_broken:
            last = self._gathered[-1][0]
            try:
                self._apply_gathered()
                self.applied = last
            except StoreError as other:
                logger.error("partition %d lacks entries before those that it cannot have: %s", self.partition, other)
        if not self.is_broken:
            self.is_broken = True
            self.is_ahead = isinstance(error, LogLost)
            self.fault = str(error)
            logger.error("partition %d answers nothing from now on: %s", self.partition, error)
        self._wake()

    def answers_at(self, position: int) -> bool:
        """Return whether a read that is to see the entries up to a position has its answer here at once."""
        return self.fault is None and self.held_up is None and self.applied >= position

    def to_read(self) -> "ReplicaIndex":
        """Return the index for a read, which brings the next commit forward."""
        if self.index.engine.store.uncommitted:
            self.committer.commit_within(COMMIT_AFTER_READ_S)
        return self.index

    def note_progress(self) -> None:
        """Store the position in the log with the next commit, even if the newest entries have no section for this
        partition.

        Raises:
            StoreError: the store cannot be written.
        """
        if not self.is_broken:
            self.index.note_position(self.applied, self._epoch.name)

    async def wait_for(self, position: int, timeout_s: float) -> None:
        """Wait until the entry at `position` is applied, for at most `timeout_s` seconds.

        Raises:
            StoreError: the entry is not applied in time, or the replica has stopped.
        """
        deadline = time.monotonic() + timeout_s
        while self.applied < position:
            left = deadline - time.monotonic()
            if left <= 0 or self.is_broken:
                raise StoreError(f"partition {self.partition} is at {self.applied}, and {position} does not come")
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append((position, future))
            before = self.applied
            await asyncio.wait([future], timeout=min(left, EXPECTED_S))
            if not future.done():
                self._waiters = [(wanted, waiter) for wanted, waiter in self._waiters if waiter is not future]
                if self.applied == before:
                    self._late(self.partition)

    def state(self) -> dict[str, Any]:
        """Return position, epoch, chain hash and fault, for JSON, and the facts that `recover` needs."""
        known = self.index.progress
        epoch = known.epoch or self._epoch.name
        facts = {"stopped": self.is_broken, "ahead": self.is_ahead, "adopted": self.adopted}
        return {"position": self.applied, "epoch": epoch, "chain": known.chain, "fault": self.fault, **facts}

    async def close(self) -> None:
        """Commit and release the folder."""
        await self.maintenance.stop()
        self.committer.stop()
        with contextlib.suppress(StoreFull):  # then it begins at an older position
            self.note_progress()
        self.index.close()

    # -- inside --------------------------------------------------------------------------------------------------------

    def _apply_gathered(self) -> None:
        """Apply the gathered entries. Raises StoreError; then all entries before the faulty one are applied."""
        entries, self._gathered, self._gathered_bytes = self._gathered, [], 0
        try:
            self._apply(entries)
        except StoreFull:
            raise
        except StoreError:
            if len(entries) == 1:
                raise
            for entry in entries:  # nothing of them was applied
                self._apply([entry])
                self.applied = entry[0]

    def _apply(self, entries: Sequence[tuple[int, Batch]]) -> None:
        """Apply entries together: all of them or, if it raises StoreError, none."""
        found, progress = following(self.index.progress, entries, self.partition, self._epoch.name)
        answers = self.index.apply_batch(found[0] if len(found) == 1 else list(chain.from_iterable(found)), progress)
        self.committer.seal(self)
        first = 0
        for (_, batch), records in zip(entries, found, strict=True):
            if records:
                last = first + len(records)
                self._answered(batch.writer, batch.incarnation, batch.number, answers[first:last])
                first = last

    def _check(self, epoch: Epoch) -> None:
        known = self.index.progress.epoch or self._epoch.name
        if known and known != epoch.name:
            raise LogLost(
                f"the log of partition {self.partition} was made at {epoch.name}, but this replica holds entries of "
                f"the one made at {known}: the brokers have lost their data"
            )
        if epoch.last < self.applied:
            raise LogLost(
                f"the log of partition {self.partition} ends at {epoch.last}, but this replica holds entries up to "
                f"{self.applied}: the brokers have lost their newest data"
            )
        if epoch.first > self.applied + 1:
            raise LogGone(
                f"the log of partition {self.partition} begins at {epoch.first}, but this replica needs it from "
                f"{self.applied + 1} on"
            )

    def _note_caught_up(self) -> None:
        if not self.is_broken and self.applied >= self._epoch.last:
            self.fault = self.held_up = None
            self.committer.commit_changes = COMMIT_CHANGES

    def _wake(self) -> None:
        for position, future in self._waiters:
            if not future.done() and (position <= self.applied or self.is_broken):
                future.set_result(None)
        self._waiters = [(position, future) for position, future in self._waiters if not future.done()]


class ReplicaTasks(PeriodicTasks):
    """The periodic work of one replica."""

    def __init__(self, replica: Replica) -> None:
        super().__init__(replica)
        self._replica = replica
        self._ticks = replica.partition  # so that not all replicas sync in the same second

    def _due_in_time(self) -> list[Callable[[], Awaitable[None]]]:
        self._ticks += 1
        return [self._commit_again, self._check_readers, *([self._sync] if self._ticks % SYNC_TICKS == 0 else [])]

    def _due(self) -> list[Callable[[], Awaitable[None]]]:
        due: list[Callable[[], Awaitable[None]]] = [self._committer.sweep, self._close_idle_graphs]
        if self._replica.fault is None:  # graphs of what has not caught up would have to be built again
            due.append(self._consolidate_due)
        return due

    async def _commit_again(self) -> None:
        """Repeat a failed commit; other changes wait for COMMIT_AFTER_S."""
        if self._engine.store.refusing or not self._committer.commits_later:
            self._committer.commit_if_due()

    async def _sync(self) -> None:
        if self._engine.store.refusing:  # `_commit_again` ends that, or a sync would fail for ever
            return
        self._replica.note_progress()
        self._replica.committer.commit()
        await self._replica.committer.sync()
