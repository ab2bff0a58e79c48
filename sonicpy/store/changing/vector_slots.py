"""A quick way to set the vector of an object, for a bucket that already has the column of the vector."""

from typing import TYPE_CHECKING

from sonicpy._native.vectors import places_in_row, with_vector
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.vector_columns import VECTOR_COLUMNS, VectorColumn, column_for, live_columns

if TYPE_CHECKING:
    from sonicpy.store.views.write_view import WriteView


class VectorSlot:
    """A column of vectors, and the row of it that was changed last."""

    __slots__ = ("_column", "_key", "_row", "_rows", "_view", "column_bytes", "per_row")

    def __init__(self, view: "WriteView", bucket: int, column: VectorColumn) -> None:
        self._view = view
        self._column = column
        self._rows = view.vectors_to_change(bucket)
        self._row = -1
        self._key = b""
        self.per_row = places_in_row(column.size)
        self.column_bytes = column.size

    def put(self, bucket: int, iid: int, bits: bytes) -> None:
        """Set the vector of an object of a bucket."""
        row = iid // self.per_row
        if row != self._row:
            self._key, _ = self._column.place(bucket, iid)
            self._row = row
        waiting, key = self._rows.waiting, self._key
        before = waiting.get(key)
        if before is None:
            before = self._rows.get(self._view.transaction, key)
        waiting[key] = with_vector(before or None, iid - row * self.per_row, bits)


class VectorSlots:
    """The slots of a bucket in the open transaction, by the head of a packed vector: its column and its length."""

    __slots__ = ("_slots", "_state", "_view")

    def __init__(self, view: "WriteView", state: BucketState) -> None:
        self._view = view
        self._state = state
        self._slots: dict[bytes, VectorSlot] = {}

    def of(self, packed: bytes) -> VectorSlot | None:
        """Return the slot of a packed vector; None: `packed` has several vectors, or the bucket lacks the column."""
        head = packed[: packed[0] + 2]
        slot = self._slots.get(head)
        if slot is None:
            slot = self._read(head)
        return slot if slot is not None and len(packed) == len(head) + slot.column_bytes else None

    def clear(self) -> None:
        """Forget all slots, because the columns have changed."""
        self._slots.clear()

    def _read(self, head: bytes) -> VectorSlot | None:
        columns = live_columns(self._view.fact(self._state.bucket, VECTOR_COLUMNS))
        column = column_for(columns, head[1:-1].decode("ascii", "replace"), 8 * head[-1])
        if not isinstance(column, VectorColumn):
            return None
        slot = self._slots[head] = VectorSlot(self._view, self._state.bucket, column)
        return slot
