"""Before and behind every request: its id, the password, sizes and times, caching, headers for browsers."""

import asyncio
import hmac
import re
import secrets
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sonicpy.http.problems import problem

BODY_BYTES_MAX = 256 << 10
"""Of a JSON body; larger ones go as a stream of rows."""
BODY_S = 10.0
"""How long the next part of a body may take."""
ANSWER_S = 120.0
"""How long an answer may take, streams of rows and maintenance excepted."""
UNLIMITED = re.compile(r"/v1/(?:bulk|consolidate|backup|restore|verify)$")
CHANGES = re.compile(r"/v1/(?:push|pop|flush|bulk|consolidate|backup|restore)$")
OPEN = re.compile(r"(?:/|/health|/page/[a-z.-]+)$")
"""Addresses that need no password: the page, which asks for it, and health checks."""
SAFE_ID = re.compile(r"[\w.:-]{1,64}$")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
]

Refuse = Callable[[Any], Awaitable[bool]]
"""Called with the peer after a wrong password; waits; returns False if too many wait already."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is allowed.

    Args:
        password: what clients send as `Authorization: Bearer`; None: nothing.
        read_only: changes are refused.
        refuse: delays the refusal of wrong passwords.
    """

    password: str | None = None
    read_only: bool = False
    refuse: Refuse | None = None


class TooLarge(Exception):
    """The body has more than BODY_BYTES_MAX bytes."""


class TooSlow(Exception):
    """The next part of the body did not come in time."""


class Gate:
    """An application behind its rules."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app = app
        self._rules = rules
        self._secret = None if rules.password is None else rules.password.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name: value for name, value in scope["headers"]}
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = given if SAFE_ID.match(given) else secrets.token_hex(8)
        scope["sonicpy.request_id"] = request_id
        answer = Answer(send, request_id, headers.get(b"if-none-match"), scope["method"] in ("GET", "HEAD"))
        path = scope["path"].removeprefix(scope.get("root_path", "")) or "/"
        refused = await self._refused(scope, path, headers)
        if refused is not None:
            status, detail = refused
            extra = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            await problem(status, detail, extra, request_id)(scope, receive, answer.send)
            return
        limited = path if UNLIMITED.search(path) else None
        body = Body(receive, None if UNLIMITED.search(path) and path.endswith("bulk") else BODY_BYTES_MAX)
        try:
            async with asyncio.timeout(ANSWER_S if limited is None else None):
                await self._app(scope, body.receive, answer.send)
        except TooLarge:
            detail = f"the body has more than {BODY_BYTES_MAX} bytes: send rows to /v1/bulk, a JSON object a line"
            await problem(413, detail, {"Connection": "close"}, request_id)(scope, receive, answer.send)
        except (TooSlow, TimeoutError):
            if not answer.has_begun:
                detail = "the request or its answer took too long"
                await problem(408, detail, {"Connection": "close"}, request_id)(scope, receive, answer.send)

    async def _refused(self, scope: Scope, path: str, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        if self._rules.read_only and CHANGES.search(path):
            return 403, "this address is read-only"
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or (int(length) > BODY_BYTES_MAX and not path.endswith("/v1/bulk")):
            return 413, f"the body has more than {BODY_BYTES_MAX} bytes: send rows to /v1/bulk, a JSON object a line"
        if self._secret is None or OPEN.match(path) or scope["method"] == "OPTIONS":
            return None
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        if not token:
            return 401, "the password is missing: send it as Authorization: Bearer"
        if kind.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._secret):
            return None
        if self._rules.refuse is not None and not await self._rules.refuse(scope.get("client")):
            return 429, "too many wrong passwords from this network"
        return 401, "the password is wrong"


class Body:
    """The body of a request, within its limits."""

    def __init__(self, receive: Receive, bytes_max: int | None) -> None:
        self._receive = receive
        self._bytes_left = bytes_max

    async def receive(self) -> Message:
        """Return the next part. Raises TooLarge, TooSlow."""
        try:
            async with asyncio.timeout(BODY_S):
                message = await self._receive()
        except TimeoutError as error:
            raise TooSlow from error
        if self._bytes_left is not None:
            self._bytes_left -= len(message.get("body", b""))
            if self._bytes_left < 0:
                raise TooLarge
        return message


class Answer:
    """The answer to a request: whole JSON answers get an ETag, and 304 where the client has them already."""

    def __init__(self, send: Send, request_id: str, known: bytes | None, cacheable: bool) -> None:
        self._send = send
        self._request_id = request_id.encode()
        self._known = known
        self._cacheable = cacheable
        self._start: Message | None = None
        self.has_begun = False

    async def send(self, message: Message) -> None:
        """Send the next part."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._start is not None:
            start, self._start = self._start, None
            headers = [*start["headers"], *HEADERS, (b"x-request-id", self._request_id)]
            if self._cacheable and start["status"] == 200 and not message.get("more_body"):
                tag = b'"%08x%x"' % (zlib.crc32(message["body"]), len(message["body"]))
                headers += [(b"etag", tag), (b"cache-control", b"no-cache")]
                if self._known is not None and tag in self._known:
                    headers = [
                        (name, value) for name, value in headers if name not in (b"content-length", b"content-type")
                    ]
                    start, message = {**start, "status": 304}, {**message, "body": b""}
            self.has_begun = True
            await self._send({**start, "headers": headers})
        await self._send(message)
