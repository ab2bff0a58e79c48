"""Transactions: the rows of all tables, those of small buckets included.

The rows of a small bucket share one row of the table `small`: a change of the bucket writes one page, and thousands of
buckets of a few texts take few pages. No caller sees a difference: the methods take and return rows of
SMALL_TABLES. A new bucket may begin as a small one, and moves into the tables, for good, once a page cannot hold its
rows.
"""

import contextlib
from collections.abc import Callable, Iterator
from heapq import merge
from itertools import islice
from operator import add, sub
from typing import Final

from sonicpy._native.small_rows import SmallRows, pack_small
from sonicpy._native.table_access import MixedRows, StoredRows
from sonicpy._native.varint import DamagedBytes, pack_varints, unpack_varints
from sonicpy._native.word_range import WordRange
from sonicpy.errors import StoreDamaged
from sonicpy.store.disk.data_file import PAGE_HEADER
from sonicpy.store.disk.table_numbers import META, SMALL, SMALL_COUNTS, SMALL_TABLES, TABLE_NAMES, StoredRow
from sonicpy.store.disk.table_rows import OpenTransaction, TableRows, Tables

BUCKET_BYTES: Final = 4
"""The number of bytes of the number of a bucket, with which keys of SMALL_TABLES begin."""
KEPT_MAX: Final = 5_120
KEPT_BYTES: Final = 1 << 22
"""The most buckets, and the most bytes of their rows in `small`, that are kept: in memory they take ten times as much.
If there are more, changes are written and all are dropped. The buckets that the 4,096 changes of a commit name are read
once."""
LATER_MAX: Final = 1_000
"""The most rows that wait to be put into a bucket."""
HAS_SMALL: Final = tuple(table in SMALL_TABLES for table in range(len(TABLE_NAMES)))

TableRow = tuple[int, bytes, bytes]
"""A table, and the key and the value of a row of it."""


