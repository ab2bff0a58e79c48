"""The state of removals in steps: large objects, and collections of many buckets, that are being removed.

The table `removed` holds the remaining terms of an object that is being removed, in parts, and its record is empty. A
row of `meta` names a collection that is being removed; the fact of the columns of vectors, the columns whose rows are.
So removals continue after a restart. `remove_steps` carries them out.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sonicpy._native.object_record import ObjectRecord
from sonicpy.errors import StoreDamaged
from sonicpy.store.disk.table_numbers import BUCKETS, FACTS, META, REMOVED
from sonicpy.store.rows import uses
from sonicpy.store.rows.keys import BUCKET_MAX, block_key, bucket_key, bucket_of, fact_key, iid_of
from sonicpy.store.rows.meta import FLUSHING, flushing, uses_of
from sonicpy.store.rows.undecoded import UNDECODED
from sonicpy.store.rows.vector_columns import VECTOR_COLUMNS, unpack_columns

if TYPE_CHECKING:
    from sonicpy.store.disk.transaction import Transaction


removed_key = block_key  # the IID takes the place of the term id, the number of the part that of the block


class Removals:
    """The objects and collections that are being removed, as the open write transaction shows them.

    Attributes:
        objects: (number of the bucket, OID) -> IID of the object.
        collections: collection -> the lowest number of a bucket that stays; its buckets with lower ones are removed.
        vectors: (number of the bucket, column) of the columns of vectors whose rows are being removed.
        sorter: the `PartSorter` at work, or None.
    """

    __slots__ = ("collections", "objects", "sorter", "vectors")

    def __init__(self, transaction: "Transaction") -> None:
        self.objects: dict[tuple[int, str], int] = {}
        self.collections: dict[str, int] = {}
        self.sorter: Any = None
        for key, _ in transaction.rows(META, FLUSHING):
            collection = key[len(FLUSHING) :].decode()
            self.collections[collection] = flushing(collection).read(transaction) or 0
        self.vectors: dict[tuple[int, int], None] = {}
        if uses.VECTORS in uses_of(transaction):
            self.vectors.update(dict.fromkeys(_dropped_columns(transaction)))
        for bucket, iid, oid in _half_gone(transaction):
            if transaction.get(BUCKETS, bucket_key(bucket)) is not None:  # else the sweeper has its rows
                self.objects[bucket, oid] = iid

    def __bool__(self) -> bool:
        return bool(self.objects or self.collections or self.vectors)

    def forget_bucket(self, bucket: int) -> None:
        """Forget the removals of objects in a flushed bucket: the sweeper deletes their rows."""
        if self.objects:
            self.objects = {key: iid for key, iid in self.objects.items() if key[0] != bucket}
            self.sorter = None
        if self.vectors:
            self.vectors = {key: None for key in self.vectors if key[0] != bucket}


def read_removals(transaction: "Transaction") -> Removals:
    """Return the removals that a transaction shows. Raises StoreDamaged if they cannot be read."""
    try:
        return Removals(transaction)
    except UNDECODED as error:
        raise StoreDamaged(f"the removals under way cannot be read: {error}") from error


def _half_gone(transaction: "Transaction") -> Iterator[tuple[int, int, str]]:
    """Yield the bucket, the IID and the OID of every object with remaining parts."""
    row = transaction.first(REMOVED, b"")
    while row is not None:
        bucket, iid = bucket_of(row[0]), iid_of(row[0])
        yield bucket, iid, ObjectRecord.oid_of(row[1]).decode()
        row = transaction.first(REMOVED, removed_key(bucket, iid + 1, 0))


def _dropped_columns(transaction: "Transaction") -> Iterator[tuple[int, int]]:
    """Yield (number of the bucket, number of the column) of every column that is being removed. Raises DamagedBytes."""
    row = transaction.first(FACTS, b"")
    while row is not None:
        key = fact_key(bucket := bucket_of(row[0]), VECTOR_COLUMNS)
        for column in unpack_columns(transaction.get(FACTS, key)):
            if not column.name:
                yield bucket, column.number
        row = transaction.first(FACTS, bucket_key(bucket + 1)) if bucket < BUCKET_MAX else None
