"""The shared knowledge of all nodes of the cluster: the bucket `sonicpy_meta` of the brokers' key-value store.

cluster       the result of `sonicpy cluster init`: Layout, as JSON
analyser      the analysis settings of the first node that started
entries       the version of the log's entries that nodes write; missing: the first one
snapshot.K    the newest snapshots of a partition, newest first: Manifest, as JSON
peer.NODE     the address of a node for other nodes: Peer, as JSON; each start writes it
writer.NODE   the incarnation of a node's batches; each start changes it, and a node that writes confirms it
"""

import asyncio
import contextlib
import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js.api import KeyValueConfig
from nats.js.errors import (
    BucketNotFoundError,
    KeyNotFoundError,
    KeyWrongLastSequenceError,
    ServiceUnavailableError,
)
from nats.js.kv import KeyValue

from sonicpy.cluster.log.broker import NotReady
from sonicpy.cluster.log.refusals import JETSTREAM_ALLOWED, SURE_S, meaning
from sonicpy.cluster.log.versions import FIRST
from sonicpy.cluster.registry.partitions import part_of, partition_of, partition_of_part, placement
from sonicpy.errors import ConfigError, StoreError

BUCKET = "sonicpy_meta"
FORMAT = 1
HISTORY = 1
LEADER_S = 10.0
"""Time limit for the election of a leader."""
PAUSE_S = 0.2
TRIES = 5
"""Attempts to take the name of a node while another process writes it."""
ASK_S = 3.0
"""Time limit of one answer. Brokers without a leader never answer a request, so it is repeated."""


class OtherLayout(StoreError):
    """The brokers hold a cluster with another layout than the given one."""


