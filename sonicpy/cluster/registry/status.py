"""`sonicpy cluster status`: the replicas of each node, and whether they agree."""

import asyncio
import contextlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from sonicpy.cluster.log.broker import NotReady
from sonicpy.cluster.log.jetstream import JetStream
from sonicpy.cluster.registry.registry import Layout, cluster_at

SUBJECT = "sonicpy.status"
ANSWERS_S = 1.0
"""The longest wait for answers of nodes in seconds."""
NAMED_MAX = 16
"""The most partitions that a sentence names."""


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a cluster.

    Attributes:
        figures: all figures, for JSON.
    """

    figures: dict[str, Any]

    @property
    def is_whole(self) -> bool:
        """Whether every partition has all its replicas, and they agree."""
        return not self.figures["faults"]

    def lines(self) -> Iterator[str]:
        """Yield the lines for a terminal."""
        figures = self.figures
        yield f"partitions: {figures['partitions']}, logs: {figures['logs']}, copies: {figures['copies']}"
        for name, node in figures["nodes"].items():
            if node is None:
                yield f"node {name}: silent"
                continue
            behind = max(max(0, last - node["replicas"].get(number, {}).get("position", last))
                         for number, last in figures["last"].items())  # fmt: skip
            yield f"node {name}: {len(node['replicas'])} replicas, {behind} entries behind"
        yield from figures["faults"]


def status(brokers: str) -> Status:
    """Return the state of a cluster.

    Raises:
        ConfigError: the brokers hold no cluster.
        NotReady: the brokers do not answer.
        StoreError: a stream is missing.
    """
    return asyncio.run(_status(brokers))


async def _status(brokers: str) -> Status:
    async with cluster_at(brokers, "sonicpy cluster status", patient=False) as (connection, registry):
        layout = await registry.layout()
        answers = await ask_nodes(connection, layout)
        log = JetStream(connection)
        ends = [(await log.epoch(number)).last for number in range(layout.logs)]
        last = {str(number): ends[layout.log_of(number)] for number in range(layout.partitions)}
    nodes = {name: answers.get(name) for name in sorted({*layout.nodes, *answers})}
    return Status(
        {
            "partitions": layout.partitions,
            "copies": layout.copies,
            "logs": layout.logs,
            "nodes": nodes,
            "last": last,
            "faults": [*too_few_nodes(layout), *faults(layout, answers)],
        }
    )


async def ask_nodes(connection: Client, layout: Layout) -> dict[str, Any]:
    """Return the reports of nodes about themselves, by the name of the node; silent nodes are missing. Raises NotReady
    if no broker answers.
    """
    return await ask_named(connection, {*layout.nodes, *layout.former})


async def ask_named(connection: Client, names: Collection[str]) -> dict[str, Any]:
    """Return the reports of nodes about themselves, by the name of the node: as soon as all named nodes have answered,
    or after ANSWERS_S, without those of silent nodes. Raises NotReady if no broker answers.
    """
    try:
        return await _ask_named(connection, names)
    except (NatsError, OSError) as error:
        raise NotReady(f"the nodes cannot be asked: no broker answers ({type(error).__name__})") from error


async def _ask_named(connection: Client, names: Collection[str]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    complete = asyncio.Event()

    async def take(message: Msg) -> None:
        answer = json.loads(message.data)
        answers[answer["name"]] = answer
        if answers.keys() >= set(names):
            complete.set()

    inbox = connection.new_inbox()
    subscription = await connection.subscribe(inbox, cb=take)
    try:
        await connection.publish(SUBJECT, b"", reply=inbox)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(complete.wait(), ANSWERS_S)
    finally:
        if not connection.is_closed:
            await subscription.unsubscribe()
    return answers


def too_few_nodes(layout: Layout) -> Iterator[str]:
    """Yield a sentence if fewer nodes hold partitions than each partition should have replicas."""
    if len(layout.nodes) < layout.copies:
        yield (
            f"only {', '.join(layout.nodes)} may hold partitions, and each should have {layout.copies} replicas: add "
            "another node"
        )


def faults(layout: Layout, answers: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for each problem; only one for each silent node."""
    for name, held in silent_nodes(layout, answers).items():
        more = f" and {len(held) - NAMED_MAX} more" if len(held) > NAMED_MAX else ""
        yield f"{name} does not answer; its partitions: {', '.join(map(str, held[:NAMED_MAX]))}{more}"
    for number in range(layout.partitions):
        chains: dict[int, dict[str, str]] = {}
        for name in layout.holders(number):
            if name not in answers:
                continue
            replica = answers[name]["replicas"].get(str(number))
            if replica is None:
                yield f"partition {number} at {name}: the node has not opened it yet"
                continue
            if replica["fault"] is not None:
                yield f"partition {number} at {name}: {replica['fault']}"
            chains.setdefault(replica["position"], {})[name] = replica["chain"]
        for position, of_nodes in chains.items():
            if len(set(of_nodes.values())) > 1:
                yield f"partition {number}: {' and '.join(of_nodes)} differ at position {position}"


def why_not(answers: dict[str, Any], node: str, partition: int) -> str | None:
    """Return the reason why a node cannot be asked about a partition, according to the reports; None: it can."""
    if node not in answers:
        return "the node does not answer"
    replica = answers[node]["replicas"].get(str(partition))
    if replica is None:
        return "the node has not opened it yet"
    fault: str | None = replica["fault"]
    return fault


def silent_nodes(layout: Layout, answers: dict[str, Any]) -> dict[str, list[int]]:
    """Return the partitions of each silent node that holds any, by the name of the node."""
    silent: dict[str, list[int]] = {}
    for number in range(layout.partitions):
        for name in layout.holders(number):
            if name not in answers:
                silent.setdefault(name, []).append(number)
    return silent
