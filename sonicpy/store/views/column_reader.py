"""Reads the named values of a bucket: by object, and in windows of 4,096 objects."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from sonicpy._native.bucket_cache import BucketCache
from sonicpy._native.column_window import OBJECTS_PER_COLUMN_ROW, ColumnRow, ColumnWindow
from sonicpy.store.disk.table_numbers import COLUMNS, StoredRow
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.column_names import COLUMN_NAMES, Column, unpack_columns
from sonicpy.store.rows.keys import column_key, column_row_of, columns_prefix, window_id
from sonicpy.values import shown_point

if TYPE_CHECKING:
    from sonicpy.store.views.beside_words import Owner

WINDOW_OBJECTS = 4_096
WINDOW_ROWS = WINDOW_OBJECTS // OBJECTS_PER_COLUMN_ROW
LISTED_MAX = 512
"""The most windows of a column that are also cached as one list, which keeps them all alive."""
LIST_MARK = 1 << 40
"""The bit in the number of a cached list that holds all windows of a column."""
KNOWN_MARK = 1 << 41
"""The bit in the number of a cached list that holds the windows of a column which filters have read."""
READ_AT_ONCE = 8
"""The number of missing windows from which on all windows of a column are read in one go."""


class ColumnReader:
    """Reads the values of a bucket.

    Args:
        transaction: the transaction through which rows are read.
        state: the state of the bucket.
        columns: the columns of the bucket, by their numbers.
        cache: the cache of windows, kept under `VALUES_MARK`; None: nothing is cached.
        note_read: a function that counts the bytes added to the cache.
        commit: the number of the commit that is read; None: the transaction is not committed, or `cache` is None.
    """

    def __init__(
        self,
        transaction: Transaction,
        state: BucketState,
        columns: Sequence[Column],
        cache: BucketCache | None = None,
        note_read: Callable[[int], None] | None = None,
        commit: int | None = None,
    ) -> None:
        self._bucket = state.bucket
        self._next_iid = state.next_iid
        self._transaction = transaction
        self._columns = columns
        self.names = {column.name: number for number, column in enumerate(columns) if column.held}
        """The number of each column, by its name. The caller must not change it."""
        self._cache = cache
        self._note_read = note_read
        self._commit = commit

    def is_point(self, column: int) -> bool:
        """Return whether the values of a column are points."""
        return self._columns[column].is_point

    def count(self, column: int) -> int:
        """Return how many objects have a value in a column."""
        return self._columns[column].held

    def window(self, column: int, number: int) -> ColumnWindow | None:
        """Return the values of the 4,096 objects from IID `number` * 4,096 on; None: these objects have none."""
        found = self._cached(column, number) or self._read(column, number)
        return found if found.count else None

    def windows(self, column: int) -> list[ColumnWindow | None]:
        """Return all windows of a column up to the newest object. The caller must not change the list."""
        if self._cache is None or self._commit is None:
            return self._all_windows(column)
        commit, found = self._cache.kept(LIST_MARK | column) or (None, None)
        if found is None or commit != self._commit:
            found = self._all_windows(column)
            if len(found) <= LISTED_MAX:
                self._cache.keep(LIST_MARK | column, (self._commit, found))
        return found

    def known_windows(self, column: int, count: int) -> list[ColumnWindow | Literal[False] | None]:
        """Return a list of the first `count` windows, with False in place of each window not read yet; a caller that
        reads one puts it there. All filters of a commit share the list.
        """
        if self._cache is None or self._commit is None or count > LISTED_MAX:
            return [False] * count
        commit, known = self._cache.kept(KNOWN_MARK | column) or (None, [])
        if commit != self._commit or len(known) != count:
            known = [False] * count
            self._cache.keep(KNOWN_MARK | column, (self._commit, known))
        return known

    def _all_windows(self, column: int) -> list[ColumnWindow | None]:
        count = (self._next_iid + WINDOW_OBJECTS - 1) // WINDOW_OBJECTS
        found = [self._cached(column, number) for number in range(count)]
        missing = [number for number, window in enumerate(found) if window is None]
        if len(missing) > READ_AT_ONCE:
            rows = self._transaction.rows(COLUMNS, columns_prefix(self._bucket, column))
            grouped = dict[int, list[StoredRow]]()
            for number, group in groupby(rows, key=_window_of):
                grouped[number] = list(group)
            for number in missing:
                found[number] = self._made(column, number, grouped.get(number, []))
        else:
            for number in missing:
                found[number] = self._read(column, number)
        return [None if window is None or not window.count else window for window in found]

    def values_of(self, column: int, iids: list[int]) -> list[int | None]:
        """Return the values of some objects in a column, in their order; None for an object without one."""
        rows = {number: self._row(column, number) for number in {iid // OBJECTS_PER_COLUMN_ROW for iid in iids}}
        return [rows[iid // OBJECTS_PER_COLUMN_ROW].of(iid % OBJECTS_PER_COLUMN_ROW) for iid in iids]

    def all_of(self, iid: int) -> dict[str, int]:
        """Return the values of an object by name."""
        found = {name: self.values_of(number, [iid])[0] for name, number in self.names.items()}
        return {name: value for name, value in sorted(found.items()) if value is not None}

    def shown_of(self, iid: int) -> dict[str, int | str]:
        """Return the values of an object by name, points as text."""
        names = self.names
        return {
            name: shown_point(value) if self.is_point(names[name]) else value
            for name, value in self.all_of(iid).items()
        }

    def _row(self, column: int, number: int) -> ColumnRow:
        return ColumnRow(self._transaction.get(COLUMNS, column_key(self._bucket, column, number)) or b"")

    def _cached(self, column: int, number: int) -> ColumnWindow | None:
        return None if self._cache is None else self._cache.kept(window_id(column, number * WINDOW_OBJECTS))

    def _read(self, column: int, number: int) -> ColumnWindow:
        start = column_key(self._bucket, column, number * WINDOW_ROWS)
        rows = self._transaction.some_rows(COLUMNS, start, WINDOW_ROWS, columns_prefix(self._bucket, column))
        return self._made(column, number, (row for row in rows if _window_of(row) == number))

    def _made(self, column: int, number: int, rows: Iterable[StoredRow]) -> ColumnWindow:
        window = ColumnWindow([(column_row_of(key) % WINDOW_ROWS, row) for key, row in rows])
        if self._cache is not None:
            self._cache.keep(window_id(column, number * WINDOW_OBJECTS), window)
            if self._note_read is not None:
                self._note_read(window.size_bytes)
        return window


def stored_columns(owner: "Owner") -> tuple[Column, ...] | None:
    """Return the columns of a bucket; None: no object has a value."""
    fact = owner.fact(COLUMN_NAMES)
    return None if fact is None else _held_columns(fact)


@lru_cache(maxsize=256)
def _held_columns(fact: bytes) -> tuple[Column, ...] | None:
    columns = tuple(unpack_columns(fact))
    return columns if any(column.held for column in columns) else None


def _window_of(row: StoredRow) -> int:
    """Return the number of the window that contains the objects of a row of `columns`."""
    return column_row_of(row[0]) // WINDOW_ROWS
