"""Work that takes longer than a turn: consolidation, backup, restore, verify. Connections are served meanwhile.

Steps on the loop's thread are short and let turns run in between; the rest runs in worker processes and threads.
"""

import asyncio
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sonicpy.config import Config
from sonicpy.errors import GraphError, ShuttingDown, SonicError, StoreError
from sonicpy.index.maintenance.consolidate import Built, build_in_worker
from sonicpy.index.maintenance.verify import check_backup, verify_folder
from sonicpy.server.statistics import Statistics
from sonicpy.server.workers import Workers

if TYPE_CHECKING:
    from sonicpy.index.maintenance.maintainer import Maintainer
    from sonicpy.server.committer import Committer

logger = logging.getLogger(__name__)

FAULTS_TOLD = 100
"""VERIFY reports at most FAULTS_TOLD faults, and how many more there are."""
BUCKETS_PER_JOB = 50
"""Graphs built by one job of a worker, and published by one commit."""


class Maintenance:
    """Runs consolidations, backups, restores and checks; of each kind but backups one at a time.

    Args:
        statistics: counts the consolidations.
    """

    def __init__(
        self, maintainer: "Maintainer", config: Config, committer: "Committer", statistics: Statistics
    ) -> None:
        self._maintainer = maintainer
        self._committer = committer
        self._statistics = statistics
        self._store_folder = maintainer.folder
        self._map_bytes = config.store.kv.map_size_mb << 20
        self._graph_settings = config.store.fst.graph
        self._consolidating = asyncio.Lock()
        self._restoring = asyncio.Lock()
        self._verifying = asyncio.Lock()
        self._stopping = False
        self._warned_of_size = False
        self._workers = Workers()
        self._verifiers = Workers()
        """Their own process: a consolidation must not wait until a check has ended."""

    async def consolidate(self, buckets: list[int] | None = None) -> None:
        """Build the graphs of some buckets; None: of all that have pending words now.

        Raises:
            SonicError: a graph could not be built; its words stay pending.
        """
        async with self._consolidating:
            if not self._committer.commit():
                raise StoreError("words cannot be consolidated before the store can be written again")
            errors: list[GraphError] = []
            began = time.monotonic()
            for batch in batches(self._maintainer.due_buckets() if buckets is None else buckets):
                graphs, failed = await self._build(batch)
                errors += failed
                for built in self._maintainer.publish_graphs(graphs):
                    await self._prune_pending(built)
                self._warn_of_size(graphs)
            # Commit what was pruned: until then, all reads would go through the write transaction.
            self._committer.commit()
            self._statistics.note_consolidation(time.monotonic() - began)
            if errors:
                raise errors[0]

    def consolidate_within(self, seconds: float) -> None:
        """Build graphs for at most `seconds`, without letting turns run; other words stay pending."""
        deadline = time.monotonic() + seconds
        try:
            self._maintainer.commit()
            for bucket in self._maintainer.due_buckets():
                if time.monotonic() >= deadline:
                    return
                self._maintainer.consolidate_bucket(bucket)
        except SonicError as error:
            logger.error("%s", error)

    async def backup(self, folder: Path) -> None:
        """Write a backup that holds everything acknowledged so far.

        Raises:
            StoreError: the backup could not be written; an earlier one in the folder is unchanged.
        """
        if not self._committer.commit():
            raise StoreError(f"no backup is written to {folder} before the store can be written again")
        path = await asyncio.get_running_loop().run_in_executor(None, self._maintainer.backup_committed, folder)
        logger.info("the backup %s is written", path)

    async def restore(self, folder: Path) -> None:
        """Replace the collections that the backup in a folder holds; until they are replaced, the old ones answer.

        Raises:
            SonicError: the backup has faults, or the store cannot be written; nothing was replaced.
        """
        async with self._restoring:
            if self._stopping:
                raise ShuttingDown
            # In a process of its own, because checking takes the GIL for seconds.
            await self._workers.run(check_backup, folder, self._maintainer.analyser())
            with self._maintainer.restoration(folder) as restoration:
                for _ in restoration.fill():
                    await asyncio.sleep(0)
                    if self._stopping:
                        raise StoreError(f"the backup in {folder} is not restored: the server stops")
                await self.consolidate(restoration.staged_buckets())
                restoration.switch()
                await self._committer.sync()  # the log does not hold it
        logger.info("the collections of the backup in %s are restored", folder)

    async def verify(self) -> list[str]:
        """Return the faults of the last commit, one sentence each.

        Raises:
            SonicError: the store cannot be read, or the server stops.
        """
        async with self._verifying:
            if self._stopping:
                raise ShuttingDown
            if not self._committer.commit():
                raise StoreError("nothing is verified before the store can be written again")
            # In a process of its own, because checking takes the GIL for seconds.
            faults = await self._verifiers.run(verify_folder, self._store_folder)
        if len(faults) > FAULTS_TOLD:
            return [*faults[:FAULTS_TOLD], f"and {len(faults) - FAULTS_TOLD} faults more: run sonicpy verify"]
        return faults

    async def stop(self) -> None:
        """Give up what runs, and wait until it has ended."""
        self._stopping = True
        self._workers.stop()
        self._verifiers.stop()
        async with self._restoring, self._verifying:
            pass

    async def _build(self, buckets: list[int]) -> tuple[list[Built], list[GraphError]]:
        """Build small graphs here and large ones in a worker process; return them, and the errors of the others."""
        graphs: list[Built] = []
        errors: list[GraphError] = []
        large = []
        for bucket in buckets:
            if not self._maintainer.is_small(bucket):
                large.append(bucket)
                continue
            try:
                built = self._maintainer.build_graph(bucket)
            except GraphError as error:
                errors.append(error)
            else:
                graphs += [built] if built is not None else []
            await asyncio.sleep(0)
        if large:
            more, failed = await self._workers.run(
                build_in_worker, str(self._store_folder), self._map_bytes, large, self._maintainer.graph_limits
            )
            graphs += more
            errors += failed
        return graphs, errors

    async def _prune_pending(self, built: Built) -> None:
        start: bytes | None = b""
        while start is not None:
            start = self._maintainer.prune_pending(built, start)
            await asyncio.sleep(0)

    def _warn_of_size(self, graphs: list[Built]) -> None:
        """Warn once that a lexicon exceeds the settings: compat mode cut its graph, the default mode did not."""
        limit = self._graph_settings.max_words
        for built in graphs:
            if not self._warned_of_size and (built.is_cut or (limit and built.words > limit)):
                self._warned_of_size = True
                logger.warning(
                    "a bucket has %d words%s; store.fst.graph.max_words is %d and max_size %d KiB",
                    built.words,
                    " in its graph, those late in the alphabet are left out" if built.is_cut else "",
                    limit,
                    self._graph_settings.max_size,
                )


def batches(buckets: list[int]) -> Iterator[list[int]]:
    """Yield the buckets in groups of BUCKETS_PER_JOB."""
    for start in range(0, len(buckets), BUCKETS_PER_JOB):
        yield buckets[start : start + BUCKETS_PER_JOB]
