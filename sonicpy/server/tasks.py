"""Periodic work: commit again what failed, sweep flushed buckets, sync, consolidate, close idle graphs."""

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from sonicpy.errors import SonicError

if TYPE_CHECKING:
    from sonicpy.server.service import Service

logger = logging.getLogger(__name__)

TICK_S = 1.0


class PeriodicTasks:
    """Runs once a second, beside the connections, until it is cancelled."""

    def __init__(self, service: "Service") -> None:
        self._maintainer = service.index.maintainer
        self._config = service.config.store.fst
        self._live_words = service.config.search.live_words
        self._committer = service.committer
        self._maintenance = service.maintenance
        self._readers = service.readers
        self._pending_since_s: dict[int, float] = {}

    async def run(self) -> None:
        """Run every task once a second; the error of one does not stop the others."""
        while True:
            await asyncio.sleep(TICK_S)
            for task in (
                self._commit, self._committer.sweep, self._shorten_log, self._committer.sync, self._check_readers,
                self._consolidate_due, self._close_idle_graphs,
            ):  # fmt: skip
                try:
                    await task()
                except SonicError as error:
                    logger.error("%s", error)

    async def _commit(self) -> None:
        self._committer.commit_if_due()

    async def _check_readers(self) -> None:
        self._readers.check()

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
