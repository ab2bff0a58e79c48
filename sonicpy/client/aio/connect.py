"""connect_async: `connect` for asyncio, in a module of its own so that blocking programs do not load asyncio."""

import ssl
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any

from sonicpy.client.address import read_urls
from sonicpy.client.aio.client import AsyncClient
from sonicpy.client.client_settings import POOL_SIZE, RETRY_S, TIMEOUT_S, ClientSettings
from sonicpy.client.servers import Servers


def connect_async(
    url: str | Sequence[str] = "sonic://",
    *,
    password: str | None = None,
    timeout_s: float = TIMEOUT_S,
    retry_s: float = RETRY_S,
    retry_changes: bool = False,
    pool_size: int = POOL_SIZE,
    tls: ssl.SSLContext | None = None,
) -> "Connecting":
    """Connect as `connect` does, from an event loop: same arguments, same errors. Tasks share the connections.

    `async with connect_async(url) as client` closes the client at the end; `client = await connect_async(url)` leaves
    that to the caller.
    """
    servers = Servers(read_urls(url, password=password, tls=tls))
    settings = ClientSettings(timeout_s, retry_s, retry_changes, pool_size)
    return Connecting(AsyncClient.open(servers, settings))


class Connecting(Coroutine[Any, Any, AsyncClient]):
    """A client that is about to connect: await it, or use it in `async with`.

    Args:
        opening: the coroutine that connects.
    """

    __slots__ = ("_client", "_opening")

    def __init__(self, opening: Coroutine[Any, Any, AsyncClient]) -> None:
        self._opening = opening

    async def __aenter__(self) -> AsyncClient:
        self._client = await self._opening
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    # -- a coroutine, as asyncio.create_task and gather need it -------------------------------------------------------

    def __await__(self) -> Any:
        return self._opening.__await__()

    def send(self, value: Any) -> Any:
        """Continue the coroutine with a value."""
        return self._opening.send(value)

    def throw(self, *error: Any) -> Any:
        """Continue the coroutine by raising an error in it."""
        return self._opening.throw(*error)

    def close(self) -> None:
        """End the coroutine; it opens no connection."""
        self._opening.close()
