"""The orders of the words of objects inside the write transaction: see `_native.orders`."""

from typing import TYPE_CHECKING

from sonicpy._native.bucket import PushWriter
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.ordered_rows import ORDERS_PER_ROW, order_at, with_order
from sonicpy._native.orders import WORDS_MAX, order_of_new, pack_count, unpack_given, unpack_order
from sonicpy.late_logger import LateLogger
from sonicpy.store.rows import uses
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.order_rows import ORDERED, order_key, ordered_in, place_of
from sonicpy.store.views.growing_orders import GAP, GrowingOrder, IdsInOrder, packed_order

if TYPE_CHECKING:
    from sonicpy.store.views.write_view import WriteView

logger = LateLogger(__name__)

GROWING_TERMS = 64
"""The number of terms from which on the order of an object grows beside its row."""
ROW_BITS = ORDERS_PER_ROW.bit_length() - 1
LAST_PLACE = ORDERS_PER_ROW - 1


class OrderWriter:
    """Changes the orders of the objects of a bucket.

    Args:
        view: the view of the open write transaction.
        state: the state of the bucket.
        pushes: the writer of PUSH into the bucket; from now on it notes the ids of pushed terms.

    Attributes:
        has_warned: whether this process has logged a warning about an object with too many words.
    """

    has_warned = False

    def __init__(self, view: "WriteView", state: BucketState, pushes: PushWriter) -> None:
        self._view = view
        self._bucket = state.bucket
        self._pushes = pushes
        self._rows = view.orders_to_change(state.bucket)
        self._rows.ids_of = self._ids
        self._waiting = self._rows.waiting
        pushes.keeps_ids = True
        self._facts = view.facts_to_change(state.bucket)
        self._count = ordered_in(view.fact(state.bucket, ORDERED))
        self._is_noted = False  # that the store uses orders
        self._row = -1  # the one that was changed last
        self._key = b""

    def begin(self, iid: int, given: bytes) -> None:
        """Give a new object the order of its text, in the form of a record of the log.

        Raises:
            DamagedBytes: the order cannot be read.
        """
        order = order_of_new(given, self._pushes.packed_ids)
        if order is None:  # it has gaps, or too many words
            self._set(iid, self._given(given), sorted(self._pushes.ids))
            return
        row = iid >> ROW_BITS
        if row != self._row:
            self._key, self._row = order_key(self._bucket, row), row
        waiting, key = self._waiting, self._key
        before = waiting.get(key)
        if before is None:
            before = self._rows.get(self._view.transaction, key)
        waiting[key] = with_order(before, iid & LAST_PLACE, order)
        if self._is_noted:
            self._count = count = self._count + 1
            self._facts[ORDERED] = pack_count(count)
        else:
            self._note(1)

    def add(self, iid: int, given: bytes | None) -> None:
        """Add the order of a text to an object that existed before its PUSH; None: the text has none.

        A piece of the order that the object has already is not added again.
        """
        growing = self._rows.growing(iid)
        if growing is not None:
            self._grow(iid, growing, [] if given is None else self._given(given))
            return
        before, ids = self._order(iid), self._ids(iid)
        if before is None and given is None:
            return
        if before is None:
            pieces: IdsInOrder = []
        else:
            added = set(self._pushes.added)
            pieces = _pieces(before, [term_id for term_id in ids if term_id not in added])
        known = len(pieces)
        for piece in [] if given is None else self._given(given):
            if piece not in pieces:
                pieces.append(piece)
        if len(pieces) > known:  # even if the object has all of the words already
            self._view.digests.end(self._bucket, iid)
        self._set(iid, pieces, ids)
        if len(ids) >= GROWING_TERMS and _words(pieces) <= WORDS_MAX:
            self._rows.grow(iid, GrowingOrder(*place_of(self._bucket, iid), pieces), self._view.transaction)

    def _grow(self, iid: int, growing: GrowingOrder, pieces: IdsInOrder) -> None:
        """Add pieces to an order that grows; without new ones, its places may change with the terms of the object."""
        new = growing.new_of(pieces)
        if new:
            self._view.digests.end(self._bucket, iid)
        if (words := growing.words + _words(new)) > WORDS_MAX:
            _warn(words)
            self.drop(iid)
        else:
            self._rows.add(iid, new)

    def replace(self, iid: int, given: bytes | None) -> None:
        """Replace the order of an object by that of its new text; None: the text has none."""
        self._rows.end_growth(iid)
        if given is None:
            self.drop(iid)
        else:
            self._set(iid, self._given(given), self._ids(iid))

    def take(self, iid: int, before: list[int]) -> None:
        """Leave gaps where an object has lost words.

        Args:
            before: the ids of the terms that the object had.
        """
        growing = self._rows.growing(iid)
        if growing is not None:
            self._rows.end_growth(iid)
            held = growing.pieces
        elif (order := self._order(iid)) is not None:
            held = _pieces(order, before)
        else:
            return
        ids = self._ids(iid)
        left = set(ids)
        pieces = [[each if each in left else GAP for each in piece] for piece in held]
        self._set(iid, pieces, ids)

    def drop(self, iid: int) -> None:
        """Remove the order of an object."""
        self._rows.end_growth(iid)
        key, place = place_of(self._bucket, iid)
        row = self._rows.get(self._view.transaction, key)
        if row and order_at(row, place) is not None:
            self._rows.waiting[key] = with_order(row, place, None)
            self._note(-1)

    def _given(self, given: bytes) -> IdsInOrder:
        ids = self._pushes.ids
        return [[GAP if each == GAP else ids[each] for each in piece] for piece in unpack_given(given, len(ids))]

    def _ids(self, iid: int) -> list[int]:
        packed = self._view.record(self._bucket, iid)
        return [] if packed is None else ObjectRecord.unpack(packed, False).term_ids()

    def _order(self, iid: int) -> bytes | None:
        key, place = place_of(self._bucket, iid)
        return order_at(self._rows.get(self._view.transaction, key), place)

    def _set(self, iid: int, pieces: IdsInOrder, ids: list[int]) -> None:
        if (words := _words(pieces)) > WORDS_MAX:
            _warn(words)
            self.drop(iid)
            return
        self._put(iid, packed_order(pieces, ids))

    def _put(self, iid: int, order: bytes) -> None:
        key, place = place_of(self._bucket, iid)
        row = self._rows.get(self._view.transaction, key)
        is_new = order_at(row, place) is None
        self._rows.waiting[key] = with_order(row, place, order)
        if is_new:
            self._note(1)

    def _note(self, more: int) -> None:
        """Add `more` to the number of objects that have an order."""
        if not self._is_noted:
            self._view.require(uses.ORDER)
            self._is_noted = True
        self._count += more
        self._facts[ORDERED] = pack_count(self._count)


def _pieces(order: bytes, ids: list[int]) -> IdsInOrder:
    return [[GAP if place == GAP else ids[place] for place in piece] for piece in unpack_order(order, len(ids))]


def _words(pieces: IdsInOrder) -> int:
    return sum(map(len, pieces))


def _warn(words: int) -> None:
    """Log, once in a process, that an object has too many words for an order."""
    if not OrderWriter.has_warned:
        OrderWriter.has_warned = True
        logger.warning(
            "an object has %d words; the order of at most %d is kept, so no phrase finds it: STATS counts such objects "
            "as unordered, further ones are not logged",
            words,
            WORDS_MAX,
        )
