"""A batch: changes of one partition that are one entry of the cluster's log. How it is written, and its chain hash.

    version u8 | length of the writer's name u8 | name | incarnation u64 | number u64 | records     (little-endian)
    record     size u32 | bytes of `_native.records`

A batch without records is a barrier: it changes nothing, and who has applied it has applied all before it.

A writer numbers its batches. The incarnation grows each time it starts. Whoever applies a batch skips it unless
(incarnation, number) is above that of the writer's last one: so a batch that was sent twice has one effect, and one
that arrives after its writer has gone on has none.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from sonicpy.errors import StoreDamaged
from sonicpy.store.replica import Progress

VERSION = 1
HEAD = struct.Struct("<BB")
COUNT = struct.Struct("<QQ")
SIZE = struct.Struct("<I")
CHAIN_BYTES = 16


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes of one writer, in order.

    Attributes:
        writer: the name of the node.
        incarnation, number: what the batch is known by; see above.
        records: of the changes.
    """

    writer: str
    incarnation: int
    number: int
    records: Sequence[bytes]

    @property
    def key(self) -> str:
        """A name that no other batch has."""
        return f"{self.writer}.{self.incarnation}.{self.number}"


def pack_batch(batch: Batch) -> bytes:
    """Return the bytes of a batch."""
    writer = batch.writer.encode()
    parts = [HEAD.pack(VERSION, len(writer)), writer, COUNT.pack(batch.incarnation, batch.number)]
    for record in batch.records:
        parts += [SIZE.pack(len(record)), record]
    return b"".join(parts)


def unpack_batch(packed: bytes) -> Batch:
    """Return the batch of some bytes.

    Raises:
        StoreDamaged: they are no batch, or one of a version that is not known here.
    """
    try:
        version, size = HEAD.unpack_from(packed)
        if version != VERSION:
            raise StoreDamaged(f"an entry of the cluster's log has version {version}; this sonicpy reads {VERSION}")
        place = HEAD.size + size
        writer = packed[HEAD.size : place].decode()
        incarnation, number = COUNT.unpack_from(packed, place)
        records = _records(packed, place + COUNT.size)
    except (struct.error, UnicodeDecodeError) as error:
        raise StoreDamaged(f"an entry of the cluster's log cannot be read: {error}") from error
    return Batch(writer, incarnation, number, records)


def _records(packed: bytes, place: int) -> list[bytes]:
    records = []
    while place < len(packed):
        (size,) = SIZE.unpack_from(packed, place)
        place += SIZE.size
        if place + size > len(packed):
            raise StoreDamaged("an entry of the cluster's log is cut off")
        records.append(packed[place : place + size])
        place += size
    return records


def following(progress: Progress, batch: Batch, entry: bytes, epoch: str) -> tuple[Sequence[bytes], Progress]:
    """Return the records to apply of the entry behind `progress`, and the progress with it.

    The records are empty if the writer's batch was applied before. The result depends on the arguments alone.

    Args:
        batch: what the entry holds.
        entry: its bytes.
        epoch: of the log.
    """
    count = (batch.incarnation, batch.number)
    is_new = count > progress.writers.get(batch.writer, (0, 0))
    writers = {**progress.writers, batch.writer: count} if is_new else progress.writers
    chain = blake2b(bytes.fromhex(progress.chain) + entry, digest_size=CHAIN_BYTES).hexdigest()
    return batch.records if is_new else (), Progress(progress.position + 1, epoch, chain, writers)
