"""A batch: changes that are one entry of a log. Its bytes, and the chain hashes of partitions.

    version u8 | length of the writer's name u8 | name | incarnation u64 | number u64 | sections     (little-endian)
    section    partition u16 | size u32 | records of that partition
    record     size u32 | bytes of `_native.records`

A batch without sections is a barrier: it changes nothing, and a replica that has passed it has applied all entries
before it.

A writer numbers its batches in each log. The incarnation grows each time it starts. A replica skips the section of its
partition unless (incarnation, number) is above that of the last batch of the writer: so a batch that was sent twice
takes effect once, and a batch that arrives after a later one of its writer takes no effect.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from sonicpy.errors import StoreDamaged
from sonicpy.store.rows.log_progress import LogProgress

VERSION = 1
HEAD = struct.Struct("<BB")
COUNT = struct.Struct("<QQ")
SECTION = struct.Struct("<HI")
SIZE = struct.Struct("<I")
CHAIN_BYTES = 16


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes of one writer, in order.

    Attributes:
        writer: the name of the node.
        incarnation, number: identify the batch; see the top of this file.
        sections: for each partition its records, as `pack_records` writes them.
        uses: the names, from `uses.KNOWN`, of the features that the records use beyond kinds 1 to 5.
    """

    writer: str
    incarnation: int
    number: int
    sections: Mapping[int, bytes]
    uses: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """A name that is unique among the batches of the log."""
        return f"{self.writer}.{self.incarnation}.{self.number}"


def pack_batch(batch: Batch) -> bytes:
    """Return the bytes of a batch."""
    writer = batch.writer.encode()
    parts = [HEAD.pack(VERSION, len(writer)), writer, COUNT.pack(batch.incarnation, batch.number)]
    for partition, section in batch.sections.items():
        parts += [SECTION.pack(partition, len(section)), section]
    return b"".join(parts)


def unpack_batch(packed: bytes) -> Batch:
    """Return the batch of some bytes.

    Raises:
        StoreDamaged: the bytes are no batch, or have an unknown version.
    """
    try:
        version, size = HEAD.unpack_from(packed)
        if version != VERSION:
            raise StoreDamaged(f"an entry of the cluster's log has version {version}; this sonicpy reads {VERSION}")
        place = HEAD.size + size
        writer = packed[HEAD.size : place].decode()
        incarnation, number = COUNT.unpack_from(packed, place)
        sections = _sections(packed, place + COUNT.size)
    except (struct.error, UnicodeDecodeError) as error:
        raise StoreDamaged(f"an entry of the cluster's log cannot be read: {error}") from error
    return Batch(writer, incarnation, number, sections)


def pack_records(records: Sequence[bytes]) -> bytes:
    """Return the section of some records."""
    return b"".join([part for record in records for part in (SIZE.pack(len(record)), record)])


def unpack_records(section: bytes) -> list[bytes]:
    """Return the records of a section.

    Raises:
        StoreDamaged: the section is cut off.
    """
    records = []
    place, end = 0, len(section)
    try:
        while place < end:
            (size,) = SIZE.unpack_from(section, place)
            begin = place + SIZE.size
            place = begin + size
            records.append(section[begin:place])
    except struct.error as error:
        raise StoreDamaged(f"an entry of the cluster's log cannot be read: {error}") from error
    if place != end:
        raise StoreDamaged("an entry of the cluster's log is cut off")
    return records


def following(
    progress: LogProgress, entries: Sequence[tuple[int, Batch]], partition: int, epoch: str
) -> tuple[list[Sequence[bytes]], LogProgress]:
    """Return the records of each batch for a partition to apply, and the partition's progress afterwards.

    The records of a batch are empty if it was applied before. The result depends on the arguments alone, and the
    progress equals that of taking the batches one by one.

    Args:
        progress: the position of the partition in the log, with its chain hash and its writers.
        entries: (position, batch) of the next entries in its log that have a section for the partition, at least one.
        epoch: the epoch of the log.

    Raises:
        StoreDamaged: a section cannot be read.
    """
    chain, writers = bytes.fromhex(progress.chain), dict(progress.writers)
    found: list[Sequence[bytes]] = []
    for _, batch in entries:
        section = batch.sections[partition]
        count = (batch.incarnation, batch.number)
        if count > writers.get(batch.writer, (0, 0)):
            writers[batch.writer] = count
            found.append(unpack_records(section))
        else:
            found.append(())
        # What the chain covers is what this partition was given, whatever else the log holds.
        covered = b"".join((chain, COUNT.pack(*count), section, batch.writer.encode()))
        chain = blake2b(covered, digest_size=CHAIN_BYTES).digest()
    return found, LogProgress(entries[-1][0], epoch, chain.hex(), writers)


def _sections(packed: bytes, place: int) -> dict[int, bytes]:
    sections: dict[int, bytes] = {}
    while place < len(packed):
        partition, size = SECTION.unpack_from(packed, place)
        place += SECTION.size
        if place + size > len(packed):
            raise StoreDamaged("an entry of the cluster's log is cut off")
        sections[partition] = packed[place : place + size]
        place += size
    return sections
