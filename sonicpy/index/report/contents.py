"""What is in an index, told as a whole: figures, words, objects."""

from collections.abc import Iterator

from sonicpy.api.html import figures_table, index_tables
from sonicpy.ids import check_collection, check_names
from sonicpy.index.maintenance.maintainer import IndexUpkeep
from sonicpy.index.report import stats as figures
from sonicpy.index.report.export import ExportedObject, holdings, scopes_of
from sonicpy.index.report.stats import Figures
from sonicpy.index.report.term_stats import ObjectStats, TermStats, object_stats, term_stats
from sonicpy.store.any_store import ClosedStore
from sonicpy.version import VERSION


class IndexContents(IndexUpkeep):
    """An index that tells what it holds."""

    def stats(self, collection: str | None = None, bucket: str | None = None) -> Figures:
        """Return what the index, a collection or a bucket holds, as a dict that JSON can tell.

        Everywhere: objects, words (shown ones), average_length (in words). Of a bucket and of the whole index also
        hidden_words (stop words, parts of runs without blanks, words that no object holds any more) and pending_words
        (changed since the word graph was built). Of the whole index also bytes on the disk and in memory.

        Raises CommandError like `push`, and ValueError for a bucket without its collection.
        """
        if collection is None:
            if bucket is not None:
                raise ValueError(f"the bucket {bucket!r} is given without its collection")
            return self._whole_stats()
        if bucket is None:
            check_collection(collection)
            return self._read(lambda view: figures.collection_figures(view, collection))
        check_names(collection, bucket)
        return self._read(lambda view: figures.bucket_figures(view, self.graphs, collection, bucket))

    def holdings(self, collection: str | None = None, bucket: str | None = None) -> Iterator[ExportedObject]:
        """Yield every object and the words it holds, bucket by bucket; an object may come more than once.

        The order is the one in which `push_terms` makes the same index of them again. They are those of the moment when
        the first is taken. Take them to the end before this thread changes the index.

        Args:
            collection: of this collection alone; None: of all.
            bucket: of this bucket alone.

        Raises:
            CommandError: a name is not valid.
            StoreError: the store cannot be read.
        """
        if collection is not None:
            check_names(collection, bucket or collection)
        with self._whole_snapshot() as view:
            for scope, state in scopes_of(view, collection, bucket):
                yield from holdings(view, scope, state)

    def term_stats(self, collection: str, bucket: str) -> Iterator[TermStats]:
        """Yield every word of a bucket in byte order, hidden ones too, with how many objects hold it and how often.

        They are those of the moment when the first is taken. Take them to the end before this thread changes the index.
        Raises like `holdings`.
        """
        check_names(collection, bucket)
        with self._whole_snapshot() as view:
            state = view.bucket(collection, bucket)
            if state is not None:
                yield from term_stats(view, state)

    def object_stats(self, collection: str, bucket: str) -> Iterator[ObjectStats]:
        """Yield every object of a bucket, oldest first, with its length and how many words it holds.

        As `term_stats` otherwise.
        """
        check_names(collection, bucket)
        with self._whole_snapshot() as view:
            state = view.bucket(collection, bucket)
            if state is not None:
                yield from object_stats(view, state)

    def __repr__(self) -> str:
        if isinstance(self.store, ClosedStore):
            return "<Index, closed>"
        return f"<{type(self).__name__} in {self.folder}>"

    def _repr_html_(self) -> str:
        """Return tables for notebooks."""
        if isinstance(self.store, ClosedStore):
            return figures_table(repr(self), {})
        return index_tables(repr(self), self.stats)

    def _whole_stats(self) -> Figures:
        store = self.store
        return {
            "version": VERSION,
            "folder": str(store.folder),
            "read_only": self.read_only,
            "compat": self.config.server.compat,
            "durability": store.durability,
            **self._read(figures.whole_figures),
            **figures.disk_figures(store.folder),
            "used_bytes": store.size_bytes(),
            "map_bytes": store.map_bytes(),
            "memory_bytes": figures.memory_bytes(),
            "open_graphs": self.open_graphs(),
            "uncommitted": store.uncommitted,
            "refusing": store.refusing,
        }
