"""A cluster whose network a test can cut, with a gate between each node and each broker, and between brokers.

Import this module after `pytest.importorskip("nats")`.
"""

import asyncio
import sys
import threading
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path
from typing import Any

from sonicpy.cluster.operator.dev import BROKER_SETTINGS, HOST, SETTINGS, DevCluster, free_ports
from tests.support.other_tasks import close_listener
from tests.support.patience import WAIT_S

CLUSTER_SETTINGS = """\
cluster {{
  name: "sonicpy-split", listen: "{host}:{route}", advertise: "{host}:1", no_advertise: true, pool_size: -1
  routes: [{routes}]
}}
{more}
"""
OPEN, SILENT_TO, SILENT_FROM, SILENT, CUT = "open", "silent to", "silent from", "silent", "cut"
"""The states of a gate: it passes bytes on; takes bytes to the broker, from it, or both, and delivers none; or ends
connections.
"""


class Gate:
    """A relay for TCP connections to a port, which passes bytes on while it is open.

    Args:
        target: the port to which it passes them on.

    Attributes:
        port: the port that it listens on.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, target: int) -> None:
        self.port = 0
        self.target = target
        self.state = OPEN
        self._loop = loop
        self._opened = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, HOST)
        self.port = self._server.sockets[0].getsockname()[1]

    def set(self, state: str) -> None:
        """Change the state; return when it is in force."""
        asyncio.run_coroutine_threadsafe(self._set(state), self._loop).result(5)

    def heal(self, *, forgets: bool) -> None:
        """Open the gate again.

        Args:
            forgets: connections that were silent end, as if a router had lost them; else they get the bytes that were
                held back.
        """
        if forgets and self.state != OPEN:
            self.set(CUT)
        self.set(OPEN)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(5)

    @property
    def connections(self) -> int:
        return len(self._writers) // 2

    async def _close(self) -> None:
        await close_listener(self._server)
        await self._set(CUT)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2)

    async def _set(self, state: str) -> None:
        self.state = state
        if state == CUT:
            for writer in list(self._writers):
                writer.transport.abort()
        self._opened.set()  # waiting tasks check again
        self._opened = asyncio.Event()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(task := asyncio.current_task())  # type: ignore[arg-type]
        task.add_done_callback(self._tasks.discard)  # type: ignore[union-attr]
        if self.state == CUT:
            writer.transport.abort()
            return
        try:
            other_reader, other_writer = await asyncio.open_connection(HOST, self.target)
        except OSError:
            writer.transport.abort()
            return
        if self.state == CUT:  # meanwhile
            writer.transport.abort()
            other_writer.transport.abort()
            return
        self._writers |= {writer, other_writer}
        try:
            await asyncio.gather(
                self._pass(reader, other_writer, SILENT_TO), self._pass(other_reader, writer, SILENT_FROM)
            )
        finally:
            for end in (writer, other_writer):
                end.transport.abort()
            self._writers -= {writer, other_writer}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silence: str) -> None:
        try:
            while data := await reader.read(1 << 16):
                while self.state in (SILENT, silence):
                    await self._opened.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.transport.abort()


class SplitCluster(DevCluster):
    """A cluster with gates: `to_broker[NODE, BROKER]` and `between[BROKER, BROKER]`, where the first opens the
    connection.
    """

    def __init__(self, folder: Path, partitions: int = 4, copies: int = 2, logs: int = 2, more: str = "") -> None:
        super().__init__(folder, partitions, copies, logs)
        self.broker_settings = more
        self.credentials = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        brokers = list(self.broker_ports)
        pairs = list(permutations(brokers, 2))
        self.to_broker = {
            (node, broker): self._gate(self.broker_ports[broker])
            for node in (*self.layout.nodes, "n9")
            for broker in brokers
        }
        self.between = {pair: self._gate(self._route_ports[pair[1]]) for pair in pairs}

    def _gate(self, target: int) -> Gate:
        gate = Gate(self._loop, target)
        asyncio.run_coroutine_threadsafe(gate.listen(), self._loop).result(5)
        return gate

    def gates_of(self, *names: str) -> list[Gate]:
        """Return the gates between these nodes and brokers and all others."""
        cut = set(names)
        found = [gate for (node, broker), gate in self.to_broker.items() if (node in cut) != (broker in cut)]
        return found + self.gates_between(*names)

    def gates_between(self, *names: str) -> list[Gate]:
        """Return the gates between these brokers and the others."""
        cut = set(names)
        return [gate for (one, other), gate in self.between.items() if (one in cut) != (other in cut)]

    def write_settings(self, name: str) -> None:
        gates = [gate for (one, _), gate in self.between.items() if one == name]
        routes = ", ".join(f'"nats-route://{HOST}:{gate.port}"' for gate in gates)
        (self.folder / name / SETTINGS).write_text(
            (BROKER_SETTINGS + CLUSTER_SETTINGS).format(
                name=name,
                host=HOST,
                port=self.broker_ports[name],
                monitor=self.monitor_ports[name],
                route=self._route_ports[name],
                folder=self.folder / name / "data",
                routes=routes,
                more=self.broker_settings,
            )
        )

    def addresses_of(self, node: str) -> str:
        """Return the addresses of the brokers for a node, which are those of its gates."""
        gates = [gate for (name, _), gate in self.to_broker.items() if name == node]
        return ",".join(f"nats://{self.credentials}{HOST}:{gate.port}" for gate in gates)

    def start_node(self, name: str, *, gates: str = "", folder: str = "", more: Iterable[str] = ()) -> None:
        """Start one node.

        Args:
            gates: the node whose gates it uses; "": its own gates.
            folder: the name of its folder; "": the name of the node.
        """
        home = self.folder / (folder or name)
        home.mkdir(parents=True, exist_ok=True)
        port = self.node_ports.setdefault(folder or name, 0) or free_ports(1)[0]
        self.node_ports[folder or name] = port
        self.nodes[folder or name] = self._run(
            [
                *(sys.executable, "-m", "sonicpy", "serve", "--cluster", self.addresses_of(gates or name)),
                *("--node", name, "--inet", f"{HOST}:{port}", "--data", str(home / "data"), *more),
            ],
            home / "log.txt",
        )

    def stop(self) -> None:
        super().stop()
        if self._thread.is_alive():
            for gate in (*self.to_broker.values(), *self.between.values()):
                gate.close()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(WAIT_S)
            self._loop.close()
