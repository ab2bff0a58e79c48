"""A server inside the test's event loop, for tests that read its index or replace its parts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sonicpy import Config, Index
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.server.connection import Connection
from sonicpy.server.service import Service
from tests.processes import HOST

Address = tuple[str, int]


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[Index, Address]]:
    """Serve an index inside a `with` block; yield the index and the address of the server."""
    with Index(folder, autocommit=False) as index:
        service = Service(index, Config())
        listener = await asyncio.get_running_loop().create_server(
            lambda: Connection(service, Session("1", None, Limits(), False)), HOST, 0
        )
        try:
            yield index, listener.sockets[0].getsockname()
        finally:
            for peer in list(service.peers):
                peer.abort()
            listener.close()
            await listener.wait_closed()
            while service.peers:
                await asyncio.sleep(0.01)
            service.committer.commit()
