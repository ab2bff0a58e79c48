"""An ETag for every answer that a client may cache, and 304 without a body if the client's copy is current."""

from hashlib import blake2b

from starlette.types import ASGIApp, Message, Receive, Scope, Send

NO_CACHE = (b"cache-control", b"no-cache")
"""The header by which browsers may keep an answer, but have to validate it each time."""
OF_CONTENT = (b"content-length", b"content-type")


class Tagged:
    """Middleware that adds an ETag to whole answers. It runs inside the compression, so the tag depends on the
    content.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        known = next((value for name, value in scope["headers"] if name == b"if-none-match"), None)
        await self._app(scope, receive, TaggedAnswer(send, known).send)


class TaggedAnswer:
    """One answer, whose start is held back until its body is there."""

    def __init__(self, send: Send, known: bytes | None) -> None:
        self._send = send
        self._known = known
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        """Send the next part."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if self._start is not None:
            start, self._start = self._start, None
            if start["status"] == 200 and not message.get("more_body"):
                start, message = tagged(start, message, self._known)
            await self._send(start)
        await self._send(message)


def tagged(start: Message, body: Message, known: bytes | None) -> tuple[Message, Message]:
    """Return a whole answer with its ETag; without the content if the client has it.

    Args:
        known: the header If-None-Match of the request.
    """
    tag = tag_of(body["body"])
    headers = [*start["headers"], (b"etag", tag), NO_CACHE]
    if known is None or tag not in known:
        return {**start, "headers": headers}, body
    headers = [header for header in headers if header[0] not in OF_CONTENT]
    return {**start, "status": 304, "headers": headers}, {**body, "body": b""}


def tag_of(content: bytes) -> bytes:
    """Return the ETag of some content: a weak one, because the compressed content gets the same tag."""
    return b'W/"%s"' % blake2b(content, digest_size=9).hexdigest().encode()
