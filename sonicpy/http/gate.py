"""Checks before and after every request: its id, rights, sizes and times, headers for browsers.

The gate finds the operation of a request and passes on nothing else: the framework never gets a path that is not a
route. The lean route, which bypasses the framework, gets only requests that passed the gate, too.
"""

import asyncio
import hmac
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sonicpy.access.admission import Keys
from sonicpy.access.grant import NotPermitted, TooOften
from sonicpy.errors import SonicError, sentence_of
from sonicpy.http.access import BULK, GRANTED, HEALTH, OPEN, READS, UNLIMITED, Endpoint, Offered, path_of
from sonicpy.http.bodies import BODY_BYTES_MAX, CLOSE, Body, Encoded, LingeringClose, Load, TooLarge, may_be_long
from sonicpy.http.guarded import PERMIT
from sonicpy.http.hosts import Hosts
from sonicpy.http.problems import problem

logger = logging.getLogger(__name__)

ANSWER_S = 120.0
"""The longest time of an answer in seconds, except for streams of rows, FLUSH and maintenance."""
NO_GZIP = re.compile(rb"\bgzip\s*;\s*q\s*=\s*0(?:\.0*)?\s*(?:,|$)", re.IGNORECASE)
"""Matches an Accept-Encoding that excludes gzip."""
SAFE_ID = re.compile(r"[\w.:-]{1,64}\Z")
ID = "sonicpy.request_id"
"""The key of a scope that holds the id of the request."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PRIVATE = (b"cache-control", b"private, no-cache")
"""The header of an answer to a request with a secret: shared caches must not keep the answer."""
VARY_SECRET = (b"vary", b"Authorization")
NO_SNIFF = (b"x-content-type-options", b"nosniff")
HEADERS = [
    NO_SNIFF,
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
]
CHALLENGE = {"WWW-Authenticate": "Bearer"}
ASKED_BY_PAGES = ["Authorization", "Content-Type", "If-None-Match", "X-Request-ID"]
READ_BY_PAGES = ["ETag", "X-Request-ID"]
"""Headers that pages of other origins may read."""

Refuse = Callable[[Any], Awaitable[bool]]
"""A function that is called with the peer after a wrong password: it waits, or returns False if too many wait already.
"""

LeanRoute = Callable[[Scope, Mapping[bytes, bytes], Send], Awaitable[bool]]
"""A function that serves a request, or returns False before it has sent anything."""


@dataclass(frozen=True, slots=True)
class RequestRules:
    """The rules about allowed requests.

    Args:
        password: the password that clients send as `Authorization: Bearer`; None: they need none.
        keys: secrets beside the password, sent in its place; None: there are none.
        read_only: refuse operations that are not on the list of reads.
        refuse: delays the refusal of wrong passwords.
        origins: the origins whose pages may send requests, besides the server's own; "*": all.
        hosts: the values of Host that are accepted if there is no password; None: all.
    """

    password: str | None = None
    keys: Keys | None = None
    read_only: bool = False
    refuse: Refuse | None = None
    origins: frozenset[str] = frozenset()
    hosts: Hosts | None = None


class Gate:
    """An application behind the checks of its rules.

    Args:
        app: carries out every operation.
        offered: the operations of the application.
        lean: carries out an operation if it can, and returns whether it did.
    """

    def __init__(self, app: ASGIApp, offered: Offered, rules: RequestRules, lean: Mapping[Endpoint, LeanRoute]) -> None:
        self._app = app
        self._offered = offered
        self._rules = rules
        self._lean = lean
        # A password that is not UTF-8 comes from the environment with lone surrogates for its bytes.
        self._secret = None if rules.password is None else rules.password.encode(errors="surrogateescape")
        self._hosts = rules.hosts if self._secret is None else None
        self._load = Load()
        self._lingering = LingeringClose()
        self._behind_hosts: ASGIApp = self._answer
        self._varies = bool(rules.origins) and "*" not in rules.origins
        if rules.origins:
            self._behind_hosts = CORSMiddleware(
                self._answer, tuple(rules.origins), ("GET", "POST"), ASKED_BY_PAGES, expose_headers=READ_BY_PAGES
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close"})
        else:
            scope[ID] = id_of(scope)
            try:
                self._check_host(scope)
            except HTTPException as refused:
                await self._refuse(refused, scope, receive, AnswerWriter(send, scope))
            else:
                out = varying(send) if self._varies else send
                if self._rules.origins and is_preflight(scope):  # CORSMiddleware itself answers
                    out = AnswerWriter(out, scope).send
                await self._behind_hosts(scope, receive, out)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose Host is accepted."""
        answer = AnswerWriter(send, scope)
        headers = dict(scope["headers"])
        if scope["method"] == "HEAD":  # GET, without the content of the answer
            scope = {**scope, "method": "GET"}
        if NO_GZIP.search(headers.get(b"accept-encoding", b"")):
            del headers[b"accept-encoding"]
            scope = {**scope, "headers": list(headers.items())}
        asked = self._offered.find(scope)
        try:
            await self._check(scope, asked, headers)
        except HTTPException as refused:
            await self._refuse(refused, scope, receive, answer)
            return
        assert asked is not None
        scope[GRANTED] = asked
        lean = None if may_be_long(headers) else self._lean.get(asked)
        if lean is None or not await self._serve_lean(lean, scope, headers, receive, answer):
            await self._serve(scope, asked, receive, answer)

    async def _serve_lean(
        self, lean: LeanRoute, scope: Scope, headers: Mapping[bytes, bytes], receive: Receive, answer: "AnswerWriter"
    ) -> bool:
        """Return whether the lean route has answered, or took too long."""
        try:
            async with asyncio.timeout(ANSWER_S):
                return await lean(scope, headers, answer.send)
        except TimeoutError:
            if not answer.has_begun:
                await self._refuse(too_slow(), scope, receive, answer)
            return True

    async def _serve(self, scope: Scope, asked: Endpoint, receive: Receive, answer: "AnswerWriter") -> None:
        is_long = may_be_long(dict(scope["headers"]))
        body = Body(receive, self._load, is_stream=asked == BULK, is_long=is_long)
        try:
            with self._load.streams(asked == BULK):
                async with asyncio.timeout(None if asked in UNLIMITED else ANSWER_S):
                    await self._app(scope, body.receive, partial(self._send, receive, body, answer))
        except (HTTPException, TimeoutError) as error:
            if answer.has_begun:  # it cannot be mended; the server closes the connection
                return
            refused = error if isinstance(error, HTTPException) else too_slow()
            await self._refuse(refused, scope, receive, answer, has_rest=not body.has_ended)
        finally:
            body.release()

    async def _refuse(
        self, error: HTTPException, scope: Scope, receive: Receive, answer: "AnswerWriter", *, has_rest: bool = True
    ) -> None:
        """Answer a request with an error.

        Args:
            has_rest: whether the end of the body was not read; it is read before the connection is closed.
        """
        headers = dict(error.headers or {})
        if has_rest and may_be_long(dict(scope["headers"])):
            headers |= CLOSE
        refusal = problem(error.status_code, error.detail, headers, scope[ID])
        if not has_rest or not CLOSE.items() <= headers.items():
            await refusal(scope, receive, answer.send)
            return
        await refusal(scope, receive, answer.send_unended)
        await self._linger(receive, answer)

    async def _send(self, receive: Receive, body: Body, answer: "AnswerWriter", message: Message) -> None:
        """Send the next part of the application's answer, which may come before the end of the body."""
        if message["type"] == "http.response.start" and body.has_unread_rest:
            others = [each for each in message["headers"] if each[0].lower() != b"connection"]
            message = {**message, "headers": [*others, (b"connection", b"close")]}
        is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if not is_last or not body.has_unread_rest:
            await answer.send(message)
            return
        await answer.send_unended(message)
        body.release()
        await self._linger(receive, answer)

    async def _linger(self, receive: Receive, answer: "AnswerWriter") -> None:
        """Read the rest of a body behind its answer, then end the answer."""
        await self._lingering.drop(receive)
        await answer.send({"type": "http.response.body", "body": b"", "more_body": False})

    def _check_host(self, scope: Scope) -> None:
        """Raise HTTPException if the request has several values of Host, or one that is not accepted."""
        given = [value for name, value in scope["headers"] if name == b"host"]
        if len(given) > 1:
            raise HTTPException(400, f"the request has {len(given)} headers Host; allowed is one", CLOSE)
        if self._hosts is None or self._hosts.allow(given) or self._offered.find(scope) == HEALTH:
            return
        raise HTTPException(403, self._hosts.refusal(given), CLOSE)

    async def _check(self, scope: Scope, asked: Endpoint | None, headers: dict[bytes, bytes]) -> None:
        """Raise HTTPException if the rules do not allow the request, or no operation has its path and method."""
        changes = scope["method"] != "GET" if asked is None else asked not in READS
        if self._rules.read_only and changes:
            raise HTTPException(403, "this address is read-only", CLOSE)
        if scope["method"] != "GET" and self._is_foreign(headers):
            raise HTTPException(403, "pages of this origin are refused: http.origins does not list it", CLOSE)
        length = headers.get(b"content-length")
        if length is not None and asked != BULK and not (length.isdigit() and float(length) <= BODY_BYTES_MAX):
            raise TooLarge
        encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip()
        if encoding.lower() not in ("", "identity"):
            raise Encoded(encoding)
        if asked not in OPEN:
            PERMIT.set(None)
            await self._check_secret(scope, headers)
        if asked is None:
            raise nothing_at(path_of(scope), scope["method"], self._offered)

    async def _check_secret(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        secret = self._secret
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        if not token or kind.lower() != b"bearer":
            if secret is None:
                return
            raise HTTPException(401, "the password is missing: send it as Authorization: Bearer", CHALLENGE)
        token = token.strip()
        if (secret is not None and hmac.compare_digest(token, secret)) or self._admit(token) or secret is None:
            return
        if self._rules.refuse is not None and not await self._rules.refuse(scope.get("client")):
            raise HTTPException(429, "too many wrong passwords from this network", {**CLOSE, "Retry-After": "4"})
        raise HTTPException(401, "the password is wrong", CHALLENGE)

    def _admit(self, token: bytes) -> bool:
        """Note the permit of a key or a token; return whether there is one.

        Raises:
            HTTPException: the permit allows nothing any more (403), or asks too often (429); or the keys cannot be
                read (500).
        """
        try:
            permit = None if self._rules.keys is None else self._rules.keys.admit(token)
            if permit is not None:
                permit.use()
        except TooOften as refused:
            raise HTTPException(429, sentence_of(refused), {"Retry-After": "1"}) from refused
        except NotPermitted as refused:
            raise HTTPException(403, sentence_of(refused)) from refused
        except SonicError as failed:
            logger.error("a secret cannot be looked up: %s", failed)
            raise HTTPException(500, "the keys cannot be read; the log of the server has the reason") from failed
        PERMIT.set(permit)
        return permit is not None

    def _is_foreign(self, headers: dict[bytes, bytes]) -> bool:
        """Return whether a page of another origin sent the request; browsers send some such requests without a
        preflight.
        """
        origin = headers.get(b"origin")
        if origin is None or "*" in self._rules.origins or origin.decode("latin-1") in self._rules.origins:
            return False
        return origin.partition(b"://")[2] != headers.get(b"host")


def too_slow() -> HTTPException:
    """Return the error for an answer that takes longer than ANSWER_S."""
    return HTTPException(504, f"the answer took more than {ANSWER_S:.0f} seconds", CLOSE)


def is_preflight(scope: Scope) -> bool:
    """Return whether a browser asks for the rights of a page of another origin."""
    names = {name for name, _ in scope["headers"]}
    return scope["method"] == "OPTIONS" and names >= {b"origin", b"access-control-request-method"}


def id_of(scope: Scope) -> str:
    """Return the id in the request's header, or a new one."""
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"").decode("latin-1")
    return given if SAFE_ID.match(given) else f"{secrets.randbits(64):016x}"


