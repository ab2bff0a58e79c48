"""A server ends in order, with a message, if its periodic work finds that it must stop."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sonicpy.config import Config
from sonicpy.errors import StoreError
from sonicpy.index.index import Index
from sonicpy.server import server as module
from sonicpy.server.server import PeriodicWork, Server
from sonicpy.server.service import BaseService
from tests.support.patience import WAIT_S


class Ending(Server):
    """A server that ends as soon as it accepts connections."""

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[BaseService, PeriodicWork]]:
        async with super()._opened() as (service, _):
            yield service, self._end

    async def _end(self) -> None:
        raise StoreError("another one does this now")


def test_it_ends_in_order_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "settle_garbage", lambda: None)
    config = Config.model_validate({"channel": {"inet": "127.0.0.1:0"}, "store": {"kv": {"path": str(tmp_path)}}})
    said: list[str] = []
    with pytest.raises(StoreError, match="another one does this now"):
        asyncio.run(asyncio.wait_for(Ending(config, said.append).run(), WAIT_S))
    assert len(said) == 1
    Index(tmp_path).close()  # which it has released
