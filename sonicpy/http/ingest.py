"""Operations that change the index."""

from typing import Any

from fastapi import Request

from sonicpy.http.backend import Backend
from sonicpy.http.bulk import push_stream
from sonicpy.http.models import (
    BulkJson,
    CountedRulesJson,
    DoneJson,
    FieldOfName,
    FlushBody,
    PopBody,
    PushBody,
    RemovedJson,
    SynonymsBody,
    SynonymsJson,
    TagBody,
    TaggedJson,
    TextBody,
    UpsertBody,
)
from sonicpy.http.routes import Operation, RulesRoute

NDJSON = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-ndjson": {
                "schema": {"type": "string"},
                "example": '{"collection": "messages", "bucket": "default", "object": "1", "text": "Hello"}\n',
            }
        },
    }
}


def ingest_operations(backend: Backend) -> list[Operation]:
    """Return the operations over a backend."""
    operations = IngestOperations(backend)
    return [
        Operation("POST", "/v1/push", operations.push),
        Operation("POST", "/v1/tag", operations.tag),
        Operation("POST", "/v1/upsert", operations.upsert),
        Operation("POST", "/v1/pop", operations.pop),
        Operation("POST", "/v1/flush", operations.flush),
        Operation("GET", "/v1/synonyms", operations.synonyms),
        Operation("POST", "/v1/synonyms", operations.set_synonyms, route=RulesRoute),
        Operation("POST", "/v1/bulk", operations.bulk, extra=NDJSON),
    ]


class IngestOperations:
    """Operations that change the index."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def push(self, body: PushBody) -> DoneJson:
        """Add a text to an object. Pushing the same text again changes nothing."""
        named = {} if body.field is None else {"field": body.field}
        await self._backend.call("push", *_names(body), body.text, body.lang, **_others(body), **named)
        return DoneJson()

    async def tag(self, body: TagBody) -> TaggedJson:
        """Change the tags or values of an object that exists."""
        names = body.collection, body.bucket, body.object
        return TaggedJson(tagged=bool(await self._backend.call("tag", *names, body.tags, values=body.values)))

    async def upsert(self, body: UpsertBody) -> DoneJson:
        """Give an object just this text, in one change; its other words are removed."""
        text = body.text if body.field is None else {body.field: body.text}
        await self._backend.call("upsert", *_names(body), text, body.lang, **_others(body))
        return DoneJson()

    async def pop(self, body: PopBody) -> RemovedJson:
        """Remove the words of a text from an object."""
        return RemovedJson(
            removed=await self._backend.call("pop", body.collection, body.bucket, body.object, body.text)
        )

    async def flush(self, body: FlushBody) -> RemovedJson:
        """Erase a collection, a bucket, an object, or the objects of a bucket that pass a filter."""
        names = body.collection, body.bucket, body.object
        return RemovedJson(removed=await self._backend.call("flush", *names, filter=body.filter))

    async def synonyms(self, collection: FieldOfName) -> SynonymsJson:
        """Return the rules of synonyms of a collection."""
        return SynonymsJson(rules=await self._backend.call("synonyms", collection))

    async def set_synonyms(self, body: SynonymsBody) -> CountedRulesJson:
        """Replace the rules of synonyms of a collection, or add some."""
        return CountedRulesJson(
            rules=await self._backend.call("set_synonyms", body.collection, body.rules, add=body.add)
        )

    async def bulk(self, request: Request, upsert: bool = False) -> BulkJson:  # noqa: FBT001, FBT002 - of the address
        """Push many rows in one request: one JSON object per line, with the keys of push. It may be of any length.

        With `upsert`, each text replaces the words of its object.
        """
        return await push_stream(self._backend, request.stream(), upsert=upsert)


def _names(body: TextBody) -> tuple[Any, ...]:
    return body.collection, body.bucket, body.object


def _others(body: TextBody) -> dict[str, Any]:
    """Return the values of an object beside its text that a request gives."""
    given = {"vector": body.vector, "tags": body.tags, "values": body.values}
    return {name: value for name, value in given.items() if value is not None}
