"""Changes the named values of objects inside the write transaction."""

from typing import TYPE_CHECKING

from sonicpy._native.column_window import OBJECTS_PER_COLUMN_ROW, ColumnRow
from sonicpy.store.disk.table_numbers import COLUMNS
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.column_names import (
    COLUMN_NAMES,
    COLUMNS_MAX,
    Column,
    number_of,
    pack_columns,
    unpack_columns,
)
from sonicpy.store.rows.keys import VALUES_MARK, column_key, window_id

if TYPE_CHECKING:
    from sonicpy.store.views.write_view import WriteView


class ValueWriter:
    """Changes the values of the objects of one bucket.

    Args:
        view: the view of the open write transaction.
        state: the state of the bucket.
    """

    def __init__(self, view: "WriteView", state: BucketState) -> None:
        self._view = view
        self._bucket = state.bucket
        self._columns = unpack_columns(view.fact(state.bucket, COLUMN_NAMES))

    def has_any(self, iid: int) -> bool:
        """Return whether an object has a value."""
        place = iid % OBJECTS_PER_COLUMN_ROW
        numbers = [number for number, column in enumerate(self._columns) if column.held]
        return any(self._row(number, iid).of(place) is not None for number in numbers)

    def put(self, iid: int, name: str, value: int | None, *, is_point: bool = False) -> None:
        """Set the value of an object under a name, a packed point if `is_point`; None: remove it.

        If the bucket has no column left for a new name, or its column holds points and the value is none, or the other
        way round, nothing is done. Callers check that before; see `column_room`.
        """
        number = number_of(self._columns, name)
        if number is None:
            number = None if value is None else self._free_column()
            if number is None:
                return
            self._columns[number:] = [Column(name, is_point), *self._columns[number + 1 :]]
        elif value is not None and self._columns[number].is_point != is_point:
            return
        self._put(number, iid, value)

    def drop(self, iid: int) -> None:
        """Remove all values of an object."""
        for number, column in enumerate(self._columns):
            if column.held:
                self._put(number, iid, None)

    def finish(self) -> None:
        """Store the changed names of columns and the number of their values."""
        fact = pack_columns(self._columns)
        if fact != (self._view.fact(self._bucket, COLUMN_NAMES) or b""):
            self._view.require(uses.VALUES)
            self._view.set_fact(self._bucket, COLUMN_NAMES, fact)

    def _free_column(self) -> int | None:
        """Return a free number for a new column; None: the bucket has no column left."""
        number = number_of(self._columns, "")
        if number is None and len(self._columns) < COLUMNS_MAX:
            number = len(self._columns)
        return number

    def _row(self, number: int, iid: int) -> ColumnRow:
        key = column_key(self._bucket, number, iid // OBJECTS_PER_COLUMN_ROW)
        return ColumnRow(self._view.transaction.get(COLUMNS, key) or b"")

    def _put(self, number: int, iid: int, value: int | None) -> None:
        row, place = self._row(number, iid), iid % OBJECTS_PER_COLUMN_ROW
        before = row.of(place)
        if before == value:
            return
        row.put(place, value)
        key, packed = column_key(self._bucket, number, iid // OBJECTS_PER_COLUMN_ROW), row.pack()
        if packed:
            self._view.transaction.put(COLUMNS, key, packed)
        else:
            self._view.transaction.delete(COLUMNS, key)
        self._view.note_rewritten(self._bucket | VALUES_MARK, [window_id(number, iid)])
        name, is_point, count = self._columns[number]
        count += (value is not None) - (before is not None)
        self._columns[number] = Column(name, is_point, count) if count else Column("")