class Transaction(MixedRows, TableRows):
    """One transaction, for reading or for writing. Threads must not share it.

    Attributes:
        moved: the numbers of buckets that have moved into the tables, as keys begin with them.
    """

    __slots__ = ("_kept_bytes", "_later", "moved")

    def __init__(self, tables: Tables, txn: OpenTransaction | None, write: bool, commits: int = 0) -> None:
        super().__init__(tables, txn, write, commits)
        self._mixed = HAS_SMALL
        self.moved: list[bytes] = []
        self._kept_bytes = 0  # of the rows in `_small`
        self._later: dict[bytes, list[TableRow]] = {}  # rows to put into small buckets that are not in `_small`

    # -- small buckets -----------------------------------------------------------------------------------------------

    def begin_small(self, number: bytes) -> None:
        """Begin a new bucket as a small one; it must not have any rows yet.

        Args:
            number: the number of the bucket, as keys begin with it.
        """
        self._has_small = True
        if len(self._small) >= KEPT_MAX:
            self._make_room()
        self._small[number] = SmallRows(number, None)

    def is_small(self, number: bytes) -> bool:
        """Return whether a bucket is small."""
        return self.small_rows(number) is not None

    def small_rows(self, number: bytes) -> SmallRows | None:
        """Return the rows of the small bucket with a packed number, to read, or to put few into them; None: the bucket
        is not small."""
        return self._small.get(number) or self._rows(SMALL_TABLES[0], number)

    def drop_small(self, number: bytes) -> bool:
        """Delete all rows of SMALL_TABLES of a bucket, if it is small; return whether it was."""
        try:
            rows = self._rows(SMALL_TABLES[0], number)
            if rows is not None:
                self._forget(rows)
        except StoreDamaged:  # a flush removes a damaged bucket, and what its row counted is counted no more
            self._later.pop(number, None)
            self._small[number] = None
            super().delete(SMALL, number)
            self._count_again()
            return True
        if rows is None:
            return False
        super().delete(SMALL, number)
        self._small[number] = None
        return True

    def write_small(self) -> None:
        """Write the changed rows of small buckets; move those that a page cannot hold into the tables.

        Raises:
            StoreFull, StoreError: as those of `put`.
        """
        self._write(self._changed() | self._later.keys())

    def drop_rows(self) -> None:
        """Free the rows of small buckets: the transaction has ended, but garbage may still refer to it."""
        self._small, self._later = {}, {}

    def _changed(self) -> set[bytes]:
        return {number for number, rows in self._small.items() if rows is not None and rows.changed}

    def _write(self, numbers: set[bytes]) -> None:
        """Write the rows of some small buckets."""
        if not numbers:
            return
        counts, room = self._counts(), self.page_bytes - PAGE_HEADER.size
        small = [self._small.get(number) or self._stored(number) for number in sorted(numbers)]
        rows, large = pack_small(small, SMALL_TABLES, counts, room)
        super().put_many(SMALL, rows)
        for one in large:
            self._move(one.prefix, one)
        self._put_counts(counts)

    def _stored(self, number: bytes) -> SmallRows:
        """Return the rows of a small bucket that are not in `_small`."""
        return self._unpacked(number, super().get(SMALL, number))

    def _read_small(self, number: bytes) -> SmallRows | None:
        if not self._look() or len(number) < BUCKET_BYTES:
            return None
        if len(self._small) >= KEPT_MAX or self._kept_bytes >= KEPT_BYTES:
            self._make_room()
        row = self.get(SMALL, number)
        rows = None if row is None else self._unpacked(number, row)
        self._small[number] = rows
        self._kept_bytes += 0 if row is None else len(row)
        return rows

    def _make_room(self) -> None:
        """Write and drop all kept rows."""
        self._write(self._changed())
        self._small.clear()
        self._kept_bytes = 0

    def _unpacked(self, number: bytes, row: bytes | None) -> SmallRows:
        """Return the rows of a small bucket, those of `_later` included. Raises StoreDamaged if they cannot be read."""
        try:
            rows = SmallRows(number, row)
        except DamagedBytes as error:
            raise StoreDamaged(f"bucket {int.from_bytes(number, 'big')}: {error}") from error
        for table, key, value in self._later.pop(number, ()):
            rows.put(table, key, value)
        return rows

    def _place(self, table: int, key: bytes) -> SmallRows | list[TableRow] | None:
        """Return the place for rows of the bucket to which a key of a table belongs, as `put_in_small` takes it."""
        number = key[:BUCKET_BYTES]
        if number in self._small:
            return self._small[number]
        later = self._later.get(number)
        if later is None:
            if super().get(SMALL, number) is None:
                self._small[number] = None
                return None
            later = self._later[number] = []
        return self._read_small(number) if len(later) > LATER_MAX else later

    def _look(self) -> bool:
        """Return whether there are small buckets."""
        if self._has_small is None:
            is_there = len(self._tables) > SMALL and not self.is_missing(SMALL)
            self._has_small = is_there and super().count(SMALL) > 0
        return self._has_small

    def _move(self, number: bytes, rows: SmallRows) -> None:
        """Move the rows of a bucket into the tables."""
        for table in rows.tables():
            StoredRows.put_many(self, table, rows.rows(table))
        super().delete(SMALL, number)
        self._small[number] = None
        self.moved.append(number)

    def _spill(self, number: bytes) -> None:
        """Move the rows of a small bucket into the tables before they are written, because they are many."""
        rows = self._small.get(number)
        if rows is not None:
            self._forget(rows)
            self._move(number, rows)

    def _forget(self, rows: SmallRows) -> None:
        """Subtract the numbers of rows that a bucket has in the table `small` from those in `meta`."""
        self._put_counts(list(map(sub, self._counts(), rows.stored(SMALL_TABLES))))

    def _put_counts(self, counts: list[int]) -> None:
        if min(counts) < 0:
            raise StoreDamaged("fewer rows of small buckets are counted than there are")
        if any(counts):
            super().put(META, SMALL_COUNTS, pack_varints(counts))
        else:
            super().delete(META, SMALL_COUNTS)

    def _count_again(self) -> None:
        """Count the rows in the table `small`, as far as they can be read."""
        self.write_small()
        counts = [0] * len(SMALL_TABLES)
        for number, row in super().rows(SMALL, b""):
            with contextlib.suppress(DamagedBytes):
                counts = list(map(add, counts, SmallRows(number, row).stored(SMALL_TABLES)))
        self._put_counts(counts)

    def _counts(self) -> list[int]:
        row = super().get(META, SMALL_COUNTS)
        try:
            counts = [0] * len(SMALL_TABLES) if row is None else list(unpack_varints(row))
        except DamagedBytes as error:
            raise StoreDamaged(f"the counts of small buckets cannot be read: {error}") from error
        if len(counts) != len(SMALL_TABLES):
            raise StoreDamaged(f"the counts of small buckets are of {len(counts)} tables, not {len(SMALL_TABLES)}")
        return counts

    def _all_small(self, table: int, start: bytes) -> Iterator[StoredRow]:
        """Yield the rows of a table in small buckets whose keys are not before `start`, in key order."""
        for number, _ in super().rows(SMALL, b"", start[:BUCKET_BYTES]):
            rows = self._rows(table, number)
            assert rows is not None
            yield from rows.rows(table, start)

    def _onward(self, table: int, start: bytes) -> Iterator[StoredRow]:
        """Yield the rows of a table whose keys are not before `start`, in key order, whatever bucket they are of."""
        if self.write:
            self.write_small()
        return merge(super().rows(table, b"", start), self._all_small(table, start))

    # -- reading -----------------------------------------------------------------------------------------------------

    def getter(self, table: int) -> Callable[[bytes], bytes | None]:
        """Return `get` for one table, for callers that read very many rows."""
        stored, find = super().getter(table), self._rows

        def value(key: bytes) -> bytes | None:
            rows = find(table, key)
            return stored(key) if rows is None else rows.get(table, key)

        return value

    def newest_first(self, table: int, prefix: bytes) -> Iterator[StoredRow]:
        """Yield the rows whose keys begin with `prefix`, which itself is not a key, from the last one to the first."""
        rows = self._rows(table, prefix)
        return super().newest_first(table, prefix) if rows is None else iter(rows.rows(table, prefix, prefix)[::-1])

    def keys(self, table: int, prefix: bytes) -> list[bytes]:
        """Return the keys that begin with `prefix`. All are in memory at once, so there should be few."""
        rows = self._rows(table, prefix)
        return super().keys(table, prefix) if rows is None else [key for key, _ in rows.rows(table, prefix, prefix)]

    def first(self, table: int, start: bytes) -> StoredRow | None:
        """Return the first row whose key is not before `start`, or None."""
        if not self._is_mixed(table):
            return super().first(table, start)
        found = self.some_rows(table, start, 1)
        return found[0] if found else None

    def rows_of(self, table: int, prefix: bytes, start: bytes | None = None) -> list[bytes]:
        """Return the values of the rows whose keys begin with `prefix`, from `start` on, in key order, all at once."""
        rows = self._rows(table, prefix)
        if rows is None:
            return super().rows_of(table, prefix, start)
        return [value for _, value in rows.rows(table, start or prefix, prefix)]

    def some_rows(self, table: int, start: bytes, limit: int, prefix: bytes = b"") -> list[StoredRow]:
        """Return the first `limit` rows whose keys are not before `start`, in key order.

        Args:
            prefix: the rows wanted begin with this prefix of `start`; reading may stop at the first other row.
        """
        if not self._is_mixed(table):
            return super().some_rows(table, start, limit, prefix)
        rows = self._rows(table, start)
        if rows is not None and len(prefix) >= BUCKET_BYTES:
            return rows.some_rows(table, start, limit, prefix)
        read = super().some_rows if rows is None else rows.some_rows
        found = read(table, start, limit, prefix)
        is_whole = len(found) >= limit and (not found or found[-1][0][:BUCKET_BYTES] == start[:BUCKET_BYTES])
        if is_whole or len(prefix) >= BUCKET_BYTES:
            return found
        return list(islice(self._onward(table, start), limit))

    def some_keys(self, table: int, start: bytes, limit: int, prefix: bytes = b"") -> list[bytes]:
        """Return the keys of the rows that `some_rows` would return, in less time."""
        if not self._is_mixed(table) or (len(prefix) >= BUCKET_BYTES and self._rows(table, start) is None):
            return super().some_keys(table, start, limit, prefix)
        return [key for key, _ in self.some_rows(table, start, limit, prefix)]

    def rows_onward(self, table: int, start: bytes) -> Iterator[StoredRow]:
        """Return the rows whose keys are not before `start`, in key order. Only native code may read them, and at
        once."""
        return self._onward(table, start) if self._is_mixed(table) else super().rows_onward(table, start)

    def word_range(self, table: int, prefix: bytes, most: int, *, letters: bool) -> WordRange:
        """Return the words of the first `most` rows whose keys begin with `prefix`, without making a list of the
        rows.

        Args:
            letters: True: words of up to 50 letters are in the lexicon; False: words of up to 40 bytes.
        """
        rows = self._rows(table, prefix)
        if rows is None:
            return super().word_range(table, prefix, most, letters=letters)
        return WordRange(rows.some_rows(table, prefix, most, prefix), prefix, most, letters)

    def rows(self, table: int, prefix: bytes, start: bytes | None = None) -> Iterator[StoredRow]:
        """Yield the rows whose keys begin with `prefix`, in key order, from `start` on. No row may change meanwhile."""
        if not self._is_mixed(table):
            return super().rows(table, prefix, start)
        if len(prefix) < BUCKET_BYTES:
            return (row for row in self._onward(table, start or prefix) if row[0].startswith(prefix))
        rows = self._rows(table, prefix)
        return super().rows(table, prefix, start) if rows is None else iter(rows.rows(table, start or prefix, prefix))

    def count(self, table: int) -> int:
        """Return the number of rows of a table."""
        count = super().count(table)
        if not self._is_mixed(table):
            return count
        if self.write:
            self.write_small()
            count = super().count(table)
        return count + self._counts()[SMALL_TABLES.index(table)]

    def _floor(self, table: int, key: bytes, prefix_bytes: int) -> StoredRow | None:
        rows = self._rows(table, key)
        if rows is None:
            return StoredRows.floor_many(self, table, [key], prefix_bytes)[0]
        found = rows.floor(table, key)
        return None if found is None or found[0][:prefix_bytes] != key[:prefix_bytes] else found

    # -- writing -----------------------------------------------------------------------------------------------------

    def append(self, table: int, key: bytes, value: bytes) -> None:
        """Write a row whose key probably sorts behind all others, so that LMDB fills pages completely."""
        if self._rows(table, key) is None:
            super().append(table, key, value)
        else:
            self.put(table, key, value)

    def delete_rows(self, table: int, prefix: bytes, limit: int) -> int:
        """Delete at most `limit` rows whose keys begin with `prefix`; return their number."""
        rows = self._rows(table, prefix)
        if rows is None:
            return super().delete_rows(table, prefix, limit)
        gone = rows.some_rows(table, prefix, limit, prefix)
        for key, _ in gone:
            rows.delete(table, key)
        return len(gone)