def nothing_at(path: str, method: str, offered: Offered) -> HTTPException:
    """Return the error for a request without an operation: 404 for an unknown path, 405 for another method."""
    if methods := ", ".join(offered.methods_of(path)):
        return HTTPException(
            405, f"{_printable(path)} does not answer {method}; it answers {methods}", {"Allow": methods}
        )
    return HTTPException(404, f"there is nothing at {_printable(path)}; /openapi.json lists the operations")


def _printable(path: str) -> str:
    return "".join(sign if sign.isprintable() else f"%{ord(sign):02X}" for sign in path)


def varying(send: Send) -> Send:
    """Return a function that sends an answer with a single header Vary, which names Origin and each other name once.

    Some versions of CORSMiddleware add Origin to every answer, others only to answers to pages; without it, a cache
    could give a page the answer to another request.
    """

    async def send_varying(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [each for each in message["headers"] if each[0].lower() != b"vary"]
            given = b",".join(value for name, value in message["headers"] if name.lower() == b"vary")
            names = {name.strip().lower(): name.strip() for name in [b"Origin", *given.split(b",")] if name.strip()}
            message = {**message, "headers": [*headers, (b"vary", b", ".join(names.values()))]}
        await send(message)

    return send_varying


class AnswerWriter:
    """Sends the answer to a request, with the headers that all answers have."""

    def __init__(self, send: Send, scope: Scope) -> None:
        self._send = send
        self._is_head = scope["method"] == "HEAD"
        self._id = scope[ID].encode()
        self._has_secret = any(name == b"authorization" for name, _ in scope["headers"])
        self.has_begun = False

    async def send(self, message: Message) -> None:
        """Send the next part."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            headers = message["headers"]
            is_page = any(value.startswith(b"text/html") for name, value in headers if name == b"content-type")
            protection = HEADERS if is_page else (NO_SNIFF,)
            if self._has_secret:
                headers = [*(each for each in headers if each[0] != PRIVATE[0]), PRIVATE, VARY_SECRET]
            headers = [*headers, *protection, (b"x-request-id", self._id)]
            message = {"type": "http.response.start", "status": message["status"], "headers": headers}
        elif self._is_head:
            message = {**message, "body": b""}
        await self._send(message)

    async def send_unended(self, message: Message) -> None:
        """Send the next part, after which another one follows in any case."""
        await self.send({**message, "more_body": True} if message["type"] == "http.response.body" else message)
