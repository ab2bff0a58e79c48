"""What all connections share: the index, the counters, and when changes are sealed, synced and committed.

Everything here runs on the loop's thread, which owns the one write transaction; only waiting for the disk leaves it.
Commits happen between turns, so the environment never holds what the log does not.
"""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from sonicpy.channel import replies
from sonicpy.channel.commands import Command, Info, Stats, Trigger, Verify
from sonicpy.channel.session import Session
from sonicpy.config import Config
from sonicpy.errors import GraphError, ShuttingDown, SonicError, StoreError
from sonicpy.index.index import Index
from sonicpy.index.maintenance.consolidate import Built, build_in_worker
from sonicpy.index.maintenance.verify import check_backup, verify_folder
from sonicpy.server.passwords import WrongPasswords
from sonicpy.server.rejected import RejectedConnection
from sonicpy.server.statistics import Statistics
from sonicpy.server.workers import Workers

logger = logging.getLogger(__name__)

COMMIT_CHANGES = 256
"""Changes after which a commit is due. Larger ones cost less a change, but each page that a commit changes stands in
the file three times: the page before, the page after, and one that is free until the next commit."""
COMMIT_CHANGES_SYNCED = 512
"""The same with durability = "commit", where a commit waits for the disk."""
FLUSH_ROWS_CHANGES = 64
"""After so many changes, while connections take turns, the rows of words that wait for the commit are written: what the
others wait for at a time is shorter. Turn by turn it would cost more than the waits are worth."""
COMMIT_AFTER_S = 0.05
COMMIT_AFTER_SYNCED_S = 1.0
"""With durability = "commit" the log alone keeps what was acknowledged."""
SWEEP_ROWS = 200
"""Rows of flushed buckets deleted between two turns: about 0.2 ms."""
SWEEPS_PER_COMMIT = 50
ROUND_S = 0.005
"""Turns that were put off are carried out for so long, then the loop looks for what else has arrived."""
READ_BYTES = 1 << 15
"""What is read from a connection at once: some hundred commands. The rest waits in the system's buffers."""
FAULTS_TOLD = 100
"""VERIFY tells of so many, and how many more there are."""
BUCKETS_PER_JOB = 50
"""Graphs built by one job of a worker, and made valid by one commit."""


class Peer(Protocol):
    """A connection, as the service sees it."""

    session: Session

    def shut_down(self, longest_s: float) -> None: ...
    def abort(self) -> None: ...


