"""GET /v1/query without the framework, which takes longer than the query: plain requests only.

The route of the framework has the others. Both give the same answers; `tests/http/test_lean.py` compares them.
"""

from collections.abc import Mapping
from json import JSONEncoder
from urllib.parse import parse_qsl

from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.types import Scope, Send

from sonicpy.errors import SonicError
from sonicpy.http.backend import Backend
from sonicpy.http.caching import Tagged, tagged
from sonicpy.http.models import LIMIT_MAX, NAME_MAX, OFFSET_MAX, QUERY_TEXT_MAX
from sonicpy.http.problems import refusal

COMPRESSED_BYTES = 1000
"""Shorter answers are not worth compressing."""
PLAIN = frozenset({"collection", "bucket", "text", "limit", "offset"})
VARY = (b"vary", b"Accept-Encoding")
encode = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class LeanQuery:
    """The route over a backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def __call__(self, scope: Scope, headers: Mapping[bytes, bytes], send: Send) -> bool:
        """Answer a plain request; return False for others."""
        asked = plain_query(scope["query_string"])
        if asked is None:
            return False
        collection, bucket, text, limit, offset = asked
        try:
            hits = await self._backend.call("query", collection, bucket, text, limit=limit, offset=offset)
        except SonicError as error:  # not asked again by the route: an absent server is waited for
            await refusal(error, scope.get("sonicpy.request_id"))(scope, _nothing, send)
            return True
        found = [{"object": name, "score": score} for name, score in hits.pairs()]
        body = encode({"hits": found, "total": hits.total}).encode()
        if len(body) >= COMPRESSED_BYTES and b"gzip" in headers.get(b"accept-encoding", b""):
            response = Response(body, media_type="application/json")
            await GZipMiddleware(Tagged(response), COMPRESSED_BYTES)(scope, _nothing, send)
            return True
        fields = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json"), VARY]
        start = {"type": "http.response.start", "status": 200, "headers": fields}
        whole = {"type": "http.response.body", "body": body}
        for message in tagged(start, whole, headers.get(b"if-none-match")):
            await send(message)
        return True


async def _nothing() -> dict[str, str]:
    return {"type": "http.disconnect"}


def plain_query(query: bytes) -> tuple[str, str, str, int, int] | None:
    """Return collection, bucket, text, limit and offset; None: something is unusual, missing, or not allowed."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=len(PLAIN))
    except ValueError:
        return None
    given = dict(pairs)
    if len(given) != len(pairs) or not given.keys() <= PLAIN:
        return None
    collection, bucket, text = given.get("collection", ""), given.get("bucket", ""), given.get("text")
    limit, offset = _number(given.get("limit", "10"), LIMIT_MAX), _number(given.get("offset", "0"), OFFSET_MAX)
    if text is None or limit is None or offset is None or len(text) > QUERY_TEXT_MAX:
        return None
    if not (0 < len(collection) <= NAME_MAX and 0 < len(bucket) <= NAME_MAX):
        return None
    return collection, bucket, text, limit, offset


def _number(text: str, most: int) -> int | None:
    if not (text.isascii() and text.isdigit()) or len(text) > 10:
        return None
    number = int(text)
    return number if number <= most else None
