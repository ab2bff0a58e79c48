"""The rows of the orders of words: of 64 objects each; and how many objects of a bucket have one."""

from sonicpy._native.keys import term_key
from sonicpy._native.ordered_rows import ORDERS_PER_ROW
from sonicpy._native.varint import unpack_varints

ORDERED: int = 56
"""The kind of the fact: v(number of objects whose order is kept)."""


def order_key(bucket: int, row: int) -> bytes:
    """Return the key of a row of `orders`: that of the objects from IID `row` * ORDERS_PER_ROW on."""
    return term_key(bucket, row)


def order_number(key: bytes) -> int:
    """Return the number of a row of `orders` from its key."""
    return int.from_bytes(key[4:], "big")


def place_of(bucket: int, iid: int) -> tuple[bytes, int]:
    """Return the key of the row with the order of an object, and its place there."""
    row, place = divmod(iid, ORDERS_PER_ROW)
    return term_key(bucket, row), place


def ordered_in(fact: bytes | None) -> int:
    """Return how many objects of a bucket have an order, from its fact. Raises DamagedBytes."""
    return 0 if fact is None else unpack_varints(fact)[0]
