"""How tasks that talk to the brokers are ended, and connections to them closed."""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any

from nats.aio.client import Client

AGAIN_S = 0.05


async def end(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel tasks until all have ended.

    Once is not enough: a task that publishes while it is cancelled goes on, because nats-py takes that for its own end.
    """
    ending = set(tasks)
    while ending:
        for task in ending:
            task.cancel()
        done, ending = await asyncio.wait(ending, timeout=AGAIN_S)
        await asyncio.gather(*done, return_exceptions=True)  # which looks at their errors


async def close(connection: Client) -> None:
    """Close a connection, also one that has lost its broker: nats-py then writes to what is closed already."""
    with contextlib.suppress(RuntimeError, OSError):
        await connection.close()
