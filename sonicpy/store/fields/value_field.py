"""The named values of an object. A record changes the values that it names; others stay, in both modes.

record   for each name: size u8, name, kind u8 (0: removed, 1: number, 2: point), except for kind 0 i64 (little-endian)
"""

from collections.abc import Iterator, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any

from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.varint import DamagedBytes
from sonicpy.store.disk.table_numbers import COLUMNS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.fields.field import FieldMode, FieldWriter
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.values import GivenValue

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_reader import BucketReader

GONE, NUMBER, POINT = 0, 1, 2
VALUE = Struct("<q")


class Values:
    """The field of values."""

    id = 6
    name = uses.VALUES
    tables = (COLUMNS,)

    def apply(self, writer: FieldWriter, oid: str, mode: FieldMode, value: bytes) -> None:
        """Set values of an object; see `Field`."""
        values = unpack_values(value)
        if (iid := writer.iid_of(oid) if oid else None) is None:
            raise DamagedBytes("values are of an object that exists")
        for name, (number, is_point) in values.items():
            writer.values.put(iid, name, number, is_point=is_point)
        writer.values.finish()

    def remove(self, writer: FieldWriter, iid: int, record: ObjectRecord) -> None:
        """Remove all values of an object; see `Field`."""
        if writer.view.is_used(uses.VALUES):
            writer.values.drop(iid)
            writer.values.finish()

    def holds(self, writer: FieldWriter, iid: int) -> bool:
        """Return whether an object has a value, and therefore stays when it loses its last word."""
        return writer.view.is_used(uses.VALUES) and writer.values.has_any(iid)

    def faults(self, transaction: Transaction, state: BucketState) -> Iterator[str]:
        """Yield nothing: `care.check_columns` compares columns with all other rows."""
        return iter(())

    def export(self, reader: "BucketReader", iid: int, record: ObjectRecord) -> dict[str, Any]:
        """Return the values of an object by name, points as text; see `Field`."""
        columns = reader.columns
        held = {} if columns is None else columns.shown_of(iid)
        return {"values": held} if held else {}


def pack_values(values: Mapping[str, GivenValue]) -> bytes:
    """Return values, given by names that `sonicpy.values` has checked, packed for a record."""
    return b"".join(
        bytes((len(name),)) + name.encode() + (
            bytes((GONE,)) if value is None else bytes((POINT if is_point else NUMBER,)) + VALUE.pack(value)
        )
        for name, (value, is_point) in values.items()
    )  # fmt: skip


def unpack_values(packed: bytes) -> dict[str, GivenValue]:
    """Return the values that `pack_values` packed. Raises DamagedBytes."""
    values: dict[str, GivenValue] = {}
    at = 0
    while at < len(packed):
        end = at + 1 + packed[at]
        name, kind = packed[at + 1 : end], packed[end : end + 1]
        at = end + 1 + (0 if kind == bytes((GONE,)) else VALUE.size)
        if not name or not name.isascii() or at > len(packed) or kind not in (b"\0", b"\1", b"\2"):
            raise DamagedBytes("a list of values cannot be read")
        number = None if kind == bytes((GONE,)) else VALUE.unpack_from(packed, end + 1)[0]
        values[name.decode()] = GivenValue(number, kind == bytes((POINT,)))
    return values
