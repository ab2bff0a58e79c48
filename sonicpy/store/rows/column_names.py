"""The columns of a bucket, each the values of its objects under one name: a fact of the bucket.

The fact holds, for each column by its number: flags u8 (1: its values are points), size of the name u8, the name, and
the number of values u40 (little-endian). A column that lost its last value has no name; the next new name gets it.
"""

from typing import Final, NamedTuple

from sonicpy.errors import StoreDamaged

COLUMN_NAMES: Final = 42
"""The kind of the fact that holds the names of columns."""
COLUMNS_MAX: Final = 256
"""The most columns of a bucket: the number of a column is one byte of a key."""
COUNT_BYTES: Final = 5


class Column(NamedTuple):
    """The values of a bucket under one name.

    Attributes:
        name: the name of the values; "": the column is empty and free for a new name.
        is_point: whether the first value was a point, and therefore all are.
        held: the number of values.
    """

    name: str
    is_point: bool = False
    held: int = 0


def pack_columns(columns: list[Column]) -> bytes:
    """Return the fact that describes columns."""
    return b"".join(
        bytes((is_point, len(name))) + name.encode() + count.to_bytes(COUNT_BYTES, "little")
        for name, is_point, count in columns
    )


def unpack_columns(fact: bytes | None) -> list[Column]:
    """Return the columns of a fact by their numbers; None: no object ever had a value. Raises StoreDamaged."""
    columns: list[Column] = []
    at, fact = 0, fact or b""
    while at < len(fact):
        name_at = at + 2
        end = name_at + fact[at + 1] if name_at <= len(fact) else len(fact)
        at = end + COUNT_BYTES
        if at > len(fact):
            raise StoreDamaged("the names of columns are cut off")
        name, count = fact[name_at:end].decode("ascii", "replace"), int.from_bytes(fact[end:at], "little")
        columns.append(Column(name, bool(fact[name_at - 2] & 1), count))
    return columns


def number_of(columns: list[Column], name: str) -> int | None:
    """Return the number of the column with a name; None: there is no such column."""
    return next((number for number, column in enumerate(columns) if column.name == name), None)
