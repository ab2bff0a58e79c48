"""Index: a folder of searchable objects, as a library. Synchronous; may be called from any thread.

Every change is applied, logged and committed before its method returns. `batch` groups changes under one commit; with
`autocommit=False` the owner of the only writing thread calls `seal` and `commit` itself, as the server does.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, cast

from sonicpy._native.postings import DamagedBytes
from sonicpy._native.text import PART, STOP, Terms
from sonicpy.bound import Bucket
from sonicpy.config import Config
from sonicpy.errors import CommandError, GraphError, StoreDamaged
from sonicpy.explanation import Explanation, Language
from sonicpy.graph.pool import GraphPool, Name
from sonicpy.hits import Hits
from sonicpy.ids import Scope, check_bucket, check_collection, check_object
from sonicpy.index import count as counting
from sonicpy.index import stats as figures
from sonicpy.index.answers import Answers
from sonicpy.index.census import ObjectFigures, WordFigures, object_figures, word_figures
from sonicpy.index.consolidate import Built, Limits, adopt, build, graph_folder, tidy
from sonicpy.index.explain import Asked, explain
from sonicpy.index.holdings import Holding, holdings, scopes_of
from sonicpy.index.lexicon import Lexicon, Lexicons
from sonicpy.index.opened import GoneStore, claimed, guard
from sonicpy.index.push_many import push_rows
from sonicpy.index.query import query, query_hits
from sonicpy.index.stats import Figures
from sonicpy.index.suggest import suggest_alphabetical, suggest_likely
from sonicpy.index.terms import NO_TERMS, packed_terms
from sonicpy.index.verify import check_backup, graph_faults
from sonicpy.langcodes import LANG_CODES
from sonicpy.lexer.lexer import NO_LANGUAGE, Lexer
from sonicpy.rows import TEXT_COLUMN, Progress, PushReport, Shape, read_rows
from sonicpy.store.backup import open_backup
from sonicpy.store.environment import SCOPES
from sonicpy.store.mutations import FlushBucket, FlushCollection, FlushObject, Mutation, Pop, Push
from sonicpy.store.restore import Restoration, drop_staged
from sonicpy.store.scopes import BucketState
from sonicpy.store.snapshot import reader_of
from sonicpy.store.store import Store
from sonicpy.store.verify import table_faults
from sonicpy.store.view import View
from sonicpy.tables import figures_table, index_tables
from sonicpy.version import VERSION

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

BATCH_COMMIT = 512
"""Changes after which a batch commits: then a change costs a third of what it costs alone."""

CROWD_WORDS = 2_000
"""Pending words that are worth a consolidation before its time: comparing so many takes about 0.1 ms a query."""

CROWDS_BETWEEN_CHUNKS = 10
"""While many rows are pushed, graphs are built when their words have doubled: so their number stays small."""

SMALL_WORDS = 1_000
"""The graph of so many words takes about 2 ms."""

SWEEP_ROWS = 500
"""Rows of flushed buckets deleted in one go by the library."""
SWEEP_FILES = 10
"""Graphs of flushed buckets deleted in one go."""


class Index:
    """An index in a folder.

    Args:
        path: the folder, created where it is missing; None: `store.kv.path` of the settings.
        config: the settings; None: the defaults.
        autocommit: commit every change before its method returns.
        temporary: delete the folder on close.

    Raises:
        StoreLocked: another process has the folder open for writing, or this process has it open already.
        StoreError: the folder cannot be opened as an index with these settings; the sentence says why.
    """

    read_only = False
    """Whether changes are refused; see `sonicpy.open`."""
    folder: Path
    """The folder, as it was given."""
    store: Store
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
        self.graph_limits = Limits(graph.max_words, graph.max_size << 10, keeps_orphans=True) if compat else Limits()

    # -- changes -------------------------------------------------------------------------------------------------

    def push(self, collection: str, bucket: str, object: str, text: str, lang: str | None = None) -> None:
        """Add a text to an object. Texts add up; the same text again changes nothing.

        Args:
            lang: ISO 639-3 code of the text; None: guess; "none": no language.

        Raises:
            CommandError: a name is not 1 to 128 ASCII characters without white space, the language is not one of
                sonicpy.langcodes, or the text is not Unicode.
            StoreError: the text was not stored.
        """
        _check_names(collection, bucket, object)
        self._change(Push(collection, bucket, object, self._lex(text, lang), self._window))

    def push_terms(
        self, collection: str, bucket: str, object: str, terms: Mapping[str, int], hidden: Mapping[str, int] = NO_TERMS
    ) -> None:
        """Add terms to an object as `holdings` gave them: what it held in another index, it holds in this one.

        Args:
            terms: words as texts give them, each with its frequency, 1 to 255.
            hidden: stop words and parts of runs without blanks, in the same way.

        Raises:
            CommandError: a name is not valid, or the terms are not of this kind.
            StoreError: they were not stored.
        """
        _check_names(collection, bucket, object)
        self._change(Push(collection, bucket, object, packed_terms(terms, hidden), self._window))

    def push_many(
        self,
        rows: Any,
        *,
        collection: str | None = None,
        bucket: str | None = None,
        object: str | None = None,
        text: str | Sequence[str] = TEXT_COLUMN,
        lang: str | None = None,
        new: bool = False,
        progress: Progress | None = None,
    ) -> PushReport:
        """Push many texts, committed by the hundred; return how many were indexed, and which were refused and why.

        Args:
            rows: an iterable of tuples (object, text), (object, text, lang), (collection, bucket, object, text) or
                (collection, bucket, object, text, lang), or of dicts; or a table: pyarrow Table, RecordBatch or
                RecordBatchReader, pandas or Polars DataFrame, anything with `__arrow_c_stream__` or `__dataframe__`.
            collection, bucket: of all rows; None: each row tells its own, in the columns of these names.
            object: the column with the name of the object; None: `id`, else `object`. Whole numbers are names too.
            text: the column with the text; several are put together.
            lang: as in `push`, of all rows; None: each row's column `lang`, where there is one.
            new: the objects are new: a row whose object is there already is refused.
            progress: called now and then with the number of rows that are done.

        Raises:
            CommandError: a name or the language given for all rows is not valid.
            TypeError, ValueError: these are no rows, or a table lacks a column.
            StoreError: rows could not be stored; a note says how many were.
        """
        shape = Shape(collection, bucket, object, text, lang)
        touched: set[Scope] = set()
        report = push_rows(
            read_rows(rows, shape),
            self._lexer.lex,
            partial(self._push_chunk, touched),
            self._window,
            new=new,
            progress=progress,
        )
        self._consolidate_crowded(touched)
        return report

    def _push_chunk(self, touched: set[Scope], pushes: list[Push], *, new: bool) -> list[int]:
        with self._lock:
            there = self.store.apply_pushes(pushes, new=new)
            self._finish_change()
        some = {Scope(push.collection, push.bucket) for push in pushes}
        touched |= some
        self._consolidate_crowded(some, CROWDS_BETWEEN_CHUNKS)
        return there

    def pop(self, collection: str, bucket: str, object: str, text: str) -> int:
        """Take the words of a text from an object; return how many went. Raises like `push`."""
        _check_names(collection, bucket, object)
        words = _lexed(self._lexer.lex_every_way, text)
        # Which flags and counts they have does not matter for what is taken away.
        return self._change(Pop(collection, bucket, object, Terms(words, b"\1" * len(words), bytes(len(words)))))

    def flush(self, collection: str, bucket: str | None = None, object: str | None = None) -> int:
        """Forget a collection, a bucket or an object; return 1 or 0 (it existed or not), or the words of the object.

        Raises like `push`, and ValueError for an object without its bucket.
        """
        if bucket is None:
            _need_no(object)
            return self.flush_collection(collection)
        if object is None:
            return self.flush_bucket(collection, bucket)
        return self.flush_object(collection, bucket, object)

    def flush_collection(self, collection: str) -> int:
        """Forget a collection; return 1 if it existed, else 0. Raises like `push`."""
        check_collection(collection)
        return self._change(FlushCollection(collection))

    def flush_bucket(self, collection: str, bucket: str) -> int:
        """Forget a bucket; return 1 if it existed, else 0. Raises like `push`."""
        _check_names(collection, bucket)
        return self._change(FlushBucket(collection, bucket))

    def flush_object(self, collection: str, bucket: str, object: str) -> int:
        """Forget an object; return how many words it held. Raises like `push`."""
        _check_names(collection, bucket, object)
        return self._change(FlushObject(collection, bucket, object))

    @contextmanager
    def batch(self) -> Iterator[Self]:
        """Group the changes made on this thread inside a `with` block: one commit for about 512 of them.

        At its end, buckets that gained thousands of words are consolidated.
        """
        with self._lock:
            outer, self._batching = self._batching, True
            try:
                yield self
            finally:
                self._batching = outer
                self._finish()
                self._consolidate_crowded(None)

    # -- answers -------------------------------------------------------------------------------------------------

    def query(
        self,
        collection: str,
        bucket: str,
        text: str,
        *,
        limit: int = 10,
        offset: int = 0,
        lang: str | None = None,
        total: bool = False,
    ) -> Hits:
        """Return the objects that answer a text, best first, with their scores.

        Args:
            limit: so many at the most.
            offset: so many of the best are passed over.
            lang: as in `push`.
            total: tell in `Hits.total` how many objects answer.

        Raises:
            CommandError: like `push`.
        """
        terms = self._query_terms(collection, bucket, text, lang)
        search, window = self.config.search, self._window
        found = self._read_words(
            collection, bucket, lambda lexicon: [query_hits(lexicon, terms, search, window, limit, offset, total)]
        )
        return found[0] if found else Hits(total=0 if total else None)

    def query_ids(
        self, collection: str, bucket: str, text: str, *, limit: int = 10, offset: int = 0, lang: str | None = None
    ) -> list[str]:
        """Return what `query` does as a plain list of names: what the server sends."""
        terms = self._query_terms(collection, bucket, text, lang)
        search, window = self.config.search, self._window
        return self._read_words(
            collection, bucket, lambda lexicon: query(lexicon, terms, search, window, limit, offset)
        )

    def explain(
        self, collection: str, bucket: str, text: str, *, limit: int = 10, lang: str | None = None
    ) -> Explanation:
        """Return why `query` with the same arguments answers what it does. Raises CommandError like `push`."""
        terms = self._query_terms(collection, bucket, text, lang)
        code, how = self._lexer.language(text, lang)
        held = set(terms.words)
        asked = Asked(
            collection,
            bucket,
            text,
            Language(code, how),
            terms,
            [word for word in self._lexer.dropped(text, lang) if word not in held],
            frozenset(word for word in terms.words if self._lexer.is_stop_word(word, code)),
            limit,
        )
        found = self._read_words(collection, bucket, lambda lexicon: [explain(asked, lexicon, self.config)])
        return found[0] if found else explain(asked, None, self.config)

    def suggest(self, collection: str, bucket: str, word: str, *, limit: int = 5) -> list[str]:
        """Return words of the bucket that complete or correct `word`.

        Raises:
            CommandError: `word` holds no word or more than one, or a name is not valid.
        """
        question = (collection, bucket, word, limit)
        stamp = self.store.readable_stamp()
        answer = None if stamp is None else self._suggested.get(question, stamp)
        if answer is None:
            answer = self._suggest(collection, bucket, word, limit)
            if stamp is not None and stamp == self.store.readable_stamp():
                self._suggested.put(question, stamp, answer)
        return answer.copy()

    def words(self, collection: str, bucket: str, *, limit: int = 100, offset: int = 0) -> list[str]:
        """Return words of the bucket in byte order. Raises CommandError like `push`."""
        _check_names(collection, bucket)
        found = self._read_words(collection, bucket, lambda lexicon: lexicon.words(offset, limit))
        return [word.decode() for word in found]

    def count(self, collection: str, bucket: str | None = None, object: str | None = None) -> int:
        """Return how many buckets a collection holds, words a bucket, or words an object, as COUNT does.

        Raises CommandError like `push`, and ValueError for an object without its bucket.
        """
        if bucket is None:
            _need_no(object)
            return self.count_buckets(collection)
        if object is None:
            return self.count_words(collection, bucket)
        return self.count_object_words(collection, bucket, object)

    def count_buckets(self, collection: str) -> int:
        """Return how many buckets of the collection hold words. Raises CommandError like `push`."""
        check_collection(collection)
        return self._read(lambda view: counting.count_buckets(view, collection, live=self._live))

    def count_words(self, collection: str, bucket: str) -> int:
        """Return how many different words the bucket holds. Raises CommandError like `push`."""
        _check_names(collection, bucket)
        return self._read(lambda view: counting.count_bucket_words(view, collection, bucket, live=self._live))

    def count_objects(self, collection: str, bucket: str) -> int:
        """Return how many objects the bucket holds. Raises CommandError like `push`."""
        _check_names(collection, bucket)
        return self._read(lambda view: counting.count_objects(view, collection, bucket))

    def count_object_words(self, collection: str, bucket: str, object: str) -> int:
        """Return how many different words the object holds. Raises CommandError like `push`."""
        _check_names(collection, bucket, object)
        return self._read(lambda view: counting.count_object_words(view, collection, bucket, object))

    def open_scopes(self) -> int:
        """Return how many buckets the index holds, over all collections."""
        return self._read(lambda view: view.transaction.count(SCOPES))

    def pending_buckets(self) -> int:
        """Return how many buckets have words waiting for consolidation."""
        return len(self.store.pending_buckets)

    def open_graphs(self) -> int:
        """Return how many word graphs are open."""
        return len(self.graphs)

    def bucket(self, collection: str, bucket: str) -> Bucket:
        """Return a bucket, whether it exists or not: the same methods without the two names.

        Raises CommandError like `push`.
        """
        return Bucket(self, collection, bucket)

    # -- upkeep --------------------------------------------------------------------------------------------------

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
                except GraphError as fault:
                    faults.append(fault)  # the others need not wait for this one
            self._finish()
            if faults:
                raise faults[0]

    def consolidate_bucket(self, bucket: int) -> None:
        """Build the graph of one bucket from the last commit. Raises like `consolidate`."""
        with self._lock:
            built = self.build_graph(bucket)
            if built is None:
                return
            start: bytes | None = b"" if self.adopt_graphs([built]) else None
            while start is not None:
                start = self.tidy_pending(built, start)

    def due_buckets(self) -> list[int]:
        """Return the ids of the buckets that have pending words, or a graph that cannot be read."""
        return sorted(self.store.pending_buckets | self.graphs.broken)

    def build_graph(self, bucket: int) -> Built | None:
        """Write the graph of a bucket from the last commit; None: the bucket is gone. Raises like `consolidate`."""
        with self.store.snapshot() as view:
            built = build(view, self.graphs, bucket, self.graph_limits)
        if built is None:
            self.forget_bucket(bucket, 0)
        return built

    def adopt_graphs(self, graphs: list[Built]) -> list[Built]:
        """Make graphs that were written the graphs of their buckets, commit that, and return them.

        Those whose buckets were flushed meanwhile are deleted.

        Raises:
            StoreError: it could not be committed; the old graphs stay.
        """
        with self._lock:
            homeless = self.store.maintain(lambda view: adopt(view, graphs))
            self.store.commit()
        for built in homeless:
            self.forget_bucket(built.bucket, 0)
            self.graphs.remove(built.bucket, built.version)
        adopted = [built for built in graphs if built not in homeless]
        for built in adopted:
            self.graphs.broken.discard(built.bucket)
            self.graphs.get(built.bucket, built.version)  # opened before the older file goes
            self.graphs.remove(built.bucket, built.version - 1)
        return adopted

    def tidy_pending(self, built: Built, start: bytes) -> bytes | None:
        """Forget some of the pending words that an adopted graph holds; return where to go on, or None."""
        with self._lock:
            return self.store.maintain(lambda view: tidy(view, built, start))

    def forget_bucket(self, bucket: int, version: int) -> None:
        """Drop a graph, and what is held in memory, of a bucket that was flushed."""
        self.store.pending_buckets.discard(bucket)
        self.graphs.forget(bucket, version)

    def is_crowded(self, bucket: int, crowds: int = 1) -> bool:
        """Return whether so many words of a bucket are pending that comparing them one by one takes long.

        Args:
            crowds: how many times as many.
        """
        state = self._read(lambda view: view.bucket_numbered(bucket))
        if state is None:
            return False
        return state.edits - state.graph_edits >= crowds * max(CROWD_WORDS, state.graph_words // 10)

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

        All or nothing: until the last moment the old collections answer, and a backup with a fault changes nothing.

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

    def analyser(self) -> dict[str, str]:
        """Return what decides which terms of a text are stored, key by key."""
        return self._lexer.analyser()

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

    def holdings(self, collection: str | None = None, bucket: str | None = None) -> Iterator[Holding]:
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
            _check_names(collection, bucket or collection)
        with self._whole_snapshot() as view:
            for scope, state in scopes_of(view, collection, bucket):
                yield from holdings(view, scope, state)

    def word_figures(self, collection: str, bucket: str) -> Iterator[WordFigures]:
        """Yield every word of a bucket in byte order, hidden ones too, with how many objects hold it and how often.

        They are those of the moment when the first is taken. Take them to the end before this thread changes the index.
        Raises like `holdings`.
        """
        _check_names(collection, bucket)
        with self._whole_snapshot() as view:
            state = view.bucket(collection, bucket)
            if state is not None:
                yield from word_figures(view, state)

    def object_figures(self, collection: str, bucket: str) -> Iterator[ObjectFigures]:
        """Yield every object of a bucket, oldest first, with its length and how many words it holds.

        As `word_figures` otherwise.
        """
        _check_names(collection, bucket)
        with self._whole_snapshot() as view:
            state = view.bucket(collection, bucket)
            if state is not None:
                yield from object_figures(view, state)

    def verify(self) -> list[str]:
        """Check every table against every other, and the graphs against the tables; return what is wrong.

        Other threads go on reading and writing meanwhile; what they change is not looked at.
        """
        self._commit_first()
        with self.store.snapshot() as view:
            return [*table_faults(view.transaction), *graph_faults(view, self.graphs, self._graph_version)]

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
        _check_names(collection, bucket)
        return self._read(lambda view: figures.bucket_figures(view, self.graphs, collection, bucket))

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

    def sweep(self, rows: int) -> bool:
        """Delete at most about `rows` rows of flushed buckets, and a few graphs; return whether any are left."""
        with self._lock:
            self.graphs.sweep(SWEEP_FILES)
            return self.store.sweep(rows) or bool(self.graphs.unwanted)

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
    def has_doomed(self) -> bool:
        """Whether rows or graphs of flushed buckets may wait for `sweep`."""
        return self.store.has_doomed or bool(self.graphs.unwanted)

    def sync_log(self) -> None:
        """Wait until everything sealed is on the disk; may be called from any thread."""
        self.store.sync_log()

    def seal(self) -> None:
        """Put what was changed since the last seal into the log: then it survives the death of the process."""
        self.store.seal()

    def commit(self) -> None:
        """Make what was changed visible to other threads and processes."""
        with self._lock:
            self.store.commit()
            for bucket, version in self.store.take_flushed().items():
                self.forget_bucket(bucket, version)

    def sync(self) -> None:
        """Wait until everything committed is on the disk."""
        self.store.sync()

    def close(self) -> None:
        """Commit, sync and release the folder; a second time, and in a forked process, nothing happens.

        Waits until other threads have their answers; what they ask later raises IndexClosed.
        """
        with self._lock:
            if isinstance(self.store, GoneStore):
                return
            self.store = cast(Store, GoneStore(f"the index in {self.store.folder} was closed: open it again"))
            self._let_go()

    def __repr__(self) -> str:
        if isinstance(self.store, GoneStore):
            return "<Index, closed>"
        return f"<{type(self).__name__} in {self.folder}>"

    def _repr_html_(self) -> str:
        """Return tables for notebooks."""
        if isinstance(self.store, GoneStore):
            return figures_table(repr(self), {})
        return index_tables(repr(self), self.stats)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------------------------------

    def _open_store(self, folder: Path) -> None:
        kv = self.config.store.kv
        self.store = Store(
            folder, self._lexer.analyser(), map_bytes=kv.map_size_mb << 20, durability=kv.durability
        )
        self.graphs = GraphPool(graph_folder(folder))

    def _tidy(self) -> None:
        """Take away what an earlier process has left unfinished."""
        drop_staged(self.store)
        self._read(self._tidy_graphs)

    @contextmanager
    def _whole_snapshot(self) -> Iterator[View]:
        """What was changed until now, for a long look at it."""
        self._commit_first()
        try:
            with self.store.snapshot() as view:
                yield view
        except DamagedBytes as fault:
            raise StoreDamaged(f"the store {self.store.folder} is damaged: {fault}") from fault

    def _commit_first(self) -> None:
        """Let the next snapshot show everything."""
        with self._lock:
            self.store.commit()

    def _change(self, mutation: Mutation) -> int:
        with self._lock:
            result = self.store.apply(mutation)
            self._finish_change()
            return result

    def _finish_change(self) -> None:
        if self._batching:
            if self.store.uncommitted >= BATCH_COMMIT:
                self._finish()
        elif self._autocommit:
            self._finish()

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

    def _finish(self) -> None:
        self.store.seal()
        if self.store.durability == "commit":
            self.store.sync_log()
        self.commit()
        if self.has_doomed:
            self.sweep(SWEEP_ROWS)
            self.store.commit()

    def _suggest(self, collection: str, bucket: str, word: str, limit: int) -> list[str]:
        _check_names(collection, bucket)
        term, typed_bytes = one_word(_lexed(self._lexer.lex_plain, word))
        if self.config.search.suggest_order == "likely":
            found = self._read_words(collection, bucket, lambda lexicon: suggest_likely(lexicon, term, limit))
        else:
            found = self._read_words(
                collection, bucket, lambda lexicon: suggest_alphabetical(lexicon, term, limit, typed_bytes)
            )
        return [suggestion.decode() for suggestion in found]

    def _read(self, work: Callable[[View], Answer]) -> Answer:
        try:
            store = self.store
            view = store.open_view(begin=not self._autocommit)
            if view is not None:
                return work(view)
            snapshot = store.take_snapshot()
            try:
                return work(snapshot)
            finally:
                store.give_back(snapshot)
        except DamagedBytes as fault:
            raise StoreDamaged(f"the store {self.store.folder} is damaged: {fault}") from fault

    def _read_words(
        self, collection: str, bucket: str, work: Callable[[Lexicon], list[Answer]]
    ) -> list[Answer]:
        """Let `work` read the words of a bucket; an unknown one has none."""

        def read(view: View) -> list[Answer]:
            state = view.bucket(collection, bucket)
            return [] if state is None else work(self._lexicons.of(reader_of(view, state), view))

        return self._read(read)

    def _graph_version(self, bucket: int) -> int | None:
        """Return the version of a bucket's graph in the last commit."""
        with self.store.snapshot() as view:
            state = view.bucket_numbered(bucket)
        return None if state is None else state.lexicon_version

    def _tidy_graphs(self, view: View) -> None:
        states = (BucketState.unpack(row) for _, row in view.transaction.rows(SCOPES, b""))
        self.graphs.tidy({Name(state.bucket, state.lexicon_version) for state in states if state.lexicon_version})

    def _query_terms(self, collection: str, bucket: str, text: str, lang: str | None) -> Terms:
        _check_names(collection, bucket)
        terms = self._lex(text, lang)
        if not len(terms) and self._searches_stop_words:
            terms = _lexed(self._lexer.lex_plain, text)
        return terms

    def _lex(self, text: str, lang: str | None) -> Terms:
        if lang is not None and lang != NO_LANGUAGE and lang not in LANG_CODES:
            raise CommandError("invalid_meta_value", f"LANG[{lang}]")
        return _lexed(self._lexer.lex, text, lang)


def _check_names(collection: str, bucket: str, object: str | None = None) -> None:
    check_collection(collection)
    check_bucket(bucket)
    if object is not None:
        check_object(object)


def _numbers(view: View, scopes: set[Scope]) -> list[int]:
    states = (view.bucket(*scope) for scope in sorted(scopes))
    return [state.bucket for state in states if state is not None]


def _need_no(object: str | None) -> None:
    if object is not None:
        raise ValueError(f"the object {object!r} is given without its bucket")


def one_word(terms: Terms) -> tuple[bytes, int]:
    """Return the only word of a text and how many bytes it had as typed.

    Raises:
        CommandError: it has none or several, or the same twice.
    """
    words = [number for number, flags in enumerate(terms.flags) if not flags & (STOP | PART)]
    if len(words) != 1 or terms.counts[words[0]] != 1:
        raise CommandError("query_error")
    return terms.words[words[0]], terms.typed[words[0]]


def _lexed(lex: Callable[Arguments, Answer], *args: Arguments.args, **named: Arguments.kwargs) -> Answer:
    try:
        return lex(*args, **named)
    except UnicodeEncodeError as fault:
        raise CommandError(
            "invalid_format", f"the text is not Unicode: character {fault.start} is a lone surrogate"
        ) from fault
