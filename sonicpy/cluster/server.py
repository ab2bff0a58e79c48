"""`sonicpy serve --cluster`: a server whose index is spread over the nodes of a cluster."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from sonicpy.cluster.log.broker_connection import BrokerConnection
from sonicpy.cluster.log.ending import close, end
from sonicpy.cluster.log.jetstream import JetStream, connect
from sonicpy.cluster.log.patience import at_last
from sonicpy.cluster.log.versions import check_agreement
from sonicpy.cluster.node.claim import NameClaim
from sonicpy.cluster.node.node import Node
from sonicpy.cluster.node.node_service import NodeService
from sonicpy.cluster.node.replicas import Keepers
from sonicpy.cluster.operator.setup import check_name
from sonicpy.cluster.registry.registered_keys import following
from sonicpy.cluster.registry.registry import Registry
from sonicpy.config import Config, Loaded
from sonicpy.index.recorder import Recorder
from sonicpy.index.replica_index import ReplicaIndex
from sonicpy.server.server import Announce, PeriodicWork, Server, StoppedBefore, run, warn_of_modes
from sonicpy.server.service import BaseService
from sonicpy.server.watching.server_statistics import ServerStatistics


def serve(loaded: Loaded, announce: Announce, brokers: str, name: str, *, is_strong: bool) -> int:
    """Serve as a node until a stop signal; return the exit status.

    Args:
        announce: called once the node accepts connections.
        brokers: addresses of NATS servers, separated by commas.
        name: the name of the node; it must not change between starts.
        is_strong: every read sees all changes that any node has acknowledged before.

    Raises:
        SonicError: the name or a setting is wrong, or the node cannot start. It waits for brokers that do not answer
            yet.
    """
    check_name(name)
    logging.getLogger("nats").setLevel(logging.CRITICAL)
    return run(NodeServer(loaded.config, announce, brokers, name, is_strong=is_strong), loaded)


class NodeServer(Server):
    """Runs a node, and serves it on its addresses."""

    def __init__(self, config: Config, announce: Announce, brokers: str, name: str, *, is_strong: bool) -> None:
        super().__init__(config, announce)
        self._brokers = brokers
        self._name = name
        self._is_strong = is_strong

    async def run(self) -> None:
        """Serve until a stop signal; see `Server.run`. All tasks have ended before the loop ends, which would cancel
        each only once.
        """
        try:
            await super().run()
        finally:
            await end(asyncio.all_tasks() - {asyncio.current_task()})

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[BaseService, PeriodicWork]]:
        statistics = ServerStatistics()
        node = await self._unless_stopped(at_last(f"the node {self._name}", lambda: self._open(statistics)))
        try:
            async with following(node.vault) as keys:
                service = NodeService(node, self._config, statistics)
                service.keys.add_source(keys)
                yield service, node.watch  # each replica does its own periodic work
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

    async def _open(self, statistics: ServerStatistics) -> Node:
        """Return the opened node. Raises SonicError: NotReady if the brokers do not answer, or not yet."""
        connection = await connect(self._brokers, f"sonicpy node {self._name}")
        try:
            return await self._open_by(connection, statistics)
        except BaseException:
            if not connection.is_closed:
                await close(connection)
            raise

    async def _open_by(self, connection: BrokerConnection, statistics: ServerStatistics) -> Node:
        """Return a node that follows the logs of its partitions and answers other nodes.

        Raises:
            ConfigError: the settings are not those of the cluster.
            NotReady: the brokers do not answer, or not yet.
            StoreError: a replica cannot be opened.
        """
        registry = await Registry.open(connection, within_s=0.0)
        layout = await registry.layout()
        config = with_shared_cache(self._config, layout.partitions)
        recorder = Recorder(config)
        recorder.lexer.prepare()
        recorder.follow(await registry.agree_on_analyzer(recorder.analyzer(), recorder.older_analyzer()))
        check_agreement(agreed := await registry.agreement())
        name = self._name
        taken = f"--node is {name}; allowed is a name that no running node has, and a running node has this one"
        claim = await NameClaim.take(connection, registry, name, taken)
        keepers = Keepers(connection, JetStream(connection), registry)
        open_index = partial(open_replica, recorder)
        node = Node(keepers, layout, claim, recorder, open_index, config, statistics, is_strong=self._is_strong)
        node.write_as(agreed)
        try:
            await node.start()
        except BaseException:
            await node.close()
            raise
        return node


def open_replica(recorder: Recorder, folder: Path) -> ReplicaIndex:
    """Return the index of a replica. Raises StoreError if it cannot be opened."""
    index = ReplicaIndex(folder, recorder)
    warn_of_modes(index)
    return index


def with_shared_cache(config: Config, partitions: int) -> Config:
    """Return settings by which the replicas of `partitions` partitions in a process share the memory that it keeps for
    queries."""
    kv = config.store.kv
    share = kv.model_copy(update={"query_cache_mb": max(1, kv.query_cache_mb // partitions)})
    return config.model_copy(update={"store": config.store.model_copy(update={"kv": share})})
