"""Index: a folder of searchable objects, as a library. Synchronous; any thread may call it.

Every change is applied, logged and committed before its method returns. `batch` groups changes under one commit; with
`autocommit=False` the owner of the only writing thread calls `maintainer.seal` and `maintainer.commit` itself, as the
server does.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from sonicpy._native.terms import PART, STOP, Terms
from sonicpy._native.varint import DamagedBytes
from sonicpy.api.bucket import Bucket
from sonicpy.api.explanation import DetectedLanguage, Explanation
from sonicpy.api.hits import Hits
from sonicpy.api.html import figures_table, index_tables
from sonicpy.api.rows import TEXT_COLUMN, Progress, PushReport, Shape, read_rows
from sonicpy.config import Config
from sonicpy.errors import CommandError, GraphError, StoreError
from sonicpy.ids import Scope, check_collection, check_names
from sonicpy.index.engine import Engine, damaged
from sonicpy.index.ingest.push_many import push_rows
from sonicpy.index.ingest.terms import NO_TERMS, packed_terms
from sonicpy.index.maintenance.maintainer import Maintainer
from sonicpy.index.report import export, stats, term_stats
from sonicpy.index.report.export import ExportedObject
from sonicpy.index.report.stats import Figures
from sonicpy.index.report.term_stats import ObjectStats, TermStats
from sonicpy.index.search import count as counting
from sonicpy.index.search.explain import Asked, explain
from sonicpy.index.search.families import Matching
from sonicpy.index.search.query import query, query_hits
from sonicpy.index.search.suggest import suggest_alphabetical, suggest_likely
from sonicpy.index.search.suggest_cache import SuggestCache
from sonicpy.langcodes import LANG_CODES
from sonicpy.lexer.lexer import NO_LANGUAGE
from sonicpy.store.mutations import FlushBucket, FlushCollection, FlushObject, PopTerms, PushTerms

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

BACKLOGS_BETWEEN_CHUNKS = 10
"""While many rows are pushed, a graph is built once this many times the usual backlog is pending: so graphs are built a
few times, not after every chunk."""


class Index:
    """An index in a folder.

    Args:
        path: the folder, created if it is missing; None: `store.kv.path` of the settings.
        config: the settings; None: the defaults.
        autocommit: commit every change before its method returns.
        temporary: delete the folder on close.

    Attributes:
        folder: the folder as it was given.
        config: the settings.
        maintainer: the steps of maintenance one by one, for a program that drives them itself, as the server does.

    Raises:
        StoreLocked: another process has the folder open for writing, or this process has it open already.
        StoreError: the folder cannot be opened as an index with these settings; the message says why.
    """

    _engine_class = Engine
    read_only = False
    """Whether changes are refused; see `sonicpy.open`."""

    def __init__(
        self,
        path: Path | str | None = None,
        config: Config | None = None,
        *,
        autocommit: bool = True,
        temporary: bool = False,
    ) -> None:
        self._engine = self._engine_class(path, config, autocommit=autocommit, temporary=temporary)
        self.folder = self._engine.folder
        self.config = self._engine.config
        self.maintainer = Maintainer(self._engine)
        self._suggestions: SuggestCache[list[str]] = SuggestCache()
        if self._engine.was_converted:
            self._build_graphs()

    # -- changes -------------------------------------------------------------------------------------------------------

    def push(self, collection: str, bucket: str, object: str, text: str, lang: str | None = None) -> None:
        """Add a text to an object. Texts add up; the same text again changes nothing.

        Args:
            lang: ISO 639-3 code of the text; None: guess; "none": no language.

        Raises:
            CommandError: a name is not 1 to 128 ASCII characters without white space, the language is not one of
                sonicpy.langcodes, or the text is not Unicode.
            StoreError: the text was not stored.
        """
        check_names(collection, bucket, object)
        terms = self._lex(self._engine.lexer.lex_push, text, lang)
        self._engine.apply(PushTerms(collection, bucket, object, terms))

    def push_terms(
        self, collection: str, bucket: str, object: str, terms: Mapping[str, int], hidden: Mapping[str, int] = NO_TERMS
    ) -> None:
        """Add the terms to an object that `holdings` of another index returned for it.

        Args:
            terms: words in their normal form, each with its frequency, 1 to 255.
            hidden: the same of parts of runs without blanks, and of stop words that compat mode keeps.

        Raises:
            CommandError: a name, a term or a frequency is not valid.
            StoreError: the terms were not stored.
        """
        check_names(collection, bucket, object)
        self._engine.apply(PushTerms(collection, bucket, object, packed_terms(terms, hidden)))

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
        """Push many texts, thousands to a commit; return how many were indexed, and which were refused and why.

        Args:
            rows: an iterable of tuples (object, text), (object, text, lang), (collection, bucket, object, text) or
                (collection, bucket, object, text, lang), or of dicts; or a table: pyarrow Table, RecordBatch or
                RecordBatchReader, pandas or Polars DataFrame, anything with `__arrow_c_stream__` or `__dataframe__`.
            collection, bucket: of all rows; None: each row names its own, in the columns of these names.
            object: the column with the name of the object; None: `id`, else `object`. Whole numbers are names too.
            text: the column with the text; the texts of several columns are joined.
            lang: as in `push`, of all rows; None: each row's column `lang`, if there is one.
            new: refuse rows whose object exists already.
            progress: called after each chunk with the number of rows that are done.

        Raises:
            CommandError: a name or the language given for all rows is not valid.
            TypeError, ValueError: `rows` is not of these types, or a table lacks a column.
            StoreError: rows could not be stored; a note says how many were.
        """
        shape = Shape(collection, bucket, object, text, lang)
        touched: set[Scope] = set()
        report = push_rows(
            read_rows(rows, shape),
            self._engine.lexer.lex_push,
            partial(self._push_chunk, touched),
            new=new,
            progress=progress,
        )
        self.maintainer.consolidate_backlogged(touched)
        return report

    def _push_chunk(self, touched: set[Scope], pushes: list[PushTerms], *, new: bool) -> list[int]:
        there = self._engine.apply_pushes(pushes, new=new)
        some = {Scope(push.collection, push.bucket) for push in pushes}
        touched |= some
        self.maintainer.consolidate_backlogged(some, BACKLOGS_BETWEEN_CHUNKS)
        return there

    def pop(self, collection: str, bucket: str, object: str, text: str) -> int:
        """Remove the words of a text from an object; return how many were removed. Raises like `push`."""
        check_names(collection, bucket, object)
        words = _lexed(self._engine.lexer.lex_every_way, text)
        # Flags and counts do not matter for a removal.
        return self._engine.apply(
            PopTerms(collection, bucket, object, Terms(words, b"\1" * len(words), bytes(len(words))))
        )

    def flush(self, collection: str, bucket: str | None = None, object: str | None = None) -> int:
        """Erase a collection, a bucket or an object; return 1 or 0 (it existed or not), or how many words it held.

        Raises like `push`, and ValueError for an object without its bucket.
        """
        if bucket is None:
            _need_no(object)
            return self.flush_collection(collection)
        if object is None:
            return self.flush_bucket(collection, bucket)
        return self.flush_object(collection, bucket, object)

    def flush_collection(self, collection: str) -> int:
        """Erase a collection; return 1 if it existed, else 0. Raises like `push`."""
        check_collection(collection)
        return self._engine.apply(FlushCollection(collection))

    def flush_bucket(self, collection: str, bucket: str) -> int:
        """Erase a bucket; return 1 if it existed, else 0. Raises like `push`."""
        check_names(collection, bucket)
        return self._engine.apply(FlushBucket(collection, bucket))

    def flush_object(self, collection: str, bucket: str, object: str) -> int:
        """Erase an object; return how many words it held. Raises like `push`."""
        check_names(collection, bucket, object)
        return self._engine.apply(FlushObject(collection, bucket, object))

    @contextmanager
    def batch(self) -> Iterator[Self]:
        """Group the changes made on this thread inside a `with` block: one commit for about 512 of them.

        At its end, buckets that gained thousands of words are consolidated.
        """
        engine = self._engine
        with engine.lock:
            outer, engine.is_batching = engine.is_batching, True
            try:
                yield self
            finally:
                engine.is_batching = outer
                engine.finish()
                self.maintainer.consolidate_backlogged(None)

    # -- answers -------------------------------------------------------------------------------------------------------

    def query(
        self,
        collection: str,
        bucket: str,
        text: str,
        *,
        limit: int = 10,
        offset: int = 0,
        lang: str | None = None,
        stem: bool = True,
        total: bool = False,
    ) -> Hits:
        """Return the objects that answer a text, best first, with their scores.

        Args:
            limit: at most this many objects.
            offset: skip this many of the best.
            lang: as in `push`.
            stem: words also stand for their other forms, where search.stemming allows it.
            total: also count in `Hits.total` all objects that answer.

        Raises:
            CommandError: like `push`.
        """
        terms, matching = self._query_terms(collection, bucket, text, lang, stem)
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return Hits(total=0 if total else None)
            return query_hits(lexicon, terms, self.config, limit, offset, matching, total=total)

    def query_ids(
        self,
        collection: str,
        bucket: str,
        text: str,
        *,
        limit: int = 10,
        offset: int = 0,
        lang: str | None = None,
        stem: bool = True,
    ) -> list[str]:
        """Return the objects of `query` as a plain list of names, as the server sends them."""
        terms, matching = self._query_terms(collection, bucket, text, lang, stem)
        # `Engine.read_words` written out: the server's queries come here, and it would take 1 % of a short one.
        store = self._engine.store
        view = store.take_view()
        try:
            lexicon = self._engine.lexicons.of(view, collection, bucket)
            return [] if lexicon is None else query(lexicon, terms, self.config, limit, offset, matching)
        except DamagedBytes as error:
            raise damaged(store, error) from error
        finally:
            store.give_back(view)

    def explain(
        self,
        collection: str,
        bucket: str,
        text: str,
        *,
        limit: int = 10,
        lang: str | None = None,
        stem: bool = True,
    ) -> Explanation:
        """Return the reasons for the answer of `query` with the same arguments. Raises CommandError like `push`."""
        terms, matching = self._query_terms(collection, bucket, text, lang, stem)
        code, how = self._engine.lexer.language(text, lang)
        held = set(terms.words)
        asked = Asked(
            collection,
            bucket,
            text,
            DetectedLanguage(code, how),
            terms,
            [word for word in self._engine.lexer.dropped(text, lang) if word not in held],
            frozenset(word for word in terms.words if self._engine.lexer.is_stop_word(word, code)),
            limit,
            matching,
        )
        with self._engine.read_words(collection, bucket) as lexicon:
            return explain(asked, lexicon, self.config)

    def suggest(self, collection: str, bucket: str, word: str, *, limit: int = 5) -> list[str]:
        """Return words of the bucket that complete or correct `word`.

        Raises:
            CommandError: `word` holds no word or more than one, or a name is not valid.
        """
        question = (collection, bucket, word, limit)
        store = self._engine.store
        stamp = store.readable_stamp()
        answer = None if stamp is None else self._suggestions.get(question, stamp)
        if answer is None:
            answer = self._suggest(collection, bucket, word, limit)
            if stamp is not None and stamp == store.readable_stamp():
                self._suggestions.put(question, stamp, answer)
        return answer.copy()

    def words(self, collection: str, bucket: str, *, limit: int = 100, offset: int = 0) -> list[str]:
        """Return words of the bucket in byte order. Raises CommandError like `push`."""
        check_names(collection, bucket)
        with self._engine.read_words(collection, bucket) as lexicon:
            found = [] if lexicon is None else lexicon.words(offset, limit)
        return [word.decode() for word in found]

    def count(self, collection: str, bucket: str | None = None, object: str | None = None) -> int:
        """Return how many buckets a collection holds, or how many words a bucket or an object holds, as COUNT does.

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
        with self._engine.read() as view:
            return counting.count_buckets(view, collection, self._engine.live_words)

    def count_words(self, collection: str, bucket: str) -> int:
        """Return how many different words the bucket holds. Raises CommandError like `push`."""
        check_names(collection, bucket)
        with self._engine.read() as view:
            return counting.count_bucket_words(view, collection, bucket, self._engine.live_words)

    def count_objects(self, collection: str, bucket: str) -> int:
        """Return how many objects the bucket holds. Raises CommandError like `push`."""
        check_names(collection, bucket)
        with self._engine.read() as view:
            return counting.count_objects(view, collection, bucket)

    def count_object_words(self, collection: str, bucket: str, object: str) -> int:
        """Return how many different words the object holds. Raises CommandError like `push`."""
        check_names(collection, bucket, object)
        with self._engine.read() as view:
            return counting.count_object_words(view, collection, bucket, object)

    def bucket(self, collection: str, bucket: str) -> Bucket:
        """Return a bucket, whether it exists or not: an object with the same methods, without the two names.

        Raises CommandError like `push`.
        """
        return Bucket(self, collection, bucket)

    # -- contents ------------------------------------------------------------------------------------------------------

    def stats(self, collection: str | None = None, bucket: str | None = None) -> Figures:
        """Return the figures of the index, a collection or a bucket, as a dict for JSON.

        Always: objects, words (hidden ones not counted), average_length (in words). For a bucket and the whole index
        also hidden_words (parts of runs without blanks, words that no object holds any more) and
        pending_words (changed since the word graph was built). For the whole index also its bytes on disk and in RAM.

        Raises CommandError like `push`, and ValueError for a bucket without its collection.
        """
        if collection is None:
            if bucket is not None:
                raise ValueError(f"the bucket {bucket!r} is given without its collection")
            return stats.index_figures(self._engine)
        if bucket is None:
            check_collection(collection)
            with self._engine.read() as view:
                return stats.collection_figures(view, collection)
        check_names(collection, bucket)
        with self._engine.read() as view:
            return stats.bucket_figures(view, self._engine.graphs, collection, bucket)

    def holdings(self, collection: str | None = None, bucket: str | None = None) -> Iterator[ExportedObject]:
        """Yield every object and the words it holds, bucket by bucket; an object may come more than once.

        Given to `push_terms` in this order, they make the same index again. The first step takes a snapshot; finish the
        iteration before this thread changes the index.

        Args:
            collection: only this collection; None: all.
            bucket: only this bucket; None: all.

        Raises:
            CommandError: a name is not valid.
            StoreError: the store cannot be read.
        """
        if collection is not None:
            check_names(collection, bucket or collection)
        with self._engine.snapshot_of_now() as view:
            for scope, state in export.scopes_of(view, collection, bucket):
                yield from export.holdings(view, scope, state)

    def term_stats(self, collection: str, bucket: str) -> Iterator[TermStats]:
        """Yield every word of a bucket in byte order, hidden ones too, with how many objects hold it and how often.

        Snapshot and errors as in `holdings`.
        """
        check_names(collection, bucket)
        with self._engine.snapshot_of_now() as view:
            state = view.bucket(collection, bucket)
            if state is not None:
                yield from term_stats.term_stats(view, state)

    def object_stats(self, collection: str, bucket: str) -> Iterator[ObjectStats]:
        """Yield every object of a bucket, oldest first, with its length and how many words it holds.

        Snapshot and errors as in `holdings`.
        """
        check_names(collection, bucket)
        with self._engine.snapshot_of_now() as view:
            state = view.bucket(collection, bucket)
            if state is not None:
                yield from term_stats.object_stats(view, state)

    # -- maintenance ---------------------------------------------------------------------------------------------------

    def consolidate(self) -> None:
        """Build the word graphs of all buckets whose words changed; in this process, without the GIL where it pays.

        With `search.live_words` words are completed, corrected, listed and counted before that too.

        Raises:
            StoreError, GraphError: a graph could not be built; its words stay pending.
        """
        self.maintainer.consolidate()

    def backup(self, folder: Path | str) -> Path:
        """Commit, then copy the index into a folder as `sonicpy.backup`, with every change made before; return that
        file. Other threads go on meanwhile.

        Args:
            folder: created if it is missing; a backup in it is replaced once the new one is whole.

        Raises:
            StoreError: the backup could not be written; the one before is still there.
        """
        self._engine.commit_before_reading()
        return self.maintainer.backup_committed(folder)

    def restore(self, folder: Path | str) -> None:
        """Replace the collections that the backup in a folder holds; others stay as they are.

        All or nothing: until the last step the old collections answer, and a backup with faults changes nothing.

        Raises:
            StoreDamaged: the backup has faults.
            StoreError: there is no backup, its texts were analysed differently, or the store cannot be written.
        """
        self.maintainer.restore(folder)

    def verify(self) -> list[str]:
        """Check every table against every other, and the graphs against the tables; return the faults as sentences.

        Other threads go on reading and writing meanwhile; their changes are not checked.
        """
        return self.maintainer.verify()

    def close(self) -> None:
        """Commit, sync and release the folder; a second call, and one in a forked process, does nothing.

        Waits until other threads have their answers; their next call raises IndexClosed.
        """
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._engine.is_closed:
            return "<Index, closed>"
        return f"<{type(self).__name__} in {self.folder}>"

    def _repr_html_(self) -> str:
        """Return tables for notebooks."""
        if self._engine.is_closed:
            return figures_table(repr(self), {})
        return index_tables(repr(self), self.stats)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _build_graphs(self) -> None:
        """Build the graphs of a converted store; after an error its words stay pending until a later consolidation."""
        try:
            self.maintainer.consolidate()
        except (GraphError, StoreError) as error:
            logger.error("the word graphs of the converted store %s cannot be built yet: %s", self.folder, error)

    def _suggest(self, collection: str, bucket: str, word: str, limit: int) -> list[str]:
        check_names(collection, bucket)
        term, typed_bytes = one_word(_lexed(self._engine.lexer.lex_plain, word))
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return []
            if self.config.search.suggest_order == "likely":
                found = suggest_likely(lexicon, term, limit)
            else:
                found = suggest_alphabetical(lexicon, term, limit, typed_bytes)
        return [suggestion.decode() for suggestion in found]

    def _query_terms(
        self, collection: str, bucket: str, text: str, lang: str | None, stem: bool
    ) -> tuple[Terms, Matching | None]:
        """Return the terms of a query, and how they lead to families; None: they have none."""
        check_names(collection, bucket)
        check_language(lang)
        try:
            terms, code = self._engine.lexer.lex_query(text, lang)
        except UnicodeEncodeError as error:
            raise _not_unicode(error) from error
        if not len(terms) and not self._engine.is_compat:
            terms = _lexed(self._engine.lexer.lex_plain, text)
        if not stem or code == NO_LANGUAGE or self.config.search.stemming == "off":
            return terms, None
        return terms, Matching(code, text.isascii())

    def _lex(self, lex: Callable[[str, str | None], Terms], text: str, lang: str | None) -> Terms:
        check_language(lang)
        try:
            return lex(text, lang)
        except UnicodeEncodeError as error:
            raise _not_unicode(error) from error


def check_language(lang: str | None) -> None:
    """Raise CommandError if this is not a language that a text may be given."""
    if lang is not None and lang != NO_LANGUAGE and lang not in LANG_CODES:
        raise CommandError("invalid_meta_value", f"LANG[{lang}]")


def _need_no(object: str | None) -> None:
    if object is not None:
        raise ValueError(f"the object {object!r} is given without its bucket")


def one_word(terms: Terms) -> tuple[bytes, int]:
    """Return the only word of a text, and how many bytes it had as typed.

    Raises:
        CommandError: the text has no word, several, or the same one twice.
    """
    words = [number for number, flags in enumerate(terms.flags) if not flags & (STOP | PART)]
    if len(words) != 1 or terms.counts[words[0]] != 1:
        raise CommandError("query_error")
    return terms.words[words[0]], terms.typed[words[0]]


def _lexed(lex: Callable[[str], Answer], text: str) -> Answer:
    try:
        return lex(text)
    except UnicodeEncodeError as error:
        raise _not_unicode(error) from error


def _not_unicode(error: UnicodeEncodeError) -> CommandError:
    return CommandError("invalid_format", f"the text is not Unicode: character {error.start} is a lone surrogate")
