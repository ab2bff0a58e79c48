"""Tasks end, also those that swallow the first cancellation."""

import asyncio

from sonicpy.cluster.log.ending import end
from tests.support.patience import WAIT_S


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
