"""`sonicpy serve --cluster`: a server whose index is spread over the nodes of a cluster."""

import contextlib
import logging
from collections.abc import AsyncIterator, Callable

from sonicpy.cluster.ending import close
from sonicpy.cluster.jetstream import connect
from sonicpy.cluster.node import Node
from sonicpy.cluster.service import NodeService
from sonicpy.cluster.setup import check_name
from sonicpy.config import Config, Loaded
from sonicpy.server.server import PeriodicWork, Server, run
from sonicpy.server.service import BaseService
from sonicpy.server.statistics import Statistics


def serve(loaded: Loaded, announce: Callable[[str], None], brokers: str, name: str, *, is_strong: bool) -> int:
    """Serve as a node until a stop signal; return the exit status.

    Args:
        announce: called with one line for the terminal once the node accepts connections.
        brokers: addresses of NATS servers, separated by commas.
        name: of the node; the same at each start.
        is_strong: every read sees all changes that any node has acknowledged before.

    Raises:
        SonicError: the name is wrong, the cluster cannot be reached, or the node cannot start.
    """
    check_name(name)
    logging.getLogger("nats").setLevel(logging.CRITICAL)
    return run(NodeServer(loaded.config, announce, brokers, name, is_strong=is_strong), loaded)


class NodeServer(Server):
    """A node, and the addresses it is served on."""

    def __init__(
        self, config: Config, announce: Callable[[str], None], brokers: str, name: str, *, is_strong: bool
    ) -> None:
        super().__init__(config, announce)
        self._brokers = brokers
        self._name = name
        self._is_strong = is_strong

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[BaseService, PeriodicWork]]:
        connection = await connect(self._brokers, f"sonicpy node {self._name}")
        try:
            statistics = Statistics()
            node = await Node.open(self._name, self._config, connection, statistics, is_strong=self._is_strong)
            try:
                service = NodeService(node, self._config)
                service.statistics = statistics  # that the replicas count their consolidations in
                yield service, node.watch  # each replica does its own periodic work
            finally:
                await node.close()
        finally:
            if not connection.is_closed:
                await close(connection)
