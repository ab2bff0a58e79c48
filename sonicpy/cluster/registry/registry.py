"""The values that all nodes of a cluster share, in the vault that the brokers keep.

cluster       the result of `sonicpy cluster init`: Layout, as JSON
analyser      the analysis settings of the first node that started
entries       the version of the log's entries that nodes write; missing: the first one
snapshot.K    the newest snapshots of a partition, newest first: Manifest, as JSON
peer.NODE     the address of a node for other nodes: PeerAddress, as JSON; each start writes it
writer.NODE   the incarnation of a node's batches; each start changes it, and a node that writes confirms it
"""

import asyncio
import contextlib
import dataclasses
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client

from sonicpy.cluster.log.agreement import FIRST, Agreement
from sonicpy.cluster.log.broker import NotReady
from sonicpy.cluster.log.broker_connection import BrokerConnection
from sonicpy.cluster.log.ending import close
from sonicpy.cluster.log.jetstream import connect
from sonicpy.cluster.log.jetstream_vault import LEADER_S, PAUSE_S, JetStreamVault
from sonicpy.cluster.log.vault import NotedValue, ValueChanged, Vault
from sonicpy.cluster.registry.partitions import part_of, partition_of, partition_of_part, placement
from sonicpy.errors import ConfigError, SonicError, StoreError
from sonicpy.store.rows.meta import as_made

FORMAT = 1
TRIES = 5
"""The most attempts to take the name of a node while another node writes it."""


class OtherLayout(StoreError):
    """The brokers hold a cluster whose layout differs from the given one."""


class OtherFormat(ConfigError):
    """Another version of sonicpy has written the layout."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The division of a cluster into partitions; only its nodes can change later.

    Attributes:
        partitions: the number of partitions.
        copies: the number of nodes that hold each partition.
        nodes: the names of the nodes that hold partitions.
        logs: the number of logs; log L holds the changes of the partitions L, L + logs, L + 2 * logs, ...
        format: the version of this value and of batches.
        former: the nodes of the previous layout while partitions move: they keep holding their partitions until
            `sonicpy cluster rebalance` has found every partition at its new nodes. Empty: nothing moves.
        spread: collection -> number of parts, for collections whose buckets are spread over several partitions.
    """

    partitions: int
    copies: int
    nodes: tuple[str, ...]
    logs: int = 1
    format: int = FORMAT
    former: tuple[str, ...] = ()
    spread: tuple[tuple[str, int], ...] = ()

    def log_of(self, partition: int) -> int:
        """Return the number of the log that holds the changes of a partition."""
        return partition % self.logs

    def partitions_of(self, log: int) -> range:
        """Return the partitions whose changes a log holds."""
        return range(log, self.partitions, self.logs)

    def of_node(self, node: str) -> list[int]:
        """Return the partitions that a node holds."""
        return [number for number in range(self.partitions) if node in self.holders(number)]

    def holders(self, partition: int) -> list[str]:
        """Return the nodes that hold a partition; while partitions move, also those that held it before."""
        now = placement(self.partitions, self.nodes, self.copies)[partition]
        before = placement(self.partitions, self.former, self.copies)[partition] if self.former else ()
        return [*now, *(node for node in before if node not in now)]

    def partition_of(self, collection: str, bucket: str, object: str = "") -> int:
        """Return the partition that holds a bucket or, for a spread bucket, the part with an object."""
        for name, parts in self.spread:
            if name == collection:
                return partition_of_part(collection, bucket, part_of(object, parts), self.partitions)
        return partition_of(collection, bucket, self.partitions)

    def parts_of(self, collection: str, bucket: str) -> list[int]:
        """Return the partitions that hold a bucket: several, if it is spread."""
        parts = dict(self.spread).get(collection, 1)
        return [partition_of_part(collection, bucket, part, self.partitions) for part in range(parts)]

    def settled(self) -> "Layout":
        """Return the layout after all partitions have moved."""
        return dataclasses.replace(self, former=())


