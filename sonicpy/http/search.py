"""Operations that search."""

import asyncio
import json
from typing import Annotated, Any

from fastapi import APIRouter, Query

from sonicpy.api.hits import Hits
from sonicpy.errors import CommandError
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
    Language,
    Limit,
    NamesJson,
    Offset,
    Prefix,
    QueryBody,
    SearchJson,
    Text,
    WordsJson,
)
from sonicpy.http.routes import router

CORRECTED_MAX = 5
"""Words of a text that "did you mean" looks at."""


def search_routes(backend: Backend) -> APIRouter:
    """Return the operations over a backend."""
    routes = router("search")

    @routes.get("/v1/query")
    async def query(
        collection: Collection, bucket: Bucket, text: Text, limit: Limit = 10, offset: Offset = 0,
        lang: Language = None, stem: bool = True, total: bool = False,
    ) -> HitsJson:  # fmt: skip
        """Return the objects that answer a text, best first."""
        options: dict[str, Any] = {"limit": limit, "offset": offset, "lang": lang, "stem": stem, "total": total}
        return hits_json(await backend.call("query", collection, bucket, text, **options))

    @routes.post("/v1/query", operation_id="query_by_body")
    async def query_by_body(body: QueryBody) -> HitsJson:
        """Return the objects that answer a text that is too long for an address."""
        options = body.model_dump(exclude={"collection", "bucket", "text"})
        return hits_json(await backend.call("query", body.collection, body.bucket, body.text, **options))

    @routes.get("/v1/suggest")
    async def suggest(
        collection: Collection, bucket: Bucket, word: Annotated[str, Query(max_length=200)], limit: Limit = 5
    ) -> WordsJson:
        """Return words that complete or correct a word."""
        return WordsJson(words=await backend.call("suggest", collection, bucket, word, limit=limit))

    @routes.get("/v1/search")
    async def search(
        collection: Collection, bucket: Bucket, text: Text, limit: Limit = 10, offset: Offset = 0,
        lang: Language = None, suggestions: Limit = 5,
    ) -> SearchJson:  # fmt: skip
        """Return hits, words that complete the last word, and what was probably meant: all that a search box needs."""
        hits, words, meant = await asyncio.gather(
            backend.call("query", collection, bucket, text, limit=limit, offset=offset, lang=lang),
            suggested(backend, collection, bucket, text.split()[-1:], suggestions),
            did_you_mean(backend, collection, bucket, text),
        )
        found = hits_json(hits)
        return SearchJson(hits=found.hits, total=found.total, suggestions=words, did_you_mean=meant)

    @routes.get("/v1/words")
    async def words(
        collection: Collection, bucket: Bucket, prefix: Prefix = "", after: After = None, limit: Limit = 100
    ) -> WordsJson:
        """Return words of a bucket in byte order, page by page: `after` is the last word of the page before."""
        found = await backend.call("words", collection, bucket, limit=limit, prefix=prefix, after=after)
        return WordsJson(words=found)

    @routes.get("/v1/explain")
    async def explain(
        collection: Collection, bucket: Bucket, text: Text, limit: Limit = 10, lang: Language = None, stem: bool = True
    ) -> Figures:
        """Return why a query gives its hits, or none."""
        found = await backend.call("explain", collection, bucket, text, limit=limit, lang=lang, stem=stem)
        held: Figures = json.loads(found.to_json())
        return held

    @routes.get("/v1/collections")
    async def collections(after: After = None, limit: Limit = LIMIT_MAX) -> NamesJson:
        """Return the names of collections, page by page: `after` is the last name of the page before."""
        return NamesJson(names=await backend.names(None, after, limit))

    @routes.get("/v1/buckets")
    async def buckets(collection: Collection, after: After = None, limit: Limit = LIMIT_MAX) -> NamesJson:
        """Return the names of the buckets of a collection, page by page."""
        return NamesJson(names=await backend.names(collection, after, limit))

    @routes.get("/v1/objects")
    async def objects(
        collection: Collection, bucket: Bucket, prefix: Prefix = "", after: After = None, limit: Limit = 100
    ) -> NamesJson:
        """Return names of objects in the order of their first push, page by page."""
        found = await backend.call("objects", collection, bucket, prefix=prefix, after=after, limit=limit)
        return NamesJson(names=found)

    @routes.get("/v1/exists")
    async def exists(
        collection: Collection, bucket: Bucket, object: Annotated[str, Query(min_length=1, max_length=128)]
    ) -> ExistsJson:
        """Return whether a bucket has an object."""
        return ExistsJson(exists=await backend.call("exists", collection, bucket, object))

    @routes.get("/v1/count")
    async def count(
        collection: Collection,
        bucket: Annotated[str | None, Query(min_length=1, max_length=128)] = None,
        object: Annotated[str | None, Query(min_length=1, max_length=128)] = None,
        objects: Annotated[bool, Query(description="count the objects of the bucket")] = False,
    ) -> CountJson:
        """Return how many buckets a collection, words or objects a bucket, or words an object has."""
        if objects and bucket is not None:
            return CountJson(count=await backend.call("count_objects", collection, bucket))
        if object is not None and bucket is None:
            raise CommandError("invalid_argument", "an object is given without its bucket")
        return CountJson(count=await backend.call("count", collection, bucket, object))

    return routes


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
    """Return a text with the words replaced that no object holds and that others are close to; None: there are none."""
    words = text.split()
    if not words:
        return None
    better = list(words)
    for place, word in enumerate(words[:CORRECTED_MAX]):
        found = await suggested(backend, collection, bucket, [word], 1)
        if found and not found[0].startswith(word.lower()):
            better[place] = found[0]
    return " ".join(better) if better != words else None
