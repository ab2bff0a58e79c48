"""Orders to nodes that may hang or end meanwhile: the sender checks again and again that the node is awake.

A snapshot of a large replica takes minutes, so a time limit cannot distinguish a working node from a hanging one. Use
this only for orders that do not block the loop of the node for long.
"""

import asyncio
import contextlib

from nats.aio.client import Client

from sonicpy.cluster.log.broker import NotReady
from sonicpy.cluster.log.ending import end
from sonicpy.cluster.registry.orders import ORDER_S, NotDone, Order, give_order
from sonicpy.cluster.registry.status import ask_named

SILENCE_S = 10.0
"""The time in seconds without a message of the node after which the sender gives up."""
LOOK_S = 1.0


class Asleep(NotDone):
    """The node hangs or has ended."""


async def give_watched_order(connection: Client, node: str, order: Order, *, timeout_s: float = ORDER_S) -> str:
    """Send an order to a node as `give_order` does, and return the answer; wait for it as long as the node is awake,
    and at most `timeout_s` seconds.

    Raises:
        Asleep: the node is not awake any more.
        NotDone: the node did not carry it out.
    """
    given = asyncio.ensure_future(give_order(connection, node, order, timeout_s=timeout_s))
    watch = asyncio.ensure_future(_wait_for_end(connection, node))
    try:
        await asyncio.wait((given, watch), return_when=asyncio.FIRST_COMPLETED)
        if given.done():
            return given.result()
        raise Asleep(node, order.partition, watch.result())
    finally:
        await end((given, watch))


async def _wait_for_end(connection: Client, node: str) -> str:
    """Wait until a node has been silent for SILENCE_S, or has restarted; return which of the two, for a message."""
    loop = asyncio.get_running_loop()
    heard_s, first = loop.time(), None
    while loop.time() - heard_s < SILENCE_S:
        answer = None
        with contextlib.suppress(NotReady):  # the connection goes on with another broker
            answer = (await ask_named(connection, (node,))).get(node)
        if answer is not None:
            heard_s, start = loop.time(), answer.get("start")
            first = first or start
            if start != first:
                return "the node was started again meanwhile"
        await asyncio.sleep(LOOK_S)
    return f"the node has not answered for {SILENCE_S:g} s"
