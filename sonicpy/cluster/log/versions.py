"""Versions of the entries of a cluster's log: those that this sonicpy reads, and the one that a node writes.

An entry begins with its version, one byte. Version 2 has a list, as format 6 of a store has: the names of the features
that its records use follow the byte, then the rest of version 1. So a later feature needs only a name, not a new
version.

    version 2    2 u8 | number of names u8 | of each: size u8, name | a batch without its version

A node reads every version of FORMATS, and writes the version that the registry names. So nodes of two versions of
sonicpy work side by side: while they are upgraded one by one, all of them write the old version. Then `sonicpy cluster
upgrade` lets them write the newest one that each of them reads, and a node that reads less does not start any more. The
same holds for names: a change that uses one on which the nodes have not agreed is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sonicpy.cluster.log.agreement import FIRST, Agreement
from sonicpy.cluster.log.batches import Batch, pack_batch, unpack_batch
from sonicpy.errors import ConfigError, InvalidArgument, StoreDamaged
from sonicpy.store.changing.mutations import uses_of_record
from sonicpy.store.rows.uses import KNOWN, check_known, listed, unknown


@dataclass(frozen=True, slots=True)
class EntryFormat:
    """The version of entries: functions that pack a batch as an entry and unpack it, both with the byte of the
    version.
    """

    pack: Callable[[Batch], bytes]
    unpack: Callable[[bytes], Batch]


def pack_listed(batch: Batch) -> bytes:
    """Return the entry of a batch in version 2."""
    names = [name.encode() for name in sorted(batch.uses)]
    listed = b"".join(bytes((len(name),)) + name for name in names)
    return bytes((LISTED, len(names))) + listed + pack_batch(batch)[1:]


def unpack_listed(entry: bytes) -> Batch:
    """Return the batch of an entry in version 2.

    Raises:
        StoreDamaged: it cannot be read.
        StoreError: the entry uses a feature that this version lacks; the message names it.
    """
    names, at = [], 2
    try:
        for _ in range(entry[1]):
            end = at + 1 + entry[at]
            names.append(entry[at + 1 : end].decode())
            at = end
        if at > len(entry):
            raise IndexError("a name is cut off")
    except (IndexError, UnicodeDecodeError) as error:
        raise StoreDamaged(f"an entry of the cluster's log cannot be read: {error}") from error
    check_known(names, "an entry of the cluster's log")
    return replace(unpack_batch(bytes((FIRST,)) + entry[at:]), uses=frozenset(names))


LISTED = 2
"""The version that names the features of its records."""
FORMATS: dict[int, EntryFormat] = {
    FIRST: EntryFormat(pack_batch, unpack_batch),
    LISTED: EntryFormat(pack_listed, unpack_listed),
}
"""All versions: none is ever removed, because a log may hold entries of every version since the cluster was made."""


def newest() -> Agreement:
    """Return the agreement of a cluster whose nodes are all of this version or a later one."""
    return Agreement(max(FORMATS), frozenset(KNOWN))


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


def check_agreement(agreed: Agreement) -> None:
    """Raise ConfigError unless this sonicpy can read the entries that the nodes of the cluster write."""
    found = None
    if agreed.version not in FORMATS:
        found = f"write entries of version {agreed.version}; this sonicpy reads {readable()}"
    elif strange := unknown(agreed.names):
        found = f"use {listed(strange)}, unknown to this sonicpy"
    if found is not None:
        raise ConfigError(
            f"the nodes of this cluster {found}: install the version of sonicpy that the other nodes have."
        )


def names_in(record: bytes, agreed: Agreement) -> frozenset[str]:
    """Return the names of the features of a record. Raises InvalidArgument if the nodes have not agreed on one."""
    names = uses_of_record(record)
    if names and (early := sorted(names - agreed.names if agreed.version >= LISTED else names)):
        raise InvalidArgument(
            f"this change uses {listed(early)}, which this cluster takes only after sonicpy cluster upgrade"
        )
    return names


def readable() -> str:
    """Return the versions that this sonicpy reads, for a message."""
    return ", ".join(str(version) for version in sorted(FORMATS))


def said(entry: bytes) -> str:
    """Return the version of an entry, for a message."""
    return str(entry[0]) if entry else "none"
