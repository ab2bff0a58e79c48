"""Tests of sonicpy._native.impact_rows: rows of impacts, compared with lists of postings; and bytes that are not a
row.
"""

import random
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.impact_rows import BLOCKS_PER_ROW, ImpactRow, block_pairs
from sonicpy._native.postings import pack_block
from sonicpy._native.varint import DamagedBytes, pack_varints
from tests.support.examples import examples

Pairs = list[tuple[int, int]]
PAIRS_MAX = 4
IID_MAX = 2**32 - 2

pairs = st.lists(st.tuples(st.integers(1, 255), st.integers(0, 255)), min_size=1, max_size=60)
lowers = st.integers(0, 300) | st.integers(0, IID_MAX)


def bounds(impacts: Pairs, postings: Pairs) -> bool:
    """Return whether, for each posting, a pair has at least its tf and at most its length."""
    return all(any(most >= tf and least <= length for most, least in impacts) for tf, length in postings)


def frontier(postings: Pairs) -> Pairs:
    """Return the pairs that no other pair exceeds in both values, by rising tf."""
    best = {
        (tf, length)
        for tf, length in postings
        if not any((more >= tf and less <= length) and (more, less) != (tf, length) for more, less in postings)
    }
    return sorted(best)


@given(pairs)
def test_pairs_bound_their_postings_and_are_few(postings: Pairs) -> None:
    row = ImpactRow()
    row.put(0, postings)
    impacts = row.pairs(0)
    assert 0 < len(impacts) <= PAIRS_MAX and bounds(impacts, postings)
    assert frontier(impacts) == impacts, "by rising tf, and none beats another"
    if all(len(frontier(postings[:count])) <= PAIRS_MAX for count in range(1, len(postings) + 1)):
        assert impacts == frontier(postings), "exact as long as there is room"
    assert max(tf for tf, _ in impacts) == max(tf for tf, _ in postings), "merging invents no extremes"
    assert min(length for _, length in impacts) == min(length for _, length in postings)


@given(
    st.lists(
        st.tuples(st.integers(0, 999), st.integers(1, 300)), min_size=1, max_size=128, unique_by=lambda one: one[0]
    )
)
def test_pairs_of_a_block(postings: Pairs) -> None:
    lengths = bytes(random.Random(5).randrange(256) for _ in range(900))  # objects from 900 on have none
    held = [(min(tf, 255), lengths[iid] if iid < 900 else 0) for iid, tf in postings]
    row = ImpactRow()
    row.put(7, held)
    found = block_pairs(pack_block(postings), lengths)
    assert bounds(found, held) and found == block_pairs(pack_block(postings), bytearray(lengths)) == row.pairs(0)


@pytest.mark.parametrize("block", [b"\1", b"\2\0", b"\xff" * 200])
def test_pairs_of_a_damaged_block(block: bytes) -> None:
    with pytest.raises(DamagedBytes):
        block_pairs(block, b"")


changes = st.lists(st.tuples(st.sampled_from(["put", "put", "widen", "remove"]), lowers, pairs), max_size=40)


@given(changes)
def test_a_row_that_changes(todo: list[tuple[str, int, Pairs]]) -> None:
    row, held = ImpactRow(), dict[int, Pairs]()
    for verb, lower, postings in todo:
        before = max((other for other in held if other <= lower), default=None)
        if verb == "put":
            row.put(lower, postings)
            held[lower] = list(postings)
        elif verb == "widen":
            tf, length = postings[0]
            expected = before is not None and not bounds(row.pairs(sorted(held).index(before)), [(tf, length)])
            assert row.widen(lower, tf, length) == expected
            if before is not None:
                held[before].append((tf, length))
        elif lower in held:
            row.remove(lower)
            del held[lower]
        else:
            with pytest.raises(DamagedBytes, match=f"no impacts tell of the block from object {lower} on"):
                row.remove(lower)
        assert row.lowers() == sorted(held) and len(row) == len(held)
        assert all(bounds(row.pairs(place), held[lower]) for place, lower in enumerate(sorted(held)))
        if held:
            again = ImpactRow(row.pack())
            assert again.lower == row.lower == min(held)
            assert (again.lowers(), again.pack()) == (row.lowers(), row.pack())
            assert [again.pairs(place) for place in range(len(held))] == [
                row.pairs(place) for place in range(len(held))
            ]


