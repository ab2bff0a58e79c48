"""Reads an environment that an older version made: the tables that it did not have are empty."""

from collections.abc import Callable
from typing import Any, Final

from sonicpy._native.word_range import WordRange
from sonicpy.store.disk.transaction import Transaction


class PartialTransaction(Transaction):
    """A transaction for reading, where the handle of a missing table is None."""

    __slots__ = ()


EMPTY: Final[dict[str, Callable[..., Any]]] = {
    "get": lambda key: None,
    "getter": lambda: lambda key: None,
    "get_many": lambda keys: [],
    "floor_many": lambda keys, prefix_bytes: [None] * len(keys),
    "newest_first": lambda prefix: iter(()),
    "keys": lambda prefix: [],
    "first": lambda start: None,
    "rows_of": lambda prefix, start=None: [],
    "some_rows": lambda start, limit, prefix=b"": [],
    "some_keys": lambda start, limit, prefix=b"": [],
    "word_range": lambda prefix, most, letters: WordRange((), prefix, most),
    "rows": lambda prefix, start=None: iter(()),
    "count": lambda: 0,
    "size_bytes": lambda: 0,
    "leaf_pages": lambda: 0,
}
"""Method that reads a table -> a function that returns its result for an empty table, given its other arguments."""


def _unless_missing(name: str, empty: Callable[..., Any]) -> Callable[..., Any]:
    read: Callable[..., Any] = getattr(Transaction, name)

    def method(self: PartialTransaction, table: int, *args: Any, **named: Any) -> Any:
        return empty(*args, **named) if self.is_missing(table) else read(self, table, *args, **named)

    return method


for _name, _empty in EMPTY.items():
    setattr(PartialTransaction, _name, _unless_missing(_name, _empty))
