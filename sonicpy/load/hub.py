"""The runner: agents connect to it, and it hands a test set to them and collects their results."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sonicpy.errors import LoadError
from sonicpy.load.messages import LINE_BYTES_MAX, Result, packed, received
from sonicpy.load.test_set import TestSet

HELLO_S = 2.0
"""The default time in seconds to wait for agents, which try to connect every 0.5 s."""
DEADLINE_MAX_S = 600.0


@dataclass
class Guest:
    """A connected agent."""

    id: str
    name: str
    servers: list[str]
    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader


@dataclass
class LoadOutcome:
    """The result of a run."""

    agents: int
    """The number of agents that got the test set."""
    seconds: float
    """The time in seconds from handing out the test set to the last result."""
    results: list[tuple[str, Result]] = field(default_factory=list)
    """(id of the agent, result)"""
    missing: list[str] = field(default_factory=list)
    """The ids of the agents whose results are incomplete."""


class Hub:
    """The meeting point of agents for one run; made by `open_hub`."""

    def __init__(self) -> None:
        self.guests: dict[str, Guest] = {}
        self._came = asyncio.Event()

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Accept an agent that introduces itself; close every other connection."""
        try:
            hello = await received(reader)
            if hello is None or hello["type"] != "hello":
                raise LoadError("the other side is no agent")
            guest = Guest(str(hello["id"]), str(hello.get("name", "")), list(hello.get("servers", [])), writer, reader)
        except (LoadError, KeyError, TypeError, ValueError, OSError):
            writer.close()  # a port scanner, or a program of another kind; the run goes on without it
            return
        self.guests[guest.id] = guest
        self._came.set()

    async def gather(self, wait_s: float, expected: int | None = None) -> list[Guest]:
        """Return the agents that introduce themselves within `wait_s` seconds, or as soon as `expected` have."""
        end = time.monotonic() + wait_s
        while (left := end - time.monotonic()) > 0 and (expected is None or len(self.guests) < expected):
            self._came.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._came.wait(), left)
        return sorted(self.guests.values(), key=lambda guest: guest.id)

    async def run(self, asked: TestSet, agents: list[Guest], seed: int, deadline_s: float) -> LoadOutcome:
        """Send a test set to agents; return their measurements when all have answered, or when the deadline passes.

        Args:
            seed: decides which queries the agents choose.
            deadline_s: the longest wait for all answers in seconds.

        Raises:
            LoadError: the test set and the ids of the agents do not fit into one message.
        """
        run_id = secrets.token_hex(8)
        request = {
            "type": "request",
            "run": run_id,
            "set": asked.model_dump(),
            "filter": [agent.id for agent in agents],
            "seed": seed,
        }
        line = packed(request)
        if len(line) > LINE_BYTES_MAX:
            raise LoadError(
                f"the test set and the ids of {len(agents)} agents take {len(line)} bytes; allowed are {LINE_BYTES_MAX}"
            )
        began = time.perf_counter()
        for agent in agents:
            agent.writer.write(line)
        outcome = LoadOutcome(len(agents), 0.0)
        collecting = {agent.id: asyncio.create_task(self._collect(agent, run_id, outcome)) for agent in agents}
        await asyncio.wait(collecting.values(), timeout=deadline_s)
        outcome.seconds = time.perf_counter() - began
        for name, task in collecting.items():
            if not task.done() or task.exception() is not None:
                outcome.missing.append(name)
                task.cancel()
        await asyncio.gather(*collecting.values(), return_exceptions=True)
        return outcome

    async def _collect(self, agent: Guest, run_id: str, outcome: LoadOutcome) -> None:
        """Add an agent's results of the run `run_id` to `outcome`. Raises LoadError or OSError if it left before the
        last one."""
        while True:
            message = await received(agent.reader)
            if message is None:
                raise ConnectionError("the agent left")
            if message["type"] != "response" or message.get("run") != run_id:
                continue
            outcome.results += [(agent.id, Result(*row)) for row in message["results"]]
            if message.get("last"):
                return


@asynccontextmanager
async def open_hub(address: tuple[str, int]) -> AsyncIterator[Hub]:
    """Listen for agents for the length of a `with` block. Raises LoadError if the address cannot be used."""
    hub = Hub()
    try:
        server = await asyncio.start_server(hub.welcome, *address, limit=LINE_BYTES_MAX)
    except OSError as error:
        raise LoadError(f"cannot listen for agents on {address[0]}:{address[1]}: {error.strerror or error}") from error
    try:
        yield hub
    finally:
        server.close()
        for guest in hub.guests.values():
            guest.writer.close()


def default_deadline_s(asked: TestSet, timeout_s: float) -> float:
    """Return the time limit of agents in seconds: `timeout_s` for each of their answers, added up, at most 600."""
    return min(DEADLINE_MAX_S, (asked.Iterations + asked.Warmup) * timeout_s)
