"""Ends tasks that communicate with the brokers, and closes connections to them."""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any

from nats.aio.client import Client

AGAIN_S = 0.05


async def end(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel tasks until all have ended.

    Cancelling once is not enough: nats-py swallows the cancellation of a task that is publishing.
    """
    ending = set(tasks)
    while ending:
        for task in ending:
            task.cancel()
        done, ending = await asyncio.wait(ending, timeout=AGAIN_S)
        await asyncio.gather(*done, return_exceptions=True)  # which looks at their errors


async def close(connection: Client) -> None:
    """Close a connection. If it has lost its broker, nats-py writes to a closed transport; that error is ignored."""
    with contextlib.suppress(RuntimeError, OSError):
        await connection.close()
