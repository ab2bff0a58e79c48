"""Reading a store: snapshots of its last commit, which readers share, and its sizes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sonicpy.files import PRIVATE, Access
from sonicpy.store.backup import write_backup
from sonicpy.store.environment import Environment, Reader
from sonicpy.store.read_cache import Snapshot, SnapshotCache
from sonicpy.store.view import View


class StoreReader:
    """What `Store` and `ReadOnlyStore` have in common.

    Args:
        folder: of the store.
        environment: its tables, open.
        access: modes of new files.

    Attributes:
        durability: when a change is on the disk; see `Store`.
        uncommitted: mutations applied since the last commit.
        recoveries: how often changes were undone: what the open transaction showed before may not hold any more.
    """

    durability = "interval"

    def __init__(
        self, folder: Path, environment: Environment, postings_max_bytes: int, access: Access = PRIVATE
    ) -> None:
        self.folder = folder
        self._access = access
        self.uncommitted = 0
        self.recoveries = 0
        self._environment = environment
        self._snapshot_cache = SnapshotCache(-1, postings_max_bytes=postings_max_bytes)
        self._replacing_cache = threading.Lock()  # one cache takes over what another holds, and only one may

    @contextmanager
    def reading(self) -> Iterator[View]:
        """A view for the length of a `with` block: what `take_view` returns."""
        view = self.take_view()
        try:
            yield view
        finally:
            self.give_back(view)

    @contextmanager
    def snapshot(self) -> Iterator[View]:
        """A view of the last commit for the length of a `with` block."""
        view = self.take_snapshot()
        try:
            yield view
        finally:
            self.give_back(view)

    def take_view(self) -> View:
        """Return a view of what this thread should see; `give_back` has to follow on the same thread."""
        return self.take_snapshot()

    def take_snapshot(self) -> View:
        """Return a view of the last commit; `give_back` has to follow on the same thread."""
        transaction = self._environment.take_snapshot()
        view = transaction.cached_view
        if not isinstance(view, View):
            view = transaction.cached_view = Snapshot(transaction, self._cache_of(transaction.number))
        return view

    def _cache_of(self, number: int) -> SnapshotCache:
        """Return the cache of a commit."""
        with self._replacing_cache:
            cache = self._snapshot_cache
            if cache.commit < number:
                cache = self._snapshot_cache = SnapshotCache(number, cache)
            elif cache.commit > number:  # the transaction was begun before the last commit
                cache = SnapshotCache(number, postings_max_bytes=cache.postings_max_bytes)
            return cache

    def give_back(self, view: View) -> None:
        """End reading what `take_view` or `take_snapshot` returned."""
        transaction = view.transaction
        if not transaction.write:
            self._environment.give_back(transaction)

    def backup(self, folder: Path) -> Path:
        """Copy the last commit into a folder; return the file. May be called from any thread.

        Raises:
            StoreError: it could not be written; the backup before it is still there.
        """
        return write_backup(self._environment, folder, self._access)

    def is_behind(self, collection: str, bucket: str | None) -> bool:
        """Return whether reads may lack a change that was acknowledged: never in the process that writes."""
        return False

    def drop_idle_reads(self) -> None:
        """End idle transactions of older commits: in the process that writes, each commit ends them."""

    def readers(self) -> list[Reader]:
        """Return who reads which commit now, of all processes."""
        return self._environment.readers()

    def last_commit(self) -> int:
        """Return the number of the last commit of any process."""
        return self._environment.last_commit()

    def size_bytes(self) -> int:
        """Return how many bytes of the environment are in use."""
        return self._environment.used_bytes()

    def map_bytes(self) -> int:
        """Return how many bytes of address space the environment reserves now."""
        return self._environment.map_bytes()
