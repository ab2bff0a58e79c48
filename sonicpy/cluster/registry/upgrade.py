"""`sonicpy cluster upgrade`: lets the nodes write the newest version of entries that each of them reads.

A node that does not hear of it goes on with the old version until its next start: every node reads both.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from sonicpy.cluster.log.ending import close
from sonicpy.cluster.log.jetstream import connect
from sonicpy.cluster.log.versions import FIRST
from sonicpy.cluster.registry.registry import Layout, Registry
from sonicpy.cluster.registry.status import ask_nodes
from sonicpy.errors import StoreError

SUBJECT = "sonicpy.entries"
"""Nodes that hear something here read in the registry which version they have to write."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The decision on an upgrade.

    Attributes:
        before, after: the versions of entries that nodes wrote, and that they write now.
        last: the nodes that read nothing newer.
    """

    before: int
    after: int
    last: tuple[str, ...]


def upgrade(brokers: str) -> Upgrade:
    """Let the nodes write the newest version of entries that all of them read.

    Raises:
        ConfigError: the brokers hold no cluster.
        NotReady: the brokers do not answer.
        StoreError: a node is silent, so that nobody knows what it reads.
    """
    return asyncio.run(_upgrade(brokers))


async def _upgrade(brokers: str) -> Upgrade:
    connection = await connect(brokers, "sonicpy cluster upgrade", patient=False)
    try:
        registry = await Registry.open(connection)
        layout = await registry.layout()
        decided = decide(await registry.entry_version(), layout, await ask_nodes(connection, layout))
        if decided.after != decided.before:
            await registry.note_entry_version(decided.after)
            await connection.publish(SUBJECT, b"")
            await connection.flush()
        return decided
    finally:
        await close(connection)


def decide(before: int, layout: Layout, answers: dict[str, Any]) -> Upgrade:
    """Return what nodes that gave these answers can write. Raises StoreError if one gave none."""
    silent = [name for name in layout.nodes if name not in answers]
    if silent:
        raise StoreError(
            f"{' and '.join(silent)} did not answer, and may not read a newer version: start it, or take it out of the "
            "cluster with sonicpy cluster drain"
        )
    newest = {name: max(answers[name].get("entries", [FIRST])) for name in layout.nodes}
    after = max(before, min(newest.values()))
    return Upgrade(before, after, tuple(name for name, version in newest.items() if version <= after))
