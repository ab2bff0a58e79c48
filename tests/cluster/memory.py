"""A broker in this process: the logs of a cluster as lists, with the faults that a test asks for."""

import asyncio
from collections.abc import AsyncIterator

from sonicpy.cluster.broker import Epoch, LogGone, Unacknowledged


class MemoryBroker:
    """Keeps logs in memory.

    Attributes:
        keys: of every entry that was appended, also of those that got no acknowledgement, in order.
        refused: how many of the next appends are refused without being stored.
        unanswered: how many of the next appends are stored without an acknowledgement.
        gate: appends wait until it is set.
        under_way, most_under_way: appends now, and the most at the same time.
    """

    def __init__(self, partitions: int = 1) -> None:
        self.logs: list[list[bytes]] = [[] for _ in range(partitions)]
        self.first = [1] * partitions
        self.name = "first"
        self.keys: list[str] = []
        self.refused = self.unanswered = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.under_way = self.most_under_way = 0
        self._grown = asyncio.Event()

    async def append(self, partition: int, entry: bytes, key: str) -> int:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(0)
            if self.refused:
                self.refused -= 1
                raise Unacknowledged("no leader")
            await self.gate.wait()
            self.logs[partition].append(entry)
            self.keys.append(key)
            self._grown.set()
            self._grown = asyncio.Event()
            if self.unanswered:
                self.unanswered -= 1
                raise Unacknowledged("no answer")
            return len(self.logs[partition])
        finally:
            self.under_way -= 1

    async def read(self, partition: int, position: int) -> AsyncIterator[tuple[int, bytes]]:
        while True:
            grown = self._grown
            while position < len(self.logs[partition]):
                if position + 1 < self.first[partition]:
                    raise LogGone("trimmed")
                position += 1
                yield position, self.logs[partition][position - 1]
            await grown.wait()

    async def trim(self, partition: int, position: int) -> None:
        self.first[partition] = max(self.first[partition], position + 1)

    async def epoch(self, partition: int) -> Epoch:
        return Epoch(self.name, self.first[partition], len(self.logs[partition]))
