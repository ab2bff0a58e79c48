"""The interface to the cluster's logs, which the brokers keep: a log holds the changes of one partition, or of several.
`jetstream.py` implements it by NATS, tests in memory. `vault.py` is for everything else that the brokers keep.

Positions of a log begin with 1 and have no gaps.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from sonicpy.errors import StoreError


class NotReady(StoreError):
    """The brokers do not answer, or not yet, as during the election of a leader. A later attempt may succeed without a
    change of settings.
    """


class Unacknowledged(NotReady):
    """The broker did not confirm an entry: append the same entry again."""


class LogGone(StoreError):
    """The log was made again, or lacks the oldest entries that a replica needs."""


class LogLost(LogGone):
    """The log lacks entries that a replica has applied."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """The state of a log.

    Attributes:
        name: differs for a log that was lost and made again.
        first: the position of the oldest entry that is kept.
        last: the position of the newest entry; 0: there is none.
    """

    name: str
    first: int
    last: int


class LogKeeper(Protocol):
    """Keeps the logs."""

    async def append(self, log: int, entry: bytes, key: str) -> int:
        """Add an entry; return its position once it is replicated and on the disks of most brokers.

        Args:
            key: identifies the entry, so that a broker can leave out duplicates.

        Raises:
            Unacknowledged: the entry may or may not have been added.
        """
        ...

    def read(self, log: int, position: int, end: asyncio.Event) -> AsyncIterator[tuple[int, bytes]]:
        """Yield the entries behind `position` with their positions, new ones as they are added.

        Reading ends after an error: then get the epoch, because the log may be another one, and read again.

        Args:
            end: reading stops when it is set.

        Raises:
            LogGone: an entry behind `position` was deleted.
            Unacknowledged: no broker answers.
        """
        ...

    async def trim(self, log: int, position: int) -> None:
        """Delete the entries up to `position`."""
        ...

    async def epoch(self, log: int) -> Epoch:
        """Return the state of a log.

        Raises:
            Unacknowledged: no broker answers.
            LogGone: there is no such log.
        """
        ...

    async def epoch_at_last(self, log: int) -> Epoch:
        """Return the state of a log, once a broker answers. Raises LogGone: there is no such log."""
        ...