@dataclass(frozen=True, slots=True)
class Manifest:
    """A snapshot of a partition.

    Attributes:
        position, epoch, chain: those of the `LogProgress` of the replica.
        chunks: the number of chunks.
        size: the size in bytes.
    """

    position: int
    epoch: str
    chain: str
    chunks: int
    size: int


@dataclass(frozen=True, slots=True)
class PeerAddress:
    """The address of a node for other nodes.

    Attributes:
        secret: the first frame of a connection.
        certificate: the certificate of the listener, as PEM; empty: connections are not encrypted.
    """

    host: str
    port: int
    secret: str
    certificate: str = ""


class Registry:
    """Reads and writes the values that the nodes share.

    Attributes:
        vault: the keeper of the values, and of snapshots.
    """

    def __init__(self, vault: Vault) -> None:
        self.vault = vault

    @classmethod
    async def create(
        cls, connection: Client, layout: Layout, copies: int, agreed: Agreement | None = None
    ) -> "Registry":
        """Make the vault with the layout of a new cluster, unless there is one that has, or was made with, this layout;
        return the registry.

        Args:
            copies: the number of brokers that keep the vault.
            agreed: the agreement of the nodes of a new cluster; None: the oldest agreement.

        Raises:
            OtherLayout: there is another cluster.
            ConfigError: the brokers refuse because of a setting.
            StoreError: the brokers refuse.
        """
        given = json.dumps(dataclasses.asdict(layout), sort_keys=True)
        registry = cls(await JetStreamVault.create(connection, copies))
        if agreed is not None and await registry._get("cluster") is None:
            await registry.note_agreement(agreed)
        await registry._agree("cluster", given)
        now = await registry.layout()
        if dataclasses.replace(now, former=(), spread=()) == layout:
            await registry._agree("made", given)
            return registry
        if await registry._get("made") != given:
            raise OtherLayout(other_layout(now, layout))
        return registry

    @classmethod
    async def open(cls, connection: Client, within_s: float = LEADER_S) -> "Registry":
        """Return the registry of the cluster that the brokers hold; see `JetStreamVault.open`."""
        return cls(await JetStreamVault.open(connection, within_s))

    async def layout(self) -> Layout:
        """Return the layout.

        Raises:
            OtherFormat: another version of sonicpy wrote it.
            NotReady: no broker answers.
        """
        found = json.loads(await self._get("cluster") or "{}")
        if found.get("format") != FORMAT:
            raise OtherFormat(f"the cluster has format {found.get('format')}; this sonicpy knows format {FORMAT}.")
        return _layout_in(found)

    async def change_nodes(self, change: Callable[[Layout], tuple[str, ...]]) -> Layout:
        """Change the nodes that hold partitions; return the new layout, in which partitions move.

        Args:
            change: returns the new names, given the present layout. It may raise ConfigError.

        Raises:
            StoreError: the layout was changed meanwhile, or no broker answers.
        """

        def move(layout: Layout) -> Layout:
            return dataclasses.replace(layout, nodes=change(layout), former=layout.former or layout.nodes)

        return await self.change_layout(move)

    async def change_layout(self, change: Callable[[Layout], Layout]) -> Layout:
        """Change the layout; return the new one.

        Args:
            change: returns the new layout, given the present one. It may raise ConfigError.

        Raises:
            StoreError: the layout was changed meanwhile, or no broker answers.
        """
        layout = await self.layout()
        changed = change(layout)
        value = json.dumps(dataclasses.asdict(changed), sort_keys=True).encode()
        try:
            noted = await self.vault.get("cluster")
            if noted is None or _layout_in(json.loads(noted.value)) != layout:
                raise ValueChanged("it was changed by somebody else meanwhile: look at it and try again")
            await self.vault.update("cluster", value, noted.revision)
        except SonicError as error:
            raise StoreError(f"the layout was not changed: {error}") from error
        return changed

    async def agree_on_analyzer(
        self, analyzer: Mapping[str, str], older: Mapping[str, str] | None = None
    ) -> Mapping[str, str]:
        """Return the analysis settings of the cluster, which are those of this node.

        Args:
            analyzer: the settings of this node in a new cluster.
            older: its settings in an older one; see `as_made`.

        Raises:
            ConfigError: its settings differ.
        """
        found = json.loads(await self._agree("analyser", json.dumps(dict(analyzer), sort_keys=True)))
        return _as_agreed(found, analyzer, older)

    async def fitting_analyzer(
        self, analyzer: Mapping[str, str], older: Mapping[str, str] | None = None
    ) -> Mapping[str, str]:
        """Return the analysis settings as `agree_on_analyzer` does, but leave a new cluster without any.

        Args: as for `agree_on_analyzer`.

        Raises:
            ConfigError: the settings differ from those of the cluster.
            NotReady: no broker answers.
        """
        found = await self._get("analyser")
        return analyzer if found is None else _as_agreed(json.loads(found), analyzer, older)

    async def incarnation(self, node: str) -> tuple[int, bool]:
        """Return a number above that of every earlier start of a node, and whether this is its first start.

        The number is the time in milliseconds, which grows even if the brokers have lost all their data; or the last
        number plus one, if the time is not above that.

        Raises:
            ConfigError: the node is started twice at the same time.
            NotReady: no broker answers.
        """
        key, before = f"writer.{node}", None
        for _ in range(TRIES):
            noted = await self.vault.get(key)
            found = b"0" if noted is None else noted.value or b"0"
            if before not in (None, found):
                break
            before, number = found, max(int(time.time() * 1000), int(found) + 1)
            with contextlib.suppress(ValueChanged):  # the process that has the name may have confirmed it
                await self._replace(key, str(number).encode(), noted)
                return number, noted is None
            await asyncio.sleep(PAUSE_S)
        raise ConfigError(f"--node is {node}, which is being started somewhere else, too.")

    async def confirm_incarnation(self, node: str, number: int) -> bool:
        """Return whether no later start of a node has taken its name.

        The number is written again if it is the newest: a write needs most brokers, while a broker that is cut off may
        still answer reads with old values.

        Raises:
            NotReady: no broker answers, or the number was changed meanwhile: try again.
        """
        key = f"writer.{node}"
        noted = await self.vault.get(key)  # None: the brokers have lost their data
        if noted is not None and int(noted.value or b"0") > number:
            return False
        await self._replace(key, str(number).encode(), noted)
        return True

    async def agreement(self) -> Agreement:
        """Return the agreement of the nodes. Raises NotReady if no broker answers."""
        version = int(await self._get("entries") or FIRST)
        return Agreement(version, frozenset(json.loads(await self._get("uses") or "[]")))

    async def note_agreement(self, agreed: Agreement) -> None:
        """Set the agreement of the nodes. Raises StoreError."""
        try:
            await self.vault.put("uses", json.dumps(sorted(agreed.names)).encode())
            await self.vault.put("entries", str(agreed.version).encode())
        except SonicError as error:
            raise StoreError(f"the brokers did not note the version of entries: {error}") from error

    async def peer(self, node: str) -> PeerAddress | None:
        """Return the address of a node for other nodes; None: it has none. Raises NotReady if no broker answers."""
        found = await self._get(f"peer.{node}")
        return None if found is None else PeerAddress(**json.loads(found))

    async def note_peer(self, node: str, peer: PeerAddress) -> None:
        """Write the address of a node for other nodes. Raises NotReady if no broker answers."""
        await self.vault.put(f"peer.{node}", json.dumps(dataclasses.asdict(peer)).encode())

    async def snapshots(self, partition: int) -> list[Manifest]:
        """Return the snapshots of a partition, newest first. Raises NotReady if no broker answers."""
        found = await self._get(f"snapshot.{partition}")
        return [Manifest(**manifest) for manifest in json.loads(found or "[]")]

    async def note_snapshots(self, partition: int, manifests: Sequence[Manifest]) -> None:
        """Replace the list of a partition's snapshots. Raises StoreError."""
        value = json.dumps([dataclasses.asdict(manifest) for manifest in manifests])
        try:
            await self.vault.put(f"snapshot.{partition}", value.encode())
        except SonicError as error:
            raise StoreError(f"the brokers did not note a snapshot: {error}") from error

    async def _agree(self, key: str, value: str) -> str:
        """Write a value unless there is one; return the present value.

        Raises:
            NotReady: the brokers did not accept the value within LEADER_S.
        """
        deadline = time.monotonic() + LEADER_S
        while True:
            try:
                await self.vault.update(key, value.encode(), 0)
                return value
            except ValueChanged:
                return await self._get(key) or ""
            except SonicError as error:  # brokers that have just started may have no leader yet
                if time.monotonic() > deadline:
                    raise NotReady(f"the brokers do not store the agreement of the nodes: {error}") from error
                await asyncio.sleep(PAUSE_S)

    async def _get(self, key: str) -> str | None:
        noted = await self.vault.get(key)
        return None if noted is None else noted.value.decode()

    async def _replace(self, key: str, value: bytes, noted: NotedValue | None) -> None:
        """Store a new value in place of the one that was read. Raises ValueChanged if it has changed since.

        Args:
            noted: the value that was read; None: there was none.
        """
        await self.vault.update(key, value, 0 if noted is None else noted.revision)


