"""A quick way to set the vector of an object, for a bucket that already has the column of the vector."""

from functools import partial
from typing import TYPE_CHECKING

from sonicpy._native.vectors import VectorSlot, VectorSlots
from sonicpy.store.disk.table_numbers import VECTORS
from sonicpy.store.rows.vector_columns import VECTOR_COLUMNS, VectorColumn, column_for, live_columns, vector_prefix

if TYPE_CHECKING:
    from sonicpy.store.views.write_view import WriteView


def slots_of(view: "WriteView", bucket: int) -> VectorSlots:
    """Return the slots for the vectors of a bucket, by its number, while the transaction lasts."""
    return VectorSlots(partial(_slot, view, bucket))


def _slot(view: "WriteView", bucket: int, head: bytes) -> VectorSlot | None:
    """Return the slot of packed vectors that begin with `head`; None: the bucket lacks the column."""
    columns = live_columns(view.fact(bucket, VECTOR_COLUMNS))
    column = column_for(columns, head[1:-1].decode("ascii", "replace"), 8 * head[-1])
    if not isinstance(column, VectorColumn):
        return None
    prefix, waiting = vector_prefix(bucket, column.number), view.vectors_to_change(bucket).waiting
    return VectorSlot(head, prefix, waiting, partial(view.transaction.get, VECTORS))
