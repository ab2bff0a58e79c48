"""Index: a folder of searchable objects, as a library. Synchronous; any thread may call it.

Every change is applied, logged and committed before its method returns. `batch` groups changes under one commit; with
`autocommit=False` the owner of the only writing thread calls `engine.store.seal` and `engine.commit` itself, as the
server does.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from sonicpy._native.answer_cache import AnswerCache
from sonicpy._native.held import insist
from sonicpy.api.bucket import Bucket
from sonicpy.api.columns import TEXT_COLUMN
from sonicpy.api.shown_names import user_names
from sonicpy.arguments import bucket_of_filter, call_of, path_of, switch_of
from sonicpy.errors import GraphError, InvalidArgument, StoreError
from sonicpy.ids import ObjectName, Scope, check_collection, check_names, shown
from sonicpy.index.answers import Answers
from sonicpy.index.changing import Changing
from sonicpy.index.engine import Engine
from sonicpy.index.given_settings import Settings, config_of, full_config, plain_config
from sonicpy.index.ingest.given_vectors import IN_COMPAT, Embed
from sonicpy.index.ingest.named_texts import IN_COMPAT as NAMED_IN_COMPAT
from sonicpy.index.listing import Listing
from sonicpy.index.mirroring import Mirroring
from sonicpy.index.text_digests import TextDigests
from sonicpy.late import late
from sonicpy.late_logger import LateLogger
from sonicpy.search import FilterLike
from sonicpy.store.changing.mutations import Fields, RulesDiffer

if TYPE_CHECKING:
    from sonicpy.api.rows import OnProgress, PushReport, Refused, Row
    from sonicpy.config import Config
    from sonicpy.filters.grammar import filter_text
    from sonicpy.index.ingest.push_many import Chunk
    from sonicpy.index.ingest.row_digests import Changed
    from sonicpy.index.maintenance.maintainer import Maintainer
    from sonicpy.index.report.export import ExportedObject
    from sonicpy.index.report.stats import Figures
    from sonicpy.index.report.term_stats import ObjectStats, TermStats
    from sonicpy.index.report.unanswered import Questions
    from sonicpy.store.changing.mutations import UpsertTerms
else:
    filter_text = late("sonicpy.filters.grammar", "filter_text", __name__)

logger = LateLogger(__name__)

BACKLOGS_BETWEEN_CHUNKS = 10
"""The backlog of words, as a multiple of the usual one, at which a push of many rows builds one: not every chunk."""


FOR_THE_SERVER = frozenset(
    {
        *("buckets_after", "collections_after", "find_facets", "find_hits", "find_ids", "find_reasons"),
        *("engine", "maintainer", "objects_passing", "needs_vector", "objects_from", "position_after", "push_read"),
        *("query_ids", "questions", "values_of_objects", "words_of_objects"),
    }
)
"""Names that tab completion leaves out."""


class Index(Answers, Listing, Mirroring, Changing, TextDigests):
    """An index in a folder.

    Args:
        path: the folder, created if it is missing; None: `store.kv.path` of the settings.
        config: the settings, as a Config or a mapping such as `{"search": {"ranking": "newest"}}`; None: the defaults.
        autocommit: commit every change before its method returns.
        commits_late: commit within a second after a change, when many share the commit, as `sonicpy.open` does.
        temporary: delete the folder on close.
        embed: makes the vectors of texts and questions that are given without one; see `sonicpy.open`.

    Attributes:
        folder: the folder as it was given.

    Raises:
        StoreLocked: another process has the folder open for writing, or this process has it open already.
        StoreError: the folder cannot be opened as an index with these settings; the message says why.
        ConfigError: the settings are wrong.
    """

    _engine: Engine
    _engine_class: Callable[..., Engine] = Engine
    read_only = False
    """Whether changes are refused; see `sonicpy.open`."""

    def flush(
        self,
        collection: str,
        bucket: str | None = None,
        object: ObjectName | None = None,
        *,
        filter: FilterLike = None,
    ) -> int:
        """Erase a collection, a bucket or an object.

        Return 1 if the collection or the bucket existed, else 0; for an object, return the number of its words.

        Args:
            filter: erase the objects of the bucket that meet these conditions, as one batch; return their number.

        Raises like `push`, also for an object without its bucket.
        """
        if filter is None:
            return super().flush(collection, bucket, object)
        bucket = bucket_of_filter(bucket, object)
        with self.batch():
            _, found = self.objects_passing(collection, bucket, filter_text(filter))
            for _, name in found:
                self.flush_object(collection, bucket, name)
        return len(found)

    def __init__(
        self,
        path: Path | str | None = None,
        config: Settings = None,
        *,
        autocommit: bool = True,
        commits_late: bool = False,
        temporary: bool = False,
        embed: Embed | None = None,
    ) -> None:
        folder = None if path is None else path_of("path", path)
        engine = self._engine = self._engine_class(
            folder, config_of(config), autocommit=autocommit, commits_late=commits_late, temporary=temporary
        )
        try:
            self.folder = engine.folder
            self._config = plain_config(engine.config)
            self._kept = AnswerCache()
            self._embed = None if engine.is_compat else embed
            self.questions = _questions() if self._config.search.note_unanswered else None
            if engine.was_converted:
                self._build_graphs()
        except BaseException:
            insist(engine.close)
            raise

    @property
    def engine(self) -> Engine:
        """The opened folder, for a program that seals and commits itself, as the server does."""
        return self._engine

    @cached_property
    def maintainer(self) -> "Maintainer":
        """The steps of maintenance one by one, for a program that drives them itself, as the server does."""
        from sonicpy.index.maintenance.maintainer import Maintainer  # noqa: PLC0415  loaded when it is needed

        return Maintainer(self._engine)

    @property
    def config(self) -> "Config":
        """The settings."""
        return full_config(self._engine.config)

    def push_many(
        self,
        rows: Any,
        *,
        collection: str | None = None,
        bucket: str | None = None,
        object: str | None = None,
        text: str | Sequence[str] | Mapping[str, str] = TEXT_COLUMN,
        lang: str | None = None,
        new: bool = False,
        upsert: bool = False,
        progress: "OnProgress | None" = None,
        vector: str | Mapping[str, str] | None = None,
        tags: str | Sequence[str] | None = None,
        values: Sequence[str] | Mapping[str, str] = (),
        report: "PushReport | None" = None,
    ) -> "PushReport":
        """Push many texts, thousands to a commit; return how many were indexed, and which were refused and why.

        Chunks of at most 4,096 rows are stored one after the other, each as a whole. After an exception, even one of a
        signal handler, the chunks before it stay: a note of the exception, and `report`, give their number of rows.

        Args:
            rows: an iterable of tuples or lists (object, text), (object, text, lang), (collection, bucket, object,
                text), (collection, bucket, object, text, lang) or (collection, bucket, object, text, lang, vector), and
                of rows that have names, which are read by name: dicts, namedtuples, rows of a database, dataclasses; or
                a table of pyarrow, pandas or Polars, anything with `__arrow_c_stream__` or `__dataframe__`; or an
                iterable of tables.
            collection, bucket: the names for all rows; None: each row names its own, in the columns of these names.
            object: the column with the name of the object; None: `id`, else `object`. Names are those of `push`.
            text: the column with the text; the texts of several columns are joined. Or the columns of named texts by
                name, such as {"title": "headline"}, see `upsert`.
            lang: as in `push`, of all rows; None: each row's column `lang`, if there is one.
            new: refuse rows whose object exists already.
            upsert: each text replaces the words of its object, see `upsert`; of several rows of one object, the last.
            progress: called after each chunk with the number of rows that are done.
            vector: the column with the vector, or those of several by the names of their columns of vectors (see
                `push`). Rows without one keep theirs, or `embed` of the index makes one.
            tags: the column with tags, a text or a list of texts, or several columns; a row without one keeps its tags.
            values: the columns with values, or the column of each value by its name; a missing value changes nothing.
            report: a new PushReport, which is filled chunk by chunk and returned.

        Raises:
            InvalidArgument: an argument is not valid, `rows` is not of these types, or a table lacks a column.
            StoreError: rows could not be stored; a note gives the number of stored rows.
        """
        from sonicpy.api.rows import Shape, read_rows, report_of  # noqa: PLC0415  loaded when it is needed
        from sonicpy.index.ingest.held_parts import holds_row  # noqa: PLC0415  loaded when it is needed
        from sonicpy.index.ingest.row_digests import changed_rows  # noqa: PLC0415  loaded when it is needed

        shape = Shape(collection, bucket, object, text, lang, self._engine.is_compat, vector, tags, values)
        if shape.compat and shape.vectors:
            raise InvalidArgument(IN_COMPAT)
        if shape.compat and shape.named_columns:
            raise InvalidArgument(NAMED_IN_COMPAT)
        if shape.compat and (shape.tag_columns or shape.value_columns):
            raise InvalidArgument("tags and values are given to an index in compat mode; Sonic has neither")
        new, upsert = switch_of("new", new), switch_of("upsert", upsert)
        if upsert and new:
            raise InvalidArgument("new and upsert are both given: allowed is one of them")
        if upsert:
            self._check_upsert()
        call_of("progress", progress)
        report = report_of(report)
        engine, changed = self._engine, None
        if upsert:
            changed = partial(changed_rows, have_digests=engine.have_digests, holds_row=partial(holds_row, engine))
        self.push_read(read_rows(rows, shape), report, progress, new=new, changed=changed)
        return report

    def push_read(
        self,
        rows: "Iterator[Row | Refused]",
        report: "PushReport",
        progress: "OnProgress | None",
        *,
        new: bool = False,
        changed: "Changed | None" = None,
    ) -> None:
        """Push rows that were read; see `push_many`.

        Args:
            changed: returns the rows whose texts replace the words of their objects; None: texts add up.
        """
        from sonicpy.index.ingest.embedded_rows import EmbeddedRows  # noqa: PLC0415  loaded when it is needed
        from sonicpy.index.ingest.push_many import push_rows  # noqa: PLC0415  loaded when it is needed
        from sonicpy.index.ingest.refused_pushes import refusals  # noqa: PLC0415  loaded when it is needed

        touched: set[Scope] = set()
        push_rows(
            rows,
            self._engine.lexer_of,
            partial(self._push_chunk, touched),
            self._engine.commit_before_reading,
            report,
            new=new,
            changed=changed,
            progress=progress,
            refusals=partial(refusals, self._engine.read),
            embedding=None if self._embed is None else EmbeddedRows(self._embed, self._engine),
        )
        self.maintainer.consolidate_backlogged(touched)

    def _holds_parts(self, names: tuple[str, str, str], fields: "Fields") -> bool:
        from sonicpy.index.ingest.held_parts import holds_parts  # noqa: PLC0415  loaded when it is needed

        with self._engine.read() as view:
            return holds_parts(view, names, fields)

    def _lacks_vector(self, collection: str, bucket: str, oid: str, column: str) -> bool:
        from sonicpy.index.ingest.held_vectors import held_vectors  # noqa: PLC0415  loaded when it is needed

        with self._engine.read() as view:
            return not held_vectors(view, (collection, bucket, oid), column)

    def _forget_vector(self, change: "UpsertTerms", column: str) -> None:
        from sonicpy.index.ingest.held_vectors import forget_vectors  # noqa: PLC0415  loaded when it is needed

        forget_vectors(self._engine, change, column)

    def _push_chunk(self, touched: set[Scope], chunk: "Chunk", *, new: bool) -> None:
        try:
            self._engine.apply_pushes(chunk, new=new)
        except RulesDiffer as other:
            self._engine.note_rules(other)
            raise
        some = {Scope(push.collection, push.bucket) for push in chunk.pushes}
        touched |= some
        self.maintainer.consolidate_backlogged(some, BACKLOGS_BETWEEN_CHUNKS)

    def bucket(self, collection: str, bucket: str) -> Bucket:
        """Return a bucket, whether it exists or not: an object with the methods of the index, without the two names.

        Raises InvalidArgument like `push`.
        """
        return Bucket(self, collection, bucket)

    def batch(self) -> AbstractContextManager[Self]:
        """Group the changes made on this thread inside a `with` block: one commit for about 512 of them.

        At the end of the outermost block, even after an error, all changes are committed, and buckets that gained
        thousands of words are consolidated. Changes of other threads wait for the end of the block: do not wait for
        them inside it.
        """
        return self._engine.turn.hold(self._begin_batch, self._end_batch, batches=1)

    def commit(self) -> None:
        """Commit all changes, so that processes that read the folder see them now; they would within a second.

        Raises:
            StoreError: the commit failed; the log keeps the changes.
        """
        self._engine.commit()

    # -- contents ------------------------------------------------------------------------------------------------------

    def stats(self, collection: str | None = None, bucket: str | None = None) -> "Figures":
        """Return the figures of the index, a collection or a bucket, as a dict for JSON.

        Always: objects, words (hidden ones not counted), average_length (in words). For a bucket and the whole index
        also hidden_words (parts of runs without blanks, words that no object holds any more) and
        pending_words (changed since the word graph was built). For a bucket with texts of `upsert` also
        digests: how many objects hold just such a text. For the whole index also its bytes on disk and in RAM.
        With search.note_unanswered also unanswered: queries and words that found nothing since the start, by count.

        Raises InvalidArgument like `push`, also for a bucket without its collection.
        """
        from sonicpy.index.report import stats  # noqa: PLC0415  loaded when it is needed

        if collection is None:
            if bucket is not None:
                raise InvalidArgument(f"the bucket {shown(bucket)} is given without its collection")
            return self._with_questions(stats.index_figures(self._engine))
        if bucket is None:
            check_collection(collection)
            with self._engine.long_read() as view:
                return self._with_questions(stats.collection_figures(view, collection), collection)
        check_names(collection, bucket)
        with self._engine.long_read() as view:
            figures = stats.bucket_figures(view, self._engine.graphs, collection, bucket)
            return self._with_questions(figures, collection, bucket)

    def _with_questions(self, figures: "Figures", *scope: str) -> "Figures":
        return figures if self.questions is None else {**figures, "unanswered": self.questions.figures(*scope)}

    def holdings(self, collection: str | None = None, bucket: str | None = None) -> "Iterator[ExportedObject]":
        """Yield every object with its words, bucket by bucket; an object may come more than once.

        `push_terms` of all objects in this order makes an equal index. The first step takes a snapshot; finish the
        iteration before this thread changes the index.

        Args:
            collection: only this collection; None: all.
            bucket: only this bucket; None: all.

        Raises:
            InvalidArgument: a name is not valid.
            StoreError: the store cannot be read.
        """
        from sonicpy.index.report import export  # noqa: PLC0415  loaded when it is needed

        if collection is not None:
            check_names(collection, bucket or collection)
        with self._engine.snapshot_of_now() as view:
            for scope, state in export.scopes_of(view, collection, bucket):
                yield from export.holdings(view, scope, state)

    def term_stats(self, collection: str, bucket: str) -> "Iterator[TermStats]":
        """Yield every term of a bucket in byte order, hidden ones too, with its objects, postings and occurrences.

        Snapshot and errors as in `holdings`.
        """
        check_names(collection, bucket)
        with self._engine.snapshot_of_now() as view:
            state = view.bucket(collection, bucket)
            if state is not None:
                from sonicpy.index.report.term_stats import term_stats  # noqa: PLC0415  loaded when it is needed

                yield from term_stats(view, state)

    def object_stats(self, collection: str, bucket: str) -> "Iterator[ObjectStats]":
        """Yield every object of a bucket, oldest first, with its length and its number of words.

        Snapshot and errors as in `holdings`.
        """
        check_names(collection, bucket)
        with self._engine.snapshot_of_now() as view:
            state = view.bucket(collection, bucket)
            if state is not None:
                from sonicpy.index.report.term_stats import object_stats  # noqa: PLC0415  loaded when it is needed

                yield from object_stats(view, state)

    # -- maintenance ---------------------------------------------------------------------------------------------------

    def consolidate(self) -> None:
        """Build the word graphs of all buckets whose words changed, in this process; large graphs without the GIL.

        With `search.live_words` (default), words are completed, corrected, listed and counted even before.

        Raises:
            StoreError, GraphError: a graph could not be built; its words stay pending.
        """
        self.maintainer.consolidate()

    def backup(self, folder: Path | str) -> Path:
        """Commit, then copy the index with every change made before into a folder as `sonicpy.backup`; return the file.
        Other threads may use the index meanwhile.

        Args:
            folder: created if it is missing; a backup in it is replaced once the new one is complete.

        Raises:
            StoreError: the backup could not be written; an earlier one is kept.
        """
        path = path_of("folder", folder)
        self._engine.commit_before_reading()
        return self._engine.store.backup(Path(path))

    def restore(self, folder: Path | str) -> None:
        """Replace the collections that the backup in a folder holds; other collections stay.

        All or nothing: the old collections answer until the last step, and a backup with faults changes nothing.

        Raises:
            StoreDamaged: the backup has faults.
            StoreError: there is no backup, its texts were analysed differently, or the store cannot be written.
        """
        self.maintainer.restore(path_of("folder", folder))

    def verify(self) -> list[str]:
        """Check every table against every other, and the graphs against the tables; return the faults as sentences.

        Other threads may read and write meanwhile; their changes are not checked.
        """
        return self.maintainer.verify()

    def close(self) -> None:
        """Commit, sync and release the folder; a second call, and one in a forked process, does nothing.

        It waits for calls of other threads to end; their next call raises IndexClosed.
        """
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an index belongs to its process: open it with read_only=True in others, instead of pickling or copying it"
        )

    def __dir__(self) -> list[str]:
        """Return the public names, for tab completion."""
        return user_names(self, hidden=FOR_THE_SERVER)

    def __repr__(self) -> str:
        if self._engine.is_closed:
            return "<Index, closed>"
        return f"<{type(self).__name__} in {self.folder}>"

    def _repr_html_(self) -> str:
        """Return tables for notebooks."""
        from sonicpy.api.html import figures_table, index_tables  # noqa: PLC0415  loaded when it is needed

        if self._engine.is_closed:
            return figures_table(repr(self), {})
        return index_tables(repr(self), self.stats)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _begin_batch(self) -> Self:
        if not self._engine.is_batching:  # else the changes of the batch around this one would be committed
            self._engine.begin_batch()
        return self

    def _end_batch(self, error: BaseException | None) -> None:
        if not self._engine.is_batching:
            self._engine.end_batch()
            self.maintainer.consolidate_backlogged(None)

    def _build_graphs(self) -> None:
        """Build the graphs of a converted store; after an error its words stay pending until a later consolidation."""
        try:
            self.maintainer.consolidate()
        except (GraphError, StoreError) as error:
            logger.error("the word graphs of the converted store %s cannot be built yet: %s", self.folder, error)


def _questions() -> "Questions":
    from sonicpy.index.report.unanswered import Questions  # noqa: PLC0415  loaded when it is needed

    return Questions()
