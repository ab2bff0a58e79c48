"""The rows of `orders`, which hold the orders of words of 64 objects each, and the count of objects with an order."""

from sonicpy._native.keys import term_key
from sonicpy._native.ordered_rows import ORDERS_PER_ROW
from sonicpy._native.varint import unpack_varints

ORDERED: int = 56
"""The kind of the fact: v(number of objects whose order is kept)."""


def order_key(bucket: int, row: int) -> bytes:
    """Return the key of a row of `orders`, whose first object has IID `row` * ORDERS_PER_ROW."""
    return term_key(bucket, row)


def order_number(key: bytes) -> int:
    """Return the number of the row in a key of `orders`."""
    return int.from_bytes(key[4:], "big")


def place_of(bucket: int, iid: int) -> tuple[bytes, int]:
    """Return the key of the row with the order of an object, and the place of the order in the row."""
    row, place = divmod(iid, ORDERS_PER_ROW)
    return term_key(bucket, row), place


def ordered_in(fact: bytes | None) -> int:
    """Return how many objects of a bucket have an order, from its fact. Raises DamagedBytes."""
    return 0 if fact is None else unpack_varints(fact)[0]
