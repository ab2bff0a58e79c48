"""An agent: connects to a runner, again and again, and sends the runner's queries to the servers under test."""

import asyncio
import contextlib
import os
import random
import secrets
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from sonicpy.client.address import Address
from sonicpy.client.client_settings import TIMEOUT_S
from sonicpy.errors import LoadError
from sonicpy.load.messages import LINE_BYTES_MAX, Message, Result, packed, received, responses
from sonicpy.load.shards import Shards
from sonicpy.load.test_set import TestSet
from sonicpy.version import VERSION

RETRY_S = 0.5
"""The pause in seconds between two attempts to reach the runner."""


def new_id() -> str:
    """Return an id that no other agent has: host, process and a random part."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


@dataclass(frozen=True)
class Agent:
    """An agent. `run` never returns by itself.

    Args:
        hub: the host and the port of the runner.
        servers: the shards that every query goes to.
        connections: the number of queries under way at a time, each over connections of its own.
        timeout_s: the longest wait for an answer in seconds.
        name: a name that reports show with the id.
    """

    hub: tuple[str, int]
    servers: Sequence[Address]
    connections: int = 1
    timeout_s: float = TIMEOUT_S
    name: str = ""
    id: str = field(default_factory=new_id)

    async def run(self) -> None:
        """Connect to the runner and serve it, for ever; if no runner listens, try again every 0.5 s."""
        while True:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await self.serve_once()
            await asyncio.sleep(RETRY_S)

    async def serve_once(self) -> None:
        """Serve one runner until it closes the connection, or sends a line that is no message. Raises OSError if no
        runner listens.
        """
        reader, writer = await asyncio.open_connection(*self.hub, limit=LINE_BYTES_MAX)
        try:
            servers = [str(server) for server in self.servers]
            hello = {"type": "hello", "id": self.id, "name": self.name, "version": VERSION, "servers": servers}
            writer.write(packed(hello))
            while message := await received(reader):
                await self._answer(message, writer)
        except LoadError as error:
            print(f"sonicpy load: {error}", file=sys.stderr)  # noqa: T201
        finally:
            writer.close()

    async def _answer(self, message: Message, writer: asyncio.StreamWriter) -> None:
        if message["type"] == "ping":
            writer.write(packed({"type": "pong"}))
        elif message["type"] == "request" and (request := self._request(message)) is not None:
            run, asked, seed = request
            for line in responses(run, self.id, await self._measured(asked, seed)):
                writer.write(line)
                await writer.drain()

    def _request(self, message: Message) -> tuple[str, TestSet, int] | None:
        """Return the run, the test set and the seed for this agent; None: the request is for other agents. Raises
        LoadError.
        """
        try:
            agents = list(message["filter"])
            if self.id not in agents:
                return None
            seed = int(message["seed"]) ^ agents.index(self.id)
            return str(message["run"]), TestSet.model_validate(message["set"]), seed
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise LoadError(
                "the other side sent a request that this version cannot read: run the same version on both sides"
            ) from error

    async def _measured(self, asked: TestSet, seed: int) -> list[Result]:
        """Send queries, chosen by `seed`, over all connections, with a thread for each; return their results. A
        cancelled run ends its threads at their next query.
        """
        stopped = threading.Event()
        work = [
            asyncio.to_thread(measure, self.servers, asked, self.timeout_s, seed + (number << 32), stopped)
            for number in range(self.connections)
        ]
        try:
            return [result for some in await asyncio.gather(*work) for result in some]
        finally:
            stopped.set()


def measure(
    servers: Sequence[Address], asked: TestSet, timeout_s: float, seed: int, stopped: threading.Event
) -> list[Result]:
    """Send queries chosen at random, one after the other; return their results, without those of the warm-up.

    Args:
        timeout_s: the time limit of an answer in seconds.
        seed: decides which queries are chosen.
        stopped: ends the run before the next query once it is set.
    """
    chosen = random.Random(seed)
    shards = Shards(servers, asked, timeout_s)
    results = []
    try:
        for number in range(asked.Warmup + asked.Iterations):
            if stopped.is_set():
                break
            result = shards.ask(chosen.choices(asked.Queries, asked.Weights)[0])
            if number >= asked.Warmup:
                results.append(result)
    finally:
        shards.close()
    return results
