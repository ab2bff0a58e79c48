"""What an index stands on: its folder, opened; changes that are applied, logged and committed; reads of one moment."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, TypeVarTuple

from sonicpy._native.varint import DamagedBytes
from sonicpy.config import Config
from sonicpy.errors import StoreDamaged
from sonicpy.graph.pool import GraphPool, Name
from sonicpy.index.maintenance.consolidate import GraphLimits, graph_folder
from sonicpy.index.registry import claimed, guard
from sonicpy.index.search.lexicon import Lexicon, Lexicons
from sonicpy.index.search.suggest_cache import Answers
from sonicpy.lexer.lexer import Lexer
from sonicpy.store.any_store import AnyStore, ClosedStore
from sonicpy.store.bucket_state import BucketState
from sonicpy.store.environment import SCOPES
from sonicpy.store.mutations import Mutation
from sonicpy.store.restore import drop_staged
from sonicpy.store.store import Store
from sonicpy.store.view import View

Answer = TypeVar("Answer")
Arguments = TypeVarTuple("Arguments")

BATCH_COMMIT = 512
"""Changes after which a batch commits: then a change costs a third of what it costs alone."""

SWEEP_ROWS = 500
"""Rows of flushed buckets deleted in one go by the library."""
SWEEP_FILES = 10
"""Graphs of flushed buckets deleted in one go."""


class IndexBase:
    """A folder with its store and its word graphs; see `Index`."""

    read_only = False
    """Whether changes are refused; see `sonicpy.open`."""
    folder: Path
    """The folder, as it was given."""
    store: AnyStore
    graphs: GraphPool

    def __init__(
        self,
        path: Path | str | None = None,
        config: Config | None = None,
        *,
        autocommit: bool = True,
        temporary: bool = False,
    ) -> None:
        self.config = config or Config()
        self._autocommit = autocommit
        self._batching = False
        self._lock = threading.RLock()
        kv = self.config.store.kv
        compat = self.config.server.compat == "sonic"
        self._window = kv.retain_word_objects
        self._live = self.config.search.live_words
        self._searches_stop_words = not compat
        self._lexer = Lexer(self.config.normalization, self.config.tokenization, self.config.stopwords, compat=compat)
        self.folder = Path(path or kv.path)
        folder = self.folder.absolute()  # the program may change its working directory
        self._suggested: Answers[list[str]] = Answers()
        with claimed(folder, writes=not self.read_only) as claim:
            self._open_store(folder)
            try:
                store = self.store
                self._lexicons = Lexicons(self.graphs, live=self._live, recoveries=lambda: store.recoveries)
                self._tidy()
            except BaseException:
                self.store.close()
                raise
        self._let_go = guard(self, claim, folder if temporary else None)
        graph = self.config.store.fst.graph
        # In the default mode the limits bind nothing: a large lexicon is worth a word in the log, not lost words.
        self.graph_limits = GraphLimits()
        if compat:
            self.graph_limits = GraphLimits(graph.max_words, graph.max_size << 10, keeps_orphans=True)

    @property
    def live_words(self) -> bool:
        """Whether words are completed, corrected, listed and counted from the moment they are pushed."""
        return self._live

    @property
    def uncommitted(self) -> int:
        """How many changes the next commit will make visible to others."""
        return self.store.uncommitted

    @property
    def refusing(self) -> bool:
        """Whether changes are refused because the last commit failed."""
        return self.store.refusing

    @property
    def has_dropped(self) -> bool:
        """Whether rows or graphs of flushed buckets may wait for `sweep`."""
        return self.store.has_dropped or bool(self.graphs.unwanted)

    def analyser(self) -> dict[str, str]:
        """Return what decides which terms of a text are stored, key by key."""
        return self._lexer.analyser()

    def prepare(self) -> None:
        """Read the tables that texts are judged by; otherwise the first text that needs them waits for that."""
        self._lexer.prepare()

    def seal(self) -> None:
        """Put what was changed since the last seal into the log: then it survives the death of the process."""
        self.store.seal()

    def commit(self) -> None:
        """Make what was changed visible to other threads and processes."""
        with self._lock:
            self.store.commit()
            for bucket, version in self.store.take_flushed().items():
                self.forget_bucket(bucket, version)

    def sync_log(self) -> None:
        """Wait until everything sealed is on the disk; may be called from any thread."""
        self.store.sync_log()

    def sync(self) -> None:
        """Wait until everything committed is on the disk."""
        self.store.sync()

    def sweep(self, rows: int) -> bool:
        """Delete at most about `rows` rows of flushed buckets, and a few graphs; return whether any are left."""
        with self._lock:
            self.graphs.sweep(SWEEP_FILES)
            return self.store.sweep(rows) or bool(self.graphs.unwanted)

    def forget_bucket(self, bucket: int, version: int) -> None:
        """Drop a graph, and what is held in memory, of a bucket that was flushed."""
        self.store.forget_pending_bucket(bucket)
        self.graphs.forget(bucket, version)

    def close(self) -> None:
        """Commit, sync and release the folder; a second time, and in a forked process, nothing happens.

        Waits until other threads have their answers; what they ask later raises IndexClosed.
        """
        with self._lock:
            if isinstance(self.store, ClosedStore):
                return
            self.store = ClosedStore(f"the index in {self.store.folder} was closed: open it again")
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_store(self, folder: Path) -> None:
        kv = self.config.store.kv
        self.store = Store(folder, self._lexer.analyser(), map_bytes=kv.map_size_mb << 20, durability=kv.durability)
        self.graphs = GraphPool(graph_folder(folder))

    def _tidy(self) -> None:
        """Take away what an earlier process has left unfinished."""
        drop_staged(self.store)
        self._read(self._tidy_graphs)

    def _tidy_graphs(self, view: View) -> None:
        states = (BucketState.unpack(row) for _, row in view.transaction.rows(SCOPES, b""))
        self.graphs.tidy({Name(state.bucket, state.lexicon_version) for state in states if state.lexicon_version})

    @contextmanager
    def _whole_snapshot(self) -> Iterator[View]:
        """What was changed until now, for a long look at it."""
        self._commit_first()
        try:
            with self.store.snapshot() as view:
                yield view
        except DamagedBytes as error:
            raise StoreDamaged(f"the store {self.store.folder} is damaged: {error}") from error

    def _commit_first(self) -> None:
        """Let the next snapshot show everything."""
        with self._lock:
            self.store.commit()

    def _change(self, mutation: Mutation) -> int:
        with self._lock:
            result = self.store.apply(mutation)
            if self._autocommit or self._batching:
                self._finish_change()
            return result

    def _finish_change(self) -> None:
        if self._batching:
            if self.store.uncommitted >= BATCH_COMMIT:
                self._finish()
        elif self._autocommit:
            self._finish()

    def _finish(self) -> None:
        self.store.seal()
        if self.store.durability == "commit":
            self.store.sync_log()
        self.commit()
        if self.has_dropped:
            self.sweep(SWEEP_ROWS)
            self.store.commit()

    def _read(self, work: Callable[[View, *Arguments], Answer], *arguments: *Arguments) -> Answer:
        """Let `work` read what this thread is to see."""
        store = self.store
        view = store.take_view()
        try:
            return work(view, *arguments)
        except DamagedBytes as error:
            raise StoreDamaged(f"the store {store.folder} is damaged: {error}") from error
        finally:
            store.give_back(view)

    def _read_words(
        self, collection: str, bucket: str, work: Callable[[Lexicon, *Arguments], Answer], *arguments: *Arguments
    ) -> Answer | None:
        """Let `work` read the words of a bucket; None: there is no such bucket."""
        return self._read(self._of_words, collection, bucket, work, arguments)

    def _of_words(
        self,
        view: View,
        collection: str,
        bucket: str,
        work: Callable[[Lexicon, *Arguments], Answer],
        arguments: tuple[*Arguments],
    ) -> Answer | None:
        lexicon = self._lexicons.of(view, collection, bucket)
        return None if lexicon is None else work(lexicon, *arguments)

    def _graph_version(self, bucket: int) -> int | None:
        """Return the version of a bucket's graph in the last commit."""
        with self.store.snapshot() as view:
            state = view.bucket_numbered(bucket)
        return None if state is None else state.lexicon_version
