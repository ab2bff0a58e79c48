"""The store: an environment, a log, and one open write transaction between them.

    apply   carry out a mutation in the open transaction (begun when needed)
    seal    write the records of all mutations since the last seal to the log: only then may a client get OK
    commit make them visible to other transactions; the commit stores the log position it covers
    sync    wait for the disk and save a checkpoint; then delete older segments of the log

Invariant: the environment holds no change that the log lacks, so `commit` seals first. See `recovery.py` for failures.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sonicpy._native.held import Held, insist
from sonicpy._native.terms import Terms
from sonicpy._native.turn import Turn
from sonicpy.errors import StoreError, StoreFull
from sonicpy.files import PRIVATE, Access
from sonicpy.late_logger import LateLogger
from sonicpy.rules import FIRST
from sonicpy.store import vector_pushes as fast
from sonicpy.store.care.convert import bring_up_to_date, is_convertible
from sonicpy.store.care.startup import prepare
from sonicpy.store.changing.column_room import check_room, has_bounds
from sonicpy.store.changing.mutations import (
    AnyPush,
    ChangeFields,
    Mutation,
    PushTerms,
    PushWith,
    UpsertTerms,
    check_size,
    pack_mutation,
    pack_push,
    pack_push_with,
)
from sonicpy.store.changing.same_rules import check_rules
from sonicpy.store.disk import folder as store_folder
from sonicpy.store.disk.background_sync import BackgroundSync
from sonicpy.store.disk.boot_mark import note_boot
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.free_space import FreeSpace
from sonicpy.store.disk.log import RECORD_MAX_BYTES, Log, Records
from sonicpy.store.recovery import Item, RecoveringStore, Value, apply_all
from sonicpy.store.refused_changes import Refusals, interruption_in
from sonicpy.store.rows.meta import OLDER_FORMATS, made_by, read_position
from sonicpy.store.syncing import SyncingStore
from sonicpy.store.vector_pushes import ORDER_ID, TRIED_AGAIN, VectorPushes, push_of
from sonicpy.store.views.open_cache import OpenCache
from sonicpy.store.views.read_cache import POSTINGS_MAX_BYTES
from sonicpy.store.views.view import View
from sonicpy.store.views.write_view import WriteView

logger = LateLogger(__name__)

SEGMENT_BYTES = 2 << 20  # a segment of the log; older ones go once a sync covers them
HOLES_AT_CLOSE_S = 0.5


class Store(VectorPushes, SyncingStore, RecoveringStore):
    """A store that one process writes.

    Args:
        folder: created if it is missing.
        analyzer, older: the analysis settings of new stores, and of older ones, which keep them; see `as_made`.
        map_bytes: the address space to reserve for the environment; it takes no disk until it is used.
        durability: "interval": a loss of power undoes the changes of about the last second; "commit": it undoes no
            change for which the caller waited by `sync_log`. Both sync in the background.
        postings_max_bytes: the most bytes of postings that readers cache.
        access: modes of new files.
        turn: the turn that threads take to change the store; no transaction stays open after a turn. None: only one
            thread changes the store, and decides when to commit.
        begins_small: whether new buckets begin as small ones, which have no graph.

    Raises:
        StoreLocked: another process writes the store.
        StoreError: the store cannot be opened; the message holds the reason and advice.

    Attributes:
        was_converted: whether opening converted the store from an older format, so that it needs new word graphs.
    """

    # Objects of at most 30 attributes are read with fewer instructions, so rare ones are here.
    was_converted = False

    def __init__(
        self,
        folder: Path,
        analyzer: Mapping[str, str],
        *,
        older: Mapping[str, str] | None = None,
        map_bytes: int,
        durability: str = "interval",
        postings_max_bytes: int = POSTINGS_MAX_BYTES,
        access: Access = PRIVATE,
        turn: Turn | None = None,
        begins_small: bool = True,
    ) -> None:
        self._closers = []
        try:
            lock = self._lock = store_folder.WriterLock(folder, access)
            self._closers.append(lock.release)
            log = self._make_log(folder, access)
            self._closers.append(log.close)
            prepare(folder, is_new=lock.made_data, access=access)
            environment = Environment(folder, map_bytes, access=access)
            self._closers.append(environment.close)
            analyzer = made_by(environment, analyzer, older)
            super().__init__(folder, environment, log, analyzer, postings_max_bytes, access)
            if not begins_small:
                self._write_cache.begins_small = False
            lock.watch(store_folder.LMDB_LOCK_FILE, folder / store_folder.LMDB_LOCK_FILE)
            self.durability = durability
            self._refusals = Refusals(lock)
            self._syncing = threading.Lock()
            self._free_space = FreeSpace(environment)
            self._closers.append(self._free_space.close)
            self._background = BackgroundSync(self._sync_behind_changes, self.free_disk)
            self._closers.append(self._background.close)
            self._turn = turn
            self._open()
            self._take_turns(turn)
        except BaseException:
            insist(self._release)
            raise

    # -- changing ------------------------------------------------------------------------------------------------

    def apply(self, mutation: Mutation, *, in_steps: bool = False) -> int:
        """Carry out a mutation; return the number for the client, to be sent after `seal`.

        Args:
            in_steps: only begin a long removal, and leave the rest to `take_step`; the client waits for the last step.

        Raises:
            StoreError: the change was not carried out; all changes before it were.
            RulesDiffer: the text of a PUSH was cut by other rules than those of its bucket; nothing was changed.
            InvalidArgument: the terms are too long, or the bucket has too many names of values; nothing was changed.
        """
        if isinstance(mutation, (PushTerms, PushWith, UpsertTerms)):
            self._check_accepting()
            check_rules(self._writing(), (mutation,))
        if isinstance(mutation, (ChangeFields, UpsertTerms, PushWith)) and has_bounds(mutation.fields):
            check_room(self._writing(), (mutation,))
        work = partial(apply_all, in_steps=True) if in_steps else apply_all
        return self._carry_out(pack_mutation(mutation), mutation, work, (mutation,))[0]

    def push(
        self, collection: str, bucket: str, oid: str, terms: Terms, rules: int = FIRST, order: bytes | None = None
    ) -> None:
        """Carry out a PUSH as `apply` does, but mostly without its calls, which take 2 % of the time of a PUSH. The
        order of the words is in the form of records of the log.

        Raises:
            RulesDiffer: the bucket has other rules than the text; nothing was changed.
            StoreError: the change was not carried out; all changes before it were.
        """
        if order is None:
            record = pack_push(collection, bucket, oid, terms, rules)
        else:
            record = pack_push_with(collection, bucket, oid, terms, ((ORDER_ID, order),), rules)
        view = self.view  # None, too, when the open transaction is lost
        if (
            view is None
            or self.is_torn
            or self._refusals.now is not None
            or view.removals.objects
            or view.removals.collections
            or (writer := view.writer_cache.get((collection, bucket)) or fast.opened(view, collection, bucket, rules))
            is None
            or writer.rules != rules
            or len(record) > RECORD_MAX_BYTES
        ):
            self.apply(push_of(collection, bucket, oid, terms, rules, order))
            return
        self.uncommitted += 1  # from before it can be read: see readable_stamp
        self.stamp += 1
        self.is_torn = True
        view.changes += 1
        try:
            if order is None:
                writer.push(oid, terms)
            else:
                writer.push_with_order(oid, terms, order)
            if terms.languages:
                writer.count_languages(terms.languages)
        except BaseException as error:
            self.uncommitted -= 1
            self._recover(error if isinstance(error, StoreError) else None)
            if not isinstance(error, TRIED_AGAIN):
                raise
            self.apply(push_of(collection, bucket, oid, terms, rules, order))  # an error of it names the fault
            return
        self.stamp += 1
        self._unsealed.append(record)
        self.is_torn = False
        if self._board is not None:
            self._board.mark(collection, bucket, view.transaction.number)

    def _carry_out(
        self, record: bytes, change: tuple[Any, ...], work: Callable[[WriteView, Item], Value], given: Item
    ) -> Value:
        """Carry out one change; return the result of `work`.

        Args:
            record: the record of the change.
            change: the fields of the mutation, names first.
            work: a function that carries out the change `given` in a view.

        Raises like `apply`.
        """
        self._check_accepting()
        check_size(record)
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

    def apply_pushes(self, pushes: Sequence[AnyPush], *, new: bool = False) -> list[int]:
        """Carry out many PUSHes or UPSERTs as one change; return the indices of the PUSHes that were left out.

        Args:
            new: leave out PUSHes whose object exists.

        Raises:
            StoreError: none of them was carried out; all changes before them were.
            RulesDiffer: a text was cut by other rules than those of its bucket; nothing was changed.
            InvalidArgument: one of them has too many terms, or a bucket has no room for a name; nothing was changed.
        """
        self._check_accepting()
        check_rules(self._writing(), pushes)
        if bounded := [push for push in pushes if not isinstance(push, PushTerms) and has_bounds(push.fields)]:
            check_room(self._writing(), bounded)
        records = [pack_mutation(push) for push in pushes]
        for record in records:  # `seal` would drop all changes since the last one with it
            check_size(record)
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

    def seal(self) -> None:
        """Write the records of all mutations since the last seal to the log.

        Raises:
            StoreError: no record was written; the mutations are undone.
        """
        if not self._unsealed:
            return
        before = self._log.position
        try:
            if self._refusals.lasting is not None:  # the call would take .5 % of the time of a PUSH
                self._refusals.check_lasting()
            self._log.append(self._unsealed)
        except StoreError:
            self._undo_unsealed()
            raise
        finally:
            if self._log.position != before:  # an exception may come when they are in
                self._unsealed = []

    def commit(self) -> None:
        """Make all applied mutations visible to all readers; grow the map before it is needed.

        Raises:
            StoreError: the commit failed. Reads go on; mutations are refused until a commit succeeds.
        """
        self._owner = threading.get_ident()
        self._refusals.check_files()
        self.seal()
        if self._is_committed():
            self._refusals.note_commit()
            self.uncommitted = 0  # an interrupted change may have been counted
            return
        began = time.monotonic()
        try:
            self._commit_environment()
        except StoreError as error:
            if (interruption := interruption_in(error)) is not None:
                raise interruption from None  # the next change begins with a recovery
            refusal = self._refusals.note_failure(error)
            try:
                self._recover(error)
            finally:
                self._refusals.wait_after(time.monotonic() - began)
            raise refusal from error
        self._refusals.note_commit()
        try:
            lasting, environment = self._refusals.lasting, self._environment
            if lasting is None and environment.needs_room() and environment.can_grow():
                environment.grow()
            if self._log.bytes_in_segment() > SEGMENT_BYTES:
                self._begin_segment()
        finally:
            self._sync_in_background()

    def refuse(self, why: str | None) -> None:
        """Refuse changes with the sentence `why`, although the store can still be written; None: accept them again."""
        self._refusals.hold_back(why)

    def shorten_log(self) -> None:
        """Begin a new segment if everything in the log is committed, so that `sync` deletes older ones; the thread that
        changes the store calls it after some time without a change."""
        if self._is_committed() and self._log.position == self._committed_position:
            self._begin_segment()

    @property
    def log_position(self) -> int:
        """The log position behind the last sealed record."""
        return self._log.position

    @property
    def refusing(self) -> bool:
        """Whether mutations are refused, because the last commit or a sync failed or by `refuse`."""
        return self._refusals.now is not None

    # -- reading -------------------------------------------------------------------------------------------------

    def shown_now(self) -> View | None:
        """Return the view of the open write transaction for reading; None: this thread does not own one.

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
            view = self._writing_for_reader()
        if view is None or view.owner != threading.get_ident():
            return None
        return self._with_cache(view)

    def _with_cache(self, view: WriteView) -> View:
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

    def log_bytes(self) -> int:
        """Return the number of bytes of the records in the log."""
        return self._log.size_bytes()

    def note_server(self, url: str) -> None:
        """Publish the URL of this server for processes that try to open the folder. Raises StoreFull."""
        self._lock.note_server(url)

    def leave_to_parent(self) -> None:
        """In a forked process: close the inherited files without touching a transaction; the parent keeps its lock."""
        self._environment.leave_to_parent()
        self._lock.release()

    # -- inside --------------------------------------------------------------------------------------------------

    def _take_turns(self, turn: Turn | None) -> None:
        if turn is not None:
            turn.open, turn.owner, turn.finish = self._transactions, self, self.commit

    def _finish(self, seconds: float) -> bool:
        """Commit and sync; return whether all other threads have left the store within `seconds`."""
        if self._refusals.replaced() is not None:
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

    def _make_log(self, folder: Path, access: Access) -> Records:
        return Log(folder / "log", access)

    def _check_accepting(self) -> None:
        if self.view is None:  # a change of an open transaction is as good as those before it
            self._refusals.check_files()
        if self._refusals.may_end and self._refusals.is_time_to_try:
            self._try_again()
        self._refusals.check()

    def _try_again(self) -> None:
        """Repeat a failed commit. No mutation has been accepted since, so there is nothing to seal."""
        try:
            self.commit()
        except StoreError as error:  # it is the refusal now
            logger.debug("%s", error)

    def _watch_log(self) -> None:
        if self._log.file is not None:
            self._lock.watch("log", self._log.file)

    def _begin_segment(self) -> None:
        self._lock.unwatch("log")  # an interrupt behind `rotate` must not leave the old segment watched: it is deleted
        try:
            self._log.rotate()
        except StoreFull as error:  # the old segment goes on
            logger.error("%s", error)
        self._watch_log()

    def _open(self) -> None:
        found = bring_up_to_date(self.folder, self._environment, self._analyzer)
        self._is_new, self._notes_format = found is None, found in OLDER_FORMATS
        if is_convertible(found):
            self.was_converted = True
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
            logger.error("the log was damaged: the part after position %d was set aside as %s", end, path)
        self._watch_log()
        self._log.retire(end)
