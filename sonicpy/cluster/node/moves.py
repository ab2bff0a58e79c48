"""Opens and closes replicas while a node serves; and `sonicpy cluster rebalance`.

`add` and `drain` write a layout in which partitions move: the new nodes of a partition open a replica, from a snapshot
and the log, while its former nodes keep theirs. `rebalance` waits until all new replicas have caught up, and writes the
layout without the former nodes, which then close their replicas. These are deleted after KEEP_S; a node that gets a
partition back earlier continues with the old replica.
"""

import asyncio
import contextlib
import logging
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from sonicpy.cluster.log.ending import end
from sonicpy.cluster.node.places import Places
from sonicpy.cluster.node.replica import Replica
from sonicpy.cluster.node.replicas import Replicas
from sonicpy.cluster.node.snapshots import delete_unfinished
from sonicpy.cluster.node.writers import Writers
from sonicpy.cluster.registry.orders import DONE, FAILED, LAYOUT, Order, subject_of_orders, tell_layout, unpack_order
from sonicpy.cluster.registry.registry import Layout, Registry, cluster_at
from sonicpy.cluster.registry.status import ask_nodes, faults
from sonicpy.errors import ConfigError, SonicError, StoreError
from sonicpy.server.watching.unexpected import Unexpected

logger = logging.getLogger(__name__)

LOOK_S = 5.0
"""The interval in seconds at which a node reads the layout, in case it missed the message about a change."""
KEEP_S = 600.0
LEAVE_S = 1.0
"""The time in seconds for which a replica stays open after its node has stopped answering for it."""
LEFT = ".left"
"""The suffix of the folder of a replica that the node no longer holds."""


class Mover:
    """Opens and closes the replicas of a node according to the layout, and to orders of the operator.

    Args:
        name: the name of the node.
        places: gets each new layout.
        writers: the writers of this node, which give the position that a snapshot has to reach.
    """

    def __init__(
        self, name: str, places: Places, replicas: Replicas, writers: Writers, connection: Client, registry: Registry
    ) -> None:
        self._name = name
        self._places = places
        self._replicas = replicas
        self._writers = writers
        self._connection = connection
        self._registry = registry
        self._lock = asyncio.Lock()
        self._heard = asyncio.Event()
        self._is_read = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._orders: set[asyncio.Task[None]] = set()
        self._subscriptions: list[Subscription] = []

    async def start(self) -> None:
        """Open the replicas of the node's layout, and then follow its changes.

        Raises:
            StoreError: a replica cannot be opened.
        """
        delete_unfinished(self._replicas.folder)
        for partition in self._places.layout.of_node(self._name):
            await self._hold(partition)
        subscribe = self._connection.subscribe
        self._subscriptions.append(await subscribe(subject_of_orders(self._name), cb=self._take))
        self._subscriptions.append(await subscribe(LAYOUT, cb=self._hear))
        self._tasks += [asyncio.create_task(self._repeat(work)) for work in (self._read, self._move)]

    async def stop(self) -> None:
        """Stop carrying out orders and moves."""
        for subscription in self._subscriptions:
            if not self._connection.is_closed:
                await subscription.unsubscribe()
        await end([*self._orders, *self._tasks])

    # -- the layout ----------------------------------------------------------------------------------------------------

    async def _repeat(self, work: Callable[[], Awaitable[None]]) -> None:
        """Carry out a part of taking over a layout again and again; log the first of several errors in a row."""
        is_told = False
        unexpected = Unexpected(logger, "while the layout was taken over")
        while True:
            try:
                await work()
                is_told = False
            except (SonicError, OSError) as error:
                if not is_told:
                    logger.warning("the layout is not taken over yet: %s", error)
                    is_told = True
            except Exception as error:  # noqa: BLE001 - later layouts have to be taken over, too
                unexpected.log(error)

    async def _read(self) -> None:
        """Read the layout once there may be another one. The node passes questions on by it at once, although an order
        that saves a snapshot may delay for minutes that replicas are opened and closed.
        """
        try:
            await asyncio.wait_for(self._heard.wait(), LOOK_S)
        except TimeoutError:
            delete_left(self._replicas.folder)
        self._heard.clear()
        self._places.take(await self._registry.layout())
        self._is_read.set()

    async def _move(self) -> None:
        """Open and close replicas, once a layout has been read and no order is carried out."""
        await self._is_read.wait()
        self._is_read.clear()
        async with self._lock:
            await self._take_over(self._places.layout)

    async def _take_over(self, layout: Layout) -> None:
        """Open and close replicas according to a layout. Raises the first error, after the other partitions."""
        wanted = set(layout.of_node(self._name))
        errors: list[Exception] = []
        for partition in sorted(wanted - self._replicas.held.keys()):
            try:
                await self._hold(partition)
            except (SonicError, OSError) as error:
                errors.append(error)
                continue
            logger.info("partition %d is held from now on", partition)
        for partition in sorted(self._replicas.held.keys() - wanted):
            await self._replicas.release(partition, LEAVE_S)
            leave(self._replicas.folder_of(partition))
            logger.info("partition %d is not held any more", partition)
        if errors:
            raise errors[0]

    async def _hold(self, partition: int) -> None:
        come_back(self._replicas.folder_of(partition))
        await self._replicas.hold(partition)

    async def _hear(self, message: Msg) -> None:
        self._heard.set()

    # -- orders --------------------------------------------------------------------------------------------------------

    async def _take(self, message: Msg) -> None:
        task = asyncio.create_task(self._answer(message))
        self._orders.add(task)
        task.add_done_callback(self._orders.discard)

    async def _answer(self, message: Msg) -> None:
        try:
            answer = DONE + str(await self._carry_out(unpack_order(message.data))).encode()
        except (SonicError, OSError) as error:
            answer = FAILED + str(error).encode()
        except Exception as error:  # noqa: BLE001 - the caller would wait until its time limit
            logger.error("an unexpected error in an order", exc_info=error)
            answer = FAILED + f"an unexpected error: {type(error).__name__}".encode()
        except asyncio.CancelledError:
            await self._respond(message, FAILED + b"the node ends")
            raise
        await self._respond(message, answer)

    async def _respond(self, message: Msg, answer: bytes) -> None:
        try:
            await message.respond(answer)
        except (NatsError, OSError) as error:
            logger.warning("the answer to an order was not sent: %s", error)

    async def _carry_out(self, order: Order) -> int:
        """Carry out an order; return the position of the replica afterwards. Raises SonicError.

        A replica that reads a long log again takes no lock meanwhile: the node goes on with other orders and layouts.
        """
        async with self._lock:
            self._check_held(order.partition)
            match order.kind:
                case "adopt":
                    known = await self._replicas.adopt(order.partition)
                    logger.warning(
                        "partition %d, at %d of a log that is lost, goes on with another one", order.partition, known
                    )
                case "reset":
                    await self._replicas.reset(order.partition)
                    return self._replicas.held[order.partition].applied
                case "save":
                    return await self._save(order.partition)
                case "snapshot":
                    pass
                case _:
                    raise StoreError(f"the order is {order.kind!r}, which this version of sonicpy does not know")
            replica = self._replicas.held[order.partition]
        # Behind an entry of this log: a snapshot at the position 0 would look like that of an empty replica.
        await _wait_for_entry(replica, await self._writers.barrier(order.partition))
        async with self._lock:
            if self._replicas.held.get(order.partition) is not replica:
                raise StoreError("the replica was made anew, or given up, before its snapshot")
            return await self._replicas.snapshot(order.partition)

    def _check_held(self, partition: int) -> None:
        if partition not in self._replicas.held:
            raise StoreError("the node does not hold it")

    async def _save(self, partition: int) -> int:
        """Take a snapshot of a replica as it is now; return its position. Raises StoreError."""
        if (fault := self._replicas.held[partition].fault) is not None:
            raise StoreError(str(fault))
        return await self._replicas.snapshot(partition)


