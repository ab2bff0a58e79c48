"""Before and behind every request: its id, the password, sizes and times, headers for browsers."""

import asyncio
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sonicpy.http.problems import problem

BODY_BYTES_MAX = 256 << 10
"""Of a JSON body; larger ones go as a stream of rows."""
BODY_S = 10.0
"""How long the next part of a body may take."""
HELD_BYTES_MAX = 16 << 20
"""Of all bodies that are being received or answered, streams of rows excepted."""
BULKS_MAX = 16
"""Streams of rows at a time: each may hold a line of BODY_BYTES_MAX, and a batch of rows."""
ANSWER_S = 120.0
"""How long an answer may take, streams of rows and maintenance excepted."""
BULK = "/v1/bulk"
UNLIMITED = frozenset({BULK, "/v1/consolidate", "/v1/backup", "/v1/restore", "/v1/verify"})
CHANGES = frozenset({"/v1/push", "/v1/pop", "/v1/flush", BULK, "/v1/consolidate", "/v1/backup", "/v1/restore"})
OPEN = re.compile(r"(?:/|/health|/page/[a-z.-]+)$")
"""Addresses that need no password: the page, which asks for it, and health checks."""
NO_GZIP = re.compile(rb"\bgzip\s*;\s*q\s*=\s*0(?:\.0*)?\s*(?:,|$)", re.IGNORECASE)
"""A client that says so accepts everything but what the application compresses with."""
SAFE_ID = re.compile(r"[\w.:-]{1,64}$")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
NO_SNIFF = (b"x-content-type-options", b"nosniff")
HEADERS = [
    NO_SNIFF,
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
]

Refuse = Callable[[Any], Awaitable[bool]]
"""Called with the peer after a wrong password; waits; returns False if too many wait already."""

LeanRoute = Callable[[Scope, Mapping[bytes, bytes], Send], Awaitable[bool]]
"""Serves a request, or returns False before it has sent anything."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What is allowed.

    Args:
        password: what clients send as `Authorization: Bearer`; None: nothing.
        read_only: changes are refused.
        refuse: delays the refusal of wrong passwords.
        origins: pages of these may send changes, besides our own; "*": all.
    """

    password: str | None = None
    read_only: bool = False
    refuse: Refuse | None = None
    origins: frozenset[str] = frozenset()


class TooLarge(HTTPException):
    """The body has more than BODY_BYTES_MAX bytes."""

    def __init__(self) -> None:
        detail = f"the body has more than {BODY_BYTES_MAX} bytes: send rows to /v1/bulk, a JSON object a line"
        super().__init__(413, detail, {"Connection": "close"})


class Encoded(HTTPException):
    """The body is compressed, or encoded in another way."""

    def __init__(self, encoding: str) -> None:
        detail = f"the body has Content-Encoding {encoding}; allowed is none: send it as it is"
        super().__init__(415, detail, {"Connection": "close", "Accept-Encoding": "identity"})


class TooSlow(HTTPException):
    """The next part of the body did not come in time."""

    def __init__(self) -> None:
        super().__init__(408, f"no part of the body came for {BODY_S:.0f} seconds", {"Connection": "close"})


class TooMany(HTTPException):
    """Other requests hold as much memory as all of them may hold."""

    def __init__(self) -> None:
        super().__init__(503, "too many large requests at once: try again", {"Connection": "close", "Retry-After": "1"})


