"""Packing the vector of a PUSH natively, and the slots of a bucket that take packed vectors."""

import math
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.vectors import BITS_MAX, VectorSlot, VectorSlots, packed_vector, vector_at, with_vector
from sonicpy.errors import InvalidArgument
from sonicpy.store.rows.vector_columns import pack_vectors
from sonicpy.vectors import bits_by_column

FLOATS = st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=8, max_size=64)
PREFIX = b"\0\0\0\7\2"


@given(FLOATS)
def test_numbers_are_packed_as_by_their_signs(numbers: list[float]) -> None:
    numbers = numbers[: len(numbers) // 8 * 8]
    expected = pack_vectors(bits_by_column("vector", tuple(numbers)))
    for given_so in (numbers, array("f", numbers), array("d", numbers), memoryview(array("f", numbers))):
        assert packed_vector(given_so) == expected


@given(st.binary(min_size=1, max_size=BITS_MAX // 8))
def test_bits_and_small_numbers_are_packed(given_bits: bytes) -> None:
    assert packed_vector(given_bits) == pack_vectors((("", given_bits),))
    numbers = array("b", given_bits * 8)
    assert packed_vector(numbers) == pack_vectors(bits_by_column("vector", list(numbers)))


@pytest.mark.parametrize(
    "given_so",
    [
        b"", bytes(BITS_MAX // 8 + 1), [], [1.0] * 7, [1.0] * (BITS_MAX + 8), [math.nan] * 8, [1.0] * 7 + [math.inf],
        array("f", [-math.inf] * 8), array("d", [math.nan] * 8), array("f", []), array("d", [1] * 9),
        array("i", [1] * 8), memoryview(bytes(64)).cast("b", (8, 8)), memoryview(bytes(16)).cast("b")[::2],
        [1.0] * 7 + ["1"], [1] * 8, (1.0,) * 8, "AAAA", {"a": b"a"}, bytearray(8), None, 1,
    ],
)  # fmt: skip
def test_other_kinds_are_left_to_the_slow_way(given_so: Any) -> None:
    assert packed_vector(given_so) is None


def test_a_value_of_arrow_is_left_to_the_slow_way() -> None:
    class Scalar(bytearray):
        def as_py(self) -> list[float]:
            return [1.0] * 8

    assert packed_vector(Scalar(8)) is None


@pytest.mark.parametrize("given_so", [[math.nan] * 8, array("f", [math.inf] * 8), bytes(BITS_MAX), array("d", [1] * 9)])
def test_the_slow_way_names_the_fault(given_so: Any) -> None:
    with pytest.raises(InvalidArgument, match="vector is refused"):
        bits_by_column("vector", given_so)


def test_a_slot_puts_vectors_into_rows() -> None:
    stored, asked, heads = {PREFIX + bytes(5): with_vector(None, 3, b"ab")}, [], []
    waiting: dict[bytes, bytes] = {}

    def read(key: bytes) -> bytes | None:
        asked.append(key)
        return stored.get(key)

    def slot(head: bytes) -> VectorSlot | None:
        heads.append(head)
        return VectorSlot(head, PREFIX, waiting, read) if head == b"\1m\2" else None

    slots = VectorSlots(slot)
    packed = pack_vectors((("m", b"cd"),))
    for iid in (4, 0, 5_000, 4):
        found = slots.of(packed)
        assert found is not None
        found.put(iid, packed)
    row, later = waiting[PREFIX + bytes(5)], waiting[PREFIX + bytes(4) + b"\2"]
    assert [vector_at(row, place, 2) for place in (0, 3, 4, 5)] == [b"cd", b"ab", b"cd", None]
    assert vector_at(later, 5_000 - 2 * (8 * 4080 // 17), 2) == b"cd"
    assert asked == [PREFIX + bytes(5), PREFIX + bytes(4) + b"\2"], "a changed row is not read again"
    assert heads == [b"\1m\2"], "nor is a slot made again"
    slots.clear()
    slots.of(packed)
    assert heads == [b"\1m\2"] * 2


def test_a_row_whose_vectors_are_gone_begins_anew() -> None:
    key = PREFIX + bytes(5)
    waiting = {key: b""}
    slot = VectorSlot(b"\0\2", PREFIX, waiting, {}.get)
    slot.put(1, b"\0\2ab")
    assert waiting[key] == with_vector(None, 1, b"ab")


@pytest.mark.parametrize("packed", [b"", b"\0", b"\0\2a", b"\0\2abc", b"\5ab", b"\0\2ab\1m\2cd"])
def test_several_or_damaged_vectors_have_no_slot(packed: bytes) -> None:
    def never(head: bytes) -> None:
        raise AssertionError(head)

    assert VectorSlots(never).of(packed) is None


def test_a_column_that_the_bucket_lacks_is_asked_for_again() -> None:
    heads: list[bytes] = []
    slots = VectorSlots(heads.append)
    assert slots.of(b"\0\2ab") is None
    assert slots.of(b"\0\2ab") is None
    assert heads == [b"\0\2"] * 2


def test_sizes_that_no_vector_has_are_refused() -> None:
    for head in (b"", b"\0\0", b"\0\xff"):
        with pytest.raises(ValueError, match="a vector has"):
            VectorSlot(head, PREFIX, {}, {}.get)
    with pytest.raises(ValueError, match="shorter than its bits"):
        VectorSlot(b"\0\2", PREFIX, {}, {}.get).put(0, b"a")
