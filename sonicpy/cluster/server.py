"""`sonicpy serve --cluster`: a server whose index is spread over the nodes of a cluster."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from sonicpy.cluster.log.ending import close, end
from sonicpy.cluster.log.jetstream import connect
from sonicpy.cluster.log.patience import at_last
from sonicpy.cluster.node.node import Node
from sonicpy.cluster.node.service import NodeService
from sonicpy.cluster.operator.setup import check_name
from sonicpy.config import Config, Loaded
from sonicpy.server.server import Announce, PeriodicWork, Server, StoppedBefore, run
from sonicpy.server.service import BaseService
from sonicpy.server.watching.statistics import Statistics


def serve(loaded: Loaded, announce: Announce, brokers: str, name: str, *, is_strong: bool) -> int:
    """Serve as a node until a stop signal; return the exit status.

    Args:
        announce: called once the node accepts connections.
        brokers: addresses of NATS servers, separated by commas.
        name: of the node; the same at each start.
        is_strong: every read sees all changes that any node has acknowledged before.

    Raises:
        SonicError: the name or a setting is wrong, or the node cannot start. It waits for brokers that do not answer.
    """
    check_name(name)
    logging.getLogger("nats").setLevel(logging.CRITICAL)
    return run(NodeServer(loaded.config, announce, brokers, name, is_strong=is_strong), loaded)


class NodeServer(Server):
    """A node, and the addresses it is served on."""

    def __init__(self, config: Config, announce: Announce, brokers: str, name: str, *, is_strong: bool) -> None:
        super().__init__(config, announce)
        self._brokers = brokers
        self._name = name
        self._is_strong = is_strong

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[BaseService, PeriodicWork]]:
        statistics = Statistics()
        node = await self._unless_stopped(at_last(f"the node {self._name}", lambda: self._open(statistics)))
        try:
            yield NodeService(node, self._config, statistics), node.watch  # each replica does its own periodic work
        finally:
            await node.close()

    async def _unless_stopped(self, opening: Coroutine[Any, Any, Node]) -> Node:
        """Return the node once it is open. Raises StoppedBefore if a stop signal comes before."""
        task, stop = asyncio.ensure_future(opening), asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait([task, stop], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise StoppedBefore
            return task.result()
        finally:
            await end([waiting for waiting in (task, stop) if not waiting.done()])

    async def _open(self, statistics: Statistics) -> Node:
        """Return the node. Raises SonicError: NotReady if the brokers do not answer, or not yet."""
        connection = await connect(self._brokers, f"sonicpy node {self._name}")
        try:
            return await Node.open(self._name, self._config, connection, statistics, is_strong=self._is_strong)
        except BaseException:
            if not connection.is_closed:
                await close(connection)
            raise
