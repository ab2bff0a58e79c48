"""Orders to one node, given by its name, about a replica that has to be made anew.

adopt       continue with the brokers' present log, with the content of the replica, and take a snapshot
snapshot    append an entry, and take a snapshot behind it
save        take a snapshot of the replica as it is; the answer is 0 if it is empty
reset       delete the replica, and begin with the newest snapshot
"""

import json
from dataclasses import dataclass

from nats.aio.client import Client
from nats.errors import Error as NatsError

from sonicpy.cluster.log.broker import NotReady
from sonicpy.errors import StoreError

LAYOUT = "sonicpy.layout"
"""The subject on which nodes are notified of a new layout."""
RECOVERED = "sonicpy.recovered"
"""The subject on which nodes get the number of a partition whose replicas continue with another log."""
ORDER_S = 600.0
"""The longest time of an order in seconds, in which a snapshot is written and read."""
DONE, FAILED = b"+", b"?"


class NotDone(StoreError):
    """A node has not carried out an order.

    Args:
        why: the reason, as a part of a sentence.
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
    """Return the order in the bytes that a command has sent."""
    kind, partition = json.loads(packed)
    return Order(kind, partition)


async def give_order(connection: Client, node: str, order: Order, *, timeout_s: float = ORDER_S) -> str:
    """Send an order to a node; return its answer.

    Raises:
        NotDone: the node did not carry it out, or does not answer within `timeout_s` seconds.
    """
    try:
        message = await connection.request(subject_of_orders(node), pack_order(order), timeout=timeout_s)
    except (NatsError, OSError) as error:
        raise NotDone(node, order.partition, f"the node does not answer ({type(error).__name__})") from error
    said = message.data[1:].decode()
    if message.data[:1] != DONE:
        raise NotDone(node, order.partition, said)
    return said


async def tell_recovery(connection: Client, partition: int) -> None:
    """Notify all nodes that changes acknowledged in a partition may be lost, so that reads do not wait for them.

    Raises:
        NotReady: the brokers did not pass the message on.
    """
    missed = f"restart nodes whose reads of partition {partition} get ERR, because they wait for changes that are lost"
    await tell(connection, RECOVERED, str(partition).encode(), missed)


async def tell_layout(connection: Client) -> None:
    """Notify all nodes of a new layout; a node that misses the message checks regularly.

    Raises:
        NotReady: the brokers did not pass the message on.
    """
    await tell(connection, LAYOUT, b"", "they read the layout some seconds after a broker answers again")


async def tell(connection: Client, subject: str, message: bytes, missed: str) -> None:
    """Send a message to all nodes, after a change that they have to take over.

    Args:
        missed: the hint for the operator if nodes miss the message, as a part of a sentence.

    Raises:
        NotReady: the brokers did not pass the message on.
    """
    try:
        await connection.publish(subject, message)
        await connection.flush()
    except (NatsError, OSError) as error:
        raise NotReady(
            f"the change is made, but no broker has passed it on to the nodes ({type(error).__name__}): {missed}"
        ) from error
