"""When changes reach the log, the disk and a commit.

Runs on the loop's thread, which owns the one write transaction; only waiting for the disk leaves it. Commits happen
between turns, so LMDB never holds a change that the log does not hold.
"""

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Protocol

from sonicpy.errors import StoreError, StoreLocked, WorkerError
from sonicpy.server.jobs.threads import in_thread

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine

logger = logging.getLogger(__name__)

COMMIT_CHANGES = 4096
"""Changes after which a commit is due: under load, about as many as come in COMMIT_AFTER_S. Larger commits cost less
per change and replace fewer pages, which LMDB can use again only after the next sync."""
COMMIT_CHANGES_SHARED = 256
"""The same while connections that change nothing take turns: they wait for the commit. For those that change something,
fewer commits cost less."""
FLUSH_ROWS_CHANGES = 64
"""While connections that change nothing take turns, term rows are written every FLUSH_ROWS_CHANGES changes: then they
wait for fewer rows at a time. Writing them turn by turn would cost more than the shorter waits are worth."""
FLUSH_ROWS_BYTES = 1 << 14
"""Or when the log has grown by this, which is some 2,000 words: a line may hold 1,500 that nobody has pushed before."""
COMMIT_AFTER_S = 0.05
SHARED_COMMIT_S = 0.002
"""Commits for search processes that wait for what was acknowledged are at least so far apart."""
SHARED_COMMIT_PAUSE = 2.0
"""And at least this many times as long as one of them took."""
LONE_TURNS = 4
"""After so many passes of the loop with one changing turn each, sealing at the end of a pass saves nothing."""
IMMEDIATE_TURNS = 64
"""So many turns seal their changes at once then, before a pass is tried again."""
SWEEP_ROWS = 200
"""Rows of flushed buckets deleted between two turns: about 0.2 ms."""
SWEEPS_PER_COMMIT = 50
REMOVALS_PER_COMMIT = 16
"""Steps of a removal for each commit; it writes about a page for each term that went."""


class Writer(Protocol):
    """A connection that changes something."""

    def end_seal(self, out: list[bytes], promises: list[int], error: StoreError | None, *, may_have_read: bool) -> None:
        """Send the replies of a turn, whose changes the log holds now; with an error, they were undone.

        Must not raise.

        Args:
            may_have_read: changes of other connections, which were undone with its own.
        """


