"""Brokers in this process: logs as lists and a vault as dicts, with faults that a test can set."""

import asyncio
from collections.abc import AsyncIterator

from sonicpy.cluster.log.broker import Epoch, LogGone, NotReady, Unacknowledged
from sonicpy.cluster.log.vault import NotedValue, ValueChanged
from sonicpy.errors import StoreError


class MemoryBroker:
    """A broker that keeps logs in memory.

    Attributes:
        keys: the keys of all appended entries in order, even of those without an acknowledgement.
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

    async def epoch_at_last(self, log: int) -> Epoch:
        return await self.epoch(log)


class MemoryVault:
    """Keeps values and chunks in memory.

    Attributes:
        leaderless: how many of the next writes are refused because there is no leader.
        stale: the old values that a broker which is cut off still returns; it takes no writes. None: it is not cut off.
        before_update: values that another process writes first, each before one of the next updates.
        writes: the number of writes that were accepted.
    """

    def __init__(self) -> None:
        self.held: dict[str, NotedValue] = {}
        self.chunks: dict[str, bytes] = {}
        self.leaderless = 0
        self.stale: dict[str, NotedValue] | None = None
        self.before_update: list[int] = []
        self.writes = 0

    async def get(self, key: str) -> NotedValue | None:
        return (self.held if self.stale is None else self.stale).get(key)

    async def put(self, key: str, value: bytes) -> None:
        self._take()
        self._write(key, value)

    async def update(self, key: str, value: bytes, revision: int) -> None:
        self._take()
        if self.before_update:
            self._write(key, b"%d" % self.before_update.pop())
        if self.held.get(key, NotedValue(b"", 0)).revision != revision:
            raise ValueChanged("another value")
        self._write(key, value)

    async def put_chunk(self, name: str, chunk: bytes) -> None:
        self.chunks[name] = chunk

    async def get_chunk(self, name: str) -> bytes:
        if name not in self.chunks:
            raise StoreError(f"the part {name} of a snapshot is not there")
        return self.chunks[name]

    async def drop_chunks(self, name: str) -> None:
        self.chunks = {known: chunk for known, chunk in self.chunks.items() if not known.startswith(f"{name}.")}

    def _take(self) -> None:
        if self.leaderless:
            self.leaderless -= 1
            raise NotReady("the brokers do not answer: no leader")
        if self.stale is not None:
            raise NotReady("the brokers do not answer")

    def _write(self, key: str, value: bytes) -> None:
        self.writes += 1
        self.held[key] = NotedValue(value, self.writes)
