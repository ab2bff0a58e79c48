"""Maintainer: the steps that keep an index fast and safe: word graphs, packing, restoring, checks.

`Index` calls it where a user asks for such a step. The server drives the same steps one by one between the turns of its
connections. The engine and its store commit, sweep and measure sizes.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sonicpy.ids import Scope
from sonicpy.index.maintenance.consolidate import (
    FAILURES,
    GRAPHLESS_WORDS,
    Built,
    Failure,
    GraphLimits,
    gather_words,
    prune_pending,
    publish,
    write_graph,
)
from sonicpy.store.care.backup import BACKUP_FILE, check_seal, open_backup
from sonicpy.store.care.restore import Restoration, drop_staged
from sonicpy.store.disk.change_board import ChangeBoard
from sonicpy.store.disk.folder import wide_files
from sonicpy.store.read_only_store import ReadOnlyStore
from sonicpy.store.rows.meta import ANALYZER, made_by
from sonicpy.store.views.view import View
from sonicpy.store.views.write_view import WriteView

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine
    from sonicpy.store.care.packing import Packer, SparseRange

BACKLOG_WORDS = 2_000
"""The number of pending words after which a bucket is consolidated early: comparing this many takes about 0.1 ms a
query."""

FREED_S = 1.0
"""The time in seconds for which a consolidation gives free pages back to the disk; the idle store frees the rest."""

OPEN_MAX = 1_000
"""The number of open graphs below which the first graph of a bucket is opened when it is built."""


Value = TypeVar("Value")


class Maintainer:
    """The steps of maintenance of an open index.

    Args:
        engine: the folder.
    """

    def __init__(self, engine: "Engine") -> None:
        self.engine = engine
        # In the default mode a graph has no limits: a large lexicon is worth a line in the log, not lost words.
        self.graph_limits = GraphLimits(graphless_words=GRAPHLESS_WORDS if engine.live_words else 0)
        graph = engine.config.store.fst.graph
        if engine.is_compat:
            self.graph_limits = GraphLimits(graph.max_words, graph.max_size << 10, keeps_orphans=True)

    # -- pages at rest ---------------------------------------------------------------------------------------------

    def sparse_ranges(self) -> "list[SparseRange]":
        """Return the ranges of rows that take more pages than they need; may be called from any thread.

        Raises:
            StoreError: the store cannot be read.
        """
        from sonicpy.store.care.packing import sparse_ranges  # noqa: PLC0415  loaded when it is needed

        with self.engine.store.snapshot() as view:
            return sparse_ranges(view.transaction, self.engine.store.folder)

    def rewrite(self, sparse: "SparseRange") -> None:
        """Rewrite a sparse range into full pages: about 4 ms. Raises StoreError."""
        with self.engine.changing():
            self.engine.store.maintain(lambda view: self._packer.rewrite(view, sparse))

    @cached_property
    def _packer(self) -> "Packer":
        from sonicpy.store.care.packing import Packer  # noqa: PLC0415  loaded when it is needed

        return Packer()

    # -- readers in other processes --------------------------------------------------------------------------------

    def watch_changes(self, descriptor: int) -> None:
        """Watch a change board for changes that this process, which only reads, does not see yet.

        Reads of one commit then share transactions, so `drop_idle_reads` has to be called about once a second.
        """
        store = self.engine.store
        assert isinstance(store, ReadOnlyStore), "the process that writes sees everything"
        store.watch_changes(ChangeBoard(descriptor))

    def wide_files(self) -> str | None:
        """Return a sentence that names the files of the folder with wider modes than new files get; None: there are
        none.
        """
        return wide_files(self.engine.store.folder, self.engine.access)

    # -- word graphs -----------------------------------------------------------------------------------------------

    def consolidate(self) -> None:
        """Build the graphs of all buckets whose words changed, in this process; see `Index.consolidate`. Raises the
        error of the first graph that failed, after the others are built.
        """
        with self.engine.changing():
            self.engine.store.commit()
            errors: list[Failure] = []
            for bucket in self.due_buckets():
                try:
                    self.consolidate_bucket(bucket)
                except FAILURES as error:
                    errors.append(error)  # the others need not wait for this one
                self.engine.store.commit()  # else reads of other threads wait for the build of the next graph
            self.engine.finish()
            self.engine.sync_graphs()
            if self.engine.store.has_much_free():
                self._free_disk()
            if errors:
                raise errors[0]

    def _free_disk(self) -> None:
        """Give free pages back to the disk, for at most FREED_S."""
        store, deadline = self.engine.store, time.monotonic() + FREED_S
        store.sync()  # the pages of the last checkpoint stay
        while store.free_disk() and time.monotonic() < deadline:
            pass

    def consolidate_bucket(self, bucket: int) -> None:
        """Build the graph of one bucket from the last commit. Raises like `consolidate`."""
        with self.engine.changing():
            built = self.build_graph(bucket)
            if built is None:
                return
            start: bytes | None = b"" if self.publish_graphs([built]) else None
            while start is not None:
                start = self.prune_pending(built, start)

    def consolidate_backlogged(self, scopes: set[Scope] | None, times: int = 1) -> None:
        """Build the graphs of buckets that gained thousands of words, unless a batch is open or the owner consolidates.

        Args:
            scopes: the buckets to check; None: all.
            times: as in `needs_consolidation`.
        """
        engine = self.engine
        with engine.changing():
            if engine.is_batching or not engine.is_autocommit:
                return
            for bucket in self.due_buckets() if scopes is None else self._numbers(scopes):
                if self.needs_consolidation(bucket, times):
                    engine.commit()  # a graph of the last commit lacks words since, which may have no pending rows
                    self.consolidate_bucket(bucket)
                    engine.commit()  # another thread may write next, and LMDB's transaction belongs to this one

    def due_buckets(self) -> list[int]:
        """Return the ids of the buckets that have pending words, or a graph that is to be built again."""
        return sorted(self.engine.store.pending_buckets() | self.engine.graphs.unusable)

    def needs_consolidation(self, bucket: int, times: int = 1) -> bool:
        """Return whether a bucket has too many pending words, which take long to compare one by one.

        Args:
            times: multiplies the limit.
        """
        with self.engine.read() as view:
            state = view.bucket_numbered(bucket)
        if state is None:
            return False
        return state.pending_seq - state.graph_seq >= times * max(BACKLOG_WORDS, state.graph_words // 10)

    def scope(self, bucket: int) -> Scope | None:
        """Return the collection and bucket with a number, or None if the bucket was flushed."""
        with self.engine.read() as view:
            return view.scope(bucket)

    def words_to_read(self, bucket: int) -> int:
        """Return the approximate number of words to read for the graph of a bucket; 0: it is gone."""
        with self.engine.read() as view:
            state = view.bucket_numbered(bucket)
        return 0 if state is None else max(state.live_words, state.graph_words, state.pending_seq - state.graph_seq)

    def build_graph(self, bucket: int) -> Built | None:
        """Write the graph of a bucket from the last commit, and return it; None: the bucket is gone. Raises like
        `consolidate`."""
        built = self.build_apart(bucket)
        if built is None:
            self.engine.forget_bucket(bucket, 0)
        return built

    def build_apart(self, bucket: int) -> Built | None:
        """Write the graph of a bucket and return it, as `build_graph` does, in any thread; if the bucket is gone, the
        thread that changes the store calls `Engine.forget_bucket`.

        No other thread may build a graph of the bucket meanwhile: both would write one file.
        """
        engine = self.engine
        found = gather_words(engine.store.snapshot, engine.graphs, bucket, self.graph_limits)
        return None if found is None else write_graph(engine.graphs, found, self.graph_limits)

    def publish_graphs(self, graphs: list[Built]) -> list[Built]:
        """Publish written graphs as the graphs of their buckets, commit, and return them.

        Graphs whose buckets were flushed meanwhile are deleted.

        Raises:
            StoreError: the commit failed; the old graphs stay.
        """
        engine = self.engine
        with engine.changing():
            orphaned = self._committed(lambda view: publish(view, graphs))
        for built in orphaned:
            engine.forget_bucket(built.bucket, 0)
            engine.graphs.remove(built.bucket, built.version)
        published = [built for built in graphs if built not in orphaned]
        for built in published:
            engine.graphs.note_built(built.bucket)
            if built.version > 1:  # opened before the older file is left behind
                engine.graphs.get(built.bucket, built.version)
                engine.graphs.leave(built.bucket, built.version - 1, engine.store.last_commit())
            elif built.version and len(engine.graphs) < OPEN_MAX:
                engine.graphs.get(built.bucket, built.version)  # it will probably be asked for soon
        return published

    def _committed(self, work: Callable[[WriteView], Value]) -> Value:
        """Do work that the log does not hold, commit it, and return its result. Raises StoreError.

        A commit for which the map has to grow begins again from the log, so the work is then done again.
        """
        store = self.engine.store
        while True:
            result = store.maintain(work)
            recoveries = store.recoveries
            store.commit()
            if store.recoveries == recoveries:
                return result

    def prune_small(self, graphs: list[Built]) -> list[tuple[Built, bytes]]:
        """Delete some pending words of published graphs; return the graphs with more of them, and the keys to continue
        from.
        """

        def prune(view: WriteView) -> list[tuple[Built, bytes]]:
            found = [(built, prune_pending(view, built, b"")) for built in graphs]
            return [(built, start) for built, start in found if start is not None]

        with self.engine.changing():
            return self.engine.store.maintain(prune)

    def prune_pending(self, built: Built, start: bytes) -> bytes | None:
        """Delete some of the pending words from `start` on that a published graph holds; return the key to continue
        from, None: done.
        """
        with self.engine.changing():
            return self.engine.store.maintain(lambda view: prune_pending(view, built, start))

    # -- backups and checks ----------------------------------------------------------------------------------------

    def restore(self, folder: Path | str) -> None:
        """Replace the collections that a backup holds; see `Index.restore`."""
        from sonicpy.index.maintenance.verify import check_backup  # noqa: PLC0415  loaded when it is needed

        made = self._made_with(Path(folder))
        check_backup(Path(folder), made)
        store = self.engine.store
        if made != self.engine.analyzer():
            with self.engine.changing():
                self._committed(lambda view: ANALYZER.write(view.transaction, made))
                self.engine.follow(made)
        with (
            self.engine.changing_apart(),
            open_backup(Path(folder)) as environment,
            environment.reading() as transaction,
        ):
            try:
                restoration = Restoration(store, View(transaction), self.engine.commit)
                for _ in restoration.fill():
                    pass
                for bucket in restoration.staged_buckets():
                    self.consolidate_bucket(bucket)
                restoration.switch()
                while store.has_removals:  # the backup was made while something was half gone
                    store.take_step()
            finally:
                drop_staged(store)
            self.engine.finish()
            store.sync()  # the log does not hold it

    def _made_with(self, folder: Path) -> Mapping[str, str]:
        """Return the analysis settings of the index; of an empty one those of a backup that it can follow."""
        engine = self.engine
        with engine.read() as view:
            if next(iter(view.all_states()), None) is not None:
                return engine.analyzer()
        with open_backup(folder) as environment:
            return made_by(environment, engine.analyzer(), engine.older_analyzer())

    def size_of_backup(self, folder: Path) -> int:
        """Return the size of the backup in a folder, for `restoration`, once its checksum is checked; for any thread.
        Raises StoreError like `restore`.
        """
        return check_seal(folder / BACKUP_FILE)

    @contextmanager
    def restoration(self, folder: Path | str, size: int | None = None) -> Iterator[Restoration]:
        """Yield the steps from a checked backup to this index; see `care/restore.py`.

        The end of the block drops unfinished work. Raises StoreError like `restore`.

        Args:
            size: the result of `size_of_backup`; None: the whole backup is read and checked here.
        """
        with open_backup(Path(folder), size=size) as environment, environment.reading() as transaction:
            try:
                yield Restoration(self.engine.store, View(transaction), self.engine.commit)
            finally:
                with self.engine.changing():
                    drop_staged(self.engine.store)

    def verify(self) -> list[str]:
        """Return the faults in the tables and the graphs of the last commit; see `Index.verify`."""
        from sonicpy.index.maintenance.verify import verify_store_in_child  # noqa: PLC0415  loaded when it is needed

        self.engine.commit_before_reading()
        return verify_store_in_child(self.engine.store.folder)

    def _numbers(self, scopes: set[Scope]) -> list[int]:
        with self.engine.read() as view:
            states = [view.bucket(*scope) for scope in sorted(scopes)]
        return [state.bucket for state in states if state is not None]
