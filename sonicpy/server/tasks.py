"""Periodic work: wait for the disk, sweep flushed buckets, consolidate, close idle graphs, try again what failed."""

import asyncio
import logging
import time

from sonicpy.errors import SonicError
from sonicpy.server.service import Service

logger = logging.getLogger(__name__)

TICK_S = 1.0


class Tasker:
    """Runs once a second, beside the connections, until it is cancelled."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pending_since_s: dict[int, float] = {}
        self._log_position = 0

    async def run(self) -> None:
        """Tick for ever."""
        while True:
            await asyncio.sleep(TICK_S)
            for task in (
                self._commit, self._service.sweep, self._shorten_log, self._sync, self._consolidate_due,
                self._close_idle,
            ):  # fmt: skip
                try:
                    await task()
                except SonicError as trouble:
                    logger.error("%s", trouble)

    async def _commit(self) -> None:
        if self._service.index.maintainer.uncommitted or self._service.index.maintainer.refusing:
            self._service.commit()

    async def _shorten_log(self) -> None:
        """Once nothing is pushed any more, the log of what is committed can go."""
        store = self._service.index.maintainer
        if store.log_position == self._log_position:
            store.shorten_log()
        self._log_position = store.log_position

    async def _sync(self) -> None:
        done = asyncio.get_running_loop().run_in_executor(None, self._service.index.maintainer.sync)
        try:
            await asyncio.shield(done)
        except asyncio.CancelledError:
            await done  # the files are closed after this task has ended
            raise

    async def _consolidate_due(self) -> None:
        """Consolidate buckets whose words have been pending for `consolidate_after`, or are very many."""
        service, now = self._service, time.monotonic()
        buckets = service.index.maintainer.due_buckets()
        self._pending_since_s = {bucket: self._pending_since_s.get(bucket, now) for bucket in buckets}
        limit_s = service.config.store.fst.graph.consolidate_after
        due = [
            bucket
            for bucket in buckets
            if now - self._pending_since_s[bucket] >= limit_s
            or service.index.maintainer.is_broken(bucket)
            or (service.index.config.search.live_words and service.index.maintainer.needs_consolidation(bucket))
        ]
        if due:
            await service.consolidate(due)
            for bucket in due:
                self._pending_since_s.pop(bucket, None)

    async def _close_idle(self) -> None:
        self._service.index.maintainer.close_idle_graphs(self._service.config.store.fst.pool.inactive_after)
