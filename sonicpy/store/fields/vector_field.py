"""The vectors of an object, as bits, in at most two columns; and the columns of a bucket."""

from binascii import b2a_base64
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, record_at, row_keys
from sonicpy._native.varint import DamagedBytes
from sonicpy._native.vectors import held_places, places_in_row, vector_at, with_vector, without_vector
from sonicpy.store.disk.table_numbers import FACTS, OBJECTS, VECTORS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.fields.field import FieldMode, FieldWriter
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import bucket_key, fact_key, object_key
from sonicpy.store.rows.meta import uses_of
from sonicpy.store.rows.vector_columns import (
    NUMBERS,
    UNNAMED,
    VECTOR_COLUMNS,
    VectorColumn,
    column_for,
    live_columns,
    pack_columns,
    unpack_columns,
    unpack_vectors,
    vector_prefix,
)

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_reader import BucketReader
    from sonicpy.store.views.write_view import WriteView

KEY_BYTES = 10
"""The number of bytes in a key for the numbers of the bucket, the column and the row together."""


class Vectors:
    """The field of vectors. A record of an object holds vectors packed by `pack_vectors`; one of the bucket, the name
    of a column to drop."""

    id = 8
    name = uses.VECTORS
    tables = (VECTORS,)

    def apply(self, writer: FieldWriter, oid: str, mode: FieldMode, value: bytes) -> None:
        """Set vectors of an object, or drop a column of the bucket; see `Field`. REPLACE removes the vectors not named.

        A vector that fits no column is left out. Writers refuse it beforehand; in a cluster, the first vector decides.
        """
        view, bucket = writer.view, writer.state.bucket
        columns = unpack_columns(view.fact(bucket, VECTOR_COLUMNS))
        if not oid:
            _drop(view, bucket, columns, value.decode("ascii", "replace"))
            writer.forget_columns()
            return
        given = unpack_vectors(value)
        iid = writer.iid_of(oid)
        if iid is None:
            return
        if mode is FieldMode.REPLACE:
            self._take(view, bucket, columns, iid)
        for name, bits in given:
            column = column_for(tuple(filter(_is_live, columns)), name, 8 * len(bits))
            if isinstance(column, str):
                continue
            if column is None:
                column = _new_column(view, bucket, columns, name, 8 * len(bits))
                columns = (*columns, column)
                writer.forget_columns()
            key, place = column.place(bucket, iid)
            rows = view.vectors_to_change(bucket)
            rows.waiting[key] = with_vector(rows.get(view.transaction, key), place, bits)

    def remove(self, writer: FieldWriter, iid: int, record: ObjectRecord) -> None:
        """Remove the vectors of an object that is being deleted."""
        fact = writer.view.fact(writer.state.bucket, VECTOR_COLUMNS)
        if fact is not None:
            self._take(writer.view, writer.state.bucket, unpack_columns(fact), iid)

    def _take(self, view: "WriteView", bucket: int, columns: tuple[VectorColumn, ...], iid: int) -> None:
        for column in columns:
            key, place = column.place(bucket, iid)
            rows = view.vectors_to_change(bucket)
            row = rows.get(view.transaction, key)
            if column.name and row is not None and vector_at(row, place, column.size) is not None:
                rows.waiting[key] = without_vector(row, place, column.size)

    def faults(self, transaction: Transaction, state: BucketState) -> Iterator[str]:
        """Yield the faults of the vectors of a bucket; see `Field`."""
        try:
            columns = unpack_columns(transaction.get(FACTS, fact_key(state.bucket, VECTOR_COLUMNS)))
        except DamagedBytes as error:
            yield str(error)
            return
        known = {column.number: column for column in columns}
        rows = 0
        for key, row in transaction.rows(VECTORS, bucket_key(state.bucket)):
            rows += 1
            column = known.get(key[4]) if len(key) == KEY_BYTES else None
            if column is not None and not column.name:
                continue
            if column is not None:
                yield from _row_faults(transaction, state.bucket, column, key, row)
            else:
                yield f"vectors has a row with the key {key[4:].hex()}, and the bucket no such column"
        if (rows or columns) and uses.VECTORS not in uses_of(transaction):
            yield f"vectors has {rows} rows, and the row 'uses' of meta does not name the table"

    def export(self, reader: "BucketReader", iid: int, record: ObjectRecord) -> dict[str, Any]:
        """Return {"vectors": {column: base 64 of the bits}} of an object; see `Field`."""
        fact = reader.fact(VECTOR_COLUMNS)
        if fact is None:
            return {}
        found = {}
        for column in live_columns(fact):
            key, place = column.place(reader.state.bucket, iid)
            row = reader.vector_rows([key]).get(key)
            if row is not None and (bits := vector_at(row, place, column.size)) is not None:
                found[column.name] = b2a_base64(bits, newline=False).decode()
        return {"vectors": found} if found else {}


def _is_live(column: VectorColumn) -> bool:
    return bool(column.name)


def _new_column(
    view: "WriteView", bucket: int, columns: tuple[VectorColumn, ...], name: str, bits: int
) -> VectorColumn:
    """Make a column for vectors of `bits` bits, with a number that no row uses, and return it."""
    taken = {column.number for column in columns}
    number = next(number for number in range(NUMBERS) if number not in taken)
    column = VectorColumn(name or UNNAMED, bits, number)
    view.require(uses.VECTORS)
    view.set_fact(bucket, VECTOR_COLUMNS, pack_columns((*columns, column)))
    return column


def _drop(view: "WriteView", bucket: int, columns: tuple[VectorColumn, ...], name: str) -> None:
    """Forget the column with a name, or all columns (""); the steps of removals delete the rows later."""
    gone = [column for column in columns if column.name and name in ("", column.name)]
    for column in gone:
        view.vectors_to_change(bucket).forget(vector_prefix(bucket, column.number))
        view.removals.vectors[bucket, column.number] = None
    if gone:
        left = tuple(column._replace(name="") if column in gone else column for column in columns)
        view.set_fact(bucket, VECTOR_COLUMNS, pack_columns(left))


def _row_faults(transaction: Transaction, bucket: int, column: VectorColumn, key: bytes, row: bytes) -> Iterator[str]:
    number = int.from_bytes(key[5:], "big")
    try:
        places = held_places(row, column.size)
    except DamagedBytes as error:
        yield f"row {number} of the vectors {column.name}: {error}"
        return
    first = number * places_in_row(column.size)
    iids = [first + place for place in places]
    records = dict(transaction.get_many(OBJECTS, row_keys(bucket, iids)))
    for iid in iids:
        packed = records.get(object_key(bucket, iid // OBJECTS_PER_RECORD_ROW))
        if packed is None or record_at(packed, iid % OBJECTS_PER_RECORD_ROW) is None:
            yield f"the vectors {column.name} name the missing object {iid}"
