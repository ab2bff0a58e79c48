"""Bucket: the methods of an index or a client, without the names of collection and bucket."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from sonicpy.api.columns import TEXT_COLUMN, RowsOfBucket
from sonicpy.api.counted import Counted
from sonicpy.api.hits import Hits
from sonicpy.api.shown_names import user_names
from sonicpy.errors import SonicError
from sonicpy.ids import ObjectName, check_bucket, check_collection, plain_str
from sonicpy.options import with_options
from sonicpy.search import ExplainOptions, FacetOptions, FacetsLike, FilterLike, QueryOptions, SimilarOptions
from sonicpy.vectors import Vector

if TYPE_CHECKING:
    from sonicpy.api.explanation import Explanation
    from sonicpy.api.facets import Facets
    from sonicpy.api.rows import OnProgress, PushReport


class Searchable(Protocol):
    """The methods that a bucket calls on its index; `Index` documents them."""

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
    ) -> None: ...
    def drop_vectors(self, collection: str, bucket: str, column: str = "") -> int: ...
    def tag(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        tags: Iterable[str] | None = None,
        *,
        values: Mapping[str, Any] | None = None,
    ) -> int: ...
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
    ) -> bool | None: ...
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
    ) -> "PushReport": ...
    def pop(self, collection: str, bucket: str, object: ObjectName, text: str) -> int: ...
    def query(
        self, collection: str, bucket: str, text: str, *, facets: FacetsLike = None, **options: Unpack[QueryOptions]
    ) -> Hits: ...
    def facets(self, collection: str, bucket: str, text: str = "", **options: Unpack[FacetOptions]) -> "Facets": ...
    def explain(self, collection: str, bucket: str, text: str, **options: Unpack[ExplainOptions]) -> "Explanation": ...
    def similar(self, collection: str, bucket: str, object: ObjectName, **options: Unpack[SimilarOptions]) -> Hits: ...
    def suggest(
        self, collection: str, bucket: str, word: str, *, limit: int = 5, filter: FilterLike = None
    ) -> list[str]: ...
    def words(
        self,
        collection: str,
        bucket: str,
        *,
        limit: int = 100,
        offset: int = 0,
        prefix: str = "",
        after: str | None = None,
    ) -> list[str]: ...
    def objects(
        self,
        collection: str,
        bucket: str,
        *,
        prefix: str = "",
        after: ObjectName | None = None,
        limit: int | None = 100,
    ) -> list[str]: ...
    def iterate_objects(self, collection: str, bucket: str, *, prefix: str = "") -> Iterator[str]: ...
    def exists(self, collection: str, bucket: str, object: ObjectName) -> bool: ...
    def count(
        self,
        collection: str,
        bucket: str | None = None,
        object: ObjectName | None = None,
        *,
        of: Counted | None = None,
    ) -> int: ...
    def count_objects(self, collection: str, bucket: str) -> int: ...
    def flush(
        self,
        collection: str,
        bucket: str | None = None,
        object: ObjectName | None = None,
        *,
        filter: FilterLike = None,
    ) -> int: ...
    def stats(self, collection: str | None = None, bucket: str | None = None) -> dict[str, Any]: ...


class Bucket:
    """One bucket of an index, whether it exists or not. The object holds only the index and the two names.

    `len(bucket)` is the number of its objects, iterating gives their names, and `name in bucket` is whether the object
    exists. Every bucket is true, also an empty one.

    Args:
        index: an `Index`, or a client.

    Raises:
        InvalidArgument: a name is not 1 to 128 ASCII characters without white space.
    """

    __slots__ = ("_index", "bucket", "collection")

    def __init__(self, index: Searchable, collection: str, bucket: str) -> None:
        check_collection(collection)
        check_bucket(bucket)
        self._index = index
        self.collection = plain_str(collection)
        self.bucket = plain_str(bucket)

    def push(
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
        """Add a text to an object; see `Index.push`."""
        self._index.push(
            self.collection, self.bucket, object, text, lang, vector, tags=tags, values=values, field=field
        )

    def tag(
        self, object: ObjectName, tags: Iterable[str] | None = None, *, values: Mapping[str, Any] | None = None
    ) -> int:
        """Change the tags or values of an object; see `Index.tag`."""
        return self._index.tag(self.collection, self.bucket, object, tags, values=values)

    def upsert(
        self,
        object: ObjectName,
        text: str | Mapping[str, str],
        lang: str | None = None,
        vector: Vector = None,
        *,
        tags: Iterable[str] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> bool | None:
        """Replace the words of an object by those of a text; return whether anything changed (None for a client). See
        `Index.upsert`.
        """
        return self._index.upsert(self.collection, self.bucket, object, text, lang, vector, tags=tags, values=values)

    def push_many(
        self,
        rows: Any,
        *,
        object: str | None = None,
        text: str | Sequence[str] | Mapping[str, str] = TEXT_COLUMN,
        lang: str | None = None,
        new: bool = False,
        upsert: bool = False,
        progress: "OnProgress | None" = None,
        vector: str | Mapping[str, str] | None = None,
        tags: str | Sequence[str] | None = None,
        values: Sequence[str] | Mapping[str, str] = (),
    ) -> "PushReport":
        """Push many texts; return how many were indexed, and which were refused: rows by position that name another
        bucket, too. See `Index.push_many`.
        """
        return self._index.push_many(
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

    def drop_vectors(self, column: str = "") -> int:
        """Remove the vectors of a column from every object; return the number of columns removed.

        Args:
            column: the name of the column; "": all columns.
        """
        return self._index.drop_vectors(self.collection, self.bucket, column)

    def pop(self, object: ObjectName, text: str) -> int:
        """Remove the words of a text from an object; return how many were removed."""
        return self._index.pop(self.collection, self.bucket, object, text)

    @with_options("QUERY")
    def query(self, text: str, *, facets: FacetsLike = None, **options: Unpack[QueryOptions]) -> Hits:
        """Return the objects that answer a text, best first; see `Index.query`."""
        return self._index.query(self.collection, self.bucket, text, facets=facets, **options)

    @with_options("FACETS")
    def facets(self, text: str = "", **options: Unpack[FacetOptions]) -> "Facets":
        """Return how many of the objects that answer a text hold each tag, or have a value in each range."""
        return self._index.facets(self.collection, self.bucket, text, **options)

    @with_options("EXPLAIN")
    def explain(self, text: str, **options: Unpack[ExplainOptions]) -> "Explanation":
        """Return the reasons for the answer of `query` with the same arguments."""
        return self._index.explain(self.collection, self.bucket, text, **options)

    @with_options("SIMILAR")
    def similar(self, object: ObjectName, **options: Unpack[SimilarOptions]) -> Hits:
        """Return the objects most similar to a given one; see `Index.similar`."""
        return self._index.similar(self.collection, self.bucket, object, **options)

    def suggest(self, word: str, *, limit: int = 5, filter: FilterLike = None) -> list[str]:
        """Return words that complete or correct `word`; see `Index.suggest`."""
        return self._index.suggest(self.collection, self.bucket, word, limit=limit, filter=filter)

    def words(self, *, limit: int = 100, offset: int = 0, prefix: str = "", after: str | None = None) -> list[str]:
        """Return words in byte order; see `Index.words`."""
        return self._index.words(self.collection, self.bucket, limit=limit, offset=offset, prefix=prefix, after=after)

    def objects(self, *, prefix: str = "", after: ObjectName | None = None, limit: int | None = 100) -> list[str]:
        """Return names of objects, in the order in which they were first pushed; see `Index.objects`."""
        return self._index.objects(self.collection, self.bucket, prefix=prefix, after=after, limit=limit)

    def exists(self, object: ObjectName) -> bool:
        """Return whether the bucket has an object."""
        return self._index.exists(self.collection, self.bucket, object)

    def count(self, object: ObjectName | None = None, *, of: Counted | None = None) -> int:
        """Return the number of different words in the bucket, or in one of its objects; of="objects": the number of
        objects.
        """
        return self._index.count(self.collection, self.bucket, object, of=of)

    def count_objects(self) -> int:
        """Return the number of objects, as `len` does."""
        return self._index.count_objects(self.collection, self.bucket)

    def flush(self, object: ObjectName | None = None, *, filter: FilterLike = None) -> int:
        """Erase the bucket, one object, or the objects that pass a filter; see `Index.flush`."""
        return self._index.flush(self.collection, self.bucket, object, filter=filter)

    def stats(self) -> dict[str, Any]:
        """Return the figures of the bucket, as a dict for JSON; see `Index.stats`."""
        return self._index.stats(self.collection, self.bucket)

    def __len__(self) -> int:
        return self.count_objects()

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return self._index.iterate_objects(self.collection, self.bucket)

    def __contains__(self, object: ObjectName) -> bool:
        return self.exists(object)

    def __dir__(self) -> list[str]:
        """Return the public names, for tab completion."""
        return user_names(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bucket):
            return NotImplemented
        return self._index is other._index and (self.collection, self.bucket) == (other.collection, other.bucket)

    def __hash__(self) -> int:
        return hash((id(self._index), self.collection, self.bucket))

    def __repr__(self) -> str:
        return f"{self._index!r}.bucket({self.collection!r}, {self.bucket!r})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        from sonicpy.api.html import figures_table  # noqa: PLC0415  loaded when it is needed

        try:
            figures = self.stats()
        except SonicError as error:  # not offered, or closed: show the names nevertheless
            figures = {"note": str(error)}
        return figures_table(f"{self.collection} / {self.bucket}", figures)
