"""The vault on NATS JetStream: the key-value store `sonicpy_meta`, and a stream of chunks."""

import asyncio
import contextlib
import time
from collections.abc import Iterator

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

from sonicpy.cluster.log.broker import NotReady, Unacknowledged
from sonicpy.cluster.log.jetstream import ENTRY_BYTES_MAX, ask, request
from sonicpy.cluster.log.refusals import JETSTREAM_ALLOWED, SURE_S, meaning
from sonicpy.cluster.log.vault import NotedValue, ValueChanged
from sonicpy.errors import ConfigError, StoreError

BUCKET = "sonicpy_meta"
HISTORY = 1
CHUNK_S = 10.0
SNAPSHOTS = "sonicpy_snapshots"
SNAPSHOT_SUBJECT = "sonicpy.snapshot"
LEADER_S = 10.0
"""The longest time in seconds in which brokers without a fault elect a leader."""
PAUSE_S = 0.2
ASK_S = 3.0
"""The longest time in seconds for one answer. Brokers without a leader do not answer at all, not even later, so they
are asked again.
"""


class JetStreamVault:
    """The vault of a cluster on NATS.

    Args:
        connection: an open connection to the brokers.
        values: the key-value bucket named BUCKET.
    """

    def __init__(self, connection: Client, values: KeyValue) -> None:
        self._connection = connection
        self._values = values

    @classmethod
    async def create(cls, connection: Client, copies: int) -> "JetStreamVault":
        """Return the vault; make its key-value bucket, unless it exists. Waits for a leader of brokers just started.

        Args:
            copies: the number of brokers that keep it.

        Raises:
            ConfigError: the brokers refuse because of a setting.
            StoreError: the brokers refuse.
        """
        deadline = time.monotonic() + 2 * LEADER_S
        config = KeyValueConfig(bucket=BUCKET, history=HISTORY, replicas=copies)
        while True:
            try:
                return cls(connection, await connection.jetstream(timeout=ASK_S).create_key_value(config))
            except NatsError as error:
                if isinstance(found := meaning(error), ConfigError):
                    raise found from error
                if time.monotonic() > deadline:
                    raise StoreError(f"the brokers did not make the bucket {BUCKET}: {error}") from error
                await asyncio.sleep(PAUSE_S)

    @classmethod
    async def open(cls, connection: Client, within_s: float = LEADER_S) -> "JetStreamVault":
        """Return the vault of the cluster that the brokers hold.

        Args:
            within_s: brokers that do not answer are asked again for this time, in seconds.

        Raises:
            ConfigError: there is no cluster, or the brokers have no JetStream.
            NotReady: the brokers do not answer.
            StoreError: the brokers refuse.
        """
        now_s = time.monotonic()
        sure_s, deadline_s = now_s + SURE_S, now_s + within_s
        while True:
            try:
                return cls(connection, await connection.jetstream(timeout=ASK_S).key_value(BUCKET))
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

    # -- Vault ---------------------------------------------------------------------------------------------------------

    async def get(self, key: str) -> NotedValue | None:
        """Return a value; see `Vault.get`."""
        with _answering():
            try:
                entry = await self._values.get(key)
            except KeyNotFoundError:
                return None
            return NotedValue(entry.value or b"", entry.revision or 0)

    async def put(self, key: str, value: bytes) -> None:
        """Write a value; see `Vault.put`."""
        with _answering():
            await self._values.put(key, value)

    async def update(self, key: str, value: bytes, revision: int) -> None:
        """Replace a value; see `Vault.update`."""
        with _answering():
            if revision:
                await self._values.update(key, value, last=revision)
            else:
                await self._values.create(key, value)

    async def put_chunk(self, name: str, chunk: bytes) -> None:
        """Store a part of a snapshot; see `Vault.put_chunk`."""
        answer = await ask(self._connection, f"{SNAPSHOT_SUBJECT}.{name}", chunk, timeout_s=CHUNK_S)
        if "error" in answer:
            raise Unacknowledged(f"the broker refused a part of a snapshot: {answer['error'].get('description')}")

    async def get_chunk(self, name: str) -> bytes:
        """Return a part of a snapshot; see `Vault.get_chunk`."""
        subject = f"$JS.API.DIRECT.GET.{SNAPSHOTS}.{SNAPSHOT_SUBJECT}.{name}"
        try:
            message = await self._connection.request(subject, b"", timeout=CHUNK_S)
        except (NatsError, OSError) as error:
            raise Unacknowledged(f"no broker answers ({type(error).__name__})") from error
        if (message.headers or {}).get("Status"):
            raise StoreError(f"the part {name} of a snapshot is not there")
        return message.data

    async def drop_chunks(self, name: str) -> None:
        """Delete parts of snapshots; see `Vault.drop_chunks`."""
        await request(self._connection, f"STREAM.PURGE.{SNAPSHOTS}", {"filter": f"{SNAPSHOT_SUBJECT}.{name}.*"})


async def create_snapshots(connection: Client, copies: int) -> None:
    """Make the stream of snapshots, unless it exists. Raises as `JetStream.create`."""
    settings = {
        "name": SNAPSHOTS,
        "subjects": [f"{SNAPSHOT_SUBJECT}.>"],
        "retention": "limits",
        "storage": "file",
        "num_replicas": copies,
        "max_msg_size": ENTRY_BYTES_MAX,
        "allow_direct": True,
    }
    await request(connection, f"STREAM.CREATE.{SNAPSHOTS}", settings)


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Raise errors of the brokers and the network inside a `with` block as ValueChanged, if the brokers hold another
    value by now, or as the exceptions of `meaning`.
    """
    try:
        yield
    except KeyWrongLastSequenceError as error:
        raise ValueChanged(f"the brokers hold another value by now ({error})") from error
    except (NatsError, OSError) as error:
        raise meaning(error) from error