class Committer:
    """Seals, commits and syncs what connections change. To be made while the loop runs.

    Args:
        engine: of an index opened with autocommit=False on the loop's thread.
        syncs_before_reply: whether a reply waits until the disk holds the log (durability = "commit").
        commit_after_s: longest time from a change to its commit.

    Attributes:
        commit_changes: changes after which a commit is due.
    """

    def __init__(self, engine: "Engine", *, syncs_before_reply: bool, commit_after_s: float = COMMIT_AFTER_S) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._syncs_before_reply = syncs_before_reply
        self._commit_after_s = commit_after_s
        self.commit_changes = COMMIT_CHANGES
        self._commit_timer: asyncio.TimerHandle | None = None
        self._log_sync: asyncio.Future[None] | None = None
        self._shared_commit: asyncio.Future[bool] | None = None
        self._next_shared_s = 0.0
        self._log_position = 0  # at the last call of shorten_log
        self._last_writer: object = None  # the connection of the last turn with changes since the last commit
        self._is_shared = False  # whether other connections had turns since then
        self._is_read = False  # whether one of these changed nothing
        self._flushed_changes = 0  # of the changes since the last commit, those whose term rows are written
        self._flushed_position = engine.store.log_position  # the end of the log when term rows were written last
        self._unacknowledged: list[tuple[Writer, list[bytes], list[int]]] = []  # turns of this pass of the loop
        self._told = ""  # the error of the last commit
        self._lone_turns = 0  # passes with one of them, without a break
        self._immediate_turns = 0  # that are still to come

    @property
    def is_waiting(self) -> bool:
        """Whether turns of this pass have changed what the log does not hold yet."""
        return bool(self._unacknowledged)

    def seal_with_pass(self, connection: Writer, out: list[bytes], promises: list[int]) -> bool:
        """Let the changes of a turn reach the log with those of the other turns of this pass of the loop.

        Args:
            connection: its `end_seal` gets the other arguments then.

        Returns:
            False: `seal` has to be called instead, for nobody else seems to change anything in this pass.
        """
        if not self._is_shared or self._syncs_before_reply:
            return False
        if self._immediate_turns:
            self._immediate_turns -= 1
            return False
        self._last_writer = connection
        if not self._unacknowledged:
            self._loop.call_soon(self._end_pass)
        self._unacknowledged.append((connection, out, promises))
        return True

    def settle(self) -> StoreError | None:
        """Seal what turns of this pass have changed: to be called before anybody hears of what they have changed.

        Returns:
            None: the log holds it, or they have changed nothing; else why everything that is not sealed was undone.
            What was read of it since is true no more.
        """
        waiting, self._unacknowledged = self._unacknowledged, []
        if not waiting:
            return None
        failed: StoreError | None = None
        try:
            self._engine.store.seal()
        except StoreError as error:
            failed = error
        except BaseException as error:  # of any kind: otherwise the clients would wait for ever
            failed = StoreError(f"the change may be lost: {error!r}")
            raise
        finally:
            for place, (connection, out, promises) in enumerate(waiting):
                connection.end_seal(out, promises, failed, may_have_read=place > 0)
        return failed

    def _end_pass(self) -> None:
        self._lone_turns = self._lone_turns + 1 if len(self._unacknowledged) < 2 else 0
        if self._lone_turns == LONE_TURNS:
            self._lone_turns, self._immediate_turns = 0, IMMEDIATE_TURNS
        self.settle()
        self._commit_or_wait()

    def seal(self, connection: object) -> asyncio.Future[None] | None:
        """Append the changes of a connection's turn to the log, and schedule or do their commit.

        Returns:
            None: the changes may be acknowledged now; else the future to wait for first.

        Raises:
            StoreError: the log cannot be written; the changes are undone.
        """
        failed = self.settle()
        if failed is not None:  # what this turn changed went with what the others did
            raise failed
        self._engine.store.seal()
        if connection is not self._last_writer:
            self._is_shared = self._last_writer is not None
            self._last_writer = connection
        synced = self._next_log_sync() if self._syncs_before_reply else None
        self._commit_or_wait()
        return synced

    def _commit_or_wait(self) -> None:
        """Commit what was changed if it is much; else write some of its rows, and let the commit follow."""
        if self._engine.store.uncommitted >= (COMMIT_CHANGES_SHARED if self._is_read else self.commit_changes):
            self.commit()
            return
        if self._is_read and self._has_many_rows():
            self._flush_term_rows()
        if self._commit_timer is None:
            self._commit_timer = self._loop.call_later(self._commit_after_s, self.commit)

    def note_turn_without_changes(self) -> StoreError | None:
        """Note that a connection that changed nothing takes turns too: it must not wait long for a commit.

        It may have seen what others changed, so that is sealed before its replies leave.

        Returns:
            why that was undone, as `settle`; its replies may not leave then.
        """
        failed = self.settle() if self._unacknowledged else None
        if self._last_writer is not None:
            self._is_shared = self._is_read = True
        return failed

    def commit(self) -> bool:
        """Commit all changes; return whether that worked. The commit is tried again later.

        An error is logged, once for as long as it is the same.
        """
        self.settle()
        self.stop()
        self._last_writer = None
        self._is_shared = self._is_read = False
        self._flushed_changes = 0
        try:
            self._engine.commit()
            self._flushed_position = self._engine.store.log_position
        except StoreError as error:
            if str(error) != self._told and not isinstance(error, StoreLocked):  # which the store has logged
                logger.error("%s", error)
            self._told = str(error)
            return False
        self._told = ""
        return True

    def commit_soon(self) -> "asyncio.Future[bool]":
        """Return the future of whether everything that was changed until now is committed.

        All who ask within SHARED_COMMIT_S share one commit.
        """
        if self._shared_commit is None:
            self._shared_commit = self._loop.create_future()
            self._loop.call_at(self._next_shared_s, self._commit_shared)
        return self._shared_commit

    def stop(self) -> None:
        """Let no commit come by itself before something changes: whoever closes the index commits."""
        if self._commit_timer is not None:
            self._commit_timer.cancel()
            self._commit_timer = None

    @property
    def commits_later(self) -> bool:
        """Whether a commit will come by itself."""
        return self._commit_timer is not None

    def commit_within(self, seconds: float) -> None:
        """Let the next commit come in that time, if there is anything to commit."""
        timer = self._commit_timer
        if timer is not None and timer.when() > self._loop.time() + seconds:
            timer.cancel()
            self._commit_timer = self._loop.call_later(seconds, self.commit)

    def _commit_shared(self) -> None:
        done, self._shared_commit = self._shared_commit, None
        assert done is not None
        began = time.perf_counter()
        done.set_result(self.commit())
        took_s = time.perf_counter() - began
        self._next_shared_s = self._loop.time() + max(SHARED_COMMIT_S, took_s * SHARED_COMMIT_PAUSE)

    def commit_if_due(self) -> None:
        """Commit if there are changes, or if the store refuses changes and may have become writable again."""
        if self._engine.store.uncommitted or self._engine.store.refusing:
            self.commit()

    async def sync(self) -> None:
        """Wait until the disk holds what was sealed and committed; a cancelled sync still runs to its end.

        Raises:
            StoreError: the disk cannot be written.
        """
        done = in_thread(self._engine.store.sync)
        try:
            await asyncio.shield(done)
        except asyncio.CancelledError:
            await done  # the files may be closed once this task has ended
            raise

    def shorten_log(self) -> None:
        """Delete the log of committed changes if nothing was sealed since the last call."""
        if self._engine.store.log_position == self._log_position:
            self._engine.store.shorten_log()
        self._log_position = self._engine.store.log_position

    async def remove(self) -> None:
        """Take away what is half gone, one part between two turns. An error is logged; `sweep` tries again later."""
        try:
            steps = 0
            while self._engine.store.has_removals:
                self._engine.remove_step()
                steps += 1
                if steps % REMOVALS_PER_COMMIT == 0 and not self.commit():
                    return
                await asyncio.sleep(0)
            if steps:
                self.commit()
        except StoreError as error:
            logger.error("%s", error)

    async def sweep(self) -> None:
        """Delete the rows of flushed buckets, a few between two turns."""
        await self.remove()
        while self._engine.has_dropped:
            for _ in range(SWEEPS_PER_COMMIT):
                if not self._engine.sweep(SWEEP_ROWS):
                    break
                await asyncio.sleep(0)
            if not self.commit():
                return

    def _has_many_rows(self) -> bool:
        """Whether the next commit would have many term rows to write."""
        if self._engine.store.uncommitted - self._flushed_changes >= FLUSH_ROWS_CHANGES:
            return True
        return self._engine.store.log_position - self._flushed_position >= FLUSH_ROWS_BYTES

    def _flush_term_rows(self) -> None:
        """Write some of the rows that the commit would have to write."""
        self._flushed_changes = self._engine.store.uncommitted
        try:
            self._flushed_position = self._engine.store.log_position
            self._engine.store.flush_term_rows()
        except StoreError as error:  # recovery has replayed the log, or the next commit will
            logger.error("%s", error)

    def _next_log_sync(self) -> "asyncio.Future[None]":
        """Return the future of the next sync of the log that has not begun; all connections share it."""
        if self._log_sync is None:
            self._log_sync = self._loop.create_future()
            self._loop.create_task(self._sync_log())
        return self._log_sync

    async def _sync_log(self) -> None:
        # The other connections of this pass of the loop seal first; later ones wait for the next sync.
        await asyncio.sleep(0)
        done, self._log_sync = self._log_sync, None
        assert done is not None
        try:
            try:
                await in_thread(self._engine.store.sync_log)
            except WorkerError as error:
                raise StoreError(f"the log cannot be synced: {error}") from error
        except BaseException as error:  # of any kind: otherwise the connections would wait for ever
            done.set_exception(error)
            if not isinstance(error, StoreError):
                raise
        else:
            done.set_result(None)
