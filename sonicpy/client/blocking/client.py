"""Client: the interface of Index over blocking connections; any number of threads may share a client."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NoReturn, Self, Unpack

from sonicpy.api.bucket import Bucket
from sonicpy.api.counted import Counted
from sonicpy.api.explanation import Explanation
from sonicpy.api.facets import Facets
from sonicpy.api.hits import Hits
from sonicpy.api.html import figures_table, index_tables
from sonicpy.api.rows import TEXT_COLUMN, OnProgress, PushReport, Row, Shape, read_rows
from sonicpy.api.shown_names import user_names
from sonicpy.arguments import switch_of
from sonicpy.bucket_names import AnyBucket
from sonicpy.channel.commands import Mode
from sonicpy.client import ingest_plans, plans, synonym_plans
from sonicpy.client.blocking.care import Care
from sonicpy.client.blocking.pool import Pool
from sonicpy.client.client_settings import ClientSettings
from sonicpy.client.exchange import CallPlan, Value
from sonicpy.client.pushes import Pushes, ReportBuilder, WaitingPushes
from sonicpy.client.servers import Servers
from sonicpy.client.transport import NoGreeting
from sonicpy.errors import NotOffered, NotSonic, SonicError
from sonicpy.ids import ObjectName
from sonicpy.options import with_options
from sonicpy.search import (
    ExplainOptions,
    FacetOptions,
    FacetsLike,
    FilterLike,
    QueryOptions,
    SimilarOptions,
    asked,
    facets_asked,
    joined,
)
from sonicpy.vectors import Vector


class Client(Care):
    """An index on a server; made by `sonicpy.connect`.

    Every method raises CommandError if the server refuses the command, InvalidArgument if the client itself finds an
    argument wrong, and ClientError if the server gives no answer: NotOffered, ConnectionLost, TimedOut, WrongPassword.
    """

    def __init__(self, servers: Servers, pool: Pool, server: str) -> None:
        self._servers = servers
        self._pool = pool
        self._server = server

    @classmethod
    def open(cls, servers: Servers, settings: ClientSettings) -> Self:
        """Return a client with one open connection; called by `sonicpy.connect`."""
        pool = Pool(servers, settings)
        try:
            return cls(servers, pool, pool.use(Mode.SEARCH, lambda connection: str(connection.server)))
        except NoGreeting as error:
            pool.close()
            raise NotSonic(str(error)) from error
        except BaseException:
            pool.close()
            raise

    def __repr__(self) -> str:
        return f"<Client of {self._servers}, {self._server}>"

    def __dir__(self) -> list[str]:
        """Return the public names, for tab completion."""
        return user_names(self, hidden={"open"})

    @property
    def server(self) -> str:
        """The name and the version of the server, from its greeting when the client was made."""
        return self._server

    # -- ingest --------------------------------------------------------------------------------------------------

    def push(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        text: str,
        lang: str | None = None,
        vector: Vector = None,
        *,
        tags: Iterable[str] | None = None,
        values: Mapping[str, Any] | None = None,
        field: str | None = None,
    ) -> None:
        """Add a text to an object, in several lines if it is long. Pushing the same text again changes nothing.

        Args:
            object: the name; or a whole number, whose digits are the name, or a UUID.
            lang: language of the text as ISO 639-1, ISO 639-3 or BCP 47 (`en`, `eng`, `en-GB`); None: the server
                guesses; "none": no language.
            vector: a vector of the object, of whose numbers the signs are kept; see `Index.push`.
            tags, values, field: as in `Index.push`.
        """
        self._run(ingest_plans.push(collection, bucket, object, text, lang, vector, tags, values, field))

    def tag(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        tags: Iterable[str] | None = None,
        *,
        values: Mapping[str, Any] | None = None,
    ) -> int:
        """Change the tags or values of an object that exists; return 1, or 0 if there is none. See `Index.tag`."""
        return self._run(ingest_plans.tag(collection, bucket, object, tags, values))

    def upsert(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        text: str | Mapping[str, str],
        lang: str | None = None,
        vector: Vector = None,
        *,
        tags: Iterable[str] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> None:
        """Replace the words of an object by those of a text, in one change, and in several lines if the text is long;
        see `Index.upsert`.

        The arguments are those of `push`. Sonic, and a server in compat mode, do not offer UPSERT.
        """
        self._run(ingest_plans.upsert(collection, bucket, object, text, lang, vector, tags, values))

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
        progress: OnProgress | None = None,
        vector: str | Mapping[str, str] | None = None,
        tags: str | Sequence[str] | None = None,
        values: Sequence[str] | Mapping[str, str] = (),
    ) -> PushReport:
        """Push many texts, a few hundred in flight at a time; return how many were indexed, which were refused and why.

        Rows are those of `Index.push_many`. If the connection breaks, rows that were not acknowledged are pushed again.

        Args:
            rows: an iterable of tuples or lists (object, text), (object, text, lang), (collection, bucket, object,
                text) or (collection, bucket, object, text, lang), and of rows that have names, which are read by name:
                dicts, namedtuples, rows of a database, dataclasses; or a table of pyarrow, pandas or Polars; or an
                iterable of tables.
            collection, bucket: the names for all rows; None: each row has its own, in the columns of these names.
            object: the column with the name of the object; None: `id`, else `object`.
            text: the column with the text, or several columns, whose texts are joined; or a dict from the name of a
                text to its column.
            lang: as in `push`, for all rows; None: the column `lang` of each row, if there is one.
            new: must be False, because PUSH does not report whether an object existed.
            upsert: each text replaces the words of its object; see `upsert`.
            progress: called from time to time with the number of rows that are done.
            vector: the column with the vector, or a dict from the name of a column of vectors to the column.
            tags, values: as in `Index.push_many`.

        Raises:
            InvalidArgument: as `Index.push_many`.
            ClientError: the server stopped answering. A note of this error, or of an interrupt, gives the number of
                indexed rows and the first row that is not done.
        """
        if switch_of("new", new):
            raise NotOffered("new of push_many", self._server)
        report = ReportBuilder(progress)
        shape = Shape(collection, bucket, object, text, lang, vector=vector, tags=tags, values=values)
        pushes = Pushes(read_rows(rows, shape), report.note, upsert=switch_of("upsert", upsert))
        try:
            self._send(pushes)
        except BaseException as error:
            report.add_note_to(error, pushes.first_open)
            raise
        return report.finish()

    def pop(self, collection: str, bucket: str, object: ObjectName, text: str) -> int:
        """Remove the words of a text from an object; return how many were removed."""
        return self._run(ingest_plans.pop(collection, bucket, object, text))

    def flush(
        self,
        collection: str,
        bucket: str | None = None,
        object: ObjectName | None = None,
        *,
        filter: FilterLike = None,
    ) -> int:
        """Erase a collection, a bucket or an object, depending on the names given; return the number that the server
        reports.

        Args:
            filter: erase only the objects of the bucket that meet these conditions; see `Index.flush`.
        """
        return self._run(ingest_plans.flush(collection, bucket, object, filter))

    def flush_collection(self, collection: str) -> int:
        """Erase a collection; return 1 if it existed, else 0."""
        return self._run(ingest_plans.number("FLUSHC", collection, changes=True))

    def flush_bucket(self, collection: str, bucket: str) -> int:
        """Erase a bucket; return 1 if it existed, else 0."""
        return self._run(ingest_plans.number("FLUSHB", *plans.scope(collection, bucket), changes=True))

    def flush_object(self, collection: str, bucket: str, object: ObjectName) -> int:
        """Erase an object; return how many words it held."""
        return self._run(ingest_plans.number("FLUSHO", *plans.names(collection, bucket, object), changes=True))

    def drop_vectors(self, collection: str, bucket: str, column: str = "") -> int:
        """Remove the vectors of a column from every object of a bucket; return the number of columns removed.

        Args:
            column: the name of the column; "": all columns.
        """
        return self._run(ingest_plans.drop_vectors(collection, bucket, column))

    def claim(self, collection: str, bucket: str, owner: str, *, prefix: str = "") -> None:
        """Note that a bucket, or its objects whose names begin with `prefix`, follow the source `owner`, as
        `sonicpy mirror` does. Another source is refused until the bucket is flushed; see `Index.claim`.
        """
        self._run(ingest_plans.claim(collection, bucket, owner, prefix))

    def synonyms(self, collection: str) -> list[str]:
        """Return the rules that `set_synonyms` gave a collection, in their order."""
        return self._run(synonym_plans.synonyms(collection))

    def set_synonyms(self, collection: str, rules: Iterable[str], *, add: bool = False) -> int:
        """Change the synonyms of a collection; return how many rules it has now.

        Args:
            rules: `"ny, new york"` or `"tv => television"`; []: remove all. Rules that do not fit one line are sent as
                several changes, of which the first one replaces the present rules.
            add: add the rules to the present ones.
        """
        return self._run(synonym_plans.set_synonyms(collection, rules, add=add))

    def bucket(self, collection: str, bucket: str) -> Bucket:
        """Return an object with the same methods for one bucket, without the two names. Raises InvalidArgument for an
        invalid name.
        """
        return Bucket(self, collection, bucket)

    def batch(self) -> "ClientBatch":
        """Group the pushes made inside a `with` block: the client sends them together, a few hundred at a time."""
        return ClientBatch(self._servers, self._pool, self._server)

    # -- search --------------------------------------------------------------------------------------------------

    @with_options("QUERY")
    def query(
        self,
        collection: str,
        bucket: AnyBucket,
        text: str,
        *,
        facets: FacetsLike = None,
        **options: Unpack[QueryOptions],
    ) -> Hits:
        """Return the objects that match a text, best first, with scores if the server gives them; see `Index.query`."""
        search = asked("QUERY", collection, bucket, text, options)
        return self._run(plans.query_with_facets(*joined(search, facets)))

    @with_options("FACETS")
    def facets(self, collection: str, bucket: AnyBucket, text: str = "", **options: Unpack[FacetOptions]) -> Facets:
        """Return how many of the objects that match a text hold each tag, or have a value in each range."""
        return self._run(plans.facets(facets_asked(collection, bucket, text, options)))

    @with_options("EXPLAIN")
    def explain(self, collection: str, bucket: AnyBucket, text: str, **options: Unpack[ExplainOptions]) -> Explanation:
        """Return the reasons for the answer of `query` with the same arguments."""
        return self._run(plans.explain(asked("EXPLAIN", collection, bucket, text, options)))

    @with_options("SIMILAR")
    def similar(self, collection: str, bucket: str, object: ObjectName, **options: Unpack[SimilarOptions]) -> Hits:
        """Return the objects most similar to a given one, which share its rarest words, best first, without the object
        itself.
        """
        return self._run(plans.similar(collection, bucket, object, options))

    def suggest(
        self, collection: str, bucket: AnyBucket, word: str, *, limit: int = 5, filter: FilterLike = None
    ) -> list[str]:
        """Return words of the bucket that complete or correct `word`; see `Index.suggest`."""
        return self._run(plans.suggest(collection, bucket, word, limit, filter))

    def words(
        self,
        collection: str,
        bucket: AnyBucket,
        *,
        limit: int = 100,
        offset: int = 0,
        prefix: str = "",
        after: str | None = None,
    ) -> list[str]:
        """Return words of a bucket in byte order; see `Index.words`. Sonic has neither `prefix` nor `after`."""
        return self._run(plans.words(collection, bucket, limit, offset, prefix, after))

    def count(
        self,
        collection: str,
        bucket: AnyBucket | None = None,
        object: ObjectName | None = None,
        *,
        of: Counted | None = None,
    ) -> int:
        """Return the number of buckets of a collection, or of words of a bucket or an object, depending on the names
        given.

        Args:
            of: "objects" counts the objects of a bucket or a collection instead.
        """
        return self._run(plans.count(collection, bucket, object, of))

    def count_buckets(self, collection: str) -> int:
        """Return how many buckets of the collection hold words."""
        return self._run(ingest_plans.number("COUNT", collection))

    def count_words(self, collection: str, bucket: AnyBucket) -> int:
        """Return how many different words the bucket holds."""
        return self._run(plans.count(collection, plans.given(bucket), None, "words"))

    def count_objects(self, collection: str, bucket: AnyBucket) -> int:
        """Return how many objects the bucket holds."""
        return self._run(plans.count(collection, plans.given(bucket), None, "objects"))

    def count_object_words(self, collection: str, bucket: str, object: ObjectName) -> int:
        """Return how many different words the object holds."""
        return self._run(ingest_plans.count_object_words(collection, bucket, object))

    # -- listing -------------------------------------------------------------------------------------------------

    def collections(self) -> list[str]:
        """Return the names of all collections, sorted."""
        return self._run(plans.collections())

    def buckets(self, collection: str) -> list[str]:
        """Return the names of all buckets of a collection, sorted."""
        return self._run(plans.buckets(collection))

    def objects(
        self,
        collection: str,
        bucket: str,
        *,
        prefix: str = "",
        after: ObjectName | None = None,
        limit: int | None = 100,
    ) -> list[str]:
        """Return names of objects, in the order in which they were first pushed.

        Args:
            prefix: only names that begin with it.
            after: only objects after this one, such as the last one of the page before.
            limit: the most names; None: all.
        """
        return self._run(plans.objects(collection, bucket, prefix, after, limit))

    def iterate_objects(self, collection: str, bucket: str, *, prefix: str = "") -> Iterator[str]:
        """Yield the names of all objects that begin with `prefix`, in the order in which these were first pushed."""
        position: int | None = None
        while True:
            names, position = self._run(plans.object_page(collection, bucket, prefix, None, position))
            yield from names
            if position is None:
                return

    def exists(self, collection: str, bucket: str, object: ObjectName) -> bool:
        """Return whether the bucket has this object."""
        return self._run(plans.exists(collection, bucket, object))

    # -- maintenance ---------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close all connections; a connection in use by another thread is closed when that thread returns it."""
        self._pool.close()

    def _repr_html_(self) -> str:
        """Return tables for notebooks."""
        try:
            return index_tables(repr(self), self.stats)
        except NotOffered:
            return figures_table(repr(self), self.info())
        except SonicError as error:
            return figures_table(repr(self), {"note": str(error)})

    def __enter__(self) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client belongs to its process: connect in each one, instead of pickling or copying it")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, pushes: Pushes) -> None:
        self._pool.push(pushes)

    def _run(self, plan: CallPlan[Value]) -> Value:
        try:
            exchange = next(plan)
            while True:
                try:
                    reply = self._pool.carry_out(exchange)
                except SonicError as error:
                    exchange = plan.throw(error)
                else:
                    exchange = plan.send(reply)
        except StopIteration as end:
            value: Value = end.value
            return value


