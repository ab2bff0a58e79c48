"""Work that takes longer than a turn: consolidation, backup, restore, verify. Connections are served meanwhile.

Steps on the loop's thread are short and let turns run in between; the rest runs in worker processes and threads.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sonicpy.config import Config
from sonicpy.errors import ShuttingDown, SonicError, StoreError
from sonicpy.index.maintenance.consolidate import FAILURES, Built, Failure, build_in_worker
from sonicpy.index.maintenance.verify import check_backup, verify_store_in_child
from sonicpy.server.jobs.threads import in_thread
from sonicpy.server.jobs.workers import Workers
from sonicpy.server.process.heap import bound_heap
from sonicpy.server.watching.server_statistics import ServerStatistics

if TYPE_CHECKING:
    from sonicpy.index.maintenance.maintainer import Maintainer
    from sonicpy.server.jobs.committer import Committer

logger = logging.getLogger(__name__)

FAULTS_TOLD = 100
"""The most faults that VERIFY reports, followed by the number of further ones."""
BUCKETS_AT_A_TIME = 1_000
"""The number of graphs that are built before the first of them is published."""
BUCKETS_PER_JOB = 50
"""The number of large graphs that one job of a worker builds."""
SMALL_WORDS = 1_000
"""The most words of a graph that takes about 2 ms, so that the loop builds it between two turns."""
MEDIUM_WORDS = 20_000
"""The most words of graphs that together take about 30 ms, so that a thread builds them: starting a process takes
longer. The thread holds the GIL for about half of the time.
"""
WORDS_A_SECOND = 200_000
"""The number of words in graphs that one thread builds in a second, on a slow core."""
BUILT_HERE = 200
"""The most small graphs that the loop builds, one between two turns; a worker process builds more."""
READ_TOGETHER = 20
"""The most small buckets that a worker reads from one snapshot: about 1 ms."""
BUCKETS_PER_TURN = 100
"""The number of graphs that one commit publishes: about 3 ms."""
RANGES_PER_COMMIT = 16
"""The most ranges of half empty pages rewritten between two commits: about 1 MB."""
PRUNED_PER_TURN = 20
"""The most buckets whose pending words are deleted between two turns: about 1 ms for small buckets."""

Item = TypeVar("Item")


CUT = "the words late in the alphabet are left out of it, and are neither completed nor corrected"
LARGE = "all of them are kept, and the word graph takes more room than these settings plan for"
"""The last part of the warning of a large word graph."""


class Maintenance:
    """Runs consolidations, backups, restores and checks; one of each kind at a time, except backups.

    Args:
        statistics: counts the consolidations.
    """

    def __init__(
        self, maintainer: "Maintainer", config: Config, committer: "Committer", statistics: ServerStatistics
    ) -> None:
        self._maintainer = maintainer
        self._engine = maintainer.engine
        self._committer = committer
        self._statistics = statistics
        self._store_folder = self._engine.store.folder
        self._map_bytes = config.store.kv.map_size_mb << 20
        self._graph_settings = config.store.fst.graph
        self._consolidating = asyncio.Lock()
        self._restoring = asyncio.Lock()
        self._verifying = asyncio.Lock()
        self._stopping = False
        self._warned_of_size = False
        self._workers = Workers(config.server.worker_time_limit, first=bound_heap)
        self._verifiers = Workers(config.server.worker_time_limit)
        """The worker for checks: a consolidation must not wait until a check has ended."""
        self._thread: asyncio.Future[Built | None] | None = None
        """The thread that builds a graph, or built the last one."""

    async def consolidate(self, buckets: list[int] | None = None) -> None:
        """Build the graphs of some buckets.

        Args:
            buckets: the numbers of the buckets; None: all that are due.

        Raises:
            SonicError: a graph could not be built, so its words stay pending; or the store cannot be written.
        """
        async with self._consolidating:
            await self._thread_end()  # of a consolidation that was given up
            if not self._committer.commit():
                raise StoreError("words cannot be consolidated before the store can be written again")
            errors: list[Failure] = []
            began = time.monotonic()
            due = self._maintainer.due_buckets() if buckets is None else buckets
            async with aclosing(self._built(due)) as built:
                async for graphs, failed in built:
                    errors += failed
                    await self._publish(graphs)
                    self._warn_of_size(graphs)
            # Commit what was pruned: until then, all reads would go through the write transaction.
            self._committer.commit()
            await self._free_disk()
            self._statistics.note_consolidation(time.monotonic() - began)
            if errors:
                raise errors[0]

    async def _free_disk(self) -> None:
        """Give free pages back to the disk, if they are a large part of the file, until a change comes; an error is
        logged.
        """
        store = self._engine.store
        position = store.log_position
        try:
            if not await in_thread(store.has_much_free):
                return
            await self._committer.sync()  # the pages of the last checkpoint stay
            while not self._stopping and store.log_position == position and await in_thread(store.free_disk):
                await asyncio.sleep(0)
        except SonicError as error:  # what was done before is done
            logger.error("%s", error)

    def consolidate_within(self, seconds: float) -> None:
        """Build the graphs that fit into `seconds`, without turns in between; other words stay pending."""
        deadline = time.monotonic() + seconds
        try:
            self._engine.commit()
            for bucket in self._maintainer.due_buckets():
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return
                if self._maintainer.words_to_read(bucket) <= left_s * WORDS_A_SECOND:
                    try:
                        self._maintainer.consolidate_bucket(bucket)
                    except FAILURES as error:  # the others need not wait for this one
                        logger.error("%s", error)
        except SonicError as error:
            logger.error("%s", error)

    async def backup(self, folder: Path) -> None:
        """Write a backup of everything acknowledged so far.

        Raises:
            StoreError: the backup could not be written; an earlier one in the folder is unchanged.
        """
        if not self._committer.commit():
            raise StoreError(f"no backup is written to {folder} before the store can be written again")
        path = await in_thread(self._engine.store.backup, folder)
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
            await self._workers.run(check_backup, folder, self._engine.analyzer())
            # The checksum once more, as another backup may have replaced the checked one; hashing lets the loop run.
            size = await in_thread(self._maintainer.size_of_backup, folder)
            with self._maintainer.restoration(folder, size) as restoration:
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
            faults = await self._verifiers.run(verify_store_in_child, self._store_folder)
        if len(faults) > FAULTS_TOLD:
            return [*faults[:FAULTS_TOLD], f"and {len(faults) - FAULTS_TOLD} faults more: run sonicpy verify"]
        return faults

    async def pack(self) -> None:
        """Fill half-empty pages, a few between two turns, until a change comes.

        Raises:
            StoreError: the store cannot be read or written.
        """
        store = self._engine.store
        position = store.log_position
        ranges = await in_thread(self._maintainer.sparse_ranges)
        for number, sparse in enumerate(ranges, 1):
            if self._stopping or store.log_position != position:
                break
            self._maintainer.rewrite(sparse)
            if number % RANGES_PER_COMMIT == 0 and not self._committer.commit():
                return
            await asyncio.sleep(0)
        self._committer.commit()
        await self._free_disk()

    def worker_processes(self) -> list[int]:
        """Return the process ids of the workers that run."""
        return [*self._workers.processes(), *self._verifiers.processes()]

    def kill_worker(self, process: int, why: str) -> None:
        """Kill the worker with this process id, if there is one, and repeat its job; `why` is for the log."""
        for workers in (self._workers, self._verifiers):
            if process in workers.processes():
                workers.kill(why)

    async def stop(self) -> None:
        """Cancel the jobs under way, and wait for their end."""
        self._stopping = True
        self._workers.stop()
        self._verifiers.stop()
        async with self._restoring, self._verifying:
            pass
        await self._thread_end()

    async def _built(self, buckets: list[int]) -> AsyncGenerator[tuple[list[Built], list[Failure]], None]:
        """Yield the results of `_build` for one group of buckets after the other; the next group is built meanwhile."""
        building: asyncio.Task[tuple[list[Built], list[Failure]]] | None = None
        try:
            for batch in batches(buckets, BUCKETS_AT_A_TIME):
                built = None if building is None else await building
                building = asyncio.create_task(self._build(batch))
                if built is not None:
                    yield built
            if building is not None:
                yield await building
        finally:
            if building is not None:
                building.cancel()

    async def _build(self, buckets: list[int]) -> tuple[list[Built], list[Failure]]:
        """Build a few small graphs here, larger ones in a thread, and very many or large ones in a worker process.

        Returns:
            The graphs that were built, and the errors of the others.
        """
        small, medium, large = await self._by_size(buckets)
        jobs = [(job, 1) for job in batches(large, BUCKETS_PER_JOB)]
        if len(small) > BUILT_HERE:
            jobs.append((small, READ_TOGETHER))
            small = []
        graphs: list[Built] = []
        errors: list[Failure] = []
        for build, buckets_of_size in ((self._built_here, small), (self._built_in_thread, medium)):
            for bucket in buckets_of_size:
                try:
                    if (built := await build(bucket)) is not None:
                        graphs.append(built)
                except FAILURES as error:
                    errors.append(error)
        folder, limits, access = self._store_folder, self._maintainer.graph_limits, self._engine.access
        for job, together in jobs:
            more, failed = await self._workers.run(
                build_in_worker, folder, self._map_bytes, job, limits, together, access
            )
            graphs += more
            errors += failed
        return graphs, errors

    async def _built_here(self, bucket: int) -> Built | None:
        """Build the graph of a bucket, then let turns run; return the graph, or None if the bucket is gone."""
        try:
            return self._maintainer.build_graph(bucket)
        finally:
            await asyncio.sleep(0)

    async def _built_in_thread(self, bucket: int) -> Built | None:
        """Return the graph of a bucket, built in a thread; wait for the thread, even if the caller is cancelled. None:
        the bucket is gone.

        Raises:
            ShuttingDown: the server stops, and builds the last graphs without this thread.
        """
        if self._stopping:
            raise ShuttingDown
        thread = self._thread = in_thread(self._maintainer.build_apart, bucket)
        await asyncio.wait([thread])
        if self._stopping:
            raise ShuttingDown
        built = thread.result()
        if built is None:
            self._engine.forget_bucket(bucket, 0)
        return built

    async def _thread_end(self) -> None:
        """Wait until no thread builds a graph: two would write the same file."""
        if self._thread is not None:
            await asyncio.wait([self._thread])

    async def _by_size(self, buckets: list[int]) -> tuple[list[int], list[int], list[int]]:
        """Return the buckets for the loop, for a thread, and for a worker process."""
        small: list[int] = []
        larger: list[int] = []
        words = 0
        for group in batches(buckets, BUCKETS_PER_TURN):
            for bucket in group:
                size = self._maintainer.words_to_read(bucket)
                if size <= SMALL_WORDS:
                    small.append(bucket)
                else:
                    larger.append(bucket)
                    words += size
            await asyncio.sleep(0)
        return (small, larger, []) if words <= MEDIUM_WORDS else (small, [], larger)

    async def _publish(self, graphs: list[Built]) -> None:
        """Publish graphs of buckets, and delete the pending words that they hold."""
        for group in batches(graphs, BUCKETS_PER_TURN):
            published = self._maintainer.publish_graphs(group)
            await asyncio.sleep(0)
            for few in batches(published, PRUNED_PER_TURN):
                for built, start in self._maintainer.prune_small(few):
                    more: bytes | None = start
                    while more is not None:
                        more = self._maintainer.prune_pending(built, more)
                        await asyncio.sleep(0)
                await asyncio.sleep(0)

    def _warn_of_size(self, graphs: list[Built]) -> None:
        """Warn once that a lexicon exceeds the settings: compat mode cut its graph, the default mode did not."""
        limit = self._graph_settings.max_words
        for built in graphs:
            if not self._warned_of_size and (built.is_cut or (limit and built.words > limit)):
                self._warned_of_size = True
                logger.warning(
                    "bucket %s has %d words%s (store.fst.graph.max_words is %d, max_size %d KiB): %s",
                    "/".join(self._maintainer.scope(built.bucket) or (str(built.bucket),)),
                    built.words,
                    " in its word graph" if built.is_cut else "",
                    limit,
                    self._graph_settings.max_size,
                    CUT if built.is_cut else LARGE,
                )


def batches(items: list[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in groups of `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