class OtherFormat(ConfigError):
    """Another version of sonicpy has written the layout."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The division of a cluster into partitions; fixed when it is made, except the nodes.

    Attributes:
        partitions: their number.
        copies: the number of nodes that hold each partition.
        nodes: the names of the nodes that hold partitions.
        logs: their number; log L holds the changes of the partitions L, L + logs, L + 2 * logs, ...
        format: the version of this value and of batches.
        former: the nodes of the previous layout while partitions move: they keep holding their partitions until
            `sonicpy cluster rebalance` has found every partition at its new nodes. Empty: nothing moves.
        spread: collections whose buckets are spread over several partitions, each with its number of parts.
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
        """Return the partition that holds a bucket, or of a spread bucket the part with an object."""
        for name, parts in self.spread:
            if name == collection:
                return partition_of_part(collection, bucket, part_of(object, parts), self.partitions)
        return partition_of(collection, bucket, self.partitions)

    def parts_of(self, collection: str, bucket: str) -> list[int]:
        """Return the partitions that hold a bucket: several, if it is spread."""
        parts = dict(self.spread).get(collection, 1)
        return [partition_of_part(collection, bucket, part, self.partitions) for part in range(parts)]

    def settled(self) -> "Layout":
        """Return the layout after all moves."""
        return dataclasses.replace(self, former=())


@dataclass(frozen=True, slots=True)
class Manifest:
    """A snapshot of a partition.

    Attributes:
        position, epoch, chain: from the `Progress` of the replica.
        chunks: number of chunks.
        size: in bytes.
    """

    position: int
    epoch: str
    chain: str
    chunks: int
    size: int


@dataclass(frozen=True, slots=True)
class Peer:
    """The address of a node for other nodes.

    Attributes:
        secret: the first frame of a connection.
        certificate: of the listener, as PEM; empty: connections are not encrypted.
    """

    host: str
    port: int
    secret: str
    certificate: str = ""


class Registry:
    """Reads and writes the registry.

    Args:
        store: the key-value bucket.
    """

    def __init__(self, store: KeyValue) -> None:
        self._store = store

    @classmethod
    async def create(cls, connection: Client, layout: Layout, copies: int) -> "Registry":
        """Make the bucket with the layout of a new cluster, unless it exists with this layout or was made with it.

        Args:
            copies: the number of brokers that keep it.

        Raises:
            OtherLayout: there is another cluster.
            StoreError: the brokers refuse.
        """
        given = json.dumps(dataclasses.asdict(layout), sort_keys=True)
        try:
            registry = cls(await _create_bucket(connection, copies))
            await registry._agree("cluster", given)
            now = await registry.layout()
            if dataclasses.replace(now, former=(), spread=()) == layout:
                await registry._agree("made", given)
                return registry
        except NatsError as error:
            found = meaning(error)
            if isinstance(found, ConfigError):
                raise found from error
            raise StoreError(f"the brokers did not make the bucket {BUCKET}: {error}") from error
        if await registry._get("made") != given:
            raise OtherLayout(other_layout(now, layout))
        return registry

    @classmethod
    async def open(cls, connection: Client, within_s: float = LEADER_S) -> "Registry":
        """Return the registry of the cluster that the brokers hold.

        Args:
            within_s: brokers that do not answer are asked again for this time, in seconds.

        Raises:
            ConfigError: there is none, or the brokers have no JetStream.
            NotReady: the brokers do not answer.
        """
        now_s = time.monotonic()
        sure_s, deadline_s = now_s + SURE_S, now_s + within_s
        while True:
            try:
                return cls(await connection.jetstream(timeout=ASK_S).key_value(BUCKET))
            except BucketNotFoundError as error:
                if time.monotonic() > sure_s:
                    raise ConfigError("these brokers hold no cluster; run sonicpy cluster init first.") from error
            except (NatsError, OSError) as error:
                found = meaning(error)
                if isinstance(error, ServiceUnavailableError) and not getattr(connection, "has_jetstream", True):
                    found = ConfigError(f"the broker that answers has no JetStream; {JETSTREAM_ALLOWED}.")
                if not isinstance(found, NotReady) or time.monotonic() > deadline_s:
                    raise found from error
            await asyncio.sleep(PAUSE_S)

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
            change: returns the new names. It may raise ConfigError.

        Raises:
            StoreError: the layout was changed meanwhile, or no broker answers.
        """

        def move(layout: Layout) -> Layout:
            return dataclasses.replace(layout, nodes=change(layout), former=layout.former or layout.nodes)

        return await self.change_layout(move)

    async def change_layout(self, change: Callable[[Layout], Layout]) -> Layout:
        """Change the layout; return the new one.

        Args:
            change: returns the new layout. It may raise ConfigError.

        Raises:
            StoreError: the layout was changed meanwhile, or no broker answers.
        """
        layout = await self.layout()
        changed = change(layout)
        try:
            entry = await self._store.get("cluster")
            if _layout_in(json.loads(entry.value or b"{}")) != layout:
                raise StoreError("another command changed the layout meanwhile: check it and try again")
            value = json.dumps(dataclasses.asdict(changed), sort_keys=True).encode()
            await self._store.update("cluster", value, last=entry.revision)
        except NatsError as error:
            raise StoreError(f"the layout was not changed: {error}") from error
        return changed

    async def agree_on_analyzer(self, analyzer: Mapping[str, str]) -> None:
        """Check that this node has the analysis settings of the other nodes.

        Raises:
            ConfigError: its settings differ.
        """
        found = json.loads(await self._agree("analyser", json.dumps(dict(analyzer), sort_keys=True)))
        for key in sorted({*found, *analyzer}):
            if found.get(key) != analyzer.get(key):
                raise ConfigError(
                    f"{key} is {analyzer.get(key, 'unset')}; allowed is {found.get(key, 'unset')}, as on the other "
                    "nodes of the cluster."
                )

    async def incarnation(self, node: str) -> tuple[int, bool]:
        """Return a number above that of every earlier start of a node, and whether this is its first start.

        It is the time in milliseconds, which grows even if the brokers have lost all their data; or one more than the
        last number, if the time is not above it.

        Raises:
            ConfigError: the node is started twice at the same time.
            NotReady: no broker answers.
        """
        key, before = f"writer.{node}", None
        with _answering():
            for _ in range(TRIES):
                entry = await self._entry(key)
                found = b"0" if entry is None else entry.value or b"0"
                if before not in (None, found):
                    break
                before, number = found, max(int(time.time() * 1000), int(found) + 1)
                with contextlib.suppress(KeyWrongLastSequenceError):  # who has the name may have confirmed it
                    await self._write(key, str(number).encode(), entry)
                    return number, entry is None
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
        with _answering():
            entry = await self._entry(key)  # None: the brokers have lost their data
            if entry is not None and int(entry.value or b"0") > number:
                return False
            await self._write(key, str(number).encode(), entry)
        return True

    async def entry_version(self) -> int:
        """Return the version of entries that nodes write. Raises NotReady if no broker answers."""
        return int(await self._get("entries") or FIRST)

    async def note_entry_version(self, version: int) -> None:
        """Set the version of entries that nodes write. Raises StoreError."""
        try:
            await self._store.put("entries", str(version).encode())
        except NatsError as error:
            raise StoreError(f"the brokers did not note the version of entries: {error}") from error

    async def peer(self, node: str) -> Peer | None:
        """Return the address of a node for other nodes; None: it has none. Raises NotReady if no broker answers."""
        found = await self._get(f"peer.{node}")
        return None if found is None else Peer(**json.loads(found))

    async def note_peer(self, node: str, peer: Peer) -> None:
        """Write the address of a node for other nodes. Raises NotReady if no broker answers."""
        with _answering():
            await self._store.put(f"peer.{node}", json.dumps(dataclasses.asdict(peer)).encode())

    async def snapshots(self, partition: int) -> list[Manifest]:
        """Return the snapshots of a partition, newest first. Raises NotReady if no broker answers."""
        found = await self._get(f"snapshot.{partition}")
        return [Manifest(**manifest) for manifest in json.loads(found or "[]")]

    async def note_snapshots(self, partition: int, manifests: Sequence[Manifest]) -> None:
        """Replace the list of a partition's snapshots. Raises StoreError."""
        value = json.dumps([dataclasses.asdict(manifest) for manifest in manifests])
        try:
            await self._store.put(f"snapshot.{partition}", value.encode())
        except NatsError as error:
            raise StoreError(f"the brokers did not note a snapshot: {error}") from error

    async def _agree(self, key: str, value: str) -> str:
        """Write a value unless there is one; return the present value.

        Raises:
            NotReady: the brokers did not accept it within LEADER_S.
        """
        deadline = time.monotonic() + LEADER_S
        while True:
            try:
                await self._store.create(key, value.encode())
                return value
            except KeyWrongLastSequenceError:
                return await self._get(key) or ""
            except NatsError as error:  # brokers that have just started may have no leader yet
                if time.monotonic() > deadline:
                    raise NotReady(f"the brokers do not store the agreement of the nodes: {error}") from error
                await asyncio.sleep(PAUSE_S)

    async def _get(self, key: str) -> str | None:
        with _answering():
            entry = await self._entry(key)
        return None if entry is None else (entry.value or b"").decode()

    async def _entry(self, key: str) -> KeyValue.Entry | None:
        try:
            return await self._store.get(key)
        except KeyNotFoundError:
            return None

    async def _write(self, key: str, value: bytes, entry: KeyValue.Entry | None) -> None:
        """Replace an entry that was read before. Raises KeyWrongLastSequenceError if it has changed."""
        if entry is None:
            await self._store.create(key, value)
        else:
            await self._store.update(key, value, last=entry.revision)


