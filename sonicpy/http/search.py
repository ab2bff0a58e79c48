"""Operations that search."""

import asyncio
import json
from typing import Annotated, Any

from fastapi import Query

from sonicpy.api.counted import counted
from sonicpy.api.hits import Hits
from sonicpy.errors import CommandError, InvalidArgument
from sonicpy.http.backend import Backend
from sonicpy.http.models import (
    LIMIT_MAX,
    After,
    Bucket,
    Collection,
    CountJson,
    ExistsJson,
    Figures,
    HitJson,
    HitsJson,
    Limit,
    NamesJson,
    Prefix,
    QueryBody,
    SearchJson,
    Text,
    WordsJson,
    takes_options,
)
from sonicpy.http.routes import Operation

CORRECTED_MAX = 5
"""Maximum of words that "did you mean" corrects."""


def search_operations(backend: Backend) -> list[Operation]:
    """Return the operations over a backend."""
    operations = SearchOperations(backend)
    return [
        Operation("GET", "/v1/query", operations.query),
        Operation("POST", "/v1/query", operations.query_by_body, id="query_by_body"),
        Operation("GET", "/v1/suggest", operations.suggest),
        Operation("GET", "/v1/search", operations.search),
        Operation("GET", "/v1/words", operations.words),
        Operation("GET", "/v1/explain", operations.explain),
        Operation("GET", "/v1/collections", operations.collections),
        Operation("GET", "/v1/buckets", operations.buckets),
        Operation("GET", "/v1/objects", operations.objects),
        Operation("GET", "/v1/exists", operations.exists),
        Operation("GET", "/v1/count", operations.count),
    ]


class SearchOperations:
    """Operations that search."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @takes_options("QUERY")
    async def query(self, collection: Collection, bucket: Bucket, text: Text, **options: Any) -> HitsJson:
        """Return the objects that answer a text, best first."""
        return hits_json(await self._backend.call("query", collection, bucket, text, **options))

    async def query_by_body(self, body: QueryBody) -> HitsJson:
        """Return the objects that answer a text that is too long for an address."""
        options = body.model_dump(exclude={"collection", "bucket", "text"})
        return hits_json(await self._backend.call("query", body.collection, body.bucket, body.text, **options))

    async def suggest(
        self, collection: Collection, bucket: Bucket, word: Annotated[str, Query(max_length=200)], limit: Limit = 5
    ) -> WordsJson:
        """Return words that complete or correct a word."""
        return WordsJson(words=await self._backend.call("suggest", collection, bucket, word, limit=limit))

    @takes_options("QUERY")
    async def search(
        self, collection: Collection, bucket: Bucket, text: Text, suggestions: Limit = 5, **options: Any
    ) -> SearchJson:
        """Return hits, completions of the last word, and a corrected text: everything for a search box."""
        hits, words, meant = await asyncio.gather(
            self._backend.call("query", collection, bucket, text, **options),
            suggested(self._backend, collection, bucket, text.split()[-1:], suggestions),
            did_you_mean(self._backend, collection, bucket, text),
        )
        found = hits_json(hits)
        return SearchJson(hits=found.hits, total=found.total, suggestions=words, did_you_mean=meant)

    async def words(
        self, collection: Collection, bucket: Bucket, prefix: Prefix = "", after: After = None, limit: Limit = 100
    ) -> WordsJson:
        """Return words of a bucket in byte order, page by page: `after` is the last word of the page before."""
        found = await self._backend.call("words", collection, bucket, limit=limit, prefix=prefix, after=after)
        return WordsJson(words=found)

    @takes_options("EXPLAIN")
    async def explain(self, collection: Collection, bucket: Bucket, text: Text, **options: Any) -> Figures:
        """Return the reasons for the answer of a query."""
        found = await self._backend.call("explain", collection, bucket, text, **options)
        held: Figures = json.loads(found.to_json())
        return held

    async def collections(self, after: After = None, limit: Limit = LIMIT_MAX) -> NamesJson:
        """Return the names of collections, page by page: `after` is the last name of the page before."""
        return NamesJson(names=await self._backend.names(None, after, limit))

    async def buckets(self, collection: Collection, after: After = None, limit: Limit = LIMIT_MAX) -> NamesJson:
        """Return the names of the buckets of a collection, page by page."""
        return NamesJson(names=await self._backend.names(collection, after, limit))

    async def objects(
        self, collection: Collection, bucket: Bucket, prefix: Prefix = "", after: After = None, limit: Limit = 100
    ) -> NamesJson:
        """Return names of objects in the order of their first push, page by page."""
        found = await self._backend.call("objects", collection, bucket, prefix=prefix, after=after, limit=limit)
        return NamesJson(names=found)

    async def exists(
        self, collection: Collection, bucket: Bucket, object: Annotated[str, Query(min_length=1, max_length=128)]
    ) -> ExistsJson:
        """Return whether a bucket has an object."""
        return ExistsJson(exists=await self._backend.call("exists", collection, bucket, object))

    async def count(
        self,
        collection: Collection,
        bucket: Annotated[str | None, Query(min_length=1, max_length=128)] = None,
        object: Annotated[str | None, Query(min_length=1, max_length=128)] = None,
        objects: Annotated[bool, Query(description="count the objects of the collection or the bucket")] = False,
    ) -> CountJson:
        """Return the number of buckets or objects of a collection, words or objects of a bucket, or words of an
        object."""
        if objects and object is not None:
            raise InvalidArgument("objects is true and object is given; allowed is one of the two")
        what = counted(bucket, object, "objects" if objects else None)
        return CountJson(count=await self._backend.call("count", collection, bucket, object, of=what))


def hits_json(hits: Hits) -> HitsJson:
    """Return the JSON of hits."""
    found = [HitJson.model_construct(object=name, score=score) for name, score in hits.pairs()]
    return HitsJson.model_construct(hits=found, total=hits.total)


async def suggested(backend: Backend, collection: str, bucket: str, words: list[str], limit: int) -> list[str]:
    """Return words that complete or correct the only word in a list; none if it holds no word."""
    if not words or not limit:
        return []
    try:
        found: list[str] = await backend.call("suggest", collection, bucket, words[0], limit=limit)
    except CommandError:  # such as "don't-do", which is several words, or "!", which is none
        return []
    return found


async def did_you_mean(backend: Backend, collection: str, bucket: str, text: str) -> str | None:
    """Return a text in which unknown words are replaced by similar known ones; None: there are no such words."""
    words = text.split()
    if not words:
        return None
    better = list(words)
    for place, word in enumerate(words[:CORRECTED_MAX]):
        found = await suggested(backend, collection, bucket, [word], 1)
        if found and not found[0].startswith(word.lower()):
            better[place] = found[0]
    return " ".join(better) if better != words else None
