"""`sonicpy cluster upgrade`: makes the nodes write the newest version of entries, and all features, that every node can
read.

A node that misses the message writes the old version until its next start, which is safe: every node reads both.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from sonicpy.cluster.log.agreement import FIRST, Agreement
from sonicpy.cluster.log.versions import LISTED
from sonicpy.cluster.registry.orders import tell
from sonicpy.cluster.registry.registry import Layout, cluster_at
from sonicpy.cluster.registry.status import ask_nodes
from sonicpy.errors import StoreError

SUBJECT = "sonicpy.entries"
"""The subject of a message after which nodes read their agreement from the registry."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The decision on an upgrade.

    Attributes:
        before, after: the agreement until now, and the new one.
        last: the nodes that read no newer version of entries.
    """

    before: Agreement
    after: Agreement
    last: tuple[str, ...]


def upgrade(brokers: str) -> Upgrade:
    """Make the nodes write the newest version of entries, and use every feature, that all of them can read; return the
    upgrade.

    Raises:
        ConfigError: the brokers hold no cluster.
        NotReady: the brokers do not answer, or did not pass the message on.
        StoreError: a node is silent, so the versions that it reads are unknown.
    """
    return asyncio.run(_upgrade(brokers))


async def _upgrade(brokers: str) -> Upgrade:
    async with cluster_at(brokers, "sonicpy cluster upgrade", patient=False) as (connection, registry):
        layout = await registry.layout()
        decided = decide(await registry.agreement(), layout, await ask_nodes(connection, layout))
        if decided.after != decided.before:
            await registry.note_agreement(decided.after)
            await tell(connection, SUBJECT, b"", "each of them writes the new version from its next start on")
        return decided


def decide(before: Agreement, layout: Layout, answers: dict[str, Any]) -> Upgrade:
    """Return the upgrade to the newest version and all features that the nodes with these reports can read.

    Raises:
        StoreError: a node gave no report.
    """
    silent = [name for name in layout.nodes if name not in answers]
    if silent:
        raise StoreError(
            f"{' and '.join(silent)} did not answer, and may not read a newer version: start it, or take it out of the "
            "cluster with sonicpy cluster drain"
        )
    newest = {name: max(answers[name].get("entries", [FIRST])) for name in layout.nodes}
    version = max(before.version, min(newest.values()))
    names = before.names
    if version >= LISTED:
        names |= frozenset.intersection(*(frozenset(answers[name].get("uses", ())) for name in layout.nodes))
    return Upgrade(before, Agreement(version, names), tuple(name for name, read in newest.items() if read <= version))
