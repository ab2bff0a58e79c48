"""The one open write transaction of a store, and the one answer to every failure inside it: recovery.

`_recover` aborts the transaction, drops the write cache, begins again, and replays the log from the position of the
last commit. The same routine runs when a store is opened.

An exception of a signal handler may come at any moment, also in `_recover`. So the open transaction is marked as torn
before it is changed, and as whole once it holds exactly the changes of the log and of the unsealed records. The next
use of a transaction that is torn, or was given up at the end of a `Turn`, recovers first. The mark and the transaction
are in `OpenTransactions`.

If the log turns out to be damaged before its end, acknowledged changes are lost: the store refuses changes for good,
and readers see the last commit, until the next opening of the store goes on with the part before the damage.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sonicpy._native.held import Held
from sonicpy._native.readers import OpenTransactions
from sonicpy._native.turn import Turn
from sonicpy.errors import StoreDamaged, StoreError, StoreFull
from sonicpy.files import Access
from sonicpy.late import late
from sonicpy.late_logger import LateLogger
from sonicpy.store.changing.mutations import ChangeSynonyms, unpack_mutation
from sonicpy.store.disk.change_board import ChangeBoard
from sonicpy.store.disk.environment import GROWTHS_MAX, Environment
from sonicpy.store.disk.log import Records
from sonicpy.store.disk.table_numbers import DROPPED, PENDING
from sonicpy.store.disk.table_rows import MapFull
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.reader import StoreReader
from sonicpy.store.refused_changes import Refusals
from sonicpy.store.rows.meta import POSITION, note_format, read_position, write_identity
from sonicpy.store.rows.table_checks import buckets_in
from sonicpy.store.rows.undecoded import UNDECODED
from sonicpy.store.views.open_cache import OpenCache
from sonicpy.store.views.read_cache import SnapshotCache
from sonicpy.store.views.write_cache import WriteCache
from sonicpy.store.views.write_view import WriteView

if TYPE_CHECKING:
    from sonicpy.store.changing.apply import apply_all as apply_all
    from sonicpy.store.changing.apply import take_step
    from sonicpy.store.changing.sweep import sweep
else:
    apply_all = late("sonicpy.store.changing.apply", "apply_all", __name__)
    take_step = late("sonicpy.store.changing.apply", "take_step", __name__)
    sweep = late("sonicpy.store.changing.sweep", "sweep", __name__)

logger = LateLogger(__name__)

Value = TypeVar("Value")
Item = TypeVar("Item")


class RecoveringStore(StoreReader):
    """A store with an open write transaction, and with those changes that need no record in the log.

    Args:
        folder, environment, postings_max_bytes, access: as for `StoreReader`.
        log: the log from which the transaction is recovered.
        analyzer: the analysis settings, which are written into a new store.

    Attributes:
        stamp: a number that grows before and after every visible change: equal stamps mean equal answers.
        view: the view of the open write transaction; None: no write transaction is open.
    """

    def __init__(
        self,
        folder: Path,
        environment: Environment,
        log: Records,
        analyzer: Mapping[str, str],
        postings_max_bytes: int,
        access: Access,
    ) -> None:
        super().__init__(folder, environment, postings_max_bytes, access)
        self._log = log
        self._analyzer = dict(analyzer)
        self.stamp = 0
        self.view: WriteView | None = None
        self.is_torn = False
        self._open_cache: OpenCache | None = None  # what was read of the open transaction
        self._transactions: OpenTransactions[Transaction]  # once the tables are all there
        self._owner: int  # the thread of the open transaction
        self._turn: Turn | None
        self._refusals: Refusals
        self._write_cache = WriteCache()
        self._snapshot_cache = self._fresh_cache()
        self._board: ChangeBoard | None = None
        self._unsealed: list[bytes] = []
        self._committed_position = 0
        self._is_new = self._notes_format = False

    # -- changes without a record ------------------------------------------------------------------------------------

    def take_step(self) -> bool:
        """Carry out a step of a removal in steps; return whether anything is left. A step needs no log record."""
        return self.maintain(take_step)

    @property
    def uncommitted_bytes(self) -> int:
        """The number of bytes in the log that no commit covers."""
        return self._log.position - self._committed_position

    @property
    def created_words(self) -> int:
        """The number of rows of words that changes have created since the store was opened."""
        return self._write_cache.terms.created

    @property
    def is_read_elsewhere(self) -> bool:
        """Whether another process reads the store."""
        return self._environment.is_read_elsewhere

    @property
    def has_removals(self) -> bool:
        """Whether an object or a collection is half gone, so that `take_step` has to be called."""
        return bool(self._write_cache.removals)

    def sweep(self, rows: int) -> bool:
        """Delete about `rows` rows of flushed buckets; return whether any rows are left."""
        self._write_cache.has_dropped = self.maintain(lambda view: sweep(view, rows))
        return self._write_cache.has_dropped

    def maintain(self, work: Callable[[WriteView], Value]) -> Value:
        """Return the result of `work`, which changes rows without a log record, but nothing that was acknowledged.

        Raises:
            StoreError: `work` failed twice, or a row cannot be decoded.
        """
        try:
            done = self._at_most_twice(_do, work)
        except UNDECODED as error:
            raise self.damaged(error) from error
        self.is_torn = False
        return done

    def flush_term_rows(self) -> None:
        """Write the rows of words that PUSH changed, so that the next commit has less to write.

        Raises:
            StoreError: writing failed twice; nothing is lost.
        """
        view = self.view
        if view is not None and view.terms.changed:
            self.maintain(WriteView.flush_term_rows)

    def write_many_buckets(self) -> None:
        """Write the rows of changed buckets, if these are many, so that the next commit has few of them to write.

        Raises:
            StoreError: writing failed twice; nothing is lost.
        """
        view = self.view
        if view is not None and view.has_many_buckets:
            self.maintain(WriteView.write_changes)

    def has_digest(self, collection: str, bucket: str, oid: str, digest: bytes) -> bool:
        """Return whether the text of an object has this digest. Only the thread that may change the store calls
        this. Raises StoreDamaged if a row cannot be decoded."""
        if self.has_removals or self.is_torn:
            return False  # the change takes away the rest first
        view = self.view
        if view is not None:
            holder: Any = view.writer_cache.get((collection, bucket))  # it has at hand what the view looks up
            here: bool
            try:
                here = holder.has_digest(oid, digest) if holder else view.has_digest(collection, bucket, oid, digest)
            except UNDECODED as error:  # as `reading`
                raise self.damaged(error) from error
            return here
        with self.reading() as view:
            found: bool = view.has_digest(collection, bucket, oid, digest)
        return found

    def have_digests(self, collection: str, bucket: str, asked: Sequence[tuple[str, bytes]]) -> list[bool]:
        """Return, for each (name, digest) of `asked`, whether the text of the object has this digest; see
        `has_digest`."""
        if self.has_removals or self.is_torn or self.view is not None:
            return [self.has_digest(collection, bucket, oid, digest) for oid, digest in asked]
        with self.reading() as view:
            found: list[bool] = view.have_digests(collection, bucket, asked)
        return found

    def pending_buckets(self) -> set[int]:
        """Return the ids of the buckets that may have words waiting for consolidation."""
        return self._write_cache.pending_buckets.copy()

    def forget_bucket(self, bucket: int) -> None:
        """Drop a flushed bucket from `pending_buckets`, and its rows from the cache of readers."""
        self._write_cache.pending_buckets.discard(bucket)
        self._snapshot_cache.forget(bucket)

    def take_flushed(self) -> dict[int, int]:
        """Return the buckets whose flush was committed since the last call, with the versions of their graphs."""
        if self.uncommitted:
            return {}
        flushed, self._write_cache.flushed = self._write_cache.flushed, {}
        return flushed

    @property
    def has_dropped(self) -> bool:
        """Whether rows of flushed buckets may wait for `sweep`."""
        return self._write_cache.has_dropped

    def share_changes(self) -> ChangeBoard:
        """Return the change board, which shows readers in other processes the buckets with uncommitted changes.

        Only the thread that changes the store calls this.
        """
        if self._board is None:
            self._board = ChangeBoard.create()
            self._closers.append(self._board.close)
            committed = self._environment.last_commit()
            self._board.note_commit(committed)
            if self.uncommitted:
                self._board.mark_all(committed + 1)
        return self._board

    def readable_stamp(self) -> int | None:
        """Return `stamp` if this thread reads the newest state; None: it reads an older commit."""
        stamp = self.stamp  # read before the count: a change raises the count first
        if self._owner == threading.get_ident():
            return stamp
        # A step of a removal changes what is read without a mutation.
        return stamp if not self.uncommitted and self.view is None else None

    def sync_before(self, work: Callable[[], None]) -> None:
        """Call `work` at the beginning of every sync; it syncs the files that commits refer to."""
        self._environment.sync_before(work)

    @property
    def checkpoint(self) -> int:
        """The number of the last commit that a loss of power cannot undo."""
        return self._environment.checkpoint

    # -- the transaction ---------------------------------------------------------------------------------------------

    def _fresh_cache(self) -> SnapshotCache:
        most = self._snapshot_cache.postings_max_bytes
        return SnapshotCache(-1, recent=self._write_cache.recent_changes, postings_max_bytes=most)

    def _is_committed(self) -> bool:
        """Return whether the last commit holds all changes."""
        return self.view is None and not self._transactions.is_lost and not self.is_torn

    def _mark(self, board: ChangeBoard, names: tuple[Any, ...]) -> None:
        """Note on the board that a change, which begins with `names`, will be in the commit of the open transaction."""
        view = self.view
        assert view is not None
        number = view.transaction.number
        if len(names) > 1 and not isinstance(names, ChangeSynonyms):
            board.mark(names[0], names[1], number)
        else:  # of a collection
            board.mark_all(number)

    def _note_position(self, view: WriteView) -> None:
        """Write the log position up to which a transaction covers the log, right before its commit."""
        POSITION.write(view.transaction, self._log.position)

    def _commit_environment(self) -> None:
        """Commit the open transaction with the log position that it covers; enlarge the map if it is full.

        Raises:
            StoreError: the commit failed; the caller recovers by `_recover`.
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
                view.release()
            except MapFull as error:
                self._recover(error)
            except UNDECODED as error:  # some rows that changes add to are first read here
                raise self.damaged(error) from error
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

    def _writing_for_reader(self) -> WriteView | None:
        """Return `_writing()`; None: the log is damaged, so that readers see the last commit."""
        try:
            return self._writing()
        except StoreDamaged as error:
            if error is not self._refusals.damage:
                raise
            return None

    def _begun(self) -> WriteView:
        """Begin a write transaction, and return its view."""
        self._transactions.abort()  # one of which an exception kept us from making a view
        self._owner = threading.get_ident()
        is_batch = self._turn is not None and self._turn.batches  # which may end on another thread
        transaction = self._environment.begin(self._turn if is_batch else None)
        view = WriteView(transaction, self._write_cache, self._owner)
        self.view = view
        return view

    def _give_up(self) -> None:
        """Forget the open transaction, and note that its changes have to be made again."""
        self._transactions.is_lost = True
        self.view, self.is_torn = None, False
        self._transactions.abort()

    def _at_most_twice(self, work: Callable[[WriteView, Item], Value], given: Item) -> Value:
        """Return the result of `work`, called with the open transaction, and after an error of the storage once more.

        If `work` raises anything else, the transaction is recovered, too, so that nothing half done stays. If it
        succeeds, the caller notes the records of its changes, and that the transaction is no longer torn.
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
        """Begin a new write transaction, with the changes of all sealed records and of those applied since.

        Args:
            cause: the error that led to the recovery; if the map is full, it grows first.
            from_log_end: when a store is being opened, the log position of its last commit: the end of the log is then
                found by the replay.

        Raises:
            StoreFull: growing the map does not help.
            StoreDamaged: the log is damaged before its end, which is known when the store is open.
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

    def _undo_unsealed(self) -> None:
        """Undo the changes since the last seal, which cannot be sealed. Raises like `_recover`."""
        self.uncommitted -= len(self._unsealed)
        self._unsealed = []
        self.undone += 1
        self._recover(None)

    def _replay(self, from_log_end: int | None) -> None:
        self._refusals.check_damage()
        end = inf
        if from_log_end is None:
            end = self._log.position
            try:
                self._log.cut_rest()
            except StoreFull as error:  # the disk takes nothing: the next append tries again, and reads go on
                logger.debug("%s", error)
        view = self._begun()
        dropped = set(buckets_in(view.transaction, DROPPED))
        self._write_cache.pending_buckets = set(buckets_in(view.transaction, PENDING)) - dropped
        position = read_position(view.transaction)
        if from_log_end is not None or position != self._log.position or self._unsealed:
            for behind, record in self._log.replay(position):
                if behind > end:
                    break
                apply_all(view, (unpack_mutation(record),))
                position = behind
            if from_log_end is not None:
                self._log.position = position
            elif position < end and self._log.file is not None:  # records in memory cannot be damaged
                raise self._refusals.note_damage(
                    StoreDamaged(
                        f"the log of the store {self.folder} is damaged at position {position} and ends at {end}: the "
                        "store shows its last commit and takes no more changes until it is opened again, which replays "
                        "the part before the damage and sets the rest aside"
                    )
                )
            if self._unsealed:
                apply_all(view, map(unpack_mutation, self._unsealed))
        self.is_torn = self._transactions.is_lost = False


def _do(view: WriteView, work: Callable[[WriteView], Value]) -> Value:
    return work(view)