class Service:
    """The index and who uses it.

    Args:
        index: opened with autocommit=False on the loop's thread.
    """

    def __init__(self, index: Index, config: Config) -> None:
        self.index = index
        self.config = config
        self.statistics = Statistics()
        self.peers: set[Peer] = set()
        self.unready: str | None = "the server is starting"
        """Why new clients should not come, as a sentence; None: they may."""
        self.turned_away: set[RejectedConnection] = set()
        self.wrong_passwords = WrongPasswords()
        self.read_buffer = memoryview(bytearray(READ_BYTES))
        """One for all: what was read is taken out before anything else is."""
        self.idle_timeout_s = float(config.channel.tcp_timeout)
        self.slow_command_s = config.server.slow_command_ms / 1000 or math.inf
        self._loop = asyncio.get_running_loop()
        self._turns: deque[Callable[[], None]] = deque()
        self._has_round = False
        self._spent_s = 0.0
        self._syncs_before_reply = config.store.kv.durability == "commit"
        self._commit_changes = COMMIT_CHANGES_SYNCED if self._syncs_before_reply else COMMIT_CHANGES
        self._log_sync: asyncio.Future[None] | None = None
        self._commit_timer: asyncio.TimerHandle | None = None
        self._last_peer: Peer | None = None  # who had the last turn with changes since the last commit
        self._is_shared = False  # whether others had turns meanwhile
        self._flushed_changes = 0  # of the changes since the last commit, those whose rows of words are written
        self._consolidating = asyncio.Lock()
        self._restoring = asyncio.Lock()
        self._verifying = asyncio.Lock()
        self._stopping = False
        self._warned_of_size = False
        self.workers = Workers()
        self._verifiers = Workers()
        """Their own, because consolidations should not wait for them."""

    # -- connections ---------------------------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        """Whether there are as many connections as the settings allow."""
        return 0 < self.config.channel.max_connections <= len(self.peers)

    def connected(self, peer: Peer) -> None:
        """Note a new connection."""
        self.peers.add(peer)
        self.statistics.connections += 1

    def disconnected(self, peer: Peer) -> None:
        """Note that a connection is gone."""
        self.peers.discard(peer)
        self.statistics.closed(peer.session.lines_handled)

    @property
    def is_crowded(self) -> bool:
        """Whether what has just arrived has taken so long already that others should not wait for whole turns."""
        return self._spent_s > ROUND_S

    def spent(self, seconds: float) -> None:
        """Note how long a turn took that was not put off."""
        if self._spent_s <= ROUND_S < self._spent_s + seconds:
            self._loop.call_soon(self._forget_spent)  # called before the loop looks for what has arrived again
        self._spent_s += seconds

    def _forget_spent(self) -> None:
        self._spent_s = 0.0

    def enqueue_turn(self, turn: Callable[[], None]) -> None:
        """Carry out a turn behind those of others: however many are busy, who is not waits for one round at most."""
        self._turns.append(turn)
        if not self._has_round:
            self._has_round = True
            self._loop.call_soon(self._take_turns)

    def _take_turns(self) -> None:
        deadline = time.perf_counter() + ROUND_S
        try:
            while self._turns and time.perf_counter() < deadline:
                self._turns.popleft()()
        finally:
            self._has_round = bool(self._turns)
            if self._has_round:
                self._loop.call_soon(self._take_turns)

    # -- keeping promises ----------------------------------------------------------------------------------------

    def seal(self, peer: Peer) -> asyncio.Future[None] | None:
        """Put the changes of a turn into the log and see to their commit.

        Returns:
            None: they may be acknowledged; else what to wait for first.

        Raises:
            StoreError: they are undone.
        """
        self.index.maintainer.seal()
        if peer is not self._last_peer:
            self._is_shared = self._last_peer is not None
            self._last_peer = peer
        synced = self._wait_for_log() if self._syncs_before_reply else None
        if self.index.maintainer.uncommitted >= self._commit_changes:
            self.commit()
            return synced
        if self._is_shared and self.index.maintainer.uncommitted - self._flushed_changes >= FLUSH_ROWS_CHANGES:
            self._flush_term_rows()
        if self._commit_timer is None:
            delay = COMMIT_AFTER_SYNCED_S if self._syncs_before_reply else COMMIT_AFTER_S
            self._commit_timer = self._loop.call_later(delay, self.commit)
        return synced

    def note_reading(self) -> None:
        """Note a turn without changes: between those of others it is not to wait long for a commit."""
        if self._last_peer is not None:
            self._is_shared = True

    def commit(self) -> bool:
        """Commit what is uncommitted; return whether it passed. A failure is logged, and tried again later."""
        if self._commit_timer is not None:
            self._commit_timer.cancel()
            self._commit_timer = None
        self._last_peer = None
        self._is_shared = False
        self._flushed_changes = 0
        try:
            self.index.maintainer.commit()
        except StoreError as trouble:
            logger.error("%s", trouble)
            return False
        return True

    def _flush_term_rows(self) -> None:
        """Write some of what a commit would have to write, while others wait for a turn of theirs."""
        self._flushed_changes = self.index.maintainer.uncommitted
        try:
            self.index.maintainer.flush_term_rows()
        except StoreError as trouble:  # everything sealed was carried out again, or will be by the next commit
            logger.error("%s", trouble)

    def _wait_for_log(self) -> "asyncio.Future[None]":
        """Return a future that ends once a sync of the log that begins from now on has passed; all share one."""
        if self._log_sync is None:
            self._log_sync = self._loop.create_future()
            self._loop.create_task(self._sync_log())
        return self._log_sync

    async def _sync_log(self) -> None:
        # Let the other connections' turns of this pass seal first; whoever comes later waits for the next sync.
        await asyncio.sleep(0)
        done, self._log_sync = self._log_sync, None
        assert done is not None
        try:
            await self._loop.run_in_executor(None, self.index.maintainer.sync_log)
        except BaseException as trouble:  # whatever it is, nobody shall wait for ever
            done.set_exception(trouble)
            if not isinstance(trouble, StoreError):
                raise
        else:
            done.set_result(None)

    # -- what takes longer than a turn ---------------------------------------------------------------------------

    async def execute(self, command: Command) -> bytes:
        """Carry out INFO, STATS, VERIFY or TRIGGER and return the reply.

        Raises:
            CommandError: a name is not valid.
            StoreError: it did not work.
        """
        match command:
            case Info():
                return replies.info(
                    self.statistics.figures(
                        connections=len(self.peers),
                        lines_of_open=sum(peer.session.lines_handled for peer in self.peers),
                        open_scopes=self.index.maintainer.open_scopes(),
                        open_graphs=self.index.maintainer.open_graphs(),
                        pending_graphs=self.index.maintainer.pending_buckets(),
                    )
                )
            case Stats(collection, bucket):
                self.commit()  # if it fails, the commit before is told of
                figures = await self._loop.run_in_executor(None, self.index.stats, collection, bucket)
                return replies.json_result(figures)
            case Verify():
                return replies.json_result(await self.verify())
            case Trigger(action="consolidate"):
                await self.consolidate()
                return replies.OK
            case Trigger(action="backup", argument=str(folder)):
                await self.backup(Path(folder))
                return replies.OK
            case Trigger(action="restore", argument=str(folder)):
                await self.restore(Path(folder))
                return replies.OK
        raise AssertionError(f"{command} is carried out in a turn")

    async def backup(self, folder: Path) -> None:
        """Write everything that was acknowledged so far into a folder, while others go on reading and writing.

        Raises:
            StoreError: it could not be written; a backup that was there still is.
        """
        if not self.commit():
            raise StoreError(f"no backup is written to {folder} before the store can be written again")
        path = await self._loop.run_in_executor(None, self.index.maintainer.backup_committed, folder)
        logger.info("the backup %s is written", path)

    async def verify(self) -> list[str]:
        """Return what is wrong with the last commit, as sentences, while others go on; one after the other.

        Raises:
            SonicError: it cannot be read, or the server stops.
        """
        async with self._verifying:
            if self._stopping:
                raise ShuttingDown
            if not self.commit():
                raise StoreError("nothing is verified before the store can be written again")
            # In a process of its own, because checking takes the GIL for seconds.
            faults = await self._verifiers.run(verify_folder, self.index.maintainer.folder)
        if len(faults) > FAULTS_TOLD:
            return [*faults[:FAULTS_TOLD], f"and {len(faults) - FAULTS_TOLD} faults more: run sonicpy verify"]
        return faults

    async def restore(self, folder: Path) -> None:
        """Replace the collections that the backup in a folder holds; until that moment the old ones answer.

        Raises:
            SonicError: the backup has faults, or the store cannot be written; nothing was replaced.
        """
        async with self._restoring:
            if self._stopping:
                raise ShuttingDown
            # In a process of its own, because checking takes the GIL for seconds.
            await self.workers.run(check_backup, folder, self.index.maintainer.analyser())
            with self.index.maintainer.restoration(folder) as restoration:
                for _ in restoration.fill():
                    await asyncio.sleep(0)
                    if self._stopping:
                        raise StoreError(f"the backup in {folder} is not restored: the server stops")
                await self.consolidate(restoration.staged_buckets())
                restoration.switch()
        logger.info("the collections of the backup in %s are restored", folder)

    async def stop(self) -> None:
        """Give up what takes long, and wait until it has ended."""
        self._stopping = True
        self.workers.stop()
        self._verifiers.stop()
        async with self._restoring, self._verifying:
            pass

    async def consolidate(self, buckets: list[int] | None = None) -> None:
        """Build the graphs of some buckets, or of all that have pending words now; other work goes on meanwhile.

        Raises:
            SonicError: a graph could not be built; its words stay pending.
        """
        async with self._consolidating:
            if not self.commit():
                raise StoreError("words cannot be consolidated before the store can be written again")
            faults: list[GraphError] = []
            began = time.monotonic()
            for some in batched(self.index.maintainer.due_buckets() if buckets is None else buckets):
                graphs, failed = await self._build(some)
                faults += failed
                for built in self.index.maintainer.publish_graphs(graphs):
                    await self._prune_pending(built)
                self._warn_of_size(graphs)
            self.commit()  # what was tidied: until the next change came, all reads would go through its transaction
            self.statistics.consolidated(time.monotonic() - began)
            if faults:
                raise faults[0]

    async def _build(self, buckets: list[int]) -> tuple[list[Built], list[GraphError]]:
        """Build graphs, small ones here, the others in a worker process; return them, and why others failed."""
        graphs: list[Built] = []
        faults: list[GraphError] = []
        large = []
        for bucket in buckets:
            if not self.index.maintainer.is_small(bucket):
                large.append(bucket)
                continue
            try:
                built = self.index.maintainer.build_graph(bucket)
            except GraphError as error:
                faults.append(error)
            else:
                graphs += [built] if built is not None else []
            await asyncio.sleep(0)
        if large:
            store, map_bytes = str(self.index.maintainer.folder), self.config.store.kv.map_size_mb << 20
            more, failed = await self.workers.run(
                build_in_worker, store, map_bytes, large, self.index.maintainer.graph_limits
            )
            graphs += more
            faults += failed
        return graphs, faults

    async def _prune_pending(self, built: Built) -> None:
        start: bytes | None = b""
        while start is not None:
            start = self.index.maintainer.prune_pending(built, start)
            await asyncio.sleep(0)

    def _warn_of_size(self, graphs: list[Built]) -> None:
        """Say once that a lexicon is larger than the settings want: compat mode cut it, the default mode did not."""
        limit = self.config.store.fst.graph.max_words
        for built in graphs:
            if not self._warned_of_size and (built.is_cut or (limit and built.words > limit)):
                self._warned_of_size = True
                logger.warning(
                    "a bucket has %d words%s; store.fst.graph.max_words is %d and max_size %d KiB",
                    built.words,
                    " in its graph, those late in the alphabet are left out" if built.is_cut else "",
                    limit,
                    self.config.store.fst.graph.max_size,
                )

    def consolidate_within(self, seconds: float) -> None:
        """Build graphs for at most so long, with nobody else to wait for; the rest stays pending."""
        deadline = time.monotonic() + seconds
        try:
            self.index.maintainer.commit()
            for bucket in self.index.maintainer.due_buckets():
                if time.monotonic() >= deadline:
                    return
                self.index.maintainer.consolidate_bucket(bucket)
        except SonicError as trouble:
            logger.error("%s", trouble)

    async def sweep(self) -> None:
        """Delete the rows of flushed buckets, a few at a time."""
        while self.index.maintainer.has_dropped:
            for _ in range(SWEEPS_PER_COMMIT):
                if not self.index.maintainer.sweep(SWEEP_ROWS):
                    break
                await asyncio.sleep(0)
            if not self.commit():
                return


def batched(buckets: list[int]) -> Iterator[list[int]]:
    """Yield the buckets in groups of BUCKETS_PER_JOB."""
    for start in range(0, len(buckets), BUCKETS_PER_JOB):
        yield buckets[start : start + BUCKETS_PER_JOB]
