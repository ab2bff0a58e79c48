"""The bytes of orders: packing and unpacking, rows that change place by place, and bytes that must not crash."""

import contextlib
from array import array

from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.ordered_rows import held_places, order_at, with_order
from sonicpy._native.orders import order_of_new, pack_given, pack_order, unpack_given, unpack_order
from sonicpy._native.varint import DamagedBytes

GAP = -1


@st.composite
def orders(draw: st.DrawFn, gaps: bool = True) -> tuple[list[list[int]], int]:
    terms = draw(st.integers(1, 12) | st.sampled_from([63, 64, 65, 300]))
    word = st.integers(GAP if gaps else 0, terms - 1)
    pieces = st.lists(st.lists(word, min_size=1, max_size=20), max_size=3)
    shuffled = st.permutations(range(terms)).map(lambda piece: [list(piece)])
    return draw(pieces | shuffled), terms


@given(orders())
def test_orders_come_back(order: tuple[list[list[int]], int]) -> None:
    pieces, terms = order
    assert unpack_order(pack_order(pieces, terms), terms) == pieces
    assert unpack_given(pack_given(pieces), terms) == pieces


@given(orders(gaps=False), st.randoms())
def test_the_order_of_a_new_object_is_that_of_its_terms(order: tuple[list[list[int]], int], dice: object) -> None:
    pieces, terms = order[0][:1], order[1]
    ids = list(range(100, 100 + 3 * terms, 3))
    dice.shuffle(ids)  # type: ignore[attr-defined]
    rank = {term_id: place for place, term_id in enumerate(sorted(ids))}
    expected = pack_order([[rank[ids[number]] for number in piece] for piece in pieces], terms)
    assert order_of_new(pack_given(pieces), array("Q", ids).tobytes()) == expected


@given(st.lists(st.tuples(st.integers(0, 63), st.none() | st.binary(min_size=1, max_size=200)), max_size=30))
def test_rows_hold_what_was_put_last(changes: list[tuple[int, bytes | None]]) -> None:
    row, twin = b"", dict[int, bytes]()
    for place, order in changes:
        row = with_order(row or None, place, order)
        twin.pop(place, None)
        if order is not None:
            twin[place] = order
        assert held_places(row) == sorted(twin)
        assert [order_at(row, each) for each in range(64)] == [twin.get(each) for each in range(64)]


@given(st.binary(max_size=40), st.integers(0, 70))
def test_any_bytes_are_read_or_refused(packed: bytes, terms: int) -> None:
    for read in (lambda: unpack_order(packed, terms), lambda: unpack_given(packed, terms), lambda: held_places(packed)):
        with contextlib.suppress(DamagedBytes):
            read()
