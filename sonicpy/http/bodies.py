"""The body of a request: limits of its size, its pace, and the memory of all bodies together."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

BODY_BYTES_MAX = 256 << 10
"""The most bytes of a JSON body; more rows are sent as a stream."""
BODY_S = 10.0
"""The longest wait for the next part of a body in seconds."""
HELD_BYTES_MAX = 16 << 20
"""The most bytes of all bodies that are being received or answered, without streams of rows."""
BULKS_MAX = 16
"""The most streams of rows at a time; each may hold a line of BODY_BYTES_MAX, and a batch of rows."""
LINGER_S = 1.0
"""The longest time in seconds to read from a client after its answer."""
LINGERING_MAX = 16
"""The most clients that are read from after their answers at a time; the connections of others are closed at once."""
CLOSE = {"Connection": "close"}
"""Headers of an answer that is sent before the whole body has arrived."""


class TooLarge(HTTPException):
    """The body has more than BODY_BYTES_MAX bytes."""

    def __init__(self) -> None:
        detail = f"the body has more than {BODY_BYTES_MAX} bytes: send rows to /v1/bulk, a JSON object a line"
        super().__init__(413, detail, CLOSE)


class Encoded(HTTPException):
    """The body is compressed, or encoded in another way."""

    def __init__(self, encoding: str) -> None:
        detail = f"the body has Content-Encoding {encoding}; allowed is none: send it as it is"
        super().__init__(415, detail, {**CLOSE, "Accept-Encoding": "identity"})


class TooSlow(HTTPException):
    """The next part of the body did not come in time."""

    def __init__(self) -> None:
        super().__init__(408, f"no part of the body came for {BODY_S:.0f} seconds", CLOSE)


class TooMany(HTTPException):
    """The requests under way already hold HELD_BYTES_MAX."""

    def __init__(self) -> None:
        super().__init__(503, "too many large requests at once: try again", {**CLOSE, "Retry-After": "1"})


class Load:
    """The bytes that the requests under way hold."""

    def __init__(self) -> None:
        self._bytes = 0
        self._streams = 0

    def hold(self, count: int) -> None:
        """Note that a request holds `count` more bytes. Raises TooMany."""
        if self._bytes + count > HELD_BYTES_MAX:
            raise TooMany
        self._bytes += count

    def release(self, count: int) -> None:
        """Note that a request holds `count` fewer bytes."""
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


class LingeringClose:
    """Reads the bytes that clients still send after their answers, before their connections are closed.

    A connection that is closed with bytes to read is reset, and the client may lose the answer (RFC 9112, section 9.6).
    """

    def __init__(self) -> None:
        self._lingering = 0

    async def drop(self, receive: Receive) -> None:
        """Read the rest of a body, for at most LINGER_S."""
        if self._lingering >= LINGERING_MAX:
            return
        self._lingering += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_S):
                    while (await receive()).get("more_body", False):
                        pass
        finally:
            self._lingering -= 1


def may_be_long(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether the body of a request may have more than BODY_BYTES_MAX bytes, or no length that is known.

    After an answer that does not wait for the end of such a body, the connection is closed: the server would have to
    read the rest, however long, before the next request.
    """
    length = headers.get(b"content-length", b"0")
    return b"transfer-encoding" in headers or not (length.isdigit() and float(length) <= BODY_BYTES_MAX)


class Body:
    """The body of a request, within its limits.

    Args:
        is_long: the result of `may_be_long` for the request.
    """

    def __init__(self, receive: Receive, load: Load, *, is_stream: bool, is_long: bool) -> None:
        self._receive = receive
        self._load = load
        self._is_stream = is_stream
        self._is_long = is_long
        self._held = 0
        self._is_refused = False
        self.has_ended = False

    @property
    def has_unread_rest(self) -> bool:
        """Whether an answer now comes before the end of a body that was refused or may be long: the client may still
        send the rest."""
        return (self._is_refused or self._is_long) and not self.has_ended

    async def receive(self) -> Message:
        """Return the next part of the body. Raises TooLarge, TooSlow, TooMany."""
        try:
            return await self._next()
        except HTTPException:
            self._is_refused = True
            raise

    async def _next(self) -> Message:
        try:
            async with asyncio.timeout(BODY_S):
                message = await self._receive()
        except TimeoutError as error:
            raise TooSlow from error
        self.has_ended = not message.get("more_body", False)
        count = 0 if self._is_stream else len(message.get("body", b""))
        if self._held + count > BODY_BYTES_MAX:
            raise TooLarge
        self._load.hold(count)
        self._held += count
        return message

    def release(self) -> None:
        """Stop counting the bytes of the body."""
        self._load.release(self._held)
        self._held = 0
