"""What keeps an index fast and safe: word graphs, backups, checks. The server takes the same steps one by one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sonicpy.errors import GraphError
from sonicpy.ids import Scope
from sonicpy.index.engine import IndexBase
from sonicpy.index.maintenance.consolidate import Built, gather_words, prune_pending, publish, write_graph
from sonicpy.index.maintenance.verify import check_backup, graph_faults
from sonicpy.store.backup import open_backup
from sonicpy.store.environment import SCOPES
from sonicpy.store.restore import Restoration, drop_staged
from sonicpy.store.verify import table_faults
from sonicpy.store.view import View

CROWD_WORDS = 2_000
"""Pending words that are worth a consolidation before its time: comparing so many takes about 0.1 ms a query."""

SMALL_WORDS = 1_000
"""The graph of so many words takes about 2 ms."""


class IndexUpkeep(IndexBase):
    """An index, as its keeper sees it."""

    def open_scopes(self) -> int:
        """Return how many buckets the index holds, over all collections."""
        return self._read(lambda view: view.transaction.count(SCOPES))

    def pending_buckets(self) -> int:
        """Return how many buckets have words waiting for consolidation."""
        return len(self.store.pending_buckets())

    def open_graphs(self) -> int:
        """Return how many word graphs are open."""
        return len(self.graphs)

    def consolidate(self) -> None:
        """Build the word graphs of all buckets whose words changed; in this process, without the GIL where it pays.

        With `search.live_words` every word is completed, corrected, listed and counted before that too.

        Raises:
            StoreError, GraphError: a graph could not be built; its words stay pending.
        """
        with self._lock:
            self.store.commit()
            faults = []
            for bucket in self.due_buckets():
                try:
                    self.consolidate_bucket(bucket)
                except GraphError as error:
                    faults.append(error)  # the others need not wait for this one
            self._finish()
            if faults:
                raise faults[0]

    def consolidate_bucket(self, bucket: int) -> None:
        """Build the graph of one bucket from the last commit. Raises like `consolidate`."""
        with self._lock:
            built = self.build_graph(bucket)
            if built is None:
                return
            start: bytes | None = b"" if self.publish_graphs([built]) else None
            while start is not None:
                start = self.prune_pending(built, start)

    def due_buckets(self) -> list[int]:
        """Return the ids of the buckets that have pending words, or a graph that cannot be read."""
        return sorted(self.store.pending_buckets() | self.graphs.broken)

    def build_graph(self, bucket: int) -> Built | None:
        """Write the graph of a bucket from the last commit; None: the bucket is gone. Raises like `consolidate`."""
        found = gather_words(self.store.snapshot, self.graphs, bucket, self.graph_limits)
        if found is None:
            self.forget_bucket(bucket, 0)
            return None
        return write_graph(self.graphs, found, self.graph_limits)

    def publish_graphs(self, graphs: list[Built]) -> list[Built]:
        """Make graphs that were written the graphs of their buckets, commit that, and return them.

        Those whose buckets were flushed meanwhile are deleted.

        Raises:
            StoreError: it could not be committed; the old graphs stay.
        """
        with self._lock:
            orphaned = self.store.maintain(lambda view: publish(view, graphs))
            self.store.commit()
        for built in orphaned:
            self.forget_bucket(built.bucket, 0)
            self.graphs.remove(built.bucket, built.version)
        published = [built for built in graphs if built not in orphaned]
        for built in published:
            self.graphs.broken.discard(built.bucket)
            self.graphs.get(built.bucket, built.version)  # opened before the older file goes
            self.graphs.remove(built.bucket, built.version - 1)
        return published

    def prune_pending(self, built: Built, start: bytes) -> bytes | None:
        """Forget some of the pending words that an published graph holds; return where to go on, or None."""
        with self._lock:
            return self.store.maintain(lambda view: prune_pending(view, built, start))

    def is_crowded(self, bucket: int, crowds: int = 1) -> bool:
        """Return whether so many words of a bucket are pending that comparing them one by one takes long.

        Args:
            crowds: how many times as many.
        """
        state = self._read(lambda view: view.bucket_numbered(bucket))
        if state is None:
            return False
        return state.pending_seq - state.graph_seq >= crowds * max(CROWD_WORDS, state.graph_words // 10)

    def is_small(self, bucket: int) -> bool:
        """Return whether the graph of a bucket is built sooner than a worker process could be asked to."""
        state = self._read(lambda view: view.bucket_numbered(bucket))
        return state is None or state.live_words <= SMALL_WORDS

    def backup_committed(self, folder: Path | str) -> Path:
        """Copy the last commit into a folder as `sonicpy.backup`, and return that file; other threads go on meanwhile.

        Args:
            folder: created where it is missing; a backup in it is replaced once the new one is whole.

        Raises:
            StoreError: it could not be written; the one before is still there.
        """
        return self.store.backup(Path(folder))

    def backup(self, folder: Path | str) -> Path:
        """Commit, then write a backup as `backup_committed` does: it holds every change that was made before."""
        self._commit_first()
        return self.backup_committed(folder)

    def restore(self, folder: Path | str) -> None:
        """Replace the collections that the backup in a folder holds; others stay as they are.

        All or nothing: until the last moment the old collections answer, and a backup with an error changes nothing.

        Raises:
            StoreDamaged: the backup has faults.
            StoreError: there is no backup, its texts were cut differently, or the store cannot be written.
        """
        check_backup(Path(folder), self.analyser())
        with self._lock, self.restoration(folder) as restoration:
            for _ in restoration.fill():
                pass
            for bucket in restoration.staged_buckets():
                self.consolidate_bucket(bucket)
            restoration.switch()
            self._finish()

    @contextmanager
    def restoration(self, folder: Path | str) -> Iterator[Restoration]:
        """The way from a backup that was checked to this index, to be gone step by step; see `store.restore`.

        Raises StoreError like `restore`. What is left unfinished is forgotten.
        """
        with open_backup(Path(folder)) as environment, environment.reading() as transaction:
            try:
                yield Restoration(self.store, View(transaction), self.commit)
            finally:
                with self._lock:
                    drop_staged(self.store)

    def verify(self) -> list[str]:
        """Check every table against every other, and the graphs against the tables; return what is wrong.

        Other threads go on reading and writing meanwhile; what they change is not looked at.
        """
        self._commit_first()
        with self.store.snapshot() as view:
            return [*table_faults(view.transaction), *graph_faults(view, self.graphs, self._graph_version)]

    def _consolidate_crowded(self, scopes: set[Scope] | None, crowds: int = 1) -> None:
        """Build the graphs of buckets that gained thousands of words, unless a batch or the owner does it later.

        Args:
            scopes: of which buckets; None: of all.
            crowds: how crowded they must be.
        """
        with self._lock:
            if self._batching or not self._autocommit:
                return
            due = self.due_buckets() if scopes is None else self._read(lambda view: _numbers(view, scopes))
            for bucket in [bucket for bucket in due if self.is_crowded(bucket, crowds)]:
                self.consolidate_bucket(bucket)


def _numbers(view: View, scopes: set[Scope]) -> list[int]:
    states = (view.bucket(*scope) for scope in sorted(scopes))
    return [state.bucket for state in states if state is not None]
