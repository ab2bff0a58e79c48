"""`sonicpy cluster recover`: replicas are made anew from a replica chosen by the operator, or from snapshot and log.

After the brokers have lost a log, or its newest entries, all its replicas stop: they hold changes that the log lacks.
The chosen replica continues with the present log. It skips the batches that it has applied, by the numbers of the
writers, so no change acknowledged since then is lost. The other replicas begin with its snapshot.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client

from sonicpy.cluster.log.broker import Epoch, LogGone
from sonicpy.cluster.log.jetstream import JetStream
from sonicpy.cluster.log.jetstream_vault import create_snapshots
from sonicpy.cluster.operator.setup import LOG_COPIES
from sonicpy.cluster.registry.orders import Order, give_order, tell_recovery
from sonicpy.cluster.registry.registry import Layout, cluster_at
from sonicpy.cluster.registry.status import ask_nodes
from sonicpy.cluster.registry.watched import give_watched_order
from sonicpy.errors import ConfigError

Say = Callable[[str], None]

READING_S = 7 * 86400.0
"""The longest time in seconds for the source to read a log whose first entries it has to read again."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A request of the operator: the part of a cluster to recover, and the source.

    Attributes:
        source: the node whose replicas are right; "": the replicas of `node` are made from snapshot and log.
        node: the node whose replicas are made anew; "": all nodes except the source.
        partition: the number of a partition; None: all partitions whose replicas differ or have stopped.
        anyway: recover even if another node holds more than the source.
    """

    source: str = ""
    node: str = ""
    partition: int | None = None
    anyway: bool = False

    @property
    def named(self) -> list[str]:
        """The nodes that are named: the source, and the node to make anew."""
        return [node for node in (self.source, self.node) if node]


def recover(brokers: str, wish: Wish, say: Say) -> int:
    """Make replicas anew; return the number of recovered partitions.

    Args:
        say: called with a line for each step.

    Raises:
        ConfigError: the brokers hold no cluster; a named node does not answer; there is no such partition, or the node
            to recover has no replica of it; or the replicas to be made anew hold changes that the brokers have lost.
        StoreError: the brokers do not answer, or a step failed; run it again.
    """
    return asyncio.run(_recover(brokers, wish, say))


async def _recover(brokers: str, wish: Wish, say: Say) -> int:
    async with cluster_at(brokers, "sonicpy cluster recover") as (connection, registry):
        layout = await registry.layout()
        answers = await ask_nodes(connection, layout)
        check_wish(layout, answers, wish)
        await create_snapshots(connection, LOG_COPIES)
        logs = await _logs(JetStream(connection), layout, say)  # after the nodes: no replica is ahead of its log then
        for node in answers.values():
            _note_faults(layout, logs, node["replicas"])
        partitions = [wish.partition] if wish.partition is not None else _wrong(layout, answers, wish)
        if not wish.source and not wish.anyway:
            check_log(layout, logs, answers, partitions, wish.node)
        for partition in partitions:
            log = logs[layout.log_of(partition)]
            await _recover_partition(connection, layout, log, answers, partition, wish, say)
        for line in left_out(layout, answers, partitions, wish):
            say(line)
        return len(partitions)


async def _logs(log: JetStream, layout: Layout, say: Say) -> list[Epoch]:
    """Return the state of each log; missing logs are made."""
    logs = []
    for number in range(layout.logs):
        try:
            logs.append(await log.epoch_at_last(number))
        except LogGone:
            await log.create(number, LOG_COPIES)
            say(f"the log {number} was missing; it is created again")
            logs.append(await log.epoch_at_last(number))
    return logs


def _note_faults(layout: Layout, logs: list[Epoch], replicas: dict[str, Any]) -> None:
    """Mark the replicas that hold changes which the log lacks, because they may not have noticed yet."""
    for number, replica in replicas.items():
        if _is_lost_for(replica, logs[layout.log_of(int(number))]):
            replica["fault"] = replica["fault"] or "the log is another one"


def _is_lost_for(replica: dict[str, Any], log: Epoch) -> bool:
    """Return whether a replica holds changes that its log lacks."""
    if replica.get("ahead", False):  # a node of an older version does not say so
        return True
    return replica["epoch"] not in ("", log.name) or replica["position"] > log.last


def _has_stopped(replica: dict[str, Any]) -> bool:
    """Return whether a replica has stopped for good, by its answer; one that only catches up has a fault, too."""
    return bool(replica.get("stopped", replica["fault"] is not None))


def check_log(layout: Layout, logs: list[Epoch], answers: dict[str, Any], partitions: list[int], node: str) -> None:
    """Raise ConfigError if replicas to be made anew hold changes that the brokers have lost.

    Args:
        logs: the present epoch of each log.
        answers: the answers of the nodes about their replicas.
        partitions: the partitions of the replicas.
        node: the node of the replicas.
    """
    for number in partitions:
        replica = _replica(answers, node, number)
        if replica is not None and _is_lost_for(replica, logs[layout.log_of(number)]):
            raise ConfigError(
                f"--node is {node}, whose partition {number} holds changes that the brokers have lost; allowed are "
                "--from with the node whose replica is right, or --anyway, which gives the changes up."
            )


def check_wish(layout: Layout, answers: dict[str, Any], wish: Wish) -> None:
    """Raise ConfigError if a named node does not answer, the partition does not exist, or the node to recover has no
    replica of it.
    """
    for flag, name in (("from", wish.source), ("node", wish.node)):
        if name and name not in answers:
            allowed = f"allowed are {', '.join(sorted(answers))}" if answers else "no node does: start them"
            raise ConfigError(f"--{flag} is {name}, which does not answer; {allowed}.")
    if wish.partition is not None and not 0 <= wish.partition < layout.partitions:
        raise ConfigError(f"--partition is {wish.partition}; allowed is 0 to {layout.partitions - 1}.")
    if wish.partition is None or not wish.node:
        return
    holders = layout.holders(wish.partition)
    if wish.node not in holders:
        raise ConfigError(
            f"--node is {wish.node}, which does not hold partition {wish.partition}; allowed is one of "
            f"{', '.join(holders)}."
        )
    if _replica(answers, wish.node, wish.partition) is None:
        raise ConfigError(
            f"--node is {wish.node}, which has not opened partition {wish.partition} yet; allowed is a node that has: "
            "its log says why it did not."
        )


def _wrong(layout: Layout, answers: dict[str, Any], wish: Wish) -> list[int]:
    """Return the partitions to recover: without a source, all of the node; else those whose replicas differ or have
    stopped, and of which each named node has a replica.
    """
    return [
        number
        for number in range(layout.partitions)
        if all(node in layout.holders(number) and _replica(answers, node, number) for node in wish.named)
        and not (wish.source and _is_right(layout, answers, number))
    ]


def left_out(layout: Layout, answers: dict[str, Any], partitions: Sequence[int], wish: Wish) -> Iterator[str]:
    """Yield a line for each replica that the wish means, but no order can reach.

    Args:
        partitions: the partitions to recover.
    """
    unopened = {
        number
        for number in range(layout.partitions)
        if all(node in layout.holders(number) for node in wish.named)
        and not all(_replica(answers, node, number) for node in wish.named)
    }
    for number in sorted({*partitions, *(unopened if wish.partition is None else ())}):
        for node in layout.holders(number):
            if node in (wish.node or node, wish.source) and _replica(answers, node, number) is None:
                why = "the node has not opened it yet" if node in answers else "the node does not answer"
                yield f"partition {number}: {node} is left out: {why}"


def _is_right(layout: Layout, answers: dict[str, Any], partition: int) -> bool:
    """Return whether all replicas that answer are running and agree."""
    found = [_replica(answers, node, partition) for node in layout.holders(partition)]
    chains: dict[int, str] = {}
    return all(
        replica["fault"] is None and chains.setdefault(replica["position"], replica["chain"]) == replica["chain"]
        for replica in found
        if replica is not None
    )


def _replica(answers: dict[str, Any], node: str, partition: int) -> dict[str, Any] | None:
    found: dict[str, Any] | None = answers.get(node, {}).get("replicas", {}).get(str(partition))
    return found


async def _recover_partition(
    connection: Client, layout: Layout, log: Epoch, answers: dict[str, Any], partition: int, wish: Wish, say: Say
) -> None:
    held = {node: found for node in layout.holders(partition) if (found := _replica(answers, node, partition))}
    targets = (
        [node for node in held if node == wish.node] if wish.node else [node for node in held if node != wish.source]
    )
    if wish.source:
        if wish.source not in held:
            raise ConfigError(
                f"--from is {wish.source}; allowed for partition {partition} is one of {', '.join(held)}."
            )
        if not wish.anyway:
            check_source(held, log, partition, wish.source)
        # A replica that has stopped knows another log; one at work, or that catches up, only has to be copied.
        source = held[wish.source]
        order = Order("adopt" if _has_stopped(source) or _is_lost_for(source, log) else "snapshot", partition)
        position = await give_watched_order(connection, wish.source, order, timeout_s=READING_S)
        say(f"partition {partition}: {wish.source} is right, and is at {position}")
    await _reset(connection, targets, partition, say)
    await tell_recovery(connection, partition)  # after --node --anyway, too: the log lacks what the replica held


def check_source(held: dict[str, Any], log: Epoch, partition: int, source: str) -> None:
    """Raise ConfigError if the source lacks changes that another replica has, or that the log has no more.

    Args:
        held: node -> its answer about its replica of the partition.
        log: the present epoch of the log.
        source: the node whose replica is to be the right one.
    """
    replica = held[source]
    position, is_lost = int(replica["position"]), _is_lost_for(replica, log)
    for node in sorted(held.keys() - {source}, key=lambda node: int(held[node]["position"]), reverse=True):
        other, found = held[node], ""
        if not is_lost and _is_lost_for(other, log):
            adopted = replica.get("adopted")  # an earlier recovery from this source has not come to its end
            if adopted is None or int(other["position"]) > adopted:
                found = f"follows the present log, but that of {node} holds changes that the brokers have lost"
        elif other["fault"] is not None and int(other["position"]) > position:
            found = f"is at {position}, but that of {node} is at {other['position']}"
        if found:
            raise ConfigError(
                f"--from is {source}, whose partition {partition} {found}; allowed is {node}, or --anyway, which gives "
                f"up the changes that {source} lacks."
            )
    if _has_stopped(replica) and not is_lost and log.first > position + 1:
        raise ConfigError(
            f"--from is {source}, whose partition {partition} is at {position}, but the log begins at {log.first}; "
            f"allowed are another node, --node {source}, which begins with the newest snapshot, or --anyway, which "
            "gives up the changes between."
        )


async def _reset(connection: Client, nodes: Sequence[str], partition: int, say: Say) -> None:
    for node in nodes:
        position = await give_order(connection, node, Order("reset", partition))
        say(f"partition {partition}: {node} starts again at {position}")
