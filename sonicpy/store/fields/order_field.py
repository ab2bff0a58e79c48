"""The order of the words of an object: see `_native.orders`. A record holds the order of a text beside its terms."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, record_at
from sonicpy._native.ordered_rows import ORDERS_PER_ROW, held_places, order_at
from sonicpy._native.orders import unpack_order
from sonicpy._native.varint import DamagedBytes
from sonicpy.store.disk.table_numbers import FACTS, OBJECTS, ORDERS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.fields.field import FieldMode, FieldWriter
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.keys import bucket_key, fact_key, object_key
from sonicpy.store.rows.meta import uses_of
from sonicpy.store.rows.order_rows import ORDERED, order_number, ordered_in, place_of

if TYPE_CHECKING:
    from sonicpy.store.views.bucket_reader import BucketReader

ROW_KEY_BYTES = 9


class WordOrders:
    """The field of orders. It comes first among the fields of a PUSH or an UPSERT."""

    id = 7
    name = uses.ORDER
    tables = (ORDERS,)

    def apply(self, writer: FieldWriter, oid: str, mode: FieldMode, value: bytes) -> None:
        """Refuse any value: an order comes with the terms of its text, and PUSH and UPSERT store both together."""
        raise DamagedBytes(f"the order of {oid!r} comes without the terms of its text")

    def remove(self, writer: FieldWriter, iid: int, record: ObjectRecord) -> None:
        """Remove the order of an object that is being deleted; see `Field`."""
        writer.drop_order(iid)

    def faults(self, transaction: Transaction, state: BucketState) -> Iterator[str]:
        """Yield the faults of the orders of a bucket; see `Field`."""
        count = 0
        for key, row in transaction.rows(ORDERS, bucket_key(state.bucket)):
            number = order_number(key)
            try:
                places = held_places(row)
                if len(key) != ROW_KEY_BYTES or not places:
                    yield f"the row {key[4:].hex()} of orders has no place of 64 objects"
                    continue
                count += len(places)
                yield from _row_faults(transaction, state.bucket, number * ORDERS_PER_ROW, places, row)
            except DamagedBytes as error:
                yield f"row {number} of orders: {error}"
        noted = ordered_in(transaction.get(FACTS, fact_key(state.bucket, ORDERED)))
        if count != noted:
            yield f"orders has those of {count} objects, and the bucket counts {noted}"
        if count and uses.ORDER not in uses_of(transaction):
            yield f"orders has those of {count} objects, and the row 'uses' of meta does not name the table"

    def export(self, reader: "BucketReader", iid: int, record: ObjectRecord) -> dict[str, Any]:
        """Return the words of an object in their order, as one list for each text, with null for a gap; see `Field`."""
        if not ordered_in(reader.fact(ORDERED)):
            return {}
        key, place = place_of(reader.state.bucket, iid)
        order = order_at(reader.order_rows([iid]).get(key), place)
        if order is None:
            return {}
        ids = record.term_ids()
        words = reader.terms(ids)
        pieces = unpack_order(order, len(ids))
        return {self.name: [[None if at < 0 else words[at] for at in piece] for piece in pieces]}


def _row_faults(transaction: Transaction, bucket: int, first: int, places: list[int], row: bytes) -> Iterator[str]:
    for place in places:
        iid = first + place
        packed = transaction.get(OBJECTS, object_key(bucket, iid // OBJECTS_PER_RECORD_ROW))
        record = None if packed is None else record_at(packed, iid % OBJECTS_PER_RECORD_ROW)
        if record is None:
            yield f"orders has one of the object {iid}, which does not exist"
            continue
        order = order_at(row, place)
        assert order is not None
        try:
            unpack_order(order, len(ObjectRecord.unpack(record, False)))
        except DamagedBytes as error:
            yield f"the object {iid}: {error}"
