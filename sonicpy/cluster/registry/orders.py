"""Orders: what a command asks of one node, by its name: for a replica that has to be made anew.

adopt       go on with the log that the brokers have now, from what the replica holds, and take a snapshot
snapshot    take a snapshot, behind an entry that is appended for it
save        take a snapshot of what the replica holds; the answer is 0 if that is nothing
reset       delete the replica, and begin with the newest snapshot
"""

import json
from dataclasses import dataclass

from nats.aio.client import Client
from nats.errors import Error as NatsError

from sonicpy.errors import StoreError

LAYOUT = "sonicpy.layout"
"""Where all nodes hear that the layout has changed."""
RECOVERED = "sonicpy.recovered"
"""Where all nodes hear the number of a partition whose replicas go on with another log."""
ORDER_S = 600.0
"""Longest time for an order: a snapshot is written and read."""
DONE, FAILED = b"+", b"?"


class NotDone(StoreError):
    """A node has not carried out an order.

    Args:
        why: as a part of a sentence.
    """

    def __init__(self, node: str, partition: int, why: str) -> None:
        super().__init__(f"partition {partition} at {node}: {why}")
        self.why = why


@dataclass(frozen=True, slots=True)
class Order:
    """The order to a node about its replica of a partition."""

    kind: str
    partition: int


def subject_of_orders(node: str) -> str:
    """Return the subject on which a node gets orders."""
    return f"sonicpy.order.{node}"


def pack_order(order: Order) -> bytes:
    """Return an order as bytes."""
    return json.dumps([order.kind, order.partition]).encode()


def unpack_order(packed: bytes) -> Order:
    """Return the order of some bytes, which a command has sent."""
    kind, partition = json.loads(packed)
    return Order(kind, partition)


async def give_order(connection: Client, node: str, order: Order) -> str:
    """Let a node carry out an order; return what it says.

    Raises:
        NotDone: it did not, or does not answer.
    """
    try:
        message = await connection.request(subject_of_orders(node), pack_order(order), timeout=ORDER_S)
    except (NatsError, OSError) as error:
        raise NotDone(node, order.partition, f"the node does not answer ({type(error).__name__})") from error
    said = message.data[1:].decode()
    if message.data[:1] != DONE:
        raise NotDone(node, order.partition, said)
    return said


async def tell_recovery(connection: Client, partition: int) -> None:
    """Tell all nodes that what they acknowledged in a partition before may be gone: reads must not wait for it."""
    await connection.publish(RECOVERED, str(partition).encode())
    await connection.flush()


async def tell_layout(connection: Client) -> None:
    """Tell all nodes that the layout has changed; who does not hear it looks by itself."""
    await connection.publish(LAYOUT, b"")
    await connection.flush()