async def _wait_for_entry(replica: Replica, position: int) -> None:
    """Wait until a replica has applied an entry, however long the log before it is: after `adopt` the replica reads all
    of it again. Raises StoreError if the replica has stopped, or gets no further.
    """
    while replica.applied < position:
        before = replica.applied
        try:
            await replica.wait_for(position, LOOK_S * 2)
        except StoreError:
            if replica.is_broken or replica.applied == before:
                raise


def leave(folder: Path) -> None:
    """Set aside the folder of a replica that the node no longer holds. Raises StoreError."""
    left = folder.with_name(folder.name + LEFT)
    with _renaming(folder):
        shutil.rmtree(left, ignore_errors=True)
        folder.rename(left)
        left.touch()


def come_back(folder: Path) -> None:
    """Restore a folder that was set aside, if there is one. Raises StoreError."""
    left = folder.with_name(folder.name + LEFT)
    with _renaming(folder):
        if left.exists() and not folder.exists():
            left.rename(folder)


def delete_left(parent: Path) -> None:
    """Delete the folders that were set aside KEEP_S ago; log errors."""
    for folder in parent.glob(f"*{LEFT}"):
        try:
            age_s = time.time() - folder.stat().st_mtime
        except OSError as error:
            logger.warning("cannot delete %s yet: %s", folder, error.strerror)
            continue
        if age_s > KEEP_S:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _renaming(folder: Path) -> Iterator[None]:
    """Raise errors of the disk inside a `with` block as StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot rename {folder}: {error.strerror}") from error


# -- the command -------------------------------------------------------------------------------------------------------


def rebalance(brokers: str, timeout_s: float, say: Callable[[str], None]) -> Layout:
    """Wait until the new nodes hold every partition, and release the former nodes; return the layout.

    Args:
        say: called with a line when something has changed.

    Raises:
        ConfigError: the brokers hold no cluster.
        NotReady: the brokers do not answer.
        StoreError: a replica has not caught up in time. Nothing is lost: the former nodes still hold the partitions.
    """
    return asyncio.run(_rebalance(brokers, timeout_s, say))


async def _rebalance(brokers: str, timeout_s: float, say: Callable[[str], None]) -> Layout:
    async with cluster_at(brokers, "sonicpy cluster rebalance") as (connection, registry):
        layout = await registry.layout()
        await tell_layout(connection)
        if layout.former:
            await _wait_for(connection, layout, timeout_s, say)
            layout = await registry.change_layout(lambda now: _settled(now, layout))
            await tell_layout(connection)
        return layout


def _settled(now: Layout, seen: Layout) -> Layout:
    if now != seen:
        raise ConfigError("another command changed the layout meanwhile; run sonicpy cluster rebalance again.")
    return now.settled()


async def _wait_for(connection: Client, layout: Layout, timeout_s: float, say: Callable[[str], None]) -> None:
    deadline = time.monotonic() + timeout_s
    said = -1
    while missing := list(faults(layout.settled(), await ask_nodes(connection, layout.settled()))):
        if time.monotonic() > deadline:
            raise StoreError(f"not all replicas are ready after {timeout_s:g} s{reasons(missing)}")
        if len(missing) != said:
            said = len(missing)
            say(f"waiting{reasons(missing)}")
        await asyncio.sleep(LOOK_S / 10)


def reasons(missing: Sequence[str]) -> str:
    """Return the first reason to wait, and the number of further ones, for the end of a line."""
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    return f": {missing[0]}{more}"
