"""Periodic work: wait for the disk, sweep flushed buckets, consolidate, try again what failed."""

import asyncio
import logging
import time

from sonicpy.errors import StoreError
from sonicpy.server.service import Service

logger = logging.getLogger(__name__)

TICK_S = 1.0


class Tasker:
    """Runs once a second, beside the connections, until it is cancelled."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pending_since_s: float | None = None

    async def run(self) -> None:
        """Tick for ever."""
        while True:
            await asyncio.sleep(TICK_S)
            try:
                await self._tick()
            except StoreError as trouble:
                logger.error("%s", trouble)

    async def _tick(self) -> None:
        service = self._service
        if service.index.uncommitted or service.index.refusing:
            service.commit()
        await service.sweep()
        await asyncio.get_running_loop().run_in_executor(None, service.index.sync)
        await self._consolidate_when_due()

    async def _consolidate_when_due(self) -> None:
        """Consolidate once words have been pending for `consolidate_after`."""
        if not self._service.index.pending_buckets():
            self._pending_since_s = None
            return
        now = time.monotonic()
        if self._pending_since_s is None:
            self._pending_since_s = now
        if now - self._pending_since_s >= self._service.config.store.fst.graph.consolidate_after:
            self._pending_since_s = None
            await self._service.consolidate()
