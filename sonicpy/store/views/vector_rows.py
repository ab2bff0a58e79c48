"""Changed rows of vectors or orders. They wait for the commit, so that a row of many objects is written only once."""

from typing import TYPE_CHECKING

from sonicpy.store.disk.table_numbers import VECTORS

if TYPE_CHECKING:
    from sonicpy.store.disk.transaction import Transaction


class VectorRows:
    """The changed rows of a bucket in the table of vectors, or in another one, by key.

    Args:
        table: the table that holds the rows.

    Attributes:
        waiting: rows that the table does not hold yet; b"": the row will be deleted.
    """

    __slots__ = ("_table", "waiting")

    def __init__(self, table: int = VECTORS) -> None:
        self._table = table
        self.waiting: dict[bytes, bytes] = {}

    def get(self, transaction: "Transaction", key: bytes) -> bytes | None:
        """Return the row under a key, or None."""
        row = self.waiting.get(key)
        return transaction.get(self._table, key) if row is None else row or None

    def forget(self, prefix: bytes) -> None:
        """Drop the waiting rows whose keys begin with `prefix`."""
        for key in [key for key in self.waiting if key.startswith(prefix)]:
            del self.waiting[key]

    def write(self, transaction: "Transaction") -> None:
        """Write all waiting rows into the table."""
        if self.waiting:
            rows = sorted(row for row in self.waiting.items() if row[1])
            if rows and transaction.get(self._table, rows[-1][0]) is None:  # new objects: full pages stay full
                for key, row in rows:
                    transaction.append(self._table, key, row)
            else:
                transaction.put_many(self._table, rows)
            transaction.delete_many(self._table, sorted(key for key, row in self.waiting.items() if not row))
            self.waiting.clear()
