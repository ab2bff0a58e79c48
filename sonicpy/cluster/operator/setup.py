"""`sonicpy cluster init`: checks the brokers, makes the streams, writes the layout."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from urllib.error import URLError
from urllib.request import urlopen

from sonicpy.cluster.log.agreement import Agreement
from sonicpy.cluster.log.ending import close
from sonicpy.cluster.log.jetstream import JetStream, connect, without_passwords
from sonicpy.cluster.log.jetstream_vault import create_snapshots
from sonicpy.cluster.log.versions import newest
from sonicpy.cluster.registry.orders import tell_layout
from sonicpy.cluster.registry.registry import Layout, Registry, cluster_at
from sonicpy.errors import ConfigError

LOG_COPIES = 3
MONITOR_S = 5.0
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def init(
    brokers: str,
    monitors: Sequence[str],
    partitions: int,
    copies: int,
    nodes: Sequence[str],
    logs: int = 1,
    analyzer: Mapping[str, str] | None = None,
) -> Layout:
    """Make a cluster, and return its layout; a second call with equal arguments changes nothing.

    Args:
        brokers: the addresses of NATS servers, separated by commas.
        monitors: the monitoring address of each broker, as http://HOST:PORT.
        partitions: the number of partitions.
        copies: the number of nodes that hold each partition.
        nodes: the names of the nodes.
        logs: the number of logs; partitions share logs.
        analyzer: the analysis settings of the cluster; None: the first node decides.

    Raises:
        ConfigError: an argument is wrong, the cluster has other analysis settings, or a broker acknowledges before it
            syncs.
        StoreError: the brokers refuse, or hold another cluster.
    """
    for node in nodes:
        check_name(node)
    if len(set(nodes)) < len(nodes) or len(nodes) < copies:
        raise ConfigError(
            f"--nodes names {len(set(nodes))} nodes; allowed are at least {copies} (--copies), each once."
        )
    for monitor in monitors:
        check_broker(monitor)
    return asyncio.run(make(brokers, Layout(partitions, copies, tuple(nodes), logs), newest(), analyzer))


async def make(
    brokers: str, layout: Layout, agreed: Agreement | None = None, analyzer: Mapping[str, str] | None = None
) -> Layout:
    """Make the registry and the streams; return the present layout. Raises as `init`.

    Args:
        agreed: as in `Registry.create`.
        analyzer: as in `init`.
    """
    connection = await connect(brokers, "sonicpy cluster init", patient=False)
    try:
        registry = await Registry.create(connection, layout, LOG_COPIES, agreed)  # first, as it may refuse
        if analyzer is not None:
            await registry.agree_on_analyzer(analyzer)
        log = JetStream(connection)
        for number in range(layout.logs):
            await log.create(number, LOG_COPIES)
        await create_snapshots(connection, LOG_COPIES)
        return await registry.layout()
    finally:
        await close(connection)


def add(brokers: str, node: str) -> Layout:
    """Assign partitions to a new node; return the new layout, which `rebalance` finishes.

    Raises:
        ConfigError: the name is wrong, or the node holds partitions already.
        StoreError: the brokers refuse.
    """
    check_name(node)

    def change(layout: Layout) -> tuple[str, ...]:
        if node in layout.nodes:
            raise ConfigError(
                f"the node is {node}; allowed is one that holds no partitions: not {', '.join(layout.nodes)}."
            )
        return (*layout.nodes, node)

    return asyncio.run(_change(brokers, change))


def drain(brokers: str, node: str, *, force: bool = False) -> Layout:
    """Assign a node's partitions to the other nodes; return the new layout, which `rebalance` finishes.

    Args:
        force: do so even if fewer nodes are left than each partition has replicas.

    Raises:
        ConfigError: the node holds no partitions, or too few nodes would be left.
        StoreError: the brokers refuse.
    """
    return asyncio.run(_change(brokers, lambda layout: nodes_without(layout, node, force=force)))


def nodes_without(layout: Layout, node: str, *, force: bool) -> tuple[str, ...]:
    """Return the nodes of a layout without one of them. Raises as `drain`."""
    if node not in layout.nodes or len(layout.nodes) == 1:
        raise ConfigError(
            f"the node is {node}; allowed is one of several that hold partitions: {', '.join(layout.nodes)}."
        )
    left = tuple(name for name in layout.nodes if name != node)
    if len(left) < layout.copies and not force:
        raise ConfigError(
            f"the node is {node}, without which only {', '.join(left)} may hold partitions, and each should have "
            f"{layout.copies} replicas; allowed is to add another node before, or --force."
        )
    return left


async def _change(brokers: str, change: Callable[[Layout], tuple[str, ...]]) -> Layout:
    async with cluster_at(brokers, "sonicpy cluster", patient=False) as (connection, registry):
        layout = await registry.change_nodes(change)
        await tell_layout(connection)
        return layout


def check_name(node: str) -> None:
    """Check the name of a node. Raises ConfigError."""
    if not NAME.fullmatch(node):
        raise ConfigError(f"a node is named {node!r}; allowed are 1 to 64 letters, digits, - and _.")


def check_broker(monitor: str) -> None:
    """Check that a broker syncs to its disk before it acknowledges.

    Args:
        monitor: the monitoring address of the broker.

    Raises:
        ConfigError: the broker does not sync first, has no JetStream, or does not answer.
    """
    shown = without_passwords(monitor)
    if not monitor.startswith(("http://", "https://")):
        raise ConfigError(f"--monitor holds {shown!r}; allowed are addresses such as http://10.0.0.1:8222.")
    try:
        with urlopen(f"{monitor}/jsz", timeout=MONITOR_S) as answer:
            found = json.load(answer)
    except (HTTPException, ValueError, RecursionError) as error:  # such as the port for clients, or another web server
        raise ConfigError(
            f"--monitor holds {shown}, where no broker is monitored; allowed are addresses such as "
            "http://10.0.0.1:8222."
        ) from error
    except (URLError, OSError) as error:
        raise ConfigError(f"--monitor holds {shown}, which does not answer ({error}); allowed are brokers.") from error
    if not isinstance(found, dict) or "config" not in found:
        raise ConfigError(f"the broker at {shown} has no JetStream; allowed are brokers with JetStream.")
    if not found["config"].get("sync_always"):
        raise ConfigError(
            f'the broker at {shown} does not sync before it acknowledges; allowed is sync_interval: "always" in '
            "its section jetstream, with the quotation marks."
        )
