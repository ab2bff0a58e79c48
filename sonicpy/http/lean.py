"""Answers plain GET /v1/query requests without the framework, which takes longer than the query.

The route of the framework serves all other requests. Both give the same answers; `tests/http/test_lean.py` compares
them.
"""

from collections.abc import Mapping
from json import JSONEncoder
from typing import Any
from urllib.parse import parse_qsl

from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.types import Scope, Send

from sonicpy.errors import SonicError
from sonicpy.http.backend import Backend
from sonicpy.http.caching import Tagged, tagged
from sonicpy.http.models import LIMIT_MAX, NAME_MAX, OFFSET_MAX, QUERY_TEXT_MAX
from sonicpy.http.problems import refusal
from sonicpy.http.search import more_of
from sonicpy.langcodes import language_code
from sonicpy.option_kinds import Choice, LanguageCode, Number, Switch
from sonicpy.options import ARGUMENTS, DEPTH_CEILING

COMPRESSED_BYTES = 1000
"""The number of bytes below which an answer is not worth compressing."""
PLAIN = frozenset({"collection", "bucket", "text", *ARGUMENTS["QUERY"]})
CEILINGS = {"limit": LIMIT_MAX, "depth": DEPTH_CEILING}
SWITCHES = {"true": True, "false": False, "1": True, "0": False}
VARY = (b"vary", b"Accept-Encoding")
encode = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class LeanQuery:
    """The route for plain queries over a backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def __call__(self, scope: Scope, headers: Mapping[bytes, bytes], send: Send) -> bool:
        """Answer a plain request; return False for any other."""
        asked = plain_query(scope["query_string"])
        if asked is None:
            return False
        collection, bucket, text, options = asked
        try:
            hits = await self._backend.call("query", collection, bucket, text, **options)
        except SonicError as error:  # not asked again by the route: an absent server is waited for
            await refusal(error, scope.get("sonicpy.request_id"))(scope, _nothing, send)
            return True
        more = more_of(hits, text, options)
        body = encode({"hits": hits.to_dicts(), "total": hits.total, "whole": hits.whole, **more}).encode()
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


def plain_query(query: bytes) -> tuple[str, str, str, dict[str, Any]] | None:
    """Return collection, bucket, text and options; None: a part is unusual, missing, or not allowed."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, max_num_fields=len(PLAIN))
    except ValueError:
        return None
    given = dict(pairs)
    if len(given) != len(pairs) or not given.keys() <= PLAIN:
        return None
    collection, bucket, text = given.pop("collection", ""), given.pop("bucket", ""), given.pop("text", None)
    if text is None or len(text) > QUERY_TEXT_MAX:
        return None
    if not (0 < len(collection) <= NAME_MAX and 0 < len(bucket) <= NAME_MAX):
        return None
    options = {name: _plain(name, value) for name, value in given.items()}
    return None if None in options.values() else (collection, bucket, text, options)


def _plain(name: str, value: str) -> int | str | None:
    """Return the value of an option; None: it is unusual, or not allowed."""
    kind = ARGUMENTS["QUERY"][name].kind
    match kind:
        case Number():
            is_number = value.isascii() and value.isdigit() and len(value) <= 10
            return int(value) if is_number and int(value) <= CEILINGS.get(name, OFFSET_MAX) else None
        case Switch():
            return SWITCHES.get(value)
        case LanguageCode():
            return language_code(value)
        case Choice():
            return value if value in kind.words else None
    return None