class Gate:
    """An application behind its rules.

    Args:
        app: serves everything.
        lean: serves a GET of the path if it can, and says whether it did.
    """

    def __init__(self, app: ASGIApp, rules: Rules, lean: Mapping[str, LeanRoute]) -> None:
        self._app = app
        self._rules = rules
        self._lean = lean
        self._secret = None if rules.password is None else rules.password.encode()
        self._load = Load()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"  # GET, without the content of the answer
        if is_head:
            scope = {**scope, "method": "GET"}
        headers = dict(scope["headers"])
        if NO_GZIP.search(headers.get(b"accept-encoding", b"")):
            del headers[b"accept-encoding"]
            scope = {**scope, "headers": list(headers.items())}
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = given if given and SAFE_ID.match(given) else f"{secrets.randbits(64):016x}"
        scope["sonicpy.request_id"] = request_id
        answer = Answer(send, request_id, is_head=is_head)
        path = scope["path"].removeprefix(scope.get("root_path", "")) or "/"
        try:
            await self._check(scope, path, headers)
        except HTTPException as refused:
            await problem(refused.status_code, refused.detail, refused.headers, request_id)(scope, receive, answer.send)
            return
        lean = self._lean.get(path) if scope["method"] == "GET" else None
        if lean is None or not await lean(scope, headers, answer.send):
            await self._serve(scope, path, receive, answer)

    async def _serve(self, scope: Scope, path: str, receive: Receive, answer: "Answer") -> None:
        body = Body(receive, self._load, is_stream=path == BULK)
        try:
            with self._load.streams(path == BULK):
                async with asyncio.timeout(None if path in UNLIMITED else ANSWER_S):
                    await self._app(scope, body.receive, answer.send)
        except (HTTPException, TimeoutError) as error:
            if answer.has_begun:  # it cannot be mended; the server closes the connection
                return
            if not isinstance(error, HTTPException):
                error = HTTPException(504, f"the answer took more than {ANSWER_S:.0f} seconds", CLOSE)
            await problem(error.status_code, error.detail, error.headers, answer.request_id)(
                scope, receive, answer.send
            )
        finally:
            body.release()

    async def _check(self, scope: Scope, path: str, headers: dict[bytes, bytes]) -> None:
        """Raise HTTPException if the rules do not allow the request."""
        if self._rules.read_only and path in CHANGES:
            raise HTTPException(403, "this address is read-only", CLOSE)
        if scope["method"] != "GET" and self._is_foreign(headers):
            raise HTTPException(403, "pages of this origin may not ask: http.origins does not name it", CLOSE)
        length = headers.get(b"content-length")
        if length is not None and path != BULK and not (length.isdigit() and float(length) <= BODY_BYTES_MAX):
            raise TooLarge
        encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip()
        if encoding.lower() not in ("", "identity"):
            raise Encoded(encoding)
        if self._secret is None or OPEN.match(path) or scope["method"] == "OPTIONS":
            return
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        if not token or kind.lower() != b"bearer":
            raise HTTPException(401, "the password is missing: send it as Authorization: Bearer", CHALLENGE)
        if hmac.compare_digest(token.strip(), self._secret):
            return
        if self._rules.refuse is not None and not await self._rules.refuse(scope.get("client")):
            raise HTTPException(429, "too many wrong passwords from this network", {**CLOSE, "Retry-After": "4"})
        raise HTTPException(401, "the password is wrong", CHALLENGE)

    def _is_foreign(self, headers: dict[bytes, bytes]) -> bool:
        """Return whether a page of another origin sent the request: browsers send some without asking first."""
        origin = headers.get(b"origin")
        if origin is None or "*" in self._rules.origins or origin.decode("latin-1") in self._rules.origins:
            return False
        return origin.partition(b"://")[2] != headers.get(b"host")


CLOSE = {"Connection": "close"}
CHALLENGE = {"WWW-Authenticate": "Bearer"}


class Load:
    """What the requests under way hold."""

    def __init__(self) -> None:
        self._bytes = 0
        self._streams = 0

    def hold(self, count: int) -> None:
        """Hold more bytes. Raises TooMany."""
        if self._bytes + count > HELD_BYTES_MAX:
            raise TooMany
        self._bytes += count

    def release(self, count: int) -> None:
        """Hold fewer bytes."""
        self._bytes -= count

    @contextmanager
    def streams(self, is_stream: bool) -> Iterator[None]:
        """Count a stream inside a `with` block. Raises TooMany."""
        if is_stream and self._streams >= BULKS_MAX:
            raise TooMany
        self._streams += is_stream
        try:
            yield
        finally:
            self._streams -= is_stream


class Body:
    """The body of a request, within its limits."""

    def __init__(self, receive: Receive, load: Load, *, is_stream: bool) -> None:
        self._receive = receive
        self._load = load
        self._is_stream = is_stream
        self._held = 0

    async def receive(self) -> Message:
        """Return the next part. Raises TooLarge, TooSlow, TooMany."""
        try:
            async with asyncio.timeout(BODY_S):
                message = await self._receive()
        except TimeoutError as error:
            raise TooSlow from error
        count = 0 if self._is_stream else len(message.get("body", b""))
        if self._held + count > BODY_BYTES_MAX:
            raise TooLarge
        self._load.hold(count)
        self._held += count
        return message

    def release(self) -> None:
        """Give back the bytes that the body held."""
        self._load.release(self._held)


class Answer:
    """The answer to a request, with the headers that all answers have."""

    def __init__(self, send: Send, request_id: str, *, is_head: bool) -> None:
        self._send = send
        self._is_head = is_head
        self.request_id = request_id
        self.has_begun = False

    async def send(self, message: Message) -> None:
        """Send the next part."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            headers = message["headers"]
            is_page = any(value.startswith(b"text/html") for name, value in headers if name == b"content-type")
            protection = HEADERS if is_page else (NO_SNIFF,)
            headers = [*headers, *protection, (b"x-request-id", self.request_id.encode())]
            message = {"type": "http.response.start", "status": message["status"], "headers": headers}
        elif self._is_head:
            message = {**message, "body": b""}
        await self._send(message)
