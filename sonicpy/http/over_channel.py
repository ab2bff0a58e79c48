"""The backend of a node of a cluster, which holds only a part of the data: a client of the node's own channel."""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from typing import Any

from sonicpy.client.aio.connect import connect_async
from sonicpy.errors import ShuttingDown
from sonicpy.http.backend import ClientBackend, RefusedPlace, TextRow

ANSWER_S = 20.0
"""The longest wait for an answer in seconds: above the 16 seconds within which a node answers a change, or reports an
unknown outcome.
"""


class ChannelBackend:
    """A backend that asks the server of this process, over a connection to itself.

    Args:
        url: returns the URL of the server's channel on this machine.
        password: the password of that channel.
        unready: returns the reason why the server should get no requests, or None.
    """

    def __init__(self, url: Callable[[], str], password: str | None, unready: Callable[[], str | None]) -> None:
        self._url = url
        self._password = password
        self._unready = unready
        self._opening = asyncio.Lock()
        self._opened: ClientBackend | None = None

    async def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Return the result of a method of the client."""
        return await (await self._backend()).call(method, *args, **options)

    async def names(self, collection: str | None, after: str | None, limit: int) -> list[str]:
        """Return a page of names of collections, or of buckets if a collection is given."""
        return await (await self._backend()).names(collection, after, limit)

    async def push_rows(self, rows: Sequence[TextRow], *, upsert: bool = False) -> list[RefusedPlace]:
        """Push rows, or `upsert` them, a few hundred in flight; return the refused ones."""
        return await (await self._backend()).push_rows(rows, upsert=upsert)

    async def figures(self) -> dict[str, Any]:
        """Return the server's INFO and the figures of its index."""
        return await (await self._backend()).figures()

    async def words_of_objects(self, collection: str, bucket: str, objects: Sequence[str]) -> list[list[str]]:
        """Return no words, because the channel does not give the words of an object."""
        return [[] for _ in objects]

    def channel(self) -> str:
        """Return the URL of the server."""
        return self._url()

    async def unready(self) -> str | None:
        """Return the reason why the server should get no requests, or None."""
        return self._unready()

    async def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            await self._opened.close()

    async def _backend(self) -> ClientBackend:
        async with self._opening:
            if self._opened is None:
                if not (url := self._url()):
                    raise ShuttingDown("the server is starting")
                tls = of_itself() if url.startswith("sonics") else None
                client = await connect_async(url, password=self._password, timeout_s=ANSWER_S, tls=tls)
                self._opened = ClientBackend(client)
            return self._opened


def of_itself() -> ssl.SSLContext:
    """Return a TLS context for a process that connects to itself; the certificate is not checked, because it is for
    other addresses.
    """
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
