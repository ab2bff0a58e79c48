"""Tasks end, even those that swallow the first cancellation."""

import asyncio
import contextlib
import threading

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from sonicpy.cluster.log.ending import end  # noqa: E402
from sonicpy.cluster.log.vault import NotedValue  # noqa: E402
from sonicpy.cluster.registry.registered_keys import following  # noqa: E402
from sonicpy.cluster.server import NodeServer  # noqa: E402
from sonicpy.config import Config  # noqa: E402
from tests.cluster.memory import MemoryVault  # noqa: E402
from tests.support.patience import WAIT_S  # noqa: E402


def test_a_task_ends_although_it_swallows_a_cancellation() -> None:
    async def stubborn() -> None:
        for _ in range(3):
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:  # as nats-py does while it publishes
                continue

    async def failing() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            raise ValueError("on the way out")

    async def test() -> None:
        tasks = [asyncio.create_task(stubborn()), asyncio.create_task(failing()), asyncio.create_task(asyncio.sleep(0))]
        await asyncio.sleep(0.01)
        await end(tasks)
        assert all(task.done() for task in tasks)
        await end([])

    asyncio.run(asyncio.wait_for(test(), WAIT_S))


class Stubborn(NodeServer):
    """A node with a task of nats-py that is publishing when it is cancelled first."""

    def __init__(self) -> None:
        super().__init__(Config(), lambda _: None, "nats://127.0.0.1:1", "n1", is_strong=False)
        self.cancelled = 0
        self.left: list[asyncio.Task[None]] = []

    async def _run(self) -> None:
        self.left.append(asyncio.create_task(self._publish()))
        await asyncio.sleep(0)

    async def _publish(self) -> None:
        while self.cancelled < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1


def test_a_node_ends_all_its_tasks() -> None:
    server = Stubborn()
    runner = threading.Thread(target=lambda: asyncio.run(server.run()), daemon=True)
    runner.start()
    runner.join(WAIT_S)
    assert not runner.is_alive()
    assert server.cancelled == 2
    assert all(task.done() for task in server.left)


class BusyVault(MemoryVault):
    """A vault whose second read swallows a cancellation, as nats-py does while it publishes."""

    reads = 0

    async def get(self, key: str) -> NotedValue | None:
        self.reads += 1
        if self.reads == 2:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return await super().get(key)


def test_the_keys_are_followed_no_more_although_a_read_swallows_a_cancellation() -> None:
    async def follow() -> None:
        vault = BusyVault()
        async with following(vault):
            while vault.reads < 2:
                await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(follow(), WAIT_S))
