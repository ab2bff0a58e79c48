"""The IIDs of the existing objects of a bucket, for checks of other tables."""

from typing import TYPE_CHECKING

from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow
from sonicpy.store.disk.table_numbers import OBJECTS
from sonicpy.store.rows.keys import object_key

if TYPE_CHECKING:
    from sonicpy.store.disk.transaction import Transaction


class ObjectsThere:
    """The existing objects of a bucket. IIDs must be looked up in rising order, so that each row is read once.

    Args:
        bucket: the number of the bucket.
    """

    def __init__(self, transaction: "Transaction", bucket: int) -> None:
        self._transaction = transaction
        self._bucket = bucket
        self._row: tuple[int, frozenset[int]] = -1, frozenset()

    def __contains__(self, iid: int) -> bool:
        number, place = divmod(iid, OBJECTS_PER_RECORD_ROW)
        if self._row[0] != number:
            packed = self._transaction.get(OBJECTS, object_key(self._bucket, number))
            records = [] if packed is None else RecordRow(packed).records()
            self._row = number, frozenset(place for place, _ in records)
        return place in self._row[1]
