"""The tags of an object. A record holds all of them, in both modes: sorted, with a NUL between two."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.varint import DamagedBytes
from sonicpy.store.disk.table_numbers import TAGS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.fields.field import FieldMode, FieldWriter
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_reader import BucketReader

BETWEEN = b"\0"


class Tags:
    """The field of tags."""

    id = 5
    name = uses.TAGS
    tables = (TAGS,)

    def apply(self, writer: FieldWriter, oid: str, mode: FieldMode, value: bytes) -> None:
        """Replace the tags of an object, in both modes; see `Field`."""
        tags = unpack_tags(value)
        if (iid := writer.iid_of(oid) if oid else None) is None:
            raise DamagedBytes("tags are of an object that exists")
        writer.tags.put(iid, tags)

    def remove(self, writer: FieldWriter, iid: int, record: ObjectRecord) -> None:
        """Remove all tags of an object; see `Field`."""
        if writer.view.is_used(uses.TAGS):
            writer.tags.put(iid, [])

    def holds(self, writer: FieldWriter, iid: int) -> bool:
        """Return whether an object has a tag, and therefore stays when it loses its last word."""
        return writer.view.is_used(uses.TAGS) and bool(writer.tags.ids_of(iid))

    def faults(self, transaction: Transaction, state: BucketState) -> Iterator[str]:
        """Yield nothing: `care.check_terms` compares tags with all other rows."""
        return iter(())

    def export(self, reader: "BucketReader", iid: int, record: ObjectRecord) -> dict[str, Any]:
        """Return the tags of an object; see `Field`."""
        tags = reader.tags
        held = [] if tags is None else tags.tags_of([iid])[0]
        return {"tags": held} if held else {}


def pack_tags(tags: Iterable[str]) -> bytes:
    """Return tags, each in the form of `sonicpy.tags.tag_of`, packed for a record."""
    return BETWEEN.join(sorted({tag.encode() for tag in tags}))


def unpack_tags(packed: bytes) -> list[bytes]:
    """Return the tags that `pack_tags` packed. Raises DamagedBytes."""
    tags = packed.split(BETWEEN) if packed else []
    if b"" in tags or tags != sorted(set(tags)):
        raise DamagedBytes("tags do not rise")
    return tags
