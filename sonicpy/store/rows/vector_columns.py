"""The columns of vectors of a bucket: a fact with the name, the number of bits and the number in keys of each.

A column without a name was dropped: its rows are being removed.
"""

import json
from functools import lru_cache
from typing import Final, NamedTuple

from sonicpy._native.keys import bucket_key
from sonicpy._native.varint import DamagedBytes
from sonicpy._native.vectors import BITS_MAX, places_in_row

VECTOR_COLUMNS: Final = 48
"""The kind of the fact about columns of vectors."""
COLUMNS_MAX: Final = 2
"""Two, so that a new model runs beside the old one."""
UNNAMED: Final = "vector"
"""The name of a column that was made by a vector without a name."""
NUMBERS: Final = 256
"""A number of a column is a byte of its keys."""


class VectorColumn(NamedTuple):
    """A column of vectors.

    Attributes:
        name: "": it was dropped.
        number: in keys.
    """

    name: str
    bits: int
    number: int

    @property
    def size(self) -> int:
        """The number of bytes of a vector."""
        return self.bits // 8

    def place(self, bucket: int, iid: int) -> tuple[bytes, int]:
        """Return the key of the row of an object, and its place there."""
        row, place = divmod(iid, places_in_row(self.size))
        return vector_prefix(bucket, self.number) + row.to_bytes(5, "big"), place


def vector_prefix(bucket: int, column: int) -> bytes:
    """Return the prefix of the keys of a column of vectors."""
    return bucket_key(bucket) + bytes((column,))


ColumnBits = tuple[tuple[str, bytes], ...]
"""Vectors of an object, as bits: the name of the column of each; "": the only one."""


def pack_columns(columns: tuple[VectorColumn, ...]) -> bytes:
    """Return the fact of some columns."""
    return json.dumps(columns, separators=(",", ":")).encode()


def live_columns(fact: bytes | None) -> tuple[VectorColumn, ...]:
    """Return the columns of a fact that were not dropped; none for None. Raises DamagedBytes."""
    return tuple(column for column in unpack_columns(fact) if column.name)


@lru_cache(maxsize=256)
def unpack_columns(fact: bytes | None) -> tuple[VectorColumn, ...]:
    """Return the columns of a fact, dropped ones too; none for None. Raises DamagedBytes."""
    if fact is None:
        return ()
    try:
        return tuple(VectorColumn(str(name), int(bits), int(number)) for name, bits, number in json.loads(fact))
    except (ValueError, TypeError) as error:
        raise DamagedBytes(f"the columns of vectors cannot be read: {error}") from error


def column_for(columns: tuple[VectorColumn, ...], name: str, bits: int) -> VectorColumn | None | str:
    """Return the column that takes a vector; None: a new one; or the reason why none does, as half a sentence.

    Args:
        name: "": the only column.
    """
    found = column_named(columns, name)
    if isinstance(found, VectorColumn) and found.bits != bits:
        return f"it has {bits} bits, those of {found.name} have {found.bits}"
    if isinstance(found, str) and name and len(columns) < COLUMNS_MAX:
        return None
    return found


def column_named(columns: tuple[VectorColumn, ...], name: str) -> VectorColumn | None | str:
    """Return a column by its name; None: there are no columns; or the reason why none is meant, as half a sentence.

    Args:
        name: "": the only one.
    """
    if not columns:
        return None
    names = " and ".join(column.name for column in columns)
    if not name:
        return columns[0] if len(columns) == 1 else f"it names no column, the bucket has {names}"
    found = next((column for column in columns if column.name == name), None)
    return found or f"its column is {name}, the bucket has {names}"


def pack_vectors(given: ColumnBits) -> bytes:
    """Return vectors as a record holds them: of each length of the name u8, the name, number of bytes u8, bits."""
    if len(given) == 1:  # most of them
        [(name, bits)] = given
        return b"%c%b%c%b" % (len(name), name.encode("ascii"), len(bits), bits)
    return b"".join(pack_vectors((one,)) for one in given)


def unpack_vectors(packed: bytes) -> ColumnBits:
    """Return the vectors that `pack_vectors` packed. Raises DamagedBytes."""
    given: list[tuple[str, bytes]] = []
    at = 0
    while at < len(packed):
        end = at + 1 + packed[at]
        bits = packed[end + 1 : end + 1 + packed[end]] if end < len(packed) else b""
        if not 0 < 8 * len(bits) <= BITS_MAX or len(bits) != packed[end]:
            raise DamagedBytes("a list of vectors is cut off")
        given.append((packed[at + 1 : end].decode("ascii", "replace"), bits))
        at = end + 1 + len(bits)
    return tuple(given)
