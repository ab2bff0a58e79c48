"""The end of an event loop: the connections accepted last get their tasks only later."""

import asyncio
from collections.abc import Callable

CUT_EVERY_S = 0.05


async def close_listener(server: asyncio.Server) -> None:
    """Accept no more connections.

    `close` alone would leave connections open that this pass of the loop has accepted, because asyncio of Python 3.11
    refuses to serve them.
    """
    loop = asyncio.get_running_loop()
    for bound in server.sockets:
        loop.remove_reader(bound.fileno())
    await asyncio.sleep(0)
    server.close()


async def end_other_tasks(cut: Callable[[], object]) -> None:
    """Wait until no other task and no open transport is left.

    Args:
        cut: ends the connections that are open now; called again for those that began meanwhile.
    """
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        cut()
        await asyncio.wait(others, timeout=CUT_EVERY_S)
    await asyncio.sleep(0)  # a transport closes in the pass behind its abort
