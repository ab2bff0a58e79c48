"""`sonicpy cluster upgrade`: makes the nodes write the newest version of entries that all of them read.

A node that misses the message writes the old version until its next start, which is safe: every node reads both.
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
"""The subject of a message after which nodes read the version to write from the registry."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The decision on an upgrade.

    Attributes:
        before, after: the versions of entries that nodes wrote before and write now.
        last: the nodes that read no newer version.
    """

    before: int
    after: int
    last: tuple[str, ...]


def upgrade(brokers: str) -> Upgrade:
    """Make the nodes write the newest version of entries that all of them read.

    Raises:
        ConfigError: the brokers hold no cluster.
        NotReady: the brokers do not answer.
        StoreError: a node is silent, so the versions that it reads are unknown.
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
    """Return the version that nodes with these reports can write. Raises StoreError if a node gave none."""
    silent = [name for name in layout.nodes if name not in answers]
    if silent:
        raise StoreError(
            f"{' and '.join(silent)} did not answer, and may not read a newer version: start it, or take it out of the "
            "cluster with sonicpy cluster drain"
        )
    newest = {name: max(answers[name].get("entries", [FIRST])) for name in layout.nodes}
    after = max(before, min(newest.values()))
    return Upgrade(before, after, tuple(name for name, version in newest.items() if version <= after))
