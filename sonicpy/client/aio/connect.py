"""connect_async: connect for asyncio, in a module of its own so that blocking programs do not load asyncio."""

import ssl

from sonicpy.client.address import read_url
from sonicpy.client.aio.client import AsyncClient
from sonicpy.client.settings import POOL_SIZE, RETRY_S, TIMEOUT_S, ClientSettings


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
    """Connect as `connect` does, from an event loop: same arguments, same errors. Tasks share the connections."""
    address = read_url(url, password=password, tls=tls)
    return await AsyncClient.open(address, ClientSettings(timeout_s, retry_s, retry_changes, pool_size))
