"""Committer: decides when changes reach the log, the disk and a commit.

It runs on the loop's thread, which owns the one write transaction; only the waiting for the disk happens in other
threads. Commits happen between turns, so LMDB never holds a change that the log does not hold.
"""

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from sonicpy.errors import StoreError, StoreLocked, WorkerError
from sonicpy.server.jobs.sealer import Sealer, Writer
from sonicpy.server.jobs.threads import in_thread

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine

logger = logging.getLogger(__name__)

COMMIT_CHANGES = 4096
"""The number of changes after which a commit is due, if COMMIT_BYTES are not reached before. Larger commits cost less
per change and replace fewer pages, which LMDB can use again only after the next sync.
"""
COMMIT_BYTES = 1 << 17
"""The number of bytes in the log after which a commit is due: some 12,000 words, which take about 20 ms to write."""
COMMIT_CHANGES_SHARED = 256
"""Replaces COMMIT_CHANGES while connections that change nothing take turns, because these wait for the commit. For
connections that change something, fewer commits cost less.
"""
COMMIT_BYTES_KNOWN = 1 << 19
"""Replaces COMMIT_BYTES while no connection that changes nothing takes turns, and few words are new: texts that draw on
many known words alike change most pages, whatever their number, so a larger commit costs less per change."""
NEW_WORDS_FEW = 64
"""The most new words since the last commit for COMMIT_BYTES_KNOWN: the rows of new words take four times as long in a
commit of four times the size. COMMIT_BYTES of chat have more."""
FLUSH_ROWS_CHANGES = 64
"""While connections that change nothing take turns, term rows are written every FLUSH_ROWS_CHANGES changes, so that
these connections wait for fewer rows at a time. Writing rows in every turn would cost more than shorter waits are
worth."""
FLUSH_ROWS_BYTES = 1 << 14
"""Term rows are also written when the log has grown by this number of bytes, some 2,000 words: a line may hold 1,500
new words."""
COMMIT_AFTER_S = 1.0
"""The longest time in seconds from a change to its commit: queries of the server see changes that wait, and after the
death of the process the log has them. So a commit can wait until many changes share its pages.
"""
LOOKS = 20
"""The number of times before a commit is due that the writer looks whether another process reads the folder: that one
sees only committed changes, so the commit comes at once.
"""
SHARED_COMMIT_S = 0.002
"""The shortest time in seconds between commits for search processes that wait for acknowledged changes."""
SHARED_COMMIT_PAUSE = 2.0
"""The shortest time between two commits for search processes, as a multiple of the duration of the first one."""
LONE_TURNS = 4
"""The number of successive passes of the loop with a single changing turn after which sealing at the end of a pass is
given up, because it saves nothing.
"""
IMMEDIATE_TURNS = 64
"""The number of turns that seal their changes at once, after sealing at the end of a pass was given up and before it is
tried again."""
SWEEP_ROWS = 200
"""The most rows of flushed buckets deleted between two turns: about 0.2 ms."""
SWEEPS_PER_COMMIT = 50
REMOVALS_PER_COMMIT = 16
"""The most steps of a removal for each commit, which writes about a page for each removed term."""


