"""AsyncBucket: the methods of an AsyncClient for one bucket, as Bucket has them for Index and Client."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Protocol, Unpack

from sonicpy.api.columns import RowsOfBucket
from sonicpy.api.counted import Counted
from sonicpy.api.explanation import Explanation
from sonicpy.api.facets import Facets
from sonicpy.api.hits import Hits
from sonicpy.api.rows import TEXT_COLUMN, OnProgress, PushReport
from sonicpy.api.shown_names import user_names
from sonicpy.ids import ObjectName, check_bucket, check_collection
from sonicpy.options import with_options
from sonicpy.search import ExplainOptions, FacetOptions, FacetsLike, FilterLike, QueryOptions, SimilarOptions
from sonicpy.vectors import Vector


class AsyncSearchable(Protocol):
    """The methods that a bucket calls on its client; `AsyncClient` documents them."""

    async def push(
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
    ) -> None: ...
    async def drop_vectors(self, collection: str, bucket: str, column: str = "") -> int: ...
    async def tag(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        tags: Iterable[str] | None = None,
        *,
        values: Mapping[str, Any] | None = None,
    ) -> int: ...
    async def upsert(
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
    ) -> None: ...
    async def push_many(
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
    ) -> PushReport: ...
    async def pop(self, collection: str, bucket: str, object: ObjectName, text: str) -> int: ...
    async def query(
        self, collection: str, bucket: str, text: str, *, facets: FacetsLike = None, **options: Unpack[QueryOptions]
    ) -> Hits: ...
    async def facets(self, collection: str, bucket: str, text: str = "", **options: Unpack[FacetOptions]) -> Facets: ...
    async def explain(
        self, collection: str, bucket: str, text: str, **options: Unpack[ExplainOptions]
    ) -> Explanation: ...
    async def similar(
        self, collection: str, bucket: str, object: ObjectName, **options: Unpack[SimilarOptions]
    ) -> Hits: ...
    async def suggest(
        self, collection: str, bucket: str, word: str, *, limit: int = 5, filter: FilterLike = None
    ) -> list[str]: ...
    async def words(
        self,
        collection: str,
        bucket: str,
        *,
        limit: int = 100,
        offset: int = 0,
        prefix: str = "",
        after: str | None = None,
    ) -> list[str]: ...
    async def objects(
        self,
        collection: str,
        bucket: str,
        *,
        prefix: str = "",
        after: ObjectName | None = None,
        limit: int | None = 100,
    ) -> list[str]: ...
    def iterate_objects(self, collection: str, bucket: str, *, prefix: str = "") -> AsyncIterator[str]: ...
    async def exists(self, collection: str, bucket: str, object: ObjectName) -> bool: ...
    async def count(
        self,
        collection: str,
        bucket: str | None = None,
        object: ObjectName | None = None,
        *,
        of: Counted | None = None,
    ) -> int: ...
    async def count_objects(self, collection: str, bucket: str) -> int: ...
    async def flush(
        self,
        collection: str,
        bucket: str | None = None,
        object: ObjectName | None = None,
        *,
        filter: FilterLike = None,
    ) -> int: ...
    async def stats(self, collection: str | None = None, bucket: str | None = None) -> dict[str, Any]: ...


class AsyncBucket:
    """One bucket of an AsyncClient, whether it exists or not. The object holds only the client and the two names.

    `async for name in bucket` gives the names of its objects.

    Raises:
        InvalidArgument: a name is not 1 to 128 ASCII characters without white space.
    """

    __slots__ = ("_client", "bucket", "collection")

    def __init__(self, client: AsyncSearchable, collection: str, bucket: str) -> None:
        check_collection(collection)
        check_bucket(bucket)
        self._client = client
        self.collection = collection
        self.bucket = bucket

    def __dir__(self) -> list[str]:
        """Return the public names, for tab completion."""
        return user_names(self)

    def __repr__(self) -> str:
        return f"{self._client!r}.bucket({self.collection!r}, {self.bucket!r})"

    async def push(
        self,
        object: ObjectName,
        text: str,
        lang: str | None = None,
        vector: Vector = None,
        *,
        tags: Iterable[str] | None = None,
        values: Mapping[str, Any] | None = None,
        field: str | None = None,
    ) -> None:
        """Add a text to an object; see `AsyncClient.push`."""
        await self._client.push(
            self.collection, self.bucket, object, text, lang, vector, tags=tags, values=values, field=field
        )

    async def tag(
        self, object: ObjectName, tags: Iterable[str] | None = None, *, values: Mapping[str, Any] | None = None
    ) -> int:
        """Change the tags or values of an object; see `AsyncClient.tag`."""
        return await self._client.tag(self.collection, self.bucket, object, tags, values=values)

    async def upsert(
        self,
        object: ObjectName,
        text: str | Mapping[str, str],
        lang: str | None = None,
        vector: Vector = None,
        *,
        tags: Iterable[str] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> None:
        """Replace the words of an object by those of a text; see `AsyncClient.upsert`."""
        await self._client.upsert(self.collection, self.bucket, object, text, lang, vector, tags=tags, values=values)

    async def push_many(
        self,
        rows: Any,
        *,
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
        """Push many texts; return how many were indexed, and which were refused: rows by position that name another
        bucket, too. See `AsyncClient.push_many`.
        """
        return await self._client.push_many(
            RowsOfBucket(rows),
            collection=self.collection,
            bucket=self.bucket,
            object=object,
            text=text,
            lang=lang,
            new=new,
            upsert=upsert,
            progress=progress,
            vector=vector,
            tags=tags,
            values=values,
        )

    async def drop_vectors(self, column: str = "") -> int:
        """Remove the vectors of a column from every object; return the number of columns removed.

        Args:
            column: the name of the column; "": all columns.
        """
        return await self._client.drop_vectors(self.collection, self.bucket, column)

    async def pop(self, object: ObjectName, text: str) -> int:
        """Remove the words of a text from an object; return how many were removed."""
        return await self._client.pop(self.collection, self.bucket, object, text)

    @with_options("QUERY")
    async def query(self, text: str, *, facets: FacetsLike = None, **options: Unpack[QueryOptions]) -> Hits:
        """Return the objects that answer a text, best first; see `AsyncClient.query`."""
        return await self._client.query(self.collection, self.bucket, text, facets=facets, **options)

    @with_options("FACETS")
    async def facets(self, text: str = "", **options: Unpack[FacetOptions]) -> Facets:
        """Return how many of the objects that answer a text hold each tag, or have a value in each range."""
        return await self._client.facets(self.collection, self.bucket, text, **options)

    @with_options("EXPLAIN")
    async def explain(self, text: str, **options: Unpack[ExplainOptions]) -> Explanation:
        """Return the reasons for the answer of `query` with the same arguments."""
        return await self._client.explain(self.collection, self.bucket, text, **options)

    @with_options("SIMILAR")
    async def similar(self, object: ObjectName, **options: Unpack[SimilarOptions]) -> Hits:
        """Return the objects most similar to a given one; see `Index.similar`."""
        return await self._client.similar(self.collection, self.bucket, object, **options)

    async def suggest(self, word: str, *, limit: int = 5, filter: FilterLike = None) -> list[str]:
        """Return words that complete or correct `word`; see `Index.suggest`."""
        return await self._client.suggest(self.collection, self.bucket, word, limit=limit, filter=filter)

    async def words(
        self, *, limit: int = 100, offset: int = 0, prefix: str = "", after: str | None = None
    ) -> list[str]:
        """Return words in byte order; see `Index.words`."""
        return await self._client.words(
            self.collection, self.bucket, limit=limit, offset=offset, prefix=prefix, after=after
        )

    async def objects(self, *, prefix: str = "", after: ObjectName | None = None, limit: int | None = 100) -> list[str]:
        """Return names of objects, in the order in which they were first pushed; see `AsyncClient.objects`."""
        return await self._client.objects(self.collection, self.bucket, prefix=prefix, after=after, limit=limit)

    def __aiter__(self) -> AsyncIterator[str]:
        return self._client.iterate_objects(self.collection, self.bucket)

    async def exists(self, object: ObjectName) -> bool:
        """Return whether the bucket has this object."""
        return await self._client.exists(self.collection, self.bucket, object)

    async def count(self, object: ObjectName | None = None, *, of: Counted | None = None) -> int:
        """Return the number of different words in the bucket, or in one of its objects; of="objects": the number of
        objects.
        """
        return await self._client.count(self.collection, self.bucket, object, of=of)

    async def count_objects(self) -> int:
        """Return how many objects the bucket holds."""
        return await self._client.count_objects(self.collection, self.bucket)

    async def flush(self, object: ObjectName | None = None, *, filter: FilterLike = None) -> int:
        """Erase the bucket, one object, or the objects that pass a filter; see `AsyncClient.flush`."""
        return await self._client.flush(self.collection, self.bucket, object, filter=filter)

    async def stats(self) -> dict[str, Any]:
        """Return the figures of the bucket, as a dict for JSON; see `AsyncClient.stats`."""
        return await self._client.stats(self.collection, self.bucket)