@contextlib.asynccontextmanager
async def cluster_at(
    brokers: str, program: str, *, patient: bool = True
) -> AsyncIterator[tuple[BrokerConnection, Registry]]:
    """Connect to brokers for the length of a `with` block; yield the connection, and the registry of their cluster.

    Args:
        brokers: addresses of NATS servers, separated by commas.
        program: the name for the brokers' logs.
        patient: as in `connect`.

    Raises:
        ConfigError: an address is wrong, or the brokers hold no cluster.
        NotReady: the brokers do not answer.
    """
    connection = await connect(brokers, program, patient=patient)
    try:
        yield connection, await Registry.open(connection)
    finally:
        await close(connection)


def other_layout(now: Layout, given: Layout) -> str:
    """Return the message of an error: the brokers hold a cluster whose layout differs from the given one."""
    if dataclasses.replace(now, nodes=given.nodes, former=(), spread=()) == given:
        return (
            f"these brokers hold a cluster on {', '.join(now.nodes)}: sonicpy cluster add and drain change which nodes "
            "hold its partitions"
        )
    return (
        f"these brokers hold a cluster with another layout (partitions: {now.partitions}, logs: {now.logs}, copies: "
        f"{now.copies}), and that stays so"
    )


def _as_agreed(
    found: Mapping[str, str], analyzer: Mapping[str, str], older: Mapping[str, str] | None
) -> Mapping[str, str]:
    """Return the one of two analysis settings with which a cluster was made. Raises ConfigError if it is neither."""
    analyzer = as_made(found, analyzer, older)
    for key in sorted({*found, *analyzer}):
        if found.get(key) != analyzer.get(key):
            raise ConfigError(
                f"{key} is {analyzer.get(key, 'unset')}; allowed is {found.get(key, 'unset')}, as on the other nodes "
                "of the cluster."
            )
    return analyzer


def _layout_in(found: Mapping[str, Any]) -> Layout:
    return Layout(
        found["partitions"],
        found["copies"],
        tuple(found["nodes"]),
        found["logs"],
        former=tuple(found.get("former", ())),
        spread=tuple((str(name), int(parts)) for name, parts in found.get("spread", ())),
    )