class Committer(Sealer):
    """Seals, commits and syncs the changes of connections. Create it while the loop runs.

    Args:
        engine: the engine of an index opened with autocommit=False on the loop's thread.
        syncs_before_reply: whether replies wait until the disk holds the log (durability = "commit").
        commit_after_s: the longest time in seconds from a change to its commit.

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
        self._due_s = 0.0  # by the clock of the loop: the latest time of the scheduled commit
        self._log_sync: asyncio.Future[None] | None = None
        self._shared_commit: asyncio.Future[bool] | None = None
        self._next_shared_s = 0.0
        self._log_position = 0  # at the last call of shorten_log
        self._last_writer: object = None  # the connection of the last turn with changes since the last commit
        self._is_shared = False  # whether other connections had turns since then
        self._is_read = False  # whether one of these changed nothing
        self._flushed_changes = 0  # of the changes since the last commit, those whose term rows are written
        self._flushed_position = engine.store.log_position  # the end of the log when term rows were written last
        self._created_words = engine.store.created_words  # at the last commit
        self._unacknowledged: list[tuple[Writer, list[bytes], list[int], int]] = []  # turns of this pass, see `settle`
        self._told = ""  # the error of the last commit
        self._lone_turns = 0  # passes with one of them, without a break
        self._immediate_turns = 0  # that are still to come

    @property
    def is_waiting(self) -> bool:
        """Whether turns of this pass have made changes that the log does not hold yet."""
        return bool(self._unacknowledged)

    def seal_with_pass(self, connection: Writer, out: list[bytes], promises: list[int]) -> bool:
        """Seal the changes of a turn together with those of others; see `Sealer.seal_with_pass`.

        Returns:
            True: the turn is sealed with the others. False: no other connection seems to change anything in this pass,
            or replies wait for the disk, so `seal` has to be called.
        """
        if not self._is_shared or self._syncs_before_reply:
            return False
        if self._immediate_turns:
            self._immediate_turns -= 1
            return False
        self._last_writer = connection
        if not self._unacknowledged:
            self._loop.call_soon(self._end_pass)
        self._unacknowledged.append((connection, out, promises, self._engine.store.undone))
        return True

    def settle(self) -> StoreError | None:
        """Seal the changes of the turns of this pass; called before any reply can reveal them.

        Returns:
            None: the log holds the changes, or there were none; else the error that undid all unsealed changes. Replies
                that show them must not be sent.
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
            for place, (connection, out, promises, undone) in enumerate(waiting):
                why = failed
                if why is None and undone != self._engine.store.undone:  # by a commit that another task has tried
                    why = StoreError("the change was undone, because the log could not be written")
                connection.end_seal(out, promises, why, may_have_read=place > 0)
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
        """Commit if there are many changes; else write some of their rows, and schedule the commit."""
        store = self._engine.store
        if store.uncommitted >= (COMMIT_CHANGES_SHARED if self._is_read else self.commit_changes) or (
            store.uncommitted_bytes >= COMMIT_BYTES and not self._may_grow()
        ):
            self.commit()
            return
        try:
            if self._is_read and self._has_many_rows():
                self._flush_term_rows()
            store.write_many_buckets()
        except StoreError as error:  # recovery has replayed the log, or the next commit will
            logger.error("%s", error)
        if self._commit_timer is None:
            self._due_s = self._loop.time() + self._commit_after_s
            self._look_again()

    def _may_grow(self) -> bool:
        """Return whether a commit of more than COMMIT_BYTES can wait for COMMIT_BYTES_KNOWN."""
        store = self._engine.store
        has_few_new = store.created_words - self._created_words <= NEW_WORDS_FEW
        return not self._is_read and has_few_new and store.uncommitted_bytes < COMMIT_BYTES_KNOWN

    def _look_again(self) -> None:
        wait_s = min(self._commit_after_s / LOOKS, self._due_s - self._loop.time())
        self._commit_timer = self._loop.call_later(wait_s, self._commit_if_awaited)

    def _commit_if_awaited(self) -> None:
        """Commit if it is time, or if another process reads the folder."""
        if self._loop.time() >= self._due_s or self._engine.store.is_read_elsewhere:
            self.commit()
        else:
            self._look_again()

    def note_turn_without_changes(self) -> StoreError | None:
        """Note a turn that changed nothing: its connection must not wait long for a commit.

        It may have read the changes of other connections, so these are sealed before its replies are sent.

        Returns:
            The error of `settle`: the replies of the turn must not be sent. None: they may.
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
        self._created_words = self._engine.store.created_words
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
        """Schedule a commit; return a future with whether all changes made until now were committed.

        Calls within SHARED_COMMIT_S share one commit.
        """
        if self._shared_commit is None:
            self._shared_commit = self._loop.create_future()
            self._loop.call_at(self._next_shared_s, self._commit_shared)
        return self._shared_commit

    def stop(self) -> None:
        """Cancel the scheduled commit: the caller, which closes the index, commits."""
        if self._commit_timer is not None:
            self._commit_timer.cancel()
            self._commit_timer = None

    @property
    def commits_later(self) -> bool:
        """Whether a commit will come by itself."""
        return self._commit_timer is not None

    def commit_within(self, seconds: float) -> None:
        """Schedule the next commit within a time, if there is anything to commit."""
        timer, due_s = self._commit_timer, self._loop.time() + seconds
        if timer is None or due_s >= self._due_s:
            return
        self._due_s = due_s
        if timer.when() > due_s:
            timer.cancel()
            self._look_again()

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
        """Wait until the disk holds all sealed and committed changes; a cancelled sync still runs to its end.

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
        """Continue the removals under way, a part between two turns. An error is logged; `sweep` tries again later."""
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
        """Return whether the next commit would have many term rows to write."""
        if self._engine.store.uncommitted - self._flushed_changes >= FLUSH_ROWS_CHANGES:
            return True
        return self._engine.store.log_position - self._flushed_position >= FLUSH_ROWS_BYTES

    def _flush_term_rows(self) -> None:
        """Write some of the term rows that are left for the commit."""
        self._flushed_changes = self._engine.store.uncommitted
        self._flushed_position = self._engine.store.log_position
        self._engine.store.flush_term_rows()

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
