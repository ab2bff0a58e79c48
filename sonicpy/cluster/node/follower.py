"""Reads one log for a node's replicas of the partitions in it, which apply it entry by entry."""

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from sonicpy.cluster.log.broker import LogKeeper, Unacknowledged
from sonicpy.cluster.log.limits import EXPECTED_S
from sonicpy.cluster.log.versions import unpack_entry
from sonicpy.errors import StoreError, StoreFull

if TYPE_CHECKING:
    from sonicpy.cluster.node.replica import Replica

logger = logging.getLogger(__name__)

APPLY_S = 0.002
"""The time in seconds for which entries are applied before connections are served."""
TRY_AGAIN_S = 1.0
PATIENCE_MAX_S = 8 * EXPECTED_S
"""The longest time in seconds for which a reading may bring nothing although a replica waits for an entry."""


class LogFollower:
    """Reads one log. Create it while the loop runs.

    Args:
        log: the number of the log.

    Attributes:
        replicas: the replicas of partitions that the log holds; `follow` and `leave` change this list.
    """

    def __init__(self, log: int, broker: LogKeeper) -> None:
        self.log = log
        self.replicas: list[Replica] = []
        self._broker = broker
        self._reading: list[Replica] = []  # those that get what is read now; one that joins gets the next reading
        self._ends_reading = asyncio.Event()
        self._moved_s = time.monotonic()  # the time at which the reading began, or brought its newest entry
        self._patience_s = EXPECTED_S

    def follow(self, replica: "Replica") -> None:
        """Add a replica, which applies the log from its own position; it may be behind the others."""
        self.replicas.append(replica)
        self.read_again()

    def leave(self, replica: "Replica") -> None:
        """Stop passing entries to a replica."""
        if replica in self.replicas:
            self.replicas.remove(replica)
            self._reading = [other for other in self._reading if other is not replica]
            if not self.replicas:
                self.read_again()  # which ends the reading

    def read_again(self) -> None:
        """Restart reading, because a replica was added or removed."""
        self._ends_reading.set()

    def note_late(self) -> None:
        """Restart reading, because an entry that exists did not arrive; but let a reading go on that has just begun or
        brings entries. Many reads wait for one entry, and would else restart reading before any entry can arrive.
        """
        if time.monotonic() - self._moved_s < self._patience_s:
            return
        self._moved_s = time.monotonic()
        self._patience_s = min(2 * self._patience_s, PATIENCE_MAX_S)  # a slow broker may not get it done in less
        self.read_again()

    async def run(self) -> None:
        """Apply the log until cancelled."""
        while True:
            self._ends_reading.clear()
            if all(replica.is_broken for replica in self.replicas):
                await self._ends_reading.wait()
                continue
            try:
                await self._follow()
            except Unacknowledged:
                await asyncio.sleep(TRY_AGAIN_S / 10)
            except StoreFull as error:  # of the disk, which all replicas of the node share
                logger.error("log %d is not applied: %s", self.log, error)
                await asyncio.sleep(TRY_AGAIN_S)
            except StoreError as error:
                self.stop_for_good(error)

    def note_end(self, task: "asyncio.Task[None]") -> None:
        """Handle the end of `run`: after an unexpected error, stop all replicas, because their content may be old."""
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("an unexpected error in log %d", self.log, exc_info=error)
            self.stop_for_good(StoreError(f"an unexpected error: {type(error).__name__}"))

    def stop_for_good(self, error: StoreError) -> None:
        """Stop all replicas: the entries that they have to apply cannot be read."""
        for replica in self.replicas:
            replica.stop_for_good(error)

    async def _follow(self) -> None:
        self._moved_s = time.monotonic()
        epoch = await self._broker.epoch(self.log)
        self._moved_s = time.monotonic()
        for replica in self.replicas:
            replica.begin(epoch)
        self._reading = [replica for replica in self.replicas if not replica.is_broken]
        if not self._reading:
            return
        first = min(replica.applied for replica in self._reading)
        began = time.perf_counter()
        async for position, entry in self._broker.read(self.log, first, self._ends_reading):
            if self._ends_reading.is_set():  # a replica that has just come may lack what is before this entry
                return
            self._moved_s, self._patience_s = time.monotonic(), EXPECTED_S
            self._apply(position, entry)
            if time.perf_counter() - began > APPLY_S:
                await asyncio.sleep(0)
                began = time.perf_counter()

    def _apply(self, position: int, entry: bytes) -> None:
        """Apply an entry in each replica that lacks it. Raises StoreError; the remaining replicas then do not apply
        it; after StoreFull, all that lack it know that they are held up.
        """
        batch = unpack_entry(entry)
        try:
            for replica in self._reading:
                if replica.applied < position and not replica.is_broken:
                    replica.take(position, batch)
        except StoreFull as error:
            for replica in self._reading:
                if replica.applied < position:
                    replica.held_up = str(error)
            raise
