"""connect_async: as connect, apart from it because programs that block do without asyncio."""

import ssl

from sonicpy.client.address import read_url
from sonicpy.client.aio.client import AsyncClient
from sonicpy.client.blocking.connect import POOL_SIZE, RETRY_S, TIMEOUT_S
from sonicpy.client.blocking.pool import Settings


async def connect_async(
    url: str = "sonic://",
    *,
    password: str | None = None,
    timeout_s: float = TIMEOUT_S,
    retry_s: float = RETRY_S,
    retry_changes: bool = False,
    pool_size: int = POOL_SIZE,
    tls: ssl.SSLContext | None = None,
) -> AsyncClient:
    """Connect as `connect` does, from an event loop. Args and errors are the same; tasks share the connections."""
    address = read_url(url, password=password, tls=tls)
    return await AsyncClient.open(address, Settings(timeout_s, retry_s, retry_changes, pool_size))
