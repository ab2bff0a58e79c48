"""Index: a folder of searchable objects, as a library. Synchronous; may be called from any thread.

Every change is applied, logged and committed before its method returns. `batch` groups changes under one commit; with
`autocommit=False` the owner of the only writing thread calls `seal` and `commit` itself, as the server does.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self, TypeVar

from sonicpy._native.terms import PART, STOP, Terms
from sonicpy.api.bucket import Bucket
from sonicpy.api.explanation import Explanation, Language
from sonicpy.api.hits import Hits
from sonicpy.api.rows import TEXT_COLUMN, Progress, PushReport, Shape, read_rows
from sonicpy.errors import CommandError
from sonicpy.ids import Scope, check_collection, check_names
from sonicpy.index.ingest.push_many import push_rows
from sonicpy.index.ingest.terms import NO_TERMS, packed_terms
from sonicpy.index.report.contents import IndexContents
from sonicpy.index.search import count as counting
from sonicpy.index.search.explain import Asked, explain
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.query import query, query_hits
from sonicpy.index.search.suggest import suggest_alphabetical, suggest_likely
from sonicpy.langcodes import LANG_CODES
from sonicpy.lexer.lexer import NO_LANGUAGE
from sonicpy.store.mutations import FlushBucket, FlushCollection, FlushObject, PopTerms, PushTerms

Answer = TypeVar("Answer")

CROWDS_BETWEEN_CHUNKS = 10
"""While many rows are pushed, graphs are built when their words have doubled: so their number stays small."""


class Index(IndexContents):
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
        self._change(PushTerms(collection, bucket, object, self._lex(text, lang), self._window))

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
        check_names(collection, bucket, object)
        self._change(PushTerms(collection, bucket, object, packed_terms(terms, hidden), self._window))

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

    def _push_chunk(self, touched: set[Scope], pushes: list[PushTerms], *, new: bool) -> list[int]:
        with self._lock:
            there = self.store.apply_pushes(pushes, new=new)
            self._finish_change()
        some = {Scope(push.collection, push.bucket) for push in pushes}
        touched |= some
        self._consolidate_crowded(some, CROWDS_BETWEEN_CHUNKS)
        return there

    def pop(self, collection: str, bucket: str, object: str, text: str) -> int:
        """Take the words of a text from an object; return how many went. Raises like `push`."""
        check_names(collection, bucket, object)
        words = _lexed(self._lexer.lex_every_way, text)
        # Which flags and counts they have does not matter for what is taken away.
        return self._change(PopTerms(collection, bucket, object, Terms(words, b"\1" * len(words), bytes(len(words)))))

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
        check_names(collection, bucket)
        return self._change(FlushBucket(collection, bucket))

    def flush_object(self, collection: str, bucket: str, object: str) -> int:
        """Forget an object; return how many words it held. Raises like `push`."""
        check_names(collection, bucket, object)
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
        found = self._read_words(
            collection, bucket, query_hits, terms, self.config.search, self._window, limit, offset, total
        )
        return Hits(total=0 if total else None) if found is None else found

    def query_ids(
        self, collection: str, bucket: str, text: str, *, limit: int = 10, offset: int = 0, lang: str | None = None
    ) -> list[str]:
        """Return what `query` does as a plain list of names: what the server sends."""
        terms = self._query_terms(collection, bucket, text, lang)
        found = self._read_words(collection, bucket, query, terms, self.config.search, self._window, limit, offset)
        return found or []

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
        found = self._read_words(collection, bucket, lambda lexicon: explain(asked, lexicon, self.config))
        return explain(asked, None, self.config) if found is None else found

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
        check_names(collection, bucket)
        found = self._read_words(collection, bucket, Lexicon.words, offset, limit)
        return [word.decode() for word in found or []]

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
        return self._read(counting.count_buckets, collection, self._live)

    def count_words(self, collection: str, bucket: str) -> int:
        """Return how many different words the bucket holds. Raises CommandError like `push`."""
        check_names(collection, bucket)
        return self._read(counting.count_bucket_words, collection, bucket, self._live)

    def count_objects(self, collection: str, bucket: str) -> int:
        """Return how many objects the bucket holds. Raises CommandError like `push`."""
        check_names(collection, bucket)
        return self._read(counting.count_objects, collection, bucket)

    def count_object_words(self, collection: str, bucket: str, object: str) -> int:
        """Return how many different words the object holds. Raises CommandError like `push`."""
        check_names(collection, bucket, object)
        return self._read(counting.count_object_words, collection, bucket, object)

    def bucket(self, collection: str, bucket: str) -> Bucket:
        """Return a bucket, whether it exists or not: the same methods without the two names.

        Raises CommandError like `push`.
        """
        return Bucket(self, collection, bucket)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _suggest(self, collection: str, bucket: str, word: str, limit: int) -> list[str]:
        check_names(collection, bucket)
        term, typed_bytes = one_word(_lexed(self._lexer.lex_plain, word))
        if self.config.search.suggest_order == "likely":
            found = self._read_words(collection, bucket, suggest_likely, term, limit)
        else:
            found = self._read_words(collection, bucket, suggest_alphabetical, term, limit, typed_bytes)
        return [suggestion.decode() for suggestion in found or []]

    def _query_terms(self, collection: str, bucket: str, text: str, lang: str | None) -> Terms:
        check_names(collection, bucket)
        terms = self._lex(text, lang)
        if not len(terms) and self._searches_stop_words:
            terms = _lexed(self._lexer.lex_plain, text)
        return terms

    def _lex(self, text: str, lang: str | None) -> Terms:
        if lang is not None and lang != NO_LANGUAGE and lang not in LANG_CODES:
            raise CommandError("invalid_meta_value", f"LANG[{lang}]")
        try:
            return self._lexer.lex(text, lang)
        except UnicodeEncodeError as error:
            raise _not_unicode(error) from error


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


def _lexed(lex: Callable[[str], Answer], text: str) -> Answer:
    try:
        return lex(text)
    except UnicodeEncodeError as error:
        raise _not_unicode(error) from error


def _not_unicode(error: UnicodeEncodeError) -> CommandError:
    return CommandError("invalid_format", f"the text is not Unicode: character {error.start} is a lone surrogate")
