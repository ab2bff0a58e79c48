"""The default columns of rows, the columns that are guessed by their names, and the rows of one bucket."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

OBJECT_COLUMNS = ("id", "object")
"""Columns for the name of the object, if no column is given; the first that exists is used."""
TEXT_COLUMN = "text"
ID_NAMES = (
    "id", "object", "sku", "key", "uuid", "guid", "isbn", "asin", "ean", "code", "number", "no", "nr", "slug", "url",
)  # fmt: skip
"""Likely names of the column that identifies a row, the likeliest first."""
TEXT_NAMES = (
    "text", "title", "name", "headline", "subject", "body", "description", "summary", "content", "message", "comment",
)  # fmt: skip
"""Likely names of columns with texts, in the order in which the texts are joined."""
FIELD_CHARACTERS_MAX = 1 << 30
"""The most characters of a field of CSV, instead of the 131,072 of the csv module."""


class RowsOfBucket:
    """Rows that a bucket passes on to `push_many` of its index or client: those by position that name another bucket
    are refused.

    Args:
        rows: the rows, of any kind that `push_many` takes.
    """

    __slots__ = ("rows",)

    def __init__(self, rows: Any) -> None:
        self.rows = rows


def columns_like(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the columns whose names equal one of `names`, in the order of `names`; if there are none, the columns
    whose names end in one of them behind `_` or a blank, as product_id ends in id. Capitals count as small letters."""
    found = dict.fromkeys(column for name in names for column in columns if column.casefold() == name)
    more = (column for name in names for column in columns if column.casefold().endswith((f"_{name}", f" {name}")))
    return list(found) or list(dict.fromkeys(more))


def columns_of_texts(columns: Sequence[str]) -> list[str]:
    """Return the columns that hold texts, judged by their names, in the order of TEXT_NAMES."""
    return list(dict.fromkeys(chain.from_iterable(columns_like(columns, [name]) for name in TEXT_NAMES)))
