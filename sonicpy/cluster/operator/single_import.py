"""Lets one command at a time import into a cluster, or change which partitions hold the objects of a collection.

An import computes the partition of each object by the layout that it has read. So the layout must not change meanwhile.
"""

import contextlib
from collections.abc import AsyncIterator

from nats.aio.client import Client

from sonicpy.cluster.node.claim import NameClaim, NameLost
from sonicpy.cluster.registry.registry import Registry

WRITER = "=import"
"""The name of an import as a writer, which no node can have."""
TAKEN = "an import, restore or spread of this cluster runs, and allowed is one of them at a time"


@contextlib.asynccontextmanager
async def only_import(connection: Client, registry: Registry) -> AsyncIterator[NameClaim]:
    """Take the name of an import for the length of a `with` block; yield the claim. Read the layout inside the block.

    Raises:
        ConfigError: another process has the name.
        NameLost: another process took it at the same time.
        NotReady: no broker answers.
    """
    claim = await NameClaim.take(connection, registry, WRITER, TAKEN)
    try:
        await claim.may_begin()  # a process that took the name before, and has not heard of it, may change the layout
        check_claim(claim)
        yield claim
    finally:
        await claim.release()


def check_claim(claim: NameClaim) -> None:
    """Raise NameLost if another process has taken the name of an import meanwhile."""
    if claim.loss is not None:
        raise NameLost(f"{TAKEN}: {claim.loss}")
