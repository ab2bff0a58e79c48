"""The rows of orders and vectors in the open write transaction, and those that wait in its cache."""

from collections.abc import Callable, Iterable

from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows import uses
from sonicpy.store.rows.keys import bucket_of
from sonicpy.store.rows.order_rows import order_key
from sonicpy.store.views.vector_rows import VectorRows
from sonicpy.store.views.write_cache import WriteCache


class OpenOrders:
    """The part of a `WriteView` for orders and vectors."""

    transaction: Transaction
    _write_cache: WriteCache
    _changed_buckets: set[int]
    require: Callable[[str], None]

    def vector_rows(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """Return rows of vectors, by their keys, without the keys that have no row."""
        found = ((key, self._write_cache.of(bucket_of(key)).vectors.get(self.transaction, key)) for key in keys)
        return {key: row for key, row in found if row is not None}

    def order_rows(self, bucket: int, numbers: Iterable[int]) -> dict[int, bytes]:
        """Return rows of orders, by their numbers, without those that do not exist."""
        rows = self._write_cache.of(bucket).orders
        found = {number: rows.get(self.transaction, order_key(bucket, number)) for number in numbers}
        return {number: row for number, row in found.items() if row}

    def facts_to_change(self, bucket: int) -> dict[int, bytes | None]:
        """Return the facts of a bucket, by its number, that wait for the commit, to be changed until then."""
        self.require(uses.FACTS)
        self._changed_buckets.add(bucket)
        return self._write_cache.of(bucket).facts

    def orders_to_change(self, bucket: int) -> VectorRows:
        """Return the rows of orders of a bucket, by its number, to be changed until the commit."""
        self._changed_buckets.add(bucket)
        return self._write_cache.of(bucket).orders
