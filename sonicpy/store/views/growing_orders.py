"""Changed rows of orders, beside which the orders of large objects grow: a text adds its words, and nothing else is
read, until the row is read or written.
"""

from array import array
from collections.abc import Callable

from sonicpy._native.ordered_rows import with_order
from sonicpy._native.orders import pack_order
from sonicpy.store.disk.table_numbers import ORDERS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.views.vector_rows import VectorRows

GAP = -1
GROWING_WORDS_MAX = 500_000
"""The most words of all orders of a bucket that grow: about 10 MB."""
KEPT_WORDS_MAX = 100_000
"""The most words that stay after a commit."""
ORDER_AS_WORDS = 40
"""As many words take about as much memory as an order without a word."""

IdsInOrder = list[list[int]]
"""For each text of an object, the ids of the terms of its words; GAP in place of a word that was removed."""


class GrowingOrder:
    """The order of a large object.

    Args:
        key, place: the row that holds the order, and its place there.
        pieces: the order as the row holds it.

    Attributes:
        words: the number of its words.
    """

    __slots__ = ("_known", "_pieces", "key", "place", "words")

    def __init__(self, key: bytes, place: int, pieces: IdsInOrder) -> None:
        self.key = key
        self.place = place
        self._pieces = [_packed(piece) for piece in pieces]
        self._known = set(self._pieces)
        self.words = sum(map(len, pieces))

    @property
    def pieces(self) -> IdsInOrder:
        """The order."""
        return [array("q", piece).tolist() for piece in self._pieces]

    def new_of(self, pieces: IdsInOrder) -> IdsInOrder:
        """Return the given pieces that the order does not have, each once."""
        new = {packed: piece for piece in pieces if (packed := _packed(piece)) not in self._known}
        return list(new.values())

    def add(self, pieces: IdsInOrder) -> None:
        """Add pieces, of which the order has none; those of gaps alone are left out."""
        packed = [_packed(piece) for piece in pieces if any(each != GAP for each in piece)]
        self._pieces += packed
        self._known.update(packed)
        self.words += sum(map(len, pieces))


class OrderRows(VectorRows):
    """The changed rows of orders of a bucket, see `VectorRows`; `waiting` lacks the new words of orders that grow.

    Attributes:
        ids_of: returns the ids of the terms of an object; its owner sets it.
    """

    __slots__ = ("_changed", "_growing", "_words", "ids_of")
    ids_of: Callable[[int], list[int]]

    def __init__(self) -> None:
        super().__init__(ORDERS)
        self._growing: dict[int, GrowingOrder] = {}
        self._changed: dict[bytes, set[int]] = {}  # the objects whose new words the row under a key lacks
        self._words = 0  # of all orders that have grown since `_growing` was empty

    def growing(self, iid: int) -> GrowingOrder | None:
        """Return the order of an object if it grows, or None."""
        return self._growing.get(iid)

    def grow(self, iid: int, order: GrowingOrder, transaction: Transaction) -> None:
        """Begin to grow an order, which `waiting` holds; others stop growing if all together are too large."""
        if self._words + order.words > GROWING_WORDS_MAX:
            self._end_all(transaction)
        self._growing[iid] = order
        self._words += order.words + ORDER_AS_WORDS

    def add(self, iid: int, pieces: IdsInOrder) -> None:
        """Add pieces to an order that grows and has none of them; new terms of the object have changed its places."""
        order = self._growing[iid]
        order.add(pieces)
        self._words += sum(map(len, pieces))
        self._changed.setdefault(order.key, set()).add(iid)

    def end_growth(self, iid: int) -> None:
        """Forget the growing order of an object, whose row is about to change."""
        self._growing.pop(iid, None)

    def get(self, transaction: Transaction, key: bytes) -> bytes | None:
        """Return the row under a key, or None."""
        if key in self._changed:
            self._settle(transaction, key)
        return super().get(transaction, key)

    def write(self, transaction: Transaction) -> None:
        """Write all waiting rows into the table."""
        if self._words > KEPT_WORDS_MAX:
            self._end_all(transaction)
        else:
            self._settle_all(transaction)
        super().write(transaction)

    def _end_all(self, transaction: Transaction) -> None:
        self._settle_all(transaction)
        self._growing.clear()
        self._words = 0

    def _settle_all(self, transaction: Transaction) -> None:
        for key in list(self._changed):
            self._settle(transaction, key)

    def _settle(self, transaction: Transaction, key: bytes) -> None:
        """Put the new words of growing orders into their row."""
        for iid in self._changed.pop(key):
            order = self._growing.get(iid)
            if order is not None:
                row = super().get(transaction, key)
                self.waiting[key] = with_order(row, order.place, packed_order(order.pieces, self.ids_of(iid)))


def packed_order(pieces: IdsInOrder, ids: list[int]) -> bytes:
    """Return the bytes of an order.

    Args:
        pieces: the order; pieces of gaps alone are left out.
        ids: the ids of the terms of the object, rising.
    """
    places = {term_id: place for place, term_id in enumerate(ids)}
    places[GAP] = GAP
    kept = [piece for piece in pieces if any(each != GAP for each in piece)]
    return pack_order([[places[each] for each in piece] for piece in kept], len(ids))


def _packed(piece: list[int]) -> bytes:
    return array("q", piece).tobytes()
