"""A broker in this process: the logs of a cluster as lists, with the faults that a test sets."""

import asyncio
from collections.abc import AsyncIterator

from sonicpy.cluster.log.broker import Epoch, LogGone, Unacknowledged


class MemoryBroker:
    """A broker that keeps logs in memory.

    Attributes:
        keys: of every entry that was appended, also of those that got no acknowledgement, in order.
        refused: the number of next appends that are refused without being stored.
        unanswered: the number of next appends that are stored without an acknowledgement.
        gate: appends wait until it is set.
        under_way, most_under_way: the numbers of concurrent appends, now and at most.
    """

    def __init__(self, logs: int = 1) -> None:
        self.logs: list[list[bytes]] = [[] for _ in range(logs)]
        self.first = [1] * logs
        self.name = "first"
        self.keys: list[str] = []
        self.refused = self.unanswered = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.under_way = self.most_under_way = 0
        self._grown = asyncio.Event()

    async def append(self, log: int, entry: bytes, key: str) -> int:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(0)
            if self.refused:
                self.refused -= 1
                raise Unacknowledged("no leader")
            await self.gate.wait()
            self.logs[log].append(entry)
            self.keys.append(key)
            self._wake_readers()
            if self.unanswered:
                self.unanswered -= 1
                raise Unacknowledged("no answer")
            return len(self.logs[log])
        finally:
            self.under_way -= 1

    async def read(self, log: int, position: int, end: asyncio.Event) -> AsyncIterator[tuple[int, bytes]]:
        wanted_end = asyncio.ensure_future(end.wait())
        wanted_end.add_done_callback(lambda _: self._wake_readers())
        try:
            while not end.is_set():
                grown = self._grown
                while position < len(self.logs[log]):
                    if position + 1 < self.first[log]:
                        raise LogGone("trimmed")
                    position += 1
                    yield position, self.logs[log][position - 1]
                await grown.wait()
        finally:
            wanted_end.cancel()

    def _wake_readers(self) -> None:
        self._grown.set()
        self._grown = asyncio.Event()

    async def trim(self, log: int, position: int) -> None:
        self.first[log] = max(self.first[log], position + 1)

    async def epoch(self, log: int) -> Epoch:
        return Epoch(self.name, self.first[log], len(self.logs[log]))
