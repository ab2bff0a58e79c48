"""Versions of the entries of a cluster's log: those that this sonicpy reads, and the one that a node writes.

An entry begins with its version, one byte. A node reads every version of FORMATS and writes the cluster's version in
the registry. So nodes of two versions of sonicpy work side by side: while they are upgraded one by one, all of them
write the old version. Then `sonicpy cluster upgrade` lets them write the newest one that each of them reads, and a node
that reads less does not start any more.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sonicpy.cluster.log.batches import Batch, pack_batch, unpack_batch
from sonicpy.errors import ConfigError, StoreDamaged


@dataclass(frozen=True, slots=True)
class EntryFormat:
    """Functions that pack a batch as an entry and unpack it, each with the byte of the version."""

    pack: Callable[[Batch], bytes]
    unpack: Callable[[bytes], Batch]


FIRST = 1
"""The version that a cluster writes until it is upgraded."""
FORMATS: dict[int, EntryFormat] = {FIRST: EntryFormat(pack_batch, unpack_batch)}
"""All versions: none is ever removed, because a log may hold entries of every version since the cluster was made."""


def pack_entry(batch: Batch, version: int) -> bytes:
    """Return the entry of a batch in a version that this sonicpy supports."""
    return FORMATS[version].pack(batch)


def unpack_entry(entry: bytes) -> Batch:
    """Return the batch of an entry.

    Raises:
        StoreDamaged: the bytes are no entry, or have an unknown version.
    """
    found = FORMATS.get(entry[0]) if entry else None
    if found is None:
        raise StoreDamaged(f"an entry of the cluster's log has version {said(entry)}; this sonicpy reads {readable()}")
    return found.unpack(entry)


def check_version(version: int) -> None:
    """Check that this sonicpy reads the version that the nodes of the cluster write. Raises ConfigError."""
    if version not in FORMATS:
        raise ConfigError(
            f"the nodes of this cluster write entries of version {version}; this sonicpy reads {readable()}: install "
            "the version of sonicpy that the other nodes have."
        )


def readable() -> str:
    """Return the versions that this sonicpy reads, for a message."""
    return ", ".join(str(version) for version in sorted(FORMATS))


def said(entry: bytes) -> str:
    """Return the version of an entry, for a message."""
    return str(entry[0]) if entry else "none"
