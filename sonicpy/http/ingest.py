"""Operations that change what is indexed."""

from fastapi import APIRouter, Request

from sonicpy.http.backend import Backend
from sonicpy.http.bulk import push_stream
from sonicpy.http.models import BulkJson, DoneJson, FlushBody, PopBody, PushBody, RemovedJson
from sonicpy.http.routes import router

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


def ingest_routes(backend: Backend) -> APIRouter:
    """Return the operations over a backend."""
    routes = router("ingest")

    @routes.post("/v1/push")
    async def push(body: PushBody) -> DoneJson:
        """Add a text to an object. To push the same text again changes nothing."""
        await backend.call("push", body.collection, body.bucket, body.object, body.text, body.lang)
        return DoneJson()

    @routes.post("/v1/pop")
    async def pop(body: PopBody) -> RemovedJson:
        """Remove the words of a text from an object."""
        return RemovedJson(removed=await backend.call("pop", body.collection, body.bucket, body.object, body.text))

    @routes.post("/v1/flush")
    async def flush(body: FlushBody) -> RemovedJson:
        """Erase a collection, a bucket or an object."""
        return RemovedJson(removed=await backend.call("flush", body.collection, body.bucket, body.object))

    @routes.post("/v1/bulk", openapi_extra=NDJSON)
    async def bulk(request: Request) -> BulkJson:
        """Push many rows in one request, a JSON object with the keys of push a line. The body may be of any length."""
        return await push_stream(backend, request.stream())

    return routes
