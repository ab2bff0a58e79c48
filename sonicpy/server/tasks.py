"""Periodic work: commit again what failed, sweep flushed buckets, sync, consolidate, close idle graphs."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from sonicpy.config import Config
from sonicpy.errors import SonicError

if TYPE_CHECKING:
    from sonicpy.index.index import Index
    from sonicpy.server.committer import Committer
    from sonicpy.server.maintenance import Maintenance

logger = logging.getLogger(__name__)

TICK_S = 1.0


class Maintained(Protocol):
    """What is kept fast and safe: a Service, or a replica of a cluster's node."""

    @property
    def index(self) -> "Index": ...
    @property
    def config(self) -> Config: ...
    @property
    def committer(self) -> "Committer": ...
    @property
    def maintenance(self) -> "Maintenance": ...


class PeriodicTasks:
    """Runs once a second, beside the connections, until it is cancelled."""

    def __init__(self, service: Maintained) -> None:
        self._maintainer = service.index.maintainer
        self._config = service.config.store.fst
        self._live_words = service.config.search.live_words
        self._committer = service.committer
        self._maintenance = service.maintenance
        self._pending_since_s: dict[int, float] = {}

    async def run(self) -> None:
        """Run every task once a second; the error of one does not stop the others."""
        while True:
            await asyncio.sleep(TICK_S)
            for task in self._due():
                try:
                    await task()
                except SonicError as error:
                    logger.error("%s", error)

    def _due(self) -> list[Callable[[], Awaitable[None]]]:
        """Return what is to be done now."""
        return [
            self._commit, self._committer.sweep, self._shorten_log, self._committer.sync, self._consolidate_due,
            self._close_idle_graphs,
        ]  # fmt: skip

    async def _commit(self) -> None:
        self._committer.commit_if_due()

    async def _shorten_log(self) -> None:
        self._committer.shorten_log()

    async def _consolidate_due(self) -> None:
        """Consolidate the buckets whose graph is damaged or whose pending words are old enough or too many."""
        now = time.monotonic()
        buckets = self._maintainer.due_buckets()
        self._pending_since_s = {bucket: self._pending_since_s.get(bucket, now) for bucket in buckets}
        due = [bucket for bucket in buckets if self._is_due(bucket, now)]
        if due:
            await self._maintenance.consolidate(due)
            for bucket in due:
                self._pending_since_s.pop(bucket, None)

    def _is_due(self, bucket: int, now: float) -> bool:
        return (
            now - self._pending_since_s[bucket] >= self._config.graph.consolidate_after
            or self._maintainer.is_broken(bucket)
            or (self._live_words and self._maintainer.needs_consolidation(bucket))
        )

    async def _close_idle_graphs(self) -> None:
        self._maintainer.close_idle_graphs(self._config.pool.inactive_after)