async def _create_bucket(connection: Client, copies: int) -> KeyValue:
    """Make the bucket, unless it exists; wait for brokers that have no leader yet. Raises NatsError."""
    deadline = time.monotonic() + 2 * LEADER_S
    while True:
        try:
            return await connection.jetstream(timeout=ASK_S).create_key_value(
                KeyValueConfig(bucket=BUCKET, history=HISTORY, replicas=copies)
            )
        except NatsError as error:
            if time.monotonic() > deadline or isinstance(meaning(error), ConfigError):
                raise
            await asyncio.sleep(PAUSE_S)


def other_layout(now: Layout, given: Layout) -> str:
    """Return the sentence of the refusal to make a cluster with another layout than the present one."""
    if dataclasses.replace(now, nodes=given.nodes, former=(), spread=()) == given:
        return (
            f"these brokers hold a cluster on {', '.join(now.nodes)}: sonicpy cluster add and drain change which nodes "
            "hold its partitions"
        )
    return (
        f"these brokers hold a cluster with another layout (partitions: {now.partitions}, logs: {now.logs}, copies: "
        f"{now.copies}), and that stays so"
    )


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Translate errors of the brokers and the network inside a `with` block; see `meaning`."""
    try:
        yield
    except (NatsError, OSError) as error:
        raise meaning(error) from error


def _layout_in(found: Mapping[str, Any]) -> Layout:
    return Layout(
        found["partitions"],
        found["copies"],
        tuple(found["nodes"]),
        found["logs"],
        former=tuple(found.get("former", ())),
        spread=tuple((str(name), int(parts)) for name, parts in found.get("spread", ())),
    )
