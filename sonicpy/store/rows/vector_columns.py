"""The columns of vectors of a bucket: a fact with the name, the number of bits and the number of each column.

A column without a name was dropped: its rows are being removed.
"""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from sonicpy._native.keys import bucket_key
from sonicpy._native.varint import DamagedBytes
from sonicpy._native.vectors import BITS_MAX, places_of

VECTOR_COLUMNS: Final = 48
"""The kind of the fact about columns of vectors."""
COLUMNS_MAX: Final = 2
"""The most columns of a bucket: two, so that a new model can run beside the old one."""
UNNAMED: Final = "vector"
"""The name of a column that is made for a vector without a name."""
NUMBERS: Final = 256
"""The number of different numbers of columns: a number is one byte of a key."""


class VectorColumn(NamedTuple):
    """A column of vectors.

    Attributes:
        name: the name of the column; "": the column was dropped.
        number: the number of the column in keys.
    """

    name: str
    bits: int
    number: int

    @property
    def size(self) -> int:
        """The number of bytes of a vector."""
        return self.bits // 8

    def place(self, bucket: int, iid: int) -> tuple[bytes, int]:
        """Return the key of the row with the vector of an object, and the place of the vector in the row."""
        return self.places(bucket, (iid,))[0]

    def places(self, bucket: int, iids: Iterable[int]) -> list[tuple[bytes, int]]:
        """Return the key of the row and the place in the row for the vector of each object."""
        return places_of(vector_prefix(bucket, self.number), self.size, iids)


def vector_prefix(bucket: int, column: int) -> bytes:
    """Return the prefix of the keys of a column of vectors."""
    return bucket_key(bucket) + bytes((column,))


ColumnBits = tuple[tuple[str, bytes], ...]
"""The vectors of an object: pairs of the name of a column ("": the only one) and the bits of the vector."""


def pack_columns(columns: tuple[VectorColumn, ...]) -> bytes:
    """Return the fact that describes columns."""
    return json.dumps(columns, separators=(",", ":")).encode()


def live_columns(fact: bytes | None) -> tuple[VectorColumn, ...]:
    """Return the columns of a fact that were not dropped; without a fact, no columns. Raises DamagedBytes."""
    return tuple(column for column in unpack_columns(fact) if column.name)


@lru_cache(maxsize=256)
def unpack_columns(fact: bytes | None) -> tuple[VectorColumn, ...]:
    """Return the columns of a fact, including dropped ones; without a fact, no columns. Raises DamagedBytes."""
    if fact is None:
        return ()
    try:
        columns = tuple(VectorColumn(str(name), int(bits), int(number)) for name, bits, number in json.loads(fact))
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise DamagedBytes(f"the columns of vectors cannot be read: {error}") from error
    for column in columns:
        if not 0 < column.bits <= BITS_MAX or column.bits % 8 or not 0 <= column.number < NUMBERS:
            raise DamagedBytes(f"a column of vectors has {column.bits} bits and the number {column.number}")
    return columns


def column_for(columns: tuple[VectorColumn, ...], name: str, bits: int) -> VectorColumn | None | str:
    """Return the column for a vector of `bits` bits; None: a new column is needed; or the reason why no column takes
    it, as half a sentence.

    Args:
        name: the name of the column; "": the only column.
    """
    found = column_named(columns, name)
    if isinstance(found, VectorColumn) and found.bits != bits:
        return f"it has {bits} bits, those of {found.name} have {found.bits}"
    if isinstance(found, str) and name and len(columns) < COLUMNS_MAX:
        return None
    return found


def column_named(columns: tuple[VectorColumn, ...], name: str) -> VectorColumn | None | str:
    """Return the column with a name; None: there are no columns; or the reason why the name fits no column, as half a
    sentence.

    Args:
        name: the name of the column; "": the only column.
    """
    if not columns:
        return None
    names = " and ".join(column.name for column in columns)
    if not name:
        return columns[0] if len(columns) == 1 else f"it names no column, the bucket has {names}"
    found = next((column for column in columns if column.name == name), None)
    return found or f"its column is {name}, the bucket has {names}"


def pack_vectors(given: ColumnBits) -> bytes:
    """Return vectors packed for a record. Each is: length of the name u8, name, number of bytes u8, bits."""
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
