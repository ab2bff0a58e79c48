"""The store: an environment, a log, and one open write transaction between them.

    apply   carry out a mutation in the open transaction (begun when needed)
    seal    write the records of all mutations since the last seal to the log: only then may a client get OK
    commit make them visible to other transactions; the commit stores the log position it covers
    sync    wait for the disk and save a checkpoint; then delete older segments of the log

Invariant: the environment never holds a change that the log lacks, so `commit` seals first. Every failure inside the
open transaction is handled by `_recover`: abort the transaction, drop the write cache, begin again, and replay the log
from the position of the last commit. The same routine runs when a store is opened.

A signal handler may raise at any moment, even in `_recover`. So the open transaction is marked as torn before it is
changed, and as whole once it matches the log and the list of unsealed records. A call that finds it torn, or given up
at the end of a `Turn`, recovers first. The mark and the transaction are in `OpenTransactions`.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import TypeVar

from sonicpy._native.held import Held, insist
from sonicpy._native.terms import Terms
from sonicpy._native.turn import Turn
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged, StoreError, StoreFull, StoreLocked
from sonicpy.files import PRIVATE, Access
from sonicpy.store.care.convert import Conversion, is_convertible
from sonicpy.store.care.startup import prepare
from sonicpy.store.changing.apply import apply_mutation, apply_pushes, take_step
from sonicpy.store.changing.mutations import (
    FlushCollection,
    Mutation,
    PushTerms,
    pack_mutation,
    pack_push,
    unpack_mutation,
)
from sonicpy.store.changing.sweep import sweep
from sonicpy.store.disk import folder as store_folder
from sonicpy.store.disk.background_sync import BackgroundSync
from sonicpy.store.disk.boot_mark import note_boot
from sonicpy.store.disk.change_board import ChangeBoard
from sonicpy.store.disk.checkpoint import CHECKPOINT_BYTES, REPLACED_BYTES_MAX
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.free_space import FreeSpace
from sonicpy.store.disk.log import RECORD_MAX_BYTES, Log
from sonicpy.store.disk.transaction import DROPPED, PENDING, MapFull
from sonicpy.store.reader import StoreReader
from sonicpy.store.rows.meta import (
    FORMAT,
    FORMAT_VERSION,
    POSITION,
    READABLE_FORMATS,
    check_analyzer,
    check_format,
    read_position,
    write_identity,
)
from sonicpy.store.rows.tables import buckets_in
from sonicpy.store.views.open_cache import OpenCache
from sonicpy.store.views.read_cache import POSTINGS_MAX_BYTES, SnapshotCache
from sonicpy.store.views.view import View
from sonicpy.store.views.write_cache import WriteCache
from sonicpy.store.views.write_view import WriteView

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
Given = TypeVar("Given")

SEGMENT_BYTES = 2 << 20  # a segment of the log; older ones go once a sync covers them
HOLES_S = 0.001  # so long a change may wait for them
HOLES_AT_CLOSE_S = 0.5
RETRY_S = 0.02  # between commits that fail and that changes have tried
RETRY_PAUSE = 4  # and at least this many times as long as the last one took
TRIED_AGAIN = (StoreError, DamagedBytes, OverflowError)
"""Errors after which a PUSH is repeated once, in a recovered transaction."""
GROWTHS_MAX = 20  # doublings of the map in one recovery: far more than any disk holds


class Store(StoreReader):
    """A folder that one process writes.

    Args:
        folder: created if it is missing.
        analyzer: the analysis settings, by key; they must be those of the store.
        map_bytes: address space to reserve for the environment (sparse).
        durability: "interval": a loss of power undoes the changes of about the last second; "commit": it undoes no
            change for which the caller waited by `sync_log`. Both sync in the background.
        postings_max_bytes: maximum of postings that readers cache.
        access: modes of new files.
        turn: of the threads that change the store; a thread leaves no transaction open behind its turn. None: only one
            thread changes the store, and decides when to commit.

    Raises:
        StoreLocked: another process writes it.
        StoreError: it cannot be opened; the message holds the reason and advice.

    Attributes:
        stamp: grows before and after every visible change: answers are valid while it stays the same.
        was_converted: whether opening converted the store from an older format, so that its word graphs have to be
            built.
        view: of the open write transaction; None: none is open.
    """

    def __init__(
        self,
        folder: Path,
        analyzer: Mapping[str, str],
        *,
        map_bytes: int,
        durability: str = "interval",
        postings_max_bytes: int = POSTINGS_MAX_BYTES,
        access: Access = PRIVATE,
        turn: Turn | None = None,
    ) -> None:
        self._closers: list[Callable[[], object]] = []  # each may be called again
        self._is_closing = False
        try:
            lock = self._lock = store_folder.WriterLock(folder, access)
            self._closers.append(lock.release)
            log = self._log = self._make_log(folder, access)
            self._closers.append(log.close)
            prepare(folder, is_new=lock.made_data, access=access)
            environment = Environment(folder, map_bytes, access=access)
            self._closers.append(environment.close)
            super().__init__(folder, environment, postings_max_bytes, access)
            lock.watch(store_folder.LMDB_LOCK_FILE, folder / store_folder.LMDB_LOCK_FILE)
            self._transactions = environment.transactions
            self._postings_max_bytes = postings_max_bytes
            self.durability = durability
            self.stamp = 0
            self.was_converted = False
            self._analyzer = dict(analyzer)
            self.view: WriteView | None = None
            self.is_torn = False
            self._open_cache: OpenCache | None = None  # what was read of the open transaction
            self._owner: int  # the thread of the open transaction
            self._write_cache = WriteCache()
            self._snapshot_cache = self._fresh_cache()
            self._board: ChangeBoard | None = None
            self._unsealed: list[bytes] = []
            self._refusal: StoreError | None = None
            self._next_try_s = 0.0
            self._replaced: StoreLocked | None = None
            self._held_back: StoreFull | None = None
            self._syncing = threading.Lock()
            self._free_space = FreeSpace(environment)
            self._closers.append(self._free_space.close)
            self._background = BackgroundSync(self.sync, self.free_disk)
            self._closers.append(self._background.close)
            self._turn = turn
            self._open()
            if turn is not None:
                turn.open, turn.owner, turn.finish = self._transactions, self, self.commit
        except BaseException:
            insist(self._release)
            raise

    # -- changing ------------------------------------------------------------------------------------------------

    def apply(self, mutation: Mutation, *, in_steps: bool = False) -> int:
        """Carry out a mutation; return the number for the client, to be sent after `seal`.

        Args:
            in_steps: leave most of a long removal to `take_step`; the client waits for the last step.

        Raises:
            StoreError: it was not carried out; everything applied before it is.
        """
        self._check_accepting()
        record = pack_mutation(mutation)
        if len(record) > RECORD_MAX_BYTES:
            raise StoreError(
                f"a change of {len(record)} bytes of terms is refused: at most {RECORD_MAX_BYTES} are accepted; "
                "split the text"
            )
        self.uncommitted += 1  # from before it can be read: see readable_stamp
        try:
            work = partial(apply_mutation, in_steps=True) if in_steps else apply_mutation
            result = self._at_most_twice(work, mutation)
        except BaseException:
            self.uncommitted -= 1
            raise
        self._unsealed.append(record)
        self.is_torn = False
        if self._board is not None:
            self._mark(self._board, mutation)
        return result

    def push(self, collection: str, bucket: str, oid: str, terms: Terms) -> None:
        """Carry out PushTerms as `apply` does, with fewer calls in the usual case.

        Raises:
            StoreError: it was not carried out; everything applied before it is.
        """
        view = self.view  # None, too, when the open transaction is lost
        if (
            view is None
            or self.is_torn
            or self._refusal is not None
            or self._held_back is not None
            or (writer := view.writer_cache.get((collection, bucket))) is None
            or view.removals.objects
            or view.removals.collections
            or len(record := pack_push(collection, bucket, oid, terms)) > RECORD_MAX_BYTES
        ):
            self.apply(PushTerms(collection, bucket, oid, terms))
            return
        self.uncommitted += 1  # from before it can be read: see readable_stamp
        self.stamp += 1
        self.is_torn = True
        view.changes += 1
        try:
            writer.push(oid, terms)
        except BaseException as error:
            self.uncommitted -= 1
            self._recover(error if isinstance(error, StoreError) else None)
            if not isinstance(error, TRIED_AGAIN):
                raise
            self.apply(PushTerms(collection, bucket, oid, terms))  # which says what is wrong, unless it passes now
            return
        self.stamp += 1
        self._unsealed.append(record)
        self.is_torn = False
        if self._board is not None:
            self._board.mark(collection, bucket, view.transaction.number)

    def apply_pushes(self, pushes: Sequence[PushTerms], *, new: bool = False) -> list[int]:
        """Carry out many PUSHes as one change; return the places of the PUSHes left out.

        Args:
            new: leave out PUSHes whose object exists.

        Raises:
            StoreError: none of them was carried out; everything applied before them is.
        """
        self._check_accepting()
        records = [pack_mutation(push) for push in pushes]
        self.uncommitted += len(records)  # from before it can be read: see readable_stamp
        try:
            left_out = self._at_most_twice(partial(apply_pushes, new=new), pushes)
        except BaseException:
            self.uncommitted -= len(records)
            raise
        for place in reversed(left_out):
            del records[place]
        self.uncommitted -= len(left_out)
        self._unsealed += records
        self.is_torn = False
        if self._board is not None:
            for push in pushes:
                self._mark(self._board, push)
        return left_out

    def seal(self) -> None:
        """Write the records of all mutations since the last seal to the log.

        Raises:
            StoreError: none was written; the mutations are undone.
        """
        if not self._unsealed:
            return
        before = self._log.position
        try:
            self._log.append(self._unsealed)
        except StoreError:
            self.uncommitted -= len(self._unsealed)
            self._unsealed = []
            self._recover(None)
            raise
        finally:
            if self._log.position != before:  # an exception may come when they are in
                self._unsealed = []

    def commit(self) -> None:
        """Make all applied mutations visible to all readers; grow the map before it is needed.

        Raises:
            StoreError: the commit failed: reads go on, mutations are refused until a commit passes.
        """
        self._owner = threading.get_ident()
        self._refuse_if_replaced()
        self.seal()
        if self._is_committed():
            self._refusal = None
            self.uncommitted = 0  # an interrupted change may have been counted
            return
        began = time.monotonic()
        try:
            self._commit_environment()
        except StoreError as error:
            self._refusal = StoreFull(f"changes are refused until the store can be written again: {error}")
            try:
                self._recover(error)
            finally:
                now = time.monotonic()
                self._next_try_s = now + max(RETRY_S, RETRY_PAUSE * (now - began))
            raise self._refusal from error
        self._refusal = None
        try:
            if self._environment.needs_room() and self._environment.can_grow():
                self._environment.grow()
            if self._log.bytes_in_segment() > SEGMENT_BYTES:
                self._begin_segment()
        finally:
            self._sync_in_background()

    def refuse(self, why: str | None) -> None:
        """Refuse changes with a sentence, although the store can still be written; None: accept them again."""
        self._held_back = None if why is None else StoreFull(why)

    def shorten_log(self) -> None:
        """Begin a new segment if everything in the log is committed, so that the next `sync` deletes the older ones.

        Only the thread that changes the store may call it, when nothing was changed for a while.
        """
        if self._is_committed() and self._log.position == self._committed_position:
            self._begin_segment()

    def sync_log(self) -> int:
        """Wait until the log is on the disk; return its position on the disk. Any thread may call it."""
        return self._log.sync()

    def sync(self) -> None:
        """Wait until log and environment are on the disk, then delete segments of the log that are not needed.

        Any thread may call it. Afterwards a loss of power cannot undo the commits before the call.

        Raises:
            StoreError: the disk failed; nothing counts as synced.
        """
        with Held(self._syncing):
            covered = self._committed_position  # taken before the sync begins
            self._log.sync()
            self._environment.sync()
            if self._note_if_replaced() is None:  # else it would delete by name what may be of another process
                self._log.retire(covered)

    def free_disk(self) -> bool:
        """Give some unused pages back to the file system; return whether there may be more.

        Any thread may call it. It does nothing while the store is being changed.

        Raises:
            StoreError: the disk failed.
        """
        return self._free_space.give_back(HOLES_S)

    def sync_before(self, work: Callable[[], None]) -> None:
        """Begin every sync with `work`, which syncs the files that commits refer to."""
        self._environment.sync_before(work)

    @property
    def checkpoint(self) -> int:
        """The number of the last commit that a loss of power cannot undo."""
        return self._environment.checkpoint

    def take_step(self) -> bool:
        """Carry out a step of the removals under way; return whether anything is left. Needs no log record."""
        return self.maintain(take_step)

    @property
    def has_removals(self) -> bool:
        """Whether a removal in steps is under way, so that `take_step` has to be called."""
        return bool(self._write_cache.removals)

    def sweep(self, rows: int) -> bool:
        """Delete at most about `rows` rows of flushed buckets; return whether any are left."""
        self._write_cache.has_dropped = self.maintain(lambda view: sweep(view, rows))
        return self._write_cache.has_dropped

    def maintain(self, work: Callable[[WriteView], Answer]) -> Answer:
        """Run `work`, which changes rows without a log record, because it does not affect acknowledged data.

        Raises:
            StoreError: it failed twice.
        """
        done = self._at_most_twice(_do, work)
        self.is_torn = False
        return done

    def flush_term_rows(self) -> None:
        """Write the rows of words that PUSH changed, so that the next commit has less to write.

        Raises:
            StoreError: it failed twice; nothing is lost.
        """
        view = self.view
        if view is not None and view.terms.changed:
            self.maintain(WriteView.flush_term_rows)

    def share_changes(self) -> ChangeBoard:
        """Return the change board, on which readers in other processes see the buckets with uncommitted changes.

        Only the thread that changes the store may call it.
        """
        if self._board is None:
            self._board = ChangeBoard.create()
            self._closers.append(self._board.close)
            committed = self._environment.last_commit()
            self._board.note_commit(committed)
            if self.uncommitted:
                self._board.mark_all(committed + 1)
        return self._board

    def pending_buckets(self) -> set[int]:
        """Return the ids of the buckets that may have pending words."""
        return self._write_cache.pending_buckets.copy()

    def forget_pending_bucket(self, bucket: int) -> None:
        """Drop a bucket from `pending_buckets`: it was flushed."""
        self._write_cache.pending_buckets.discard(bucket)

    def take_flushed(self) -> dict[int, int]:
        """Return the buckets whose flush was committed since the last call, with the versions of their graphs."""
        if self.uncommitted:
            return {}
        flushed, self._write_cache.flushed = self._write_cache.flushed, {}
        return flushed

    @property
    def log_position(self) -> int:
        """The end of the last sealed record."""
        return self._log.position

    @property
    def refusing(self) -> bool:
        """Whether mutations are refused, because the last commit failed or by `refuse`."""
        return self._refusal is not None or self._held_back is not None

    # -- reading -------------------------------------------------------------------------------------------------

    @property
    def has_dropped(self) -> bool:
        """Whether rows of flushed buckets may wait for `sweep`."""
        return self._write_cache.has_dropped

    def shown_now(self) -> View | None:
        """Return the view of the open write transaction if this thread owns one, for reading.

        An interrupted change is completed or undone first, so that reads stay valid.

        Raises:
            StoreError: the transaction is lost and cannot be recovered, so acknowledged changes cannot be read.
        """
        transactions = self._transactions
        turn = self._turn
        if transactions.is_lost and turn is not None and not turn.is_mine and not self.refusing:
            self._settle(turn)
        view = self.view  # read once: another thread may end its transaction meanwhile
        if (self.is_torn or transactions.is_lost) and self._may_change():
            view = self._writing()
        if view is None or view.owner != threading.get_ident():
            return None
        if view.open_cache is None:
            with Held(self._replacing_cache):
                view.open_cache = self._open_cache = OpenCache(view, self._snapshot_cache)
        return view

    def _may_change(self) -> bool:
        """Return whether this thread may change the store now."""
        return self._owner == threading.get_ident() if self._turn is None else self._turn.is_mine

    def _settle(self, turn: Turn) -> None:
        """Commit the logged part of an interrupted change; if that fails, readers see the last commit."""
        with turn.hold():
            if not self._transactions.is_lost:
                return
            try:
                self.commit()
            except StoreError as error:
                logger.error("%s", error)

    def readable_stamp(self) -> int | None:
        """Return `stamp` if this thread reads the present state; None: it reads an older commit."""
        stamp = self.stamp  # read before the count: a change raises the count first
        if self._owner == threading.get_ident():
            return stamp
        # A step of a removal changes what is read without a mutation.
        return stamp if not self.uncommitted and self.view is None else None

    def log_bytes(self) -> int:
        """Return the bytes of records in the log."""
        return self._log.size_bytes()

    def note_server(self, url: str) -> None:
        """Publish the URL of this server for processes that try to open the folder. Raises StoreFull."""
        self._lock.note_server(url)

    def leave_to_parent(self) -> None:
        """In a forked process: release the lock of this process, not the parent's, without touching a transaction."""
        self._environment.leave_to_parent()
        self._lock.release()

    def close(self, seconds: float = inf) -> None:
        """Commit, sync, and release the store for other processes; a second call finishes an interrupted one.

        Args:
            seconds: time limit for the reads of other threads; if they take longer, the store stays as after a kill.
        """
        is_alone = True
        try:
            if not self._is_closing:
                is_alone = self._finish(seconds)
        finally:
            if is_alone:
                insist(self._release)

    @property
    def is_closed(self) -> bool:
        """Whether `close` has given everything back."""
        return not self._closers

    # -- inside --------------------------------------------------------------------------------------------------

    def _fresh_cache(self) -> SnapshotCache:
        recent = self._write_cache.recent_changes
        return SnapshotCache(-1, recent=recent, postings_max_bytes=self._postings_max_bytes)

    def _is_committed(self) -> bool:
        """Return whether the last commit holds everything."""
        return self.view is None and not self._transactions.is_lost and not self.is_torn

    def _finish(self, seconds: float) -> bool:
        """Commit and sync; return whether no other thread uses the store any more."""
        if self._note_if_replaced() is not None:
            return self._environment.wait_for_others(seconds)  # as a kill would leave it: the log has what it has
        self.commit()
        self.shorten_log()
        if not self._background.close(seconds):
            return False
        self.sync()
        self._free_disk_at_close()
        note_boot(self.folder, clean=True, access=self._access)
        return self._environment.wait_for_others(seconds)

    def _free_disk_at_close(self) -> None:
        try:
            self._free_space.give_back(HOLES_AT_CLOSE_S)
        except StoreError as error:  # the store is closed in order all the same
            logger.error("%s", error)

    def _make_log(self, folder: Path, access: Access) -> Log:
        return Log(folder / "log", access)

    def _note_position(self, view: WriteView) -> None:
        """Store the log position in a transaction before its commit."""
        POSITION.write(view.transaction, self._log.position)

    def _check_accepting(self) -> None:
        if self.view is None:  # a change of an open transaction is as good as those before it
            self._refuse_if_replaced()
        if self._refusal is not None and self._replaced is None:
            if self._turn is not None:
                self.commit()  # nobody else tries again
            elif time.monotonic() >= self._next_try_s:
                self._try_again()
        refusal = self._refusal or self._held_back
        if refusal is not None:
            raise refusal.with_traceback(None)  # of the last one that was refused

    def _try_again(self) -> None:
        """Repeat a failed commit. No mutation was accepted since, so there is nothing to seal."""
        try:
            self.commit()
        except StoreError as error:  # it is the refusal now
            logger.debug("%s", error)

    def _note_if_replaced(self) -> StoreLocked | None:
        """Return the error for changes if a file of the store was deleted or replaced, and log it the first time; None:
        no file was."""
        if self._replaced is None and (found := self._lock.refusal()) is not None:
            self._replaced = self._refusal = found
            logger.error("%s", found)
        return self._replaced

    def _refuse_if_replaced(self) -> None:
        if self._replaced is None and time.monotonic() < self._lock.next_look_s:
            return
        replaced = self._note_if_replaced()
        if replaced is not None:
            raise replaced.with_traceback(None)

    def _mark(self, board: ChangeBoard, mutation: Mutation) -> None:
        """Note on the board the commit that will hold a mutation of the open transaction."""
        view = self.view
        assert view is not None
        number = view.transaction.number
        if isinstance(mutation, FlushCollection):
            board.mark_all(number)
        else:
            board.mark(mutation.collection, mutation.bucket, number)

    def _watch_log(self) -> None:
        if self._log.file is not None:
            self._lock.watch("log", self._log.file)

    def _begin_segment(self) -> None:
        try:
            self._log.rotate()
            self._watch_log()
        except StoreFull as error:  # the old segment goes on
            logger.error("%s", error)

    def _sync_in_background(self) -> None:
        replaced = self._environment.replaced_bytes
        self._background.note_change(is_urgent=replaced >= CHECKPOINT_BYTES)
        if replaced >= REPLACED_BYTES_MAX:
            with Held(self._syncing):
                pass

    def _open(self) -> None:
        with self._environment.reading() as transaction:
            found = FORMAT.read(transaction)
            self._is_new = found is None
            self._notes_format = found in READABLE_FORMATS[:-1]
            is_old = is_convertible(transaction)
        if is_old:
            Conversion(self.folder, self._environment, self._analyzer).run()
            self.was_converted = True
        with self._environment.reading() as transaction:
            if not self._is_new:
                check_format(transaction)
                check_analyzer(self.folder, transaction, self._analyzer)
            self._committed_position = read_position(transaction)
        self._recover(None, from_log_end=self._committed_position)
        # Replay, commit, sync, then a new segment: nothing is ever appended behind a record that may be damaged, and a
        # segment of an earlier process, which no process syncs, is not needed any more.
        end = self._log.position
        self._commit_environment()
        self._environment.sync()
        for path in self._log.start(end):
            logger.error("the log was damaged: the part after position %d was set aside as %s", end, path)
        self._watch_log()
        self._log.retire(end)

    def _commit_environment(self) -> None:
        """Commit the open transaction with its log position; if the map is full, grow it and repeat.

        Raises:
            StoreError: the commit failed; call `_recover`.
        """
        for _ in range(GROWTHS_MAX):
            try:
                view = self._writing()
                self.is_torn = True
                view.flush()
                self._note_position(view)
                view.note_changes()
                if self._is_new:
                    write_identity(view.transaction, self._analyzer)
                elif self._notes_format:
                    FORMAT.write(view.transaction, str(FORMAT_VERSION))
                number = view.transaction.number
                left = None if self._open_cache is None else self._open_cache.left_to_commit()
                self.view = None
                self._environment.commit(view.transaction)
                if left is not None:
                    with Held(self._replacing_cache):
                        self._snapshot_cache, self._open_cache = left, None
                if self._board is not None:
                    self._board.note_commit(number)
            except MapFull as error:
                self._recover(error)
            else:
                self._is_new = self._notes_format = False
                self._committed_position = self._log.position
                self.uncommitted = 0
                self.stamp += 1
                self.is_torn = False
                return
        raise StoreFull("the store cannot be committed: its map is full whatever its size")

    def _writing(self) -> WriteView:
        """Return the view of the open write transaction; begin or recover one if there is none."""
        if self._transactions.is_lost or self.is_torn:
            self._recover(None)
        view = self.view
        return self._begun() if view is None else view

    def _begun(self) -> WriteView:
        """Begin a write transaction, and return its view."""
        self._transactions.abort()  # one of which an exception kept us from making a view
        self._owner = threading.get_ident()
        view = WriteView(self._environment.begin(write=True), self._write_cache, self._owner)
        self.view = view
        return view

    def _give_up(self) -> None:
        """Forget the open transaction, and note that it has to be recovered."""
        self._transactions.is_lost = True
        self.view, self.is_torn = None, False
        self._transactions.abort()

    def _at_most_twice(self, work: Callable[[WriteView, Given], Answer], given: Given) -> Answer:
        """Run `work` in the open transaction; after an error of the storage, repeat it once in a recovered transaction.

        After any other exception the transaction is recovered, too, so that no partial change stays. On success, the
        caller adds the records and marks the transaction as whole.
        """
        self.stamp += 1
        try:
            try:
                view = self.view
                if view is None or self.is_torn or self._transactions.is_lost:
                    view = self._writing()
                self.is_torn = True
                view.changes += 1
                return work(view, given)
            except StoreDamaged:
                self._recover(None)
                raise
            except StoreError as error:
                self._recover(error)
            except BaseException:
                self._recover(None)
                raise
            try:
                view = self._writing()
                self.is_torn = True
                return work(view, given)
            except BaseException:
                self._recover(None)
                raise
        finally:
            self.stamp += 1

    def _recover(self, cause: StoreError | None, from_log_end: int | None = None) -> None:
        """Begin a new write transaction that includes every sealed record and every mutation applied since.

        Args:
            cause: the error before; if it is a full map, the map grows first.
            from_log_end: when a store is opened, the position of the last commit; replay finds the end of the log.
        """
        self._transactions.is_lost = True
        if self._open_cache is not None:  # it shares names and pending words, perhaps undone ones, with the one before
            with Held(self._replacing_cache):
                self._snapshot_cache, self._open_cache = self._fresh_cache(), None
        for _ in range(GROWTHS_MAX):
            self.recoveries += 1
            self.stamp += 1
            self._give_up()
            self._write_cache.undo()
            if isinstance(cause, MapFull):
                self._environment.grow()
            try:
                self._replay(from_log_end)
                return
            except MapFull as error:
                cause = error
            except BaseException:
                self._give_up()  # nothing can be read or written before a recovery has passed
                raise
        raise StoreFull("the store cannot be recovered: its map is full whatever its size")

    def _release(self) -> None:
        """Release everything; a second call finishes an interrupted one."""
        self._is_closing = True
        while self._closers:
            self._closers[-1]()
            del self._closers[-1]

    def _replay(self, from_log_end: int | None) -> None:
        if from_log_end is None:
            self._log.cut_rest()
        view = self._begun()
        dropped = set(buckets_in(view.transaction, DROPPED))
        self._write_cache.pending_buckets = set(buckets_in(view.transaction, PENDING)) - dropped
        position = read_position(view.transaction)
        if from_log_end is not None or position != self._log.position or self._unsealed:
            for start, record in self._log.replay(position):
                apply_mutation(view, unpack_mutation(record))
                position = start
            if from_log_end is not None:
                self._log.position = position
            for record in self._unsealed:
                apply_mutation(view, unpack_mutation(record))
        self.is_torn = self._transactions.is_lost = False


def _do(view: WriteView, work: Callable[[WriteView], Answer]) -> Answer:
    return work(view)
