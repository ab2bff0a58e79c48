"""Periodic work: repeat failed commits, sync, watch readers; meanwhile sweep flushed buckets, consolidate, close idle
graphs, fill pages.
"""

import asyncio
import logging
import time
from bisect import bisect_right
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from sonicpy.config import Config
from sonicpy.errors import SonicError, StoreDamaged
from sonicpy.server.jobs.maintenance import batches
from sonicpy.server.watching.unexpected import Unexpected

if TYPE_CHECKING:
    from sonicpy.index.index import Index
    from sonicpy.server.jobs.committer import Committer
    from sonicpy.server.jobs.maintenance import Maintenance
    from sonicpy.server.jobs.readers import ReaderWatch

logger = logging.getLogger(__name__)

TICK_S = 1.0
BUCKETS_BETWEEN_TURNS = 2_000
"""The most buckets whose age is compared between two turns: about 1 ms."""
PACK_AFTER_S = 5.0
"""The time in seconds without a change after which half-empty pages are filled, once."""
LOOKED_AT = 1_000
"""The most buckets whose pending words are counted each second."""
LOOKED_AT_BETWEEN_TURNS = 100
"""The most buckets whose pending words are counted between two turns: about 1 ms."""


class Maintained(Protocol):
    """A store to keep fast and safe: a Service, or a replica of a cluster's node."""

    @property
    def index(self) -> "Index": ...
    @property
    def config(self) -> Config: ...
    @property
    def committer(self) -> "Committer": ...
    @property
    def maintenance(self) -> "Maintenance": ...
    @property
    def readers(self) -> "ReaderWatch": ...


class PeriodicTasks:
    """The periodic tasks of a store: they run once a second, beside the connections, until they are cancelled."""

    def __init__(self, service: Maintained) -> None:
        self._maintainer = service.index.maintainer
        self._engine = service.index.engine
        self._config = service.config.store.fst
        self._live_words = service.config.search.live_words
        self._committer = service.committer
        self._maintenance = service.maintenance
        self._readers = service.readers
        self._pending_since_s: dict[int, float] = {}
        self._last_commit = -1
        self._changed_s = 0.0
        self._is_packed = False
        self._unexpected = Unexpected(logger, "of the periodic work")
        self._looked_at = -1  # the last bucket whose pending words were counted

    async def run(self) -> None:
        """Run every task once a second; the error of one does not stop the others, and long tasks do not delay short
        ones. After a cancellation no task runs any more.
        """
        running = [asyncio.create_task(self._repeat(due)) for due in (self._due_in_time, self._due)]
        try:
            await asyncio.gather(*running)
        finally:
            for each in running:
                each.cancel()
            await asyncio.wait(running)  # gather ends with the first

    async def _repeat(self, due: Callable[[], list[Callable[[], Awaitable[None]]]]) -> None:
        """Run the tasks that a function returns, one after the other, once a second."""
        while True:
            await asyncio.sleep(TICK_S)
            for task in due():
                try:
                    await task()
                except SonicError as error:
                    logger.error("%s", error)
                except Exception as error:  # noqa: BLE001 - commits and syncs go on after a fault of another task
                    self._unexpected.log(error)

    def _due_in_time(self) -> list[Callable[[], Awaitable[None]]]:
        """Return the short tasks that are due now and must not wait for the tasks of `_due`."""
        return []

    def _due(self) -> list[Callable[[], Awaitable[None]]]:
        """Return the other tasks that are due now; some take very long."""
        return [self._committer.sweep, self._consolidate_due, self._close_idle_graphs, self._pack_at_rest]

    async def _check_readers(self) -> None:
        self._readers.check()

    async def _consolidate_due(self) -> None:
        """Consolidate the buckets with a damaged graph, or with pending words that are old or many."""
        due = await self._due_buckets()
        if due:
            try:
                await self._maintenance.consolidate(due)
            except StoreDamaged:  # the others were built; damaged rows are not read again each second
                self._forget_ages(due)
                raise
            self._forget_ages(due)

    def _forget_ages(self, buckets: list[int]) -> None:
        for bucket in buckets:
            self._pending_since_s.pop(bucket, None)

    async def _due_buckets(self) -> list[int]:
        """Return the buckets to consolidate now; as there may be very many, other tasks of the loop run meanwhile."""
        now, before = time.monotonic(), self._pending_since_s
        due: list[int] = []
        self._pending_since_s = {}
        for buckets in batches(self._maintainer.due_buckets(), BUCKETS_BETWEEN_TURNS):
            since_s = {bucket: before.get(bucket, now) for bucket in buckets}
            self._pending_since_s.update(since_s)
            oldest_s = now - self._config.graph.consolidate_after
            due += [bucket for bucket, began in since_s.items() if began <= oldest_s]
            await asyncio.sleep(0)
        due += sorted(self._engine.graphs.unusable.difference(due))
        if self._live_words:
            due += await self._backlogged(set(due))
        return due

    async def _backlogged(self, known: set[int]) -> list[int]:
        """Return the buckets with very many pending words among the next LOOKED_AT buckets, without those in `known`;
        each call continues where the one before ended."""
        pending = list(self._pending_since_s)
        first = bisect_right(pending, self._looked_at)
        looked_at = [bucket for bucket in (pending[first:] + pending[:first])[:LOOKED_AT] if bucket not in known]
        found: list[int] = []
        for buckets in batches(looked_at, LOOKED_AT_BETWEEN_TURNS):
            self._looked_at = buckets[-1]
            found += filter(self._maintainer.needs_consolidation, buckets)
            await asyncio.sleep(0)
        return found

    async def _close_idle_graphs(self) -> None:
        self._engine.graphs.close_idle(self._config.pool.inactive_after)

    async def _pack_at_rest(self) -> None:
        """Fill half-empty pages if nothing was changed for PACK_AFTER_S."""
        now, last = time.monotonic(), self._engine.store.last_commit()
        if last != self._last_commit or self._engine.store.uncommitted:
            self._last_commit, self._changed_s, self._is_packed = last, now, False
        elif not self._is_packed and now - self._changed_s >= PACK_AFTER_S:
            await self._maintenance.pack()
            self._last_commit, self._is_packed = self._engine.store.last_commit(), True


class ServiceTasks(PeriodicTasks):
    """The periodic tasks of a server with one index."""

    def _due_in_time(self) -> list[Callable[[], Awaitable[None]]]:
        return [self._commit, self._check_readers, self._shorten_log, self._committer.sync]

    async def _commit(self) -> None:
        self._committer.commit_if_due()

    async def _shorten_log(self) -> None:
        self._committer.shorten_log()
