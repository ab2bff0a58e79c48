"""Engine: an open folder: its store, word graphs, lexer and settings; reads and changes.

`Index` reads and changes it for its users, `Maintainer` maintains it. This file does not depend on queries.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sonicpy._native.held import insist, keep_for_ever
from sonicpy._native.terms import Terms
from sonicpy._native.turn import Turn
from sonicpy.config.defaults import DEFAULTS
from sonicpy.errors import InvalidArgument, StoreDamaged, StoreError, StoreFull
from sonicpy.files import ACCESSES
from sonicpy.graph.graph_pool import GraphName, GraphPool, graph_folder, sync_names
from sonicpy.index.ingest.given_vectors import check_columns
from sonicpy.index.search.lexicon import Lexicon, Lexicons
from sonicpy.index.search.several import UnitedLexicon, open_several
from sonicpy.index.text_engine import TextEngine
from sonicpy.late import late
from sonicpy.late_logger import LateLogger
from sonicpy.lexer.lexer import Lexer
from sonicpy.store.care.restore import drop_staged
from sonicpy.store.changing.any_store import ENDED, AnyStore, ClosedStore, EndedStore
from sonicpy.store.changing.mutations import (
    AnyPush,
    Fields,
    FlushBucket,
    FlushCollection,
    FlushObject,
    Mutation,
    PushWith,
    UpsertTerms,
)
from sonicpy.store.disk.environment import ReaderSlot as ReaderSlot
from sonicpy.store.disk.open_folders import FolderClaim, guard
from sonicpy.store.refused_changes import finish_change
from sonicpy.store.shared_store import SharedStore
from sonicpy.store.store import Store
from sonicpy.store.views.view import View

if TYPE_CHECKING:
    from sonicpy.config import Config
    from sonicpy.store.changing.apply import is_vector
else:
    is_vector = late("sonicpy.store.changing.apply", "is_vector", __name__)

logger = LateLogger(__name__)

BATCH_COMMIT = 512
"""The number of changes after which a batch commits; a change in a batch costs a third of one with its own commit."""

SWEEP_ROWS = 500
"""The most rows of flushed buckets that the library deletes in one step."""
SWEEP_FILES = 10
"""The most graph files of flushed buckets that one step deletes."""


class Engine(TextEngine):
    """A folder, opened for writing.

    Args:
        path: the folder, created if it is missing; None: `store.kv.path` of the settings.
        config: the settings; None: the defaults.
        autocommit: commit each change before its call returns; else the owner of the only writing thread does it.
        commits_late: if this engine commits by itself: a change, which all threads see at once, is done when the log
            has it, and the commit of many follows within a second.
        temporary: delete the folder on close.
        lexer: see `TextEngine`.

    Raises:
        StoreLocked: another process has the folder open for writing, or this process has it open already.
        StoreError: the folder cannot be opened as an index with these settings; the message says why.
    """

    read_only = False
    """Whether changes are refused; see `sonicpy.open`."""
    store: AnyStore = ClosedStore("the index is not open yet").instead()
    """The store; after `close`, and in a forked process, a store whose methods raise IndexClosed."""
    graphs: GraphPool
    was_converted = False
    """Whether opening converted the store from an older format, so that its word graphs have to be built."""

    def __init__(
        self,
        path: Path | str | None = None,
        config: "Config | None" = None,
        *,
        autocommit: bool = True,
        commits_late: bool = False,
        temporary: bool = False,
        lexer: Lexer | None = None,
    ) -> None:
        super().__init__(config or DEFAULTS, lexer)
        self.turn = Turn()
        """The turn of threads that change something; see `changing`."""
        self.changing: Callable[[], AbstractContextManager[None]] = self.turn.hold
        """Returns a context manager for changes, which excludes other threads: `with engine.changing()`.

        If this engine commits by itself, no write transaction stays open after the block, because LMDB's write
        transaction belongs to one thread.
        """
        self.is_autocommit = autocommit
        self._commits_late = autocommit and commits_late and not self.read_only
        self._is_alone = not autocommit  # one thread alone changes something, and commits when it likes
        kv = self.config.store.kv
        self.access = ACCESSES[kv.group_access]
        """The modes of new files."""
        self.live_words = self.config.search.live_words
        """Whether words are completed, corrected, listed and counted from the moment they are pushed."""
        self.folder = Path(path or kv.path)
        """The folder as it was given."""
        folder = self.folder.absolute()  # the program may change its working directory
        claim = self._claim = FolderClaim(folder, writes=not self.read_only, temporary=temporary, access=self.access)
        try:
            self._guard = guard(self, claim)
            store = self.store = self._open_store(folder, claim)
            self.lexicons = Lexicons(
                self.graphs,
                live=self.live_words,
                recoveries=partial(getattr, store, "recoveries"),  # no frame of Python: each query asks twice
                languages_of=self.lexer.languages_of,
                listed=self.lexer.listed,
            )
            self._drop_leftovers()
            self._late = store.late
            claim.is_open = True
        except BaseException:
            insist(claim.close)
            raise

    def begin_batch(self) -> None:
        """Prepare a batch: while `Turn.batches` is above 0, a commit comes only after BATCH_COMMIT changes or more."""
        self._is_alone = False
        if self._late is not None:
            self.store.commit()  # other threads read the last commit until the batch ends

    def end_batch(self) -> None:
        """Commit the changes of a batch once `Turn.batches` no longer counts it."""
        finish_change(self.store, self.finish)

    @property
    def is_batching(self) -> bool:
        """Whether a batch is open; see `Index.batch`."""
        return self.turn.batches > 0

    @property
    def is_closed(self) -> bool:
        """Whether the folder was closed, or left to the parent process after a fork."""
        return isinstance(self.store, ClosedStore)

    # -- reading ---------------------------------------------------------------------------------------------------

    def read(self) -> AbstractContextManager[View]:
        """Return a context manager for one read: `with engine.read() as view`.

        The view shows the open write transaction on its thread, the last commit elsewhere. Raises StoreDamaged.
        """
        return self.store.reading()

    def read_words(self, collection: str, bucket: str) -> AbstractContextManager[Lexicon | None]:
        """Return a context manager for one read of a bucket's words: `with ... as lexicon`; None: there is no such
        bucket. Views and errors as in `read`."""
        return self.store.reading(self.lexicons.of, collection, bucket)

    def read_several(
        self, collection: str, first: str, elements: Sequence[str]
    ) -> AbstractContextManager[UnitedLexicon | None]:
        """Return a context manager for one read of the words of several buckets; see `open_several`.

        Raises:
            InvalidArgument: compat mode has no several buckets.
        """
        if self.is_compat:
            raise InvalidArgument(
                "several buckets are named, and server.compat is sonic; allowed is one bucket", detail="InvalidBucket"
            )
        most = self.config.search.buckets_maximum
        return self.store.reading(partial(open_several, self.lexicons), collection, first, elements, most)

    def snapshot_of_now(self) -> AbstractContextManager[View]:
        """Commit all changes; return a context manager for a snapshot of the commit, for a long read."""
        self.commit_before_reading()
        return self.store.snapshot()

    def long_read(self) -> AbstractContextManager[View]:
        """Return a context manager for one read like `read`, during which other threads may change the index. While the
        store refuses changes, it shows the last commit."""
        if self._late is None:
            return self.read()
        try:
            self.commit_before_reading()
        except (StoreDamaged, StoreFull) as error:
            logger.debug("%s", error)
        return self.store.snapshot()

    def commit_before_reading(self) -> None:
        """Commit all changes, so that the next snapshot shows them."""
        with self.changing():
            self.store.commit()

    def count_scopes(self) -> int:
        """Return how many buckets the folder holds, over all collections."""
        with self.read() as view:
            return view.count_scopes()

    def count_collections(self) -> int:
        """Return how many collections exist."""
        with self.read() as view:
            return view.count_collections()

    # -- changing --------------------------------------------------------------------------------------------------

    def read_lexer(self, collection: str, bucket: str) -> Lexer:
        """Return the lexer of the rules that a bucket has; of the newest ones if it does not exist."""
        with self.read() as view:
            state = view.bucket(collection, bucket)
            return self.lexer if state is None else self.lexer.under(view.rules(state.bucket))

    def push(self, collection: str, bucket: str, oid: str, terms: Terms, rules: int) -> None:
        """Carry out a PUSH of terms, as `apply` does.

        Args:
            rules: the version of the rules that cut the text into words.

        Raises:
            RulesDiffer: the bucket has others; nothing was changed.
        """
        if self._is_alone:
            self.store.push(collection, bucket, oid, terms, rules)
            return
        turn, late = self.turn, self._late
        with turn.hold():  # as `changing`, which would be one call more
            if late is not None and late.is_idle:
                late.begin()
            self.store.push(collection, bucket, oid, terms, rules)
            if turn.batches or self.is_autocommit:
                self._finish_change()

    def has_digest(self, collection: str, bucket: str, oid: str, digest: bytes) -> bool:
        """Return whether an object holds the text of a digest. Raises StoreError if it cannot be read."""
        with self.turn.hold():
            return self.store.has_digest(collection, bucket, oid, digest)

    def have_digests(self, collection: str, bucket: str, asked: Sequence[tuple[str, bytes]]) -> list[bool]:
        """Return whether each of some objects holds the text of a digest. Raises StoreError if it cannot be read."""
        with self.turn.hold():
            return self.store.have_digests(collection, bucket, asked)

    def push_with(self, collection: str, bucket: str, oid: str, terms: Terms, fields: Fields, rules: int) -> None:
        """Carry out a PUSH of terms and other fields, as `push` does.

        Raises:
            RulesDiffer: as `push`.
            InvalidArgument: the bucket does not take a field; nothing was changed.
        """
        with self.turn.hold():  # as `changing`, which would be one call more
            if self._late is not None and self._late.is_idle:
                self._late.begin()
            if not (is_vector(fields) and self.store.push_with_vector(collection, bucket, oid, terms, fields, rules)):
                push = PushWith(collection, bucket, oid, terms, fields, rules)
                check_columns(self.read, (push,))
                self.store.apply(push)
            if not self._is_alone:
                self._finish_change()

    def push_with_order(self, collection: str, bucket: str, oid: str, terms: Terms, order: bytes, rules: int) -> None:
        """Carry out a PUSH of terms, and of their order, as `push` does."""
        if self._is_alone:
            self.store.push(collection, bucket, oid, terms, rules, order)
            return
        with self.turn.hold():
            if self._late is not None and self._late.is_idle:
                self._late.begin()
            self.store.push(collection, bucket, oid, terms, rules, order)
            self._finish_change()

    def upsert(
        self, collection: str, bucket: str, oid: str, terms: Terms, rules: int, fields: tuple[tuple[int, bytes], ...]
    ) -> None:
        """Carry out an UPSERT, as `apply` does."""
        if len(fields) > 1:  # more than the digest
            super().upsert(collection, bucket, oid, terms, rules, fields)
            return
        with self.turn.hold():
            if self._late is not None and self._late.is_idle:
                self._late.begin()
            if not self.store.upsert(collection, bucket, oid, terms, fields[0][1], rules):
                self.store.apply(UpsertTerms(collection, bucket, oid, terms, rules, fields))
            self._finish_change()

    def apply(self, mutation: Mutation) -> int:
        """Carry out a change, and commit it if this engine commits by itself; return its result.

        Raises:
            InvalidArgument: the bucket does not take a field; nothing was changed.
            StoreError: the change was not stored, or is not committed yet, as the message says.
        """
        with self.changing_apart() if isinstance(mutation, FlushCollection) else self.changing():
            check_columns(self.read, (mutation,))
            if self._late is not None and self._late.is_idle:
                self._late.begin()
            in_steps = not self.is_autocommit  # no steps where each change is a commit: nothing waits
            result = None
            if type(mutation) is FlushObject:
                result = self.store.flush_object(*mutation, in_steps=in_steps)
            if result is None:
                result = self.store.apply(mutation, in_steps=in_steps)
            if isinstance(mutation, (FlushBucket, FlushCollection)):
                self._older.clear()  # a bucket that comes again gets the newest rules
                before = self.store.log_position
                try:
                    self._finish_change(late=False)  # graphs and rows are dropped behind the commit
                except StoreFull:
                    if self._late is None or self.store.log_position == before:
                        raise  # else it is done: the log has it, and a later commit takes it
            else:
                self._finish_change()
            return result

    def apply_pushes(self, change: "PushGroup", *, new: bool) -> None:
        """Carry out many pushes as one change; set its `there` to the places of those left out, as `new` demands.

        If a signal handler raises once `there` is set, the next commit makes the change visible.

        Raises:
            StoreError: the change was not stored, or is not committed yet, as the message says.
        """
        with self.changing_apart():
            store = self.store
            before = store.log_position
            check_columns(self.read, change.pushes)
            change.there = store.apply_pushes(change.pushes, new=new)
            try:
                self._finish_change(late=False)
            except StoreError:
                if store.log_position == before:  # the log has not taken it
                    change.there = None
                raise

    def changing_apart(self) -> AbstractContextManager[None]:
        """Return a context manager for a long change that `finish` ends; others read the last commit meanwhile."""
        # A generator would keep the turn for as long as the traceback of an interrupt lives, perhaps in another thread.
        return self.changing() if self._late is None else self.turn.hold(self._begin_apart, apart=1)

    def _begin_apart(self) -> None:
        if not self.turn.batches:
            self.store.commit()

    def finish(self) -> None:
        """Seal and commit all changes; with durability "commit" wait for the disk; delete some flushed rows."""
        store = self.store
        store.seal()
        if store.durability == "commit":
            store.sync_log()
        self.commit()
        if self.has_dropped:
            self.sweep(SWEEP_ROWS)
            store.commit()

    def commit(self) -> None:
        """Make all changes visible to other threads and processes."""
        with self.changing():
            self.store.commit()
            for bucket, version in self.store.take_flushed().items():
                self.forget_bucket(bucket, version)

    @property
    def has_dropped(self) -> bool:
        """Whether rows or graphs of flushed buckets may wait for `sweep`."""
        return self.store.has_dropped or self.graphs.has_unwanted(self.store.checkpoint)

    def sweep(self, rows: int) -> bool:
        """Delete about `rows` rows of flushed buckets at most, and a few graphs; return whether any are left."""
        with self.changing():
            self.graphs.sweep(SWEEP_FILES, self.store.checkpoint)
            return self.store.sweep(rows) or self.graphs.has_unwanted(self.store.checkpoint)

    def remove_step(self) -> bool:
        """Take away a part of a half gone object or collection: about 2 ms; return whether more is left."""
        with self.changing():
            return self.store.take_step()

    def sync_graphs(self) -> None:
        """Delete replaced graphs once the disk holds the commit that names their successors."""
        if self.graphs.has_unwanted(self.store.last_commit()):
            self.store.sync()
            while self.graphs.has_unwanted(self.store.checkpoint):
                self.graphs.sweep(SWEEP_FILES, self.store.checkpoint)

    def forget_bucket(self, bucket: int, version: int) -> None:
        """Drop the graph and the caches of a flushed bucket; `version` is that of its graph, 0: none."""
        self.store.forget_bucket(bucket)
        self.lexicons.forget(bucket)
        self.graphs.forget(bucket, version, self.store.last_commit() if version else 0)

    # -- the end ---------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Commit, sync and release the folder; do nothing if it is closed, or in a forked process.

        It waits for calls of other threads to end; their next call raises IndexClosed.
        """
        with self.changing():
            if not self.is_closed:
                self.store = ClosedStore(f"the index in {self.store.folder} was closed: open it again").instead()
            self._let_go(inf)

    def end(self, seconds: float) -> None:
        """Close at the end of the interpreter; other threads then wait until the process ends.

        If their calls do not end in time, the folder stays as a kill would leave it.
        """
        if self._claim.is_closed:
            return
        if self.turn.end(seconds):
            if not self.is_closed:
                self.store = EndedStore(f"the index in {self.folder} {ENDED}").instead()
            if self._let_go(seconds):
                return
        self._guard.detach()
        keep_for_ever(self._claim)  # closing LMDB under a thread that is inside would crash this process

    def abandon(self, parent: int) -> AnyStore | None:
        """Refuse further use in a fork of the process `parent`; return its store, or None if it was closed."""
        self.turn.renew()  # another thread of the parent may have it
        self._late = None  # a change would begin its thread here, which would commit to the parent's files
        store = self.store
        if isinstance(store, ClosedStore):
            return None
        self.store = ClosedStore(
            f"the index in {store.folder} belongs to process {parent}, which this one was forked from: open it in "
            "a process that was started afresh (spawn), with read_only=True while the other has it open"
        ).instead()
        return store

    def _let_go(self, seconds: float) -> bool:
        """Close the store and the graphs, or finish an interrupted close; return whether they are closed."""
        if not self._claim.close(seconds):
            return False
        self._guard.detach()
        return True

    # -- inside ----------------------------------------------------------------------------------------------------

    def _open_store(self, folder: Path, claim: FolderClaim) -> AnyStore:
        kv = self.config.store.kv
        self.graphs = GraphPool(graph_folder(folder), self.access)
        store = claim.open(
            SharedStore if self._commits_late else Store,
            folder,
            self.analyzer(),
            older=self.older_analyzer(),
            map_bytes=kv.map_size_mb << 20,
            durability=kv.durability,
            postings_max_bytes=kv.query_cache_mb << 20,
            access=self.access,
            turn=self.turn if self.is_autocommit else None,
            begins_small=self.live_words,
        )
        store.sync_before(partial(sync_names, self.graphs.folder))  # not a method: the store must not hold its owner
        self.was_converted = store.was_converted
        self.follow(store.made_with())
        return store

    def _drop_leftovers(self) -> None:
        """Finish the removals of an earlier process, and delete its unfinished collections and files."""
        with self.changing():
            drop_staged(self.store)
            while self.store.has_removals:
                self.store.take_step()
            if self._commits_late:
                self.store.commit()  # else it would wait for the first change
        with self.read() as view:
            states = [state for _, state in view.all_states() if state.lexicon_version or state.is_graphless]
        self.graphs.tidy({GraphName(state.bucket, state.lexicon_version) for state in states if state.lexicon_version})
        if not self.live_words:  # only graphs are read
            self.graphs.broken.update(state.bucket for state in states if state.is_graphless)

    def _finish_change(self, *, late: bool = True) -> None:
        if self.turn.batches:
            if self.store.uncommitted >= BATCH_COMMIT:
                finish_change(self.store, self.finish)
        elif late and self._late is not None:
            self._late.seal()
        elif self.is_autocommit:
            finish_change(self.store, self.finish)


class PushGroup(Protocol):
    """Pushes that are carried out as one change; see `Engine.apply_pushes`."""

    there: list[int] | None

    @property
    def pushes(self) -> Sequence[AnyPush]: ...
