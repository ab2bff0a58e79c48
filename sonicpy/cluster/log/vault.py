"""The interface to everything that the brokers keep besides logs: values that the nodes agree on, and snapshots in
chunks.

`jetstream_vault.py` implements it by NATS, tests in memory.
"""

from typing import NamedTuple, Protocol

from sonicpy.cluster.log.broker import NotReady


class ValueChanged(NotReady):
    """Another process has changed a value since the caller read it: read it again."""


class NotedValue(NamedTuple):
    """A value, and the number of the write that stored it."""

    value: bytes
    revision: int


class Vault(Protocol):
    """Keeps values and chunks."""

    async def get(self, key: str) -> NotedValue | None:
        """Return a value; None: there is none. Raises NotReady if no broker answers."""
        ...

    async def put(self, key: str, value: bytes) -> None:
        """Write a value. Raises SonicError if the brokers refuse or do not answer."""
        ...

    async def update(self, key: str, value: bytes, revision: int) -> None:
        """Store a value in place of the one that was read.

        Args:
            revision: the revision of the value that was read; 0: there was none.

        Raises:
            ValueChanged: the value has another revision.
            SonicError: the brokers refuse or do not answer.
        """
        ...

    async def put_chunk(self, name: str, chunk: bytes) -> None:
        """Store `chunk`, a part of a snapshot, under a name. Raises Unacknowledged."""
        ...

    async def get_chunk(self, name: str) -> bytes:
        """Return a part of a snapshot.

        Raises:
            StoreError: the part is missing.
            Unacknowledged: no broker answers.
        """
        ...

    async def drop_chunks(self, name: str) -> None:
        """Delete the parts whose names begin with `name` and a dot. Raises StoreError."""
        ...