class ClientBatch(Client):
    """A client inside `with client.batch() as batch`, for one thread: it sends pushes a few hundred at a time.

    Every other method first sends the pushes collected so far, so commands keep their order. If the server refuses a
    push, the error is raised when the push is sent, at the latest at the end of the block, and names the object.

    A push stays in the batch until the server has answered it. When an error or an interrupt ends an attempt to send,
    the next attempt sends the remaining pushes again, because pushing a text twice does no harm: at the next push, the
    next command, the end of the block, or `send` after the block. A block that ends with an exception after a failed
    attempt makes no further attempt. A note of the exception names the remaining pushes, and `waiting` holds them.
    """

    def __init__(self, servers: Servers, pool: Pool, server: str) -> None:
        super().__init__(servers, pool, server)
        self._waiting = WaitingPushes()

    def push(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        text: str,
        lang: str | None = None,
        vector: Vector = None,
        *,
        tags: Iterable[str] | None = None,
        values: Mapping[str, Any] | None = None,
        field: str | None = None,
    ) -> None:
        """Collect a text for an object; it is sent later. The arguments are those of `Client.push`."""
        if self._waiting.add(collection, bucket, object, text, lang, vector, tags, values, field):
            self.send()

    @property
    def waiting(self) -> list[Row]:
        """The pushes that the server has not answered, as rows that `push_many` takes."""
        return self._waiting.rows

    def send(self) -> None:
        """Send the pushes that the batch has collected, and the rest of an earlier attempt."""
        if self._waiting:
            try:
                self._pool.push(self._waiting.pushes())
            except BaseException as error:
                self._waiting.add_note_to(error)
                raise
        self._waiting.end_try()

    def close(self) -> None:
        """Send the pushes that the batch has collected; the client stays open."""
        self.send()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._waiting.is_stuck:
            self._waiting.add_note_to(error)
        else:
            self.send()

    def _send(self, pushes: Pushes) -> None:
        self.send()
        super()._send(pushes)

    def _run(self, plan: CallPlan[Value]) -> Value:
        self.send()
        return super()._run(plan)