def test_the_layout_is_that_of_the_format() -> None:
    row = ImpactRow()
    row.put(300, [(2, 7), (1, 3)])
    row.put(0, [(255, 9)])
    assert row.pack() == b"\2" + b"\0\1\xff\x09" + pack_varints([300]) + b"\2\1\3\2\7"


def full_row() -> ImpactRow:
    row = ImpactRow()
    for number in range(BLOCKS_PER_ROW):
        row.put(10 * number, [(1 + number, 5)])
    return row


def test_a_full_row_takes_one_block_more_and_is_split() -> None:
    row = full_row()
    assert row.is_full and len(row) == BLOCKS_PER_ROW == row.ENTRIES_MAX == 128
    row.put(15, [(200, 200)])
    with pytest.raises(ValueError, match="1 to 128 blocks, not 129"):
        row.pack()
    with pytest.raises(ValueError, match="at most 128 blocks"):
        row.put(25, [(1, 1)])
    row.put(20, [(9, 9)])  # a block that it holds
    second = row.take_second_half()
    assert (len(row), len(second)) == (64, 65) and not row.is_full
    assert row.lowers() + second.lowers() == sorted([*range(0, 1280, 10), 15])
    assert row.pairs(2) == [(200, 200)] and row.pairs(3) == [(9, 9)]
    assert ImpactRow(second.pack()).lowers() == second.lowers()


def test_an_empty_row_has_nothing_to_say() -> None:
    row = ImpactRow()
    assert (len(row), row.lowers(), row.is_full, row.widen(0, 1, 1)) == (0, [], False, False)
    with pytest.raises(IndexError):
        assert row.lower
    with pytest.raises(ValueError, match="not 0"):
        row.pack()
    for place in (-1, 0, 1, 2**40):
        with pytest.raises(IndexError):
            row.pairs(place)


ROW = full_row().pack()


def test_every_truncation_and_what_stands_behind_the_end_is_damage() -> None:
    for size in range(1, len(ROW)):
        with pytest.raises(DamagedBytes):
            ImpactRow(ROW[:size])
    for tail in (b"\0", b"\1", b"\x80"):
        with pytest.raises(DamagedBytes):
            ImpactRow(ROW + tail)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (b"\0", "no block"),
        (b"\x81" + b"\1\1\1\1" * 129, "129 blocks"),
        (b"\1\0\0", "no pair"),
        (b"\1\0\5" + b"\1\1" * 5, "five pairs"),
        (b"\2\0\1\1\1\0\1\1\1", "the same block twice"),
        (b"\1" + pack_varints([2**32]) + b"\1\1\1", "an IID of more than 32 bits"),
        (b"\2" + pack_varints([2**31]) + b"\1\1\1" + pack_varints([2**31]) + b"\1\1\1", "the sum is"),
        (b"\2\1\1\1\1" + pack_varints([2**64 - 1]) + b"\1\1\1", "a sum that wraps around"),
    ],
)
def test_rows_that_cannot_be_are_damage(row: bytes, why: str) -> None:
    with pytest.raises(DamagedBytes):
        ImpactRow(row)


@settings(deadline=None, max_examples=examples(500))
@given(st.binary(max_size=60), st.randoms(use_true_random=False))
def test_random_bytes_are_read_or_damage(noise: bytes, dice: random.Random) -> None:
    changed = bytearray(ROW)
    changed[dice.randrange(len(ROW))] = dice.randrange(256)
    for packed in (noise, ROW[: dice.randrange(len(ROW))] + noise, bytes(changed)):
        with suppress(DamagedBytes):
            row = ImpactRow(packed)
            assert row.lowers() == sorted(set(row.lowers()))


@pytest.mark.parametrize("wrong", ["", 1, [], bytearray(b"\1")])
def test_other_things_are_no_row(wrong: Any) -> None:
    with pytest.raises(TypeError):
        ImpactRow(wrong)
