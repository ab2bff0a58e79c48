"""The replicas of a node: their folders, the logs that they follow, and the subjects by which they get questions."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from sonicpy.cluster.log.broker import Epoch, LogKeeper
from sonicpy.cluster.log.broker_connection import BrokerConnection
from sonicpy.cluster.log.ending import end
from sonicpy.cluster.node import snapshots
from sonicpy.cluster.node.follower import LogFollower
from sonicpy.cluster.node.places import Places
from sonicpy.cluster.node.replica import Replica, ReplicaTasks
from sonicpy.cluster.node.writers import Writers
from sonicpy.cluster.peers.questions import subject_of_questions
from sonicpy.cluster.registry.registry import Registry
from sonicpy.config import Config
from sonicpy.server.watching.server_statistics import ServerStatistics

if TYPE_CHECKING:
    from sonicpy.index.replica_index import ReplicaIndex

OpenIndex = Callable[[Path], "ReplicaIndex"]


@dataclass(frozen=True, slots=True)
class Keepers:
    """The parts of the brokers that replicas use."""

    connection: BrokerConnection
    log: LogKeeper
    registry: Registry


@dataclass(frozen=True, slots=True)
class HeldReplica:
    """A replica at work: its periodic work, and the questions that it gets."""

    replica: Replica
    task: "asyncio.Task[None]"
    subscription: Subscription


class Replicas:
    """Opens and closes replicas. Create it while the loop runs.

    Args:
        held: partition -> its replica, for those that answer; only this object changes it.
        open_index: opens the folder of a replica.
        config, statistics: the settings and the counters of each replica's periodic work.
        take: gets the questions that the brokers pass on to replicas of this node.
    """

    def __init__(
        self,
        held: dict[int, Replica],
        keepers: Keepers,
        places: Places,
        writers: Writers,
        open_index: OpenIndex,
        config: Config,
        statistics: ServerStatistics,
        take: Callable[[Msg], Awaitable[None]],
    ) -> None:
        self.held = held
        self.folder = Path(config.store.kv.path)
        """The folder that holds one folder for each replica."""
        self._keepers = keepers
        self._places = places
        self._writers = writers
        self._open_index = open_index
        self._config = config
        self._statistics = statistics
        self._take = take
        self._at_work: dict[int, HeldReplica] = {}
        self._followers = [LogFollower(number, keepers.log) for number in range(places.layout.logs)]
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to follow the logs."""
        for follower in self._followers:
            self._tasks.append(asyncio.create_task(follower.run()))
            self._tasks[-1].add_done_callback(follower.note_end)

    def folder_of(self, partition: int) -> Path:
        """Return the folder of the replica of a partition."""
        return self.folder / f"{partition:04}"

    async def hold(self, partition: int, adopt: Epoch | None = None) -> None:
        """Open the replica of a partition, which then follows the log and answers.

        Args:
            adopt: another log with which it continues, from the first entry on; None: it continues at the position that
                its store names.

        Raises:
            StoreError: the replica cannot be opened.
        """
        index = await self._opened(partition)
        if adopt is not None:
            index.adopt(max(0, adopt.first - 1), adopt.name)
        answered = self._writers.answered(partition)
        replica = Replica(partition, index, self._config, self._statistics, answered, self._note_late)
        self.held[partition] = replica
        self._follower_of(partition).follow(replica)
        subject = subject_of_questions(partition)
        subscription = await self._keepers.connection.subscribe(subject, queue="replicas", cb=self._take)
        self._at_work[partition] = HeldReplica(replica, asyncio.create_task(ReplicaTasks(replica).run()), subscription)

    async def release(self, partition: int, wait_s: float = 0.0) -> None:
        """Leave a partition to other nodes, and close its replica.

        Args:
            wait_s: the time in seconds for which the replica still works, for clients that wait for an answer.
        """
        work = self._at_work.pop(partition)
        await self._keepers.connection.leave(work.subscription)  # before, so that the replica answers what still comes
        self.held.pop(partition, None)
        try:
            await asyncio.sleep(wait_s)
        finally:
            self._follower_of(partition).leave(work.replica)
            await end([work.task])
            await work.replica.close()

    async def reset(self, partition: int) -> None:
        """Delete the folder of a replica, and open it again, from a snapshot or empty. Raises as `hold`."""
        await self.release(partition)
        shutil.rmtree(self.folder_of(partition))
        await self.hold(partition)

    async def adopt(self, partition: int) -> int:
        """Continue a replica with the log as it is now: from the first entry, without those that its store has applied.

        Returns:
            The position of the replica in the log that was lost.

        Raises:
            SonicError: no broker answers, or the replica cannot be opened.
        """
        epoch = await self._keepers.log.epoch(self._places.layout.log_of(partition))
        known = self.held[partition].applied
        await self.release(partition)
        await snapshots.forget(partition, self._keepers.registry)
        await self.hold(partition, adopt=epoch)
        self.held[partition].adopted = known
        return known

    async def snapshot(self, partition: int) -> int:
        """Give the brokers a snapshot of a replica of this node; return its position. Raises StoreError."""
        return await snapshots.save(self.held[partition], self._keepers.registry)

    async def close(self) -> None:
        """Stop applying and answering; release the folders."""
        await asyncio.gather(*(self._keepers.connection.leave(work.subscription) for work in self._at_work.values()))
        for partition in list(self._at_work):
            await self.release(partition)
        await end(self._tasks)

    def _follower_of(self, partition: int) -> LogFollower:
        return self._followers[self._places.layout.log_of(partition)]

    def _note_late(self, partition: int) -> None:
        self._follower_of(partition).note_late()

    async def _opened(self, number: int) -> "ReplicaIndex":
        folder = self.folder_of(number)
        index = self._open_index(folder)
        registry = self._keepers.registry
        epoch = await self._keepers.log.epoch_at_last(self._places.layout.log_of(number))
        if await snapshots.is_needed(index.progress, number, epoch, registry):
            access = index.engine.access
            index.close()
            await snapshots.replace_folder(number, epoch, registry, folder, access)
            index = self._open_index(folder)
        return index
