"""`sonicpy cluster spread`: divides the buckets of an empty collection into parts in several partitions."""

import asyncio
import dataclasses
import time
from collections.abc import Mapping

from nats.aio.client import Client

from sonicpy.cluster.operator.emptiness import what_is_held
from sonicpy.cluster.operator.single_import import check_claim, only_import
from sonicpy.cluster.peers.questions import Question
from sonicpy.cluster.registry.orders import tell_layout
from sonicpy.cluster.registry.registry import Layout, Registry, cluster_at
from sonicpy.cluster.registry.status import ask_nodes
from sonicpy.errors import ConfigError, StoreError
from sonicpy.ids import check_collection

TAKE_OVER_S = 30.0
PAUSE_S = 0.1


def spread(brokers: str, collection: str, parts: int) -> Layout:
    """Spread the buckets of a collection; return the new layout, once all nodes that answer use it.

    Args:
        collection: a collection that holds no bucket.
        parts: the number of parts, at most that of partitions; 1: the buckets are not spread.

    Raises:
        CommandError: the name is not valid.
        ConfigError: the brokers hold no cluster, or the number is too high; or an import runs.
        StoreError: the collection holds buckets, or got some before all nodes used the layout; or the brokers or a node
            do not answer.
    """
    check_collection(collection)
    return asyncio.run(_spread(brokers, collection, parts))


async def _spread(brokers: str, collection: str, parts: int) -> Layout:
    async with cluster_at(brokers, "sonicpy cluster spread") as (connection, registry):
        partitions = (await registry.layout()).partitions
        if not 1 <= parts <= partitions:
            raise ConfigError(f"PARTS is {parts}; allowed is 1 to {partitions}, the number of partitions.")
        async with only_import(connection, registry) as claim:
            await _check_empty(connection, await registry.layout(), collection)
            check_claim(claim)
            layout = await set_parts(connection, registry, {collection: parts})
            await _check_still_empty(connection, layout, collection)
            return layout


async def set_parts(connection: Client, registry: Registry, parts: Mapping[str, int]) -> Layout:
    """Spread the buckets of empty collections; return the new layout, once all nodes use it.

    Args:
        parts: collection -> number of parts; 1: its buckets are not spread.

    Raises:
        StoreError: a node does not answer, or the layout was not changed.
    """

    def change(now: Layout) -> Layout:
        wanted = {**dict(now.spread), **parts}
        return dataclasses.replace(now, spread=tuple(sorted(one for one in wanted.items() if one[1] > 1)))

    layout = await registry.change_layout(change)
    await tell_layout(connection)
    await _wait_for_nodes(connection, layout)
    return layout


async def _check_empty(connection: Client, layout: Layout, collection: str) -> None:
    if held := await _what_is_held(connection, layout, collection):
        raise StoreError(
            f"cannot spread {collection}, {held}; allowed is a collection without buckets: export {collection}, "
            "flush it, and push it again afterwards"
        )


async def _check_still_empty(connection: Client, layout: Layout, collection: str) -> None:
    """Raise StoreError if a collection got a bucket before all nodes used the layout: an object may be in a partition
    where no node looks for it any more.
    """
    if held := await _what_is_held(connection, layout, collection):
        raise StoreError(
            f"{collection} is spread now, but was changed meanwhile, {held}: flush {collection}, and push its objects "
            "again, because nodes may have put some into partitions where none looks for them"
        )


async def _what_is_held(connection: Client, layout: Layout, collection: str) -> str:
    question = Question("buckets_after", (collection, None, 1), is_strong=True)
    return await what_is_held(connection, layout, question)


async def _wait_for_nodes(connection: Client, layout: Layout) -> None:
    """Wait until all nodes use a layout; before that, they would push objects to other partitions. Raises StoreError if
    a node does not.
    """
    deadline = time.monotonic() + TAKE_OVER_S
    wanted = [list(pair) for pair in layout.spread]
    while True:
        answers = await ask_nodes(connection, layout)
        old = sorted(name for name, node in answers.items() if node["spread"] != wanted)
        silent = sorted({*layout.nodes} - answers.keys())
        if not old and not silent:
            return
        if time.monotonic() > deadline:
            raise StoreError(f"{', '.join(old + silent)} did not take over the layout: push nothing before they do")
        await asyncio.sleep(PAUSE_S)
