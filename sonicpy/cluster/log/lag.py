"""The lag of a node's replicas behind their logs, and the silence of the brokers.

A replica has its own position, but only the brokers can report the end of a log. So the end is requested every few
seconds, log by log. Each answer is a sample: the end of the log at a time. A replica lags until it has applied the end
of its oldest sample.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

from sonicpy.cluster.log.broker import Epoch, LogGone, LogKeeper, Unacknowledged
from sonicpy.server.watching.unexpected import Unexpected

logger = logging.getLogger(__name__)

LOOK_S = 3.0
"""The pause in seconds between two requests for the state of a log."""
LOOKS_PER_SECOND_MAX = 20
"""The most requests per second: a node with very many logs requests the state of each less often."""
LAG_MAX_S = 10.0
"""The lag of a replica in seconds above which its node is not ready."""
SILENCE_MAX_S = 10.0
"""The silence of the brokers in seconds above which the node is not ready."""
LOOKS_KEPT = 2_000


class Follower(Protocol):
    """The part of a replica by which its lag is measured."""

    applied: int
    fault: str | None


class Lag:
    """The lag of a node's replicas, from requests for the states of their logs.

    Args:
        replicas: partition -> its replica; it may change at any time.
        log_of: returns the number of the log that holds a partition.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        broker: LogKeeper,
        replicas: Mapping[int, Follower],
        log_of: Callable[[int], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._broker = broker
        self._replicas = replicas
        self._log_of = log_of
        self._clock = clock
        self._heard_s = clock()
        self._silent_since_s: dict[int, float] = {}
        self._looks: dict[int, deque[tuple[float, int]]] = {}
        self._epochs: dict[int, Epoch] = {}

    async def run(self) -> None:
        """Request the states of the logs until cancelled."""
        unexpected = Unexpected(logger, "while the states of the logs were requested")
        while True:
            logs = sorted(self._logs())
            self._silent_since_s = {log: since_s for log, since_s in self._silent_since_s.items() if log in logs}
            for log in logs:
                try:
                    await self.look(log)
                except Exception as error:  # noqa: BLE001 - the silence of later requests has to be noticed, too
                    unexpected.log(error)
                await asyncio.sleep(max(LOOK_S / len(logs), 1 / LOOKS_PER_SECOND_MAX))

    async def look(self, log: int) -> None:
        """Request the end of a log from the brokers."""
        asked_s = self._clock()
        try:
            epoch = await self._broker.epoch(log)
        except Unacknowledged:
            self._silent_since_s.setdefault(log, asked_s)
            return
        except LogGone:  # the replica reports it
            self._note_answer(log)
            return
        self._note_answer(log)
        for partition in self._replicas:
            if self._log_of(partition) == log:
                self._note(partition, epoch)

    def _note_answer(self, log: int) -> None:
        self._heard_s = self._clock()
        self._silent_since_s.pop(log, None)

    def _logs(self) -> set[int]:
        """Return the logs of the replicas. For a node without replicas, return one log, to check that brokers
        answer.
        """
        return {self._log_of(partition) for partition in self._replicas} or {0}

    def _note(self, partition: int, epoch: Epoch) -> None:
        before, self._epochs[partition] = self._epochs.get(partition, epoch), epoch
        looks = self._looks.setdefault(partition, deque())
        if epoch.name != before.name or epoch.last < before.last:  # positions of a log that is lost mean nothing here
            looks.clear()
        if len(looks) < LOOKS_KEPT:
            looks.append((self._heard_s, epoch.last))

    def behind_s(self, partition: int) -> float:
        """Return the lag of the replica of a partition in seconds; 0.0: it has applied its log up to the last known
        end."""
        looks = self._looks.get(partition)
        applied = self._replicas[partition].applied
        while looks and looks[0][1] <= applied:
            looks.popleft()
        return self._clock() - looks[0][0] if looks else 0.0

    def behind(self, partition: int) -> int:
        """Return the number of entries that the replica of a partition lacks, up to the last known end of its log."""
        epoch = self._epochs.get(partition)
        return 0 if epoch is None else max(0, epoch.last - self._replicas[partition].applied)

    def entries(self, partition: int) -> int:
        """Return the number of entries in the log of a partition."""
        epoch = self._epochs.get(partition)
        return 0 if epoch is None else epoch.last - epoch.first + 1

    @property
    def silence_s(self) -> float:
        """The time in seconds since a broker last answered; some seconds are usual."""
        return self._clock() - self._heard_s

    @property
    def longest_silence_s(self) -> float:
        """The longest silence of a log in seconds; 0.0: all logs answered their last request. Silence begins with the
        first request without an answer, because requests for many logs are rare.
        """
        logs = self._logs()
        since_s = [since_s for log, since_s in self._silent_since_s.items() if log in logs]
        return self._clock() - min(since_s) if since_s else 0.0

    def trouble(self, *, to_search: bool) -> str | None:
        """Return the reason why clients should prefer another node, as a sentence; None: there is no reason.

        Args:
            to_search: for clients that only search: without brokers, a node still answers queries.
        """
        for number, replica in sorted(self._replicas.items()):
            if replica.fault is not None:
                return f"partition {number} does not answer here: {replica.fault}"
            if (behind_s := self.behind_s(number)) > LAG_MAX_S:
                return f"partition {number} is {self.behind(number)} entries behind its log, for {behind_s:.0f} s"
        if not to_search and self.silence_s > SILENCE_MAX_S:
            return f"no broker has answered for {self.silence_s:.0f} s: changes are not acknowledged"
        return None
