"""The store: an environment, a log, and one open write transaction between them.

    apply   carry out a mutation in the open transaction (begun when needed)
    seal    write the records of what was applied since the last seal to the log: only then may a client get OK
    commit  make it visible to other transactions; the commit notes the log position it covers
    sync    wait for the disk and save a checkpoint; then older segments of the log go

Invariant: the environment never holds what the log does not, so `commit` seals first. Every failure inside the open
transaction has one answer, `_recover`: abort the transaction, drop the write cache, begin again, and replay the log
from the position of the last commit. The same routine runs when a store is opened.

An exception of a signal handler may come at any moment, also in `_recover`. So the open transaction is marked as torn
before it is changed, and as whole once it holds just what the log and the list of unsealed records hold: whoever finds
it torn, or given up at the end of a `Turn`, recovers first. The mark and the transaction are in `OpenTransactions`.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from sonicpy._native.held import Held, insist
from sonicpy._native.terms import Terms
from sonicpy._native.turn import Turn
from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import StoreDamaged, StoreError, StoreFull, StoreLocked
from sonicpy.files import PRIVATE, Access
from sonicpy.rules import FIRST
from sonicpy.store.care.convert import Conversion, is_convertible
from sonicpy.store.care.startup import prepare
from sonicpy.store.changing.apply import apply_all, take_step
from sonicpy.store.changing.mutations import (
    Mutation,
    PushTerms,
    RulesDiffer,
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
    OLDER_FORMATS,
    POSITION,
    check_analyzer,
    check_format,
    note_format,
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
"""Errors of a PUSH after which it is carried out once more, in a recovered transaction."""
GROWTHS_MAX = 20  # doublings of the map in one recovery: far more than any disk holds


class Store(StoreReader):
    """A folder that one process writes.

    Args:
        folder: created if it is missing.
        analyzer: what decides which terms are stored, key by key; must be what the store was made with.
        map_bytes: address space to reserve for the environment (sparse).
        durability: "interval": a loss of power undoes what was changed within about the last second; "commit": it
            undoes nothing for which the caller waited by `sync_log`. Both sync in the background.
        postings_max_bytes: that readers cache.
        access: modes of new files.
        turn: of the threads that change it, each of which leaves no transaction open behind its turn; None: one thread
            alone changes it, and commits when it likes.

    Raises:
        StoreLocked: another process writes it.
        StoreError: it cannot be opened; one sentence says why and what to do.

    Attributes:
        stamp: grows before and after every change of what is read: the same stamp, the same answers.
        was_converted: whether opening converted the store from an older format: its word graphs are to be built.
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
        """Carry out a mutation; return the number for the client, which may have it once `seal` has passed.

        Args:
            in_steps: let `take_step` do most of a removal that takes long; the client waits for the last step.

        Raises:
            StoreError: it was not carried out; everything applied before it is.
            RulesDiffer: a PUSH whose bucket has other rules than the text; nothing was changed.
        """
        if isinstance(mutation, PushTerms):
            self._check_accepting()
            self._check_rules((mutation,))
        work = partial(apply_all, in_steps=True) if in_steps else apply_all
        return self._carry_out(pack_mutation(mutation), mutation, work, (mutation,))[0]

    def push(self, collection: str, bucket: str, oid: str, terms: Terms, rules: int = FIRST) -> None:
        """Carry out PushTerms as `apply` does; where nothing stands in the way without its calls: 2 % of a PUSH.

        Raises:
            RulesDiffer: the bucket has other rules than the text; nothing was changed.
            StoreError: it was not carried out; everything applied before it is.
        """
        record = pack_push(collection, bucket, oid, terms, rules)
        view = self.view  # None, too, when the open transaction is lost
        if (
            view is None
            or self.is_torn
            or self._refusal is not None
            or self._held_back is not None
            or (writer := view.writer_cache.get((collection, bucket))) is None
            or writer.rules != rules
            or view.removals.objects
            or view.removals.collections
            or len(record) > RECORD_MAX_BYTES
        ):
            self.apply(PushTerms(collection, bucket, oid, terms, rules=rules))
            return
        self.uncommitted += 1  # from before it can be read: see readable_stamp
        self.stamp += 1
        self.is_torn = True
        view.changes += 1
        try:
            writer.push(oid, terms)
            if terms.languages:
                writer.count_languages(terms.languages)
        except BaseException as error:
            self.uncommitted -= 1
            self._recover(error if isinstance(error, StoreError) else None)
            if not isinstance(error, TRIED_AGAIN):
                raise
            # This says what is wrong, unless it passes now.
            self.apply(PushTerms(collection, bucket, oid, terms, rules=rules))
            return
        self.stamp += 1
        self._unsealed.append(record)
        self.is_torn = False
        if self._board is not None:
            self._board.mark(collection, bucket, view.transaction.number)

    def _carry_out(
        self, record: bytes, change: tuple[Any, ...], work: Callable[[WriteView, Given], Answer], given: Given
    ) -> Answer:
        """Carry out one change; return the answer of `work`.

        Args:
            record: of the change.
            change: its names, and what follows.
            work: changes the store as `given` says.

        Raises:
            StoreError: it was not carried out; everything applied before it is.
        """
        self._check_accepting()
        if len(record) > RECORD_MAX_BYTES:
            raise StoreError(
                f"a change of {len(record)} bytes of terms is refused: at most {RECORD_MAX_BYTES} are accepted; "
                "split the text"
            )
        self.uncommitted += 1  # from before it can be read: see readable_stamp
        try:
            answer = self._at_most_twice(work, given)
        except BaseException:
            self.uncommitted -= 1
            raise
        self._unsealed.append(record)
        self.is_torn = False
        if self._board is not None:
            self._mark(self._board, change)
        return answer

    def apply_pushes(self, pushes: Sequence[PushTerms], *, new: bool = False) -> list[int]:
        """Carry out many PUSHes as one change; return the places of those left out.

        Args:
            new: leave out those whose object exists.

        Raises:
            StoreError: none of them was carried out; everything applied before them is.
            RulesDiffer: as `apply`.
        """
        self._check_accepting()
        self._check_rules(pushes)
        records = [pack_mutation(push) for push in pushes]
        self.uncommitted += len(records)  # from before it can be read: see readable_stamp
        try:
            answers = self._at_most_twice(partial(apply_all, new=new), pushes)
        except BaseException:
            self.uncommitted -= len(records)
            raise
        left_out = [place for place, answer in enumerate(answers) if answer]
        for place in reversed(left_out):
            del records[place]
        self.uncommitted -= len(left_out)
        self._unsealed += records
        self.is_torn = False
        if self._board is not None:
            for push in pushes:
                self._mark(self._board, push)
        return left_out

    def _check_rules(self, pushes: Sequence[PushTerms]) -> None:
        """Raise RulesDiffer if a bucket exists and has other rules than a text."""
        view = self._writing()
        seen: dict[tuple[str, str], int] = {}
        for push in pushes:
            scope = (push.collection, push.bucket)
            if scope not in seen:
                state = view.bucket(*scope)
                seen[scope] = push.rules if state is None else view.rules(state.bucket)
            if seen[scope] != push.rules:
                raise RulesDiffer(scope, seen[scope])

    def seal(self) -> None:
        """Put what was applied since the last seal into the log.

        Raises:
            StoreError: none of it was; it is undone.
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
        """Make everything applied visible to all; grow the map before it is needed.

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
        """Refuse changes with this sentence, although the store can still be written; None: accept them again."""
        self._held_back = None if why is None else StoreFull(why)

    def shorten_log(self) -> None:
        """Begin a new segment if everything in the log is committed, so that the next `sync` deletes the older ones.

        For the thread that changes the store, when nothing was changed for a while.
        """
        if self._is_committed() and self._log.position == self._committed_position:
            self._begin_segment()

    def sync_log(self) -> int:
        """Wait until the log is on the disk; return up to which position it is. May be called from any thread."""
        return self._log.sync()

    def sync(self) -> None:
        """Wait until log and environment are on the disk, then delete the segments of the log that are not needed.

        May be called from any thread. Afterwards a loss of power undoes nothing that was committed before.

        Raises:
            StoreError: the disk failed; nothing is counted as done.
        """
        with Held(self._syncing):
            covered = self._committed_position  # taken before the sync begins
            self._log.sync()
            self._environment.sync()
            if self._note_if_replaced() is None:  # else it would delete by name what may be of another process
                self._log.retire(covered)

    def free_disk(self) -> bool:
        """Give some of the pages that nothing needs back to the file system; return whether there may be more.

        May be called from any thread. Nothing is given back while the store is being changed.

        Raises:
            StoreError: the disk failed.
        """
        return self._free_space.give_back(HOLES_S)

    def sync_before(self, work: Callable[[], None]) -> None:
        """Let every sync begin with `work`, which makes sure that the disk has what commits refer to."""
        self._environment.sync_before(work)

    @property
    def checkpoint(self) -> int:
        """The number of the last commit that a loss of power cannot undo."""
        return self._environment.checkpoint

    def take_step(self) -> bool:
        """Carry out a step of what is removed in steps; return whether anything is left. Needs no log record."""
        return self.maintain(take_step)

    @property
    def has_removals(self) -> bool:
        """Whether something is half gone, so that `take_step` has to be called."""
        return bool(self._write_cache.removals)

    def sweep(self, rows: int) -> bool:
        """Delete at most about `rows` rows of flushed buckets; return whether any are left."""
        self._write_cache.has_dropped = self.maintain(lambda view: sweep(view, rows))
        return self._write_cache.has_dropped

    def maintain(self, work: Callable[[WriteView], Answer]) -> Answer:
        """Let `work` change rows in a way that needs no log record, because it changes nothing that was acknowledged.

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
        """Return the board on which readers in other processes see which buckets have changes that no commit holds.

        For the thread that changes the store.
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
        """Return the ids of the buckets that may have words waiting for consolidation."""
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

        A change that was interrupted is decided first, so that what is read stays true.

        Raises:
            StoreError: it was lost and cannot be recovered, so what was acknowledged cannot be read.
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
        """Return whether this thread is the one that changes the store now."""
        return self._owner == threading.get_ident() if self._turn is None else self._turn.is_mine

    def _settle(self, turn: Turn) -> None:
        """Commit what the log holds of a change that was interrupted; if that fails, readers see the last commit."""
        with turn.hold():
            if not self._transactions.is_lost:
                return
            try:
                self.commit()
            except StoreError as error:
                logger.error("%s", error)

    def readable_stamp(self) -> int | None:
        """Return `stamp` if this thread reads the state it belongs to; None: it reads an older commit."""
        stamp = self.stamp  # read before the count: a change raises the count first
        if self._owner == threading.get_ident():
            return stamp
        # A step of a removal changes what is read without a mutation.
        return stamp if not self.uncommitted and self.view is None else None

    def log_bytes(self) -> int:
        """Return how many bytes of records the log holds."""
        return self._log.size_bytes()

    def note_server(self, url: str) -> None:
        """Tell other processes that want to open the folder at which URL this one serves it. Raises StoreFull."""
        self._lock.note_server(url)

    def leave_to_parent(self) -> None:
        """In a forked process: touch no transaction, and release the lock here; the parent keeps it."""
        self._environment.leave_to_parent()
        self._lock.release()

    def close(self, seconds: float = inf) -> None:
        """Commit, sync, and let other processes open the store; do the rest if an earlier call was interrupted.

        Args:
            seconds: how long to wait for the reads of other threads; if they take longer, the store stays as it is, and
                the next start finds it as after a kill.
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
        """Write into a transaction that is about to be committed which part of the log it covers."""
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
        """Commit, if that works now: nothing was accepted since it failed, so nobody waits for a seal."""
        try:
            self.commit()
        except StoreError as error:  # it is the refusal now
            logger.debug("%s", error)

    def _note_if_replaced(self) -> StoreLocked | None:
        """Return why changes are refused for good, because a file of the store was deleted or replaced; None: none
        was. The first time, the log says it."""
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

    def _mark(self, board: ChangeBoard, names: tuple[Any, ...]) -> None:
        """Note on the board which commit will hold a change, which begins with names, of the open transaction."""
        view = self.view
        assert view is not None
        number = view.transaction.number
        if len(names) > 1:
            board.mark(names[0], names[1], number)
        else:  # of a collection
            board.mark_all(number)

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

    def _convert(self) -> None:
        """Convert the tables of a store of an older version; refuse another one as it is."""
        environment = self._environment
        with environment.reading() as transaction:
            found = FORMAT.read(transaction)
            self._is_new = found is None
            self._notes_format = found in OLDER_FORMATS
            is_old = is_convertible(transaction)
            if not self._is_new and not is_old:
                check_format(transaction)
                check_analyzer(self.folder, transaction, self._analyzer)
        if is_old:
            Conversion(self.folder, environment, self._analyzer).run()
            self.was_converted = True
        environment.add_tables()

    def _open(self) -> None:
        self._convert()
        self._transactions = self._environment.transactions
        with self._environment.reading() as transaction:
            self._committed_position = read_position(transaction)
        self._recover(None, from_log_end=self._committed_position)
        # Replay, commit, sync, then a new segment: nothing is ever appended behind a record that may be damaged, and a
        # segment of an earlier process, which no process syncs, is not needed any more.
        end = self._log.position
        self._commit_environment()
        self._environment.sync()
        for path in self._log.start(end):
            logger.error("the log was damaged: what followed position %d was set aside as %s", end, path)
        self._watch_log()
        self._log.retire(end)

    def _commit_environment(self) -> None:
        """Commit the open transaction with the log position it covers; if the map is full, in a larger one.

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
                    note_format(view.transaction)
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
        """Forget the open transaction, and note that what it held has to be done again."""
        self._transactions.is_lost = True
        self.view, self.is_torn = None, False
        self._transactions.abort()

    def _at_most_twice(self, work: Callable[[WriteView, Given], Answer], given: Given) -> Answer:
        """Run `work` in the open transaction; after an error of the storage once more, in a recovered one.

        If it raises anything else, the transaction is recovered too, so nothing half done stays. If it passes, the
        caller notes the records of what was done, and that the transaction is not torn any more.
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
        """Begin a fresh write transaction that holds every sealed record and every one applied since.

        Args:
            cause: why; if it is a full map, the map grows first.
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
        """Give everything back; do the rest if an earlier call was interrupted."""
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
                apply_all(view, (unpack_mutation(record),))
                position = start
            if from_log_end is not None:
                self._log.position = position
            apply_all(view, map(unpack_mutation, self._unsealed))
        self.is_torn = self._transactions.is_lost = False


def _do(view: WriteView, work: Callable[[WriteView], Answer]) -> Answer:
    return work(view)
