"""What all connections share: the index, the counters, and when changes are sealed, synced and committed.

Everything here runs on the loop's thread, which owns the one write transaction; only waiting for the disk leaves it.
Commits happen between turns, so the environment never holds what the log does not.
"""

import asyncio
import logging
import time
from typing import Protocol

from sonicpy.channel import replies
from sonicpy.channel.commands import Command, Info, Trigger
from sonicpy.channel.session import Session
from sonicpy.config import Config
from sonicpy.errors import StoreError
from sonicpy.index.index import Index
from sonicpy.server.statistics import Statistics

logger = logging.getLogger(__name__)

COMMIT_CHANGES = 512
"""Changes after which a commit is due while one connection is alone: a commit then costs a few us a change."""
COMMIT_CHANGES_SHARED = 48
"""The same while several connections take turns: about 0.4 ms of commit, which the others wait for."""
COMMIT_AFTER_S = 0.05
COMMIT_AFTER_SYNCED_S = 1.0
"""With durability = "commit" the log alone keeps what was acknowledged, and a commit waits for the disk."""
SWEEP_ROWS = 200
"""Rows of flushed buckets deleted between two turns: about 0.2 ms."""
SWEEPS_PER_COMMIT = 50


class Peer(Protocol):
    """A connection, as the service sees it."""

    session: Session

    def shut_down(self) -> None: ...
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
        self.idle_timeout_s = float(config.channel.tcp_timeout)
        self._loop = asyncio.get_running_loop()
        self._syncs_before_reply = config.store.kv.durability == "commit"
        self._log_sync: asyncio.Future[None] | None = None
        self._commit_timer: asyncio.TimerHandle | None = None
        self._last_peer: Peer | None = None
        self._is_shared = False
        self._consolidating = asyncio.Lock()

    # -- connections ---------------------------------------------------------------------------------------------

    def connected(self, peer: Peer) -> None:
        """Note a new connection."""
        self.peers.add(peer)

    def disconnected(self, peer: Peer) -> None:
        """Note that a connection is gone."""
        self.peers.discard(peer)
        self.statistics.closed(peer.session.lines_handled)

    # -- keeping promises ----------------------------------------------------------------------------------------

    def seal(self, peer: Peer) -> asyncio.Future[None] | None:
        """Put the changes of a turn into the log and see to their commit.

        Returns:
            None: they may be acknowledged; else what to wait for first.

        Raises:
            StoreError: they are undone.
        """
        self.index.seal()
        if peer is not self._last_peer:
            self._is_shared = self._last_peer is not None
            self._last_peer = peer
        synced = self._wait_for_log() if self._syncs_before_reply else None
        if self.index.uncommitted >= (COMMIT_CHANGES_SHARED if self._is_shared else COMMIT_CHANGES):
            self.commit()
        elif self._commit_timer is None:
            delay = COMMIT_AFTER_SYNCED_S if self._syncs_before_reply else COMMIT_AFTER_S
            self._commit_timer = self._loop.call_later(delay, self.commit)
        return synced

    def commit(self) -> bool:
        """Commit what is uncommitted; return whether it passed. A failure is logged, and tried again later."""
        if self._commit_timer is not None:
            self._commit_timer.cancel()
            self._commit_timer = None
        self._last_peer = None
        self._is_shared = False
        try:
            self.index.commit()
        except StoreError as trouble:
            logger.error("%s", trouble)
            return False
        return True

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
            await self._loop.run_in_executor(None, self.index.sync_log)
        except StoreError as trouble:
            done.set_exception(trouble)
        else:
            done.set_result(None)

    # -- what takes longer than a turn ---------------------------------------------------------------------------

    async def execute(self, command: Command) -> bytes:
        """Carry out INFO or TRIGGER and return the reply.

        Raises:
            StoreError: it did not work.
        """
        match command:
            case Info():
                return replies.info(
                    self.statistics.figures(
                        connections=len(self.peers),
                        lines_of_open=sum(peer.session.lines_handled for peer in self.peers),
                        open_scopes=self.index.open_scopes(),
                        open_graphs=0,
                        pending_graphs=self.index.pending_buckets(),
                    )
                )
            case Trigger(action="consolidate"):
                await self.consolidate()
                return replies.OK
        raise StoreError(f"TRIGGER {command} is not offered by this version")

    async def consolidate(self) -> None:
        """Fold in every word pending now, a few at a time, and commit.

        Raises:
            StoreError: it did not work; the words stay pending.
        """
        async with self._consolidating:
            run = self.index.consolidation()
            while run.step():
                await asyncio.sleep(0)
            if not self.commit():
                raise StoreError("the consolidation could not be committed")

    def consolidate_within(self, seconds: float) -> None:
        """Fold in pending words for at most so long, with nobody else to wait for."""
        deadline = time.monotonic() + seconds
        run = self.index.consolidation()
        try:
            while run.step() and time.monotonic() < deadline:
                pass
        except StoreError as trouble:
            logger.error("%s", trouble)

    async def sweep(self) -> None:
        """Delete the rows of flushed buckets, a few at a time."""
        while self.index.has_doomed:
            for _ in range(SWEEPS_PER_COMMIT):
                if not self.index.sweep(SWEEP_ROWS):
                    break
                await asyncio.sleep(0)
            if not self.commit():
                return
