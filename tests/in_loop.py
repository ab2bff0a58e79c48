"""A server inside the test's event loop, for tests that read its index or replace its parts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sonicpy import Config, Index
from sonicpy.channel.session import Session
from sonicpy.channel.syntax import Limits
from sonicpy.server.connections.connection import Connection
from sonicpy.server.jobs.committer import Committer
from sonicpy.server.service import Service
from tests.processes import HOST
from tests.support.other_tasks import close_listener

Address = tuple[str, int]


def set_commit_after(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the time from a change to its commit in servers of this test; other reasons for a commit stay."""
    assert Committer.__init__.__kwdefaults__ is not None
    monkeypatch.setitem(Committer.__init__.__kwdefaults__, "commit_after_s", seconds)


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[Index, Address]]:
    """Serve an index inside a `with` block; yield the index and the address of the server."""
    async with serving_with(folder, {}) as (service, address):
        yield service.index, address


@asynccontextmanager
async def serving_with(folder: Path, settings: dict[str, Any]) -> AsyncIterator[tuple[Service, Address]]:
    """Serve an index with settings, nested by section, inside a `with` block; yield the service and its address."""
    config = Config.model_validate(settings)
    with Index(folder, config, autocommit=False) as index:
        service = Service(index, config)
        listener = await asyncio.get_running_loop().create_server(
            lambda: Connection(service, Session("1", None, Limits(), False)), HOST, 0
        )
        try:
            yield service, listener.sockets[0].getsockname()
        finally:
            await close_listener(listener)
            for peer in list(service.peers):
                peer.abort()
            await listener.wait_closed()
            while service.peers:
                await asyncio.sleep(0.01)
            service.committer.commit()
