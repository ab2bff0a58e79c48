"""sonicpy._native.ranking against a twin of dicts: which objects answer, in which order, by all three ways to score."""

import struct
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.postings import IID_MAX, pack_block
from sonicpy._native.ranking import OBJECTS_PER_ROW, Ranker, pack_length, unpack_length
from tests.reference import ranking as twin

ALL = 2**32


class Add(NamedTuple):
    """The arguments of one call of `add`, blocks as lists of postings."""

    blocks: list[list[tuple[int, int]]]
    dead: int
    weight: float
    required: bool
    inserts: bool
    again: bool
    full: int


iids = st.integers(0, 12) | st.sampled_from([3999, 4000, 4001, 12_000, 2**32, IID_MAX])
blocks = st.lists(st.tuples(iids, st.sampled_from([1, 1, 2, 7, 300])), min_size=1, max_size=8)
adds = st.builds(
    Add,
    blocks=st.lists(blocks, max_size=3),
    dead=st.sampled_from([0, 0, 0, 1, 2, 9]),
    weight=st.sampled_from([0.0, 0.1, 0.5, 1.0, 1 / 3, 4.75]) | st.floats(0, 20, width=32),
    required=st.sampled_from([False, False, False, True]),
    inserts=st.sampled_from([True, True, True, False]),
    again=st.sampled_from([False, False, False, True]),
    full=st.sampled_from([0, 0, 0, 1, 4]),
)


def gathered(calls: list[Add]) -> tuple[Ranker, twin.Ranker]:
    """Both rankers after the same calls; a first call cannot be `again`, and `again` repeats what is required."""
    native, slow = Ranker(len(calls)), twin.Ranker()
    for call in calls:
        again = call.again and bool(slow.terms)
        named = {
            "required": slow.terms[-1].required if again else call.required,
            "inserts": call.inserts, "again": again, "full": call.full,
        }  # fmt: skip
        packed = [pack_block(block) for block in call.blocks]
        expected = slow.add(call.blocks, call.dead, call.weight, **named)
        assert native.add(packed, call.dead, call.weight, **named) == expected
        assert len(native) == len(slow.objects)
    return native, slow


def assert_same_pages(native: Ranker, slow: twin.Ranker) -> None:
    expected = slow.best(0, ALL)
    assert native.best(0, ALL) == expected
    for offset, limit in ((0, 0), (0, 1), (1, 2), (2, 100), (len(expected), 5), (len(expected) + 7, 1), (ALL, ALL)):
        assert native.best(offset, limit) == expected[offset : offset + limit]


# -- the three orders ----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=400)
@given(st.lists(adds, max_size=5))
def test_sonic_scores_in_32_bits_and_fills_holes_from_the_end(calls: list[Add]) -> None:
    native, slow = gathered(calls)
    words = max(1, len(slow.terms))
    native.sonic(words)
    slow.sonic(words)
    assert_same_pages(native, slow)


@settings(deadline=None, max_examples=200)
@given(st.lists(adds, max_size=4), st.integers(1, 6))
def test_sonic_divides_by_the_words_of_the_query(calls: list[Add], words: int) -> None:
    """More words than terms were added: one was cut by its frequency, and a special rule leaves nothing."""
    native, slow = gathered(calls)
    native.sonic(words)
    slow.sonic(words)
    assert_same_pages(native, slow)


@settings(deadline=None, max_examples=200)
@given(st.lists(adds, max_size=4))
def test_newest_keeps_the_objects_that_hold_every_term(calls: list[Add]) -> None:
    native, slow = gathered(calls)
    native.newest()
    slow.newest()
    assert_same_pages(native, slow)


@settings(deadline=None, max_examples=400)
@given(
    st.lists(adds, max_size=5),
    st.dictionaries(st.integers(0, 14), st.integers(0, 255)),
    st.sampled_from([0.0, 1.0, 9.5, 1000.0]),
    st.sampled_from([(1.2, 0.75), (0.5, 0.0), (2.0, 1.0)]),
)
def test_bm25_ranks_as_the_formula(
    calls: list[Add], lengths: dict[int, int], average: float, constants: tuple[float, float]
) -> None:
    """Scores that differ only in their last bits may change places: a compiler may fuse a product and a sum."""
    native, slow = gathered(calls)
    row = bytes(lengths.get(place, 0) for place in range(max(lengths, default=-1) + 1))
    rows: dict[int, bytes | bytearray] = {0: row, 1: bytearray(b"\x05"), 3: row}
    native.bm25(rows, average, *constants)
    slow.bm25(rows, average, *constants)
    ranked = native.best(0, ALL)
    assert sorted(ranked) == sorted(slow.objects)
    places = {iid: place for place, iid in enumerate(slow.objects)}
    for one, other in pairwise(ranked):
        better, worse = slow.scores[one], slow.scores[other]
        assert better >= worse - 1e-9 * max(1.0, worse)
        if better == worse and abs(better) < 1e-12:
            assert places[one] < places[other], "equals keep their order"
    assert native.best(1, 2) == ranked[1:3]
    assert set(native.length_rows()) >= {iid // OBJECTS_PER_ROW for iid in slow.objects}


# -- single facts -----------------------------------------------------------------------------------------------------


def listed(*postings: int) -> list[bytes]:
    """One block of postings with tf 1, oldest first."""
    return [pack_block([(iid, 1) for iid in postings])]


SP10 = {"alpha": (1, 3, 5, 7, 100), "beta": (0, 2, 4, 6, 101), "k9": (0, 1, 2, 3, 4, 5, 6, 7)}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("k9", [7, 6, 5, 4, 3, 2, 1, 0]),
        ("alpha k9", [1, 7, 5, 3]),
        ("k9 alpha", [7, 3, 5, 1]),
        ("beta k9 alpha", []),
        ("alpha beta", [100, 7, 5, 3, 1, 101, 6, 4, 2, 0]),
    ],
)
def test_the_recorded_orders_when_objects_drop_out(query: str, expected: list[int]) -> None:
    """Golden 14-special-tokens, "order of equal results when objects drop out"."""
    words = query.split()
    ranker = Ranker(len(words))
    for word in words:
        ranker.add(listed(*SP10[word]), 0, 0.6 if word == "k9" else 0.9, required=word == "k9")
    ranker.sonic(len(words))
    assert ranker.best(0, 100) == expected


def test_sums_of_32_bits_decide_ties() -> None:
    """In 64 bits the two sums differ; in the 32 of Sonic they are equal, and the table's order decides."""
    small = 2.0**-26
    assert struct.unpack("<f", struct.pack("<f", 1.0 + small))[0] == 1.0
    ranker = Ranker(2)
    ranker.add(listed(2, 1), 0, 1.0)
    ranker.add(listed(2), 0, small)
    ranker.sonic(2)
    assert ranker.best(0, 10) == [1, 2]
    ranker = Ranker(2)
    ranker.add(listed(2, 1), 0, 1.0)
    ranker.add(listed(2), 0, 2.0**-22)
    ranker.sonic(2)
    assert ranker.best(0, 10) == [2, 1]


def test_another_spelling_counts_no_object_twice() -> None:
    ranker = Ranker(2)
    ranker.add(listed(1, 2), 0, 1.0)
    ranker.add(listed(2, 3), 0, 1.0, again=True)
    ranker.add(listed(3), 0, 0.5)
    ranker.newest()
    assert ranker.best(0, 10) == [3], "the spellings are one term"


def test_a_term_that_does_not_insert_adds_to_those_already_there() -> None:
    ranker = Ranker(2)
    ranker.add(listed(1, 2), 0, 1.0)
    assert ranker.add(listed(3, 1), 0, 1.0, inserts=False, full=3)
    assert len(ranker) == 2
    ranker.sonic(2)
    assert ranker.best(0, 10) == [1, 2]


@pytest.mark.parametrize("full", [1, 2, 3])
def test_a_full_table_takes_no_further_object(full: int) -> None:
    ranker = Ranker(1)
    assert not ranker.add(listed(1, 2, 3), 0, 1.0, full=full)
    assert len(ranker) == full
    ranker.newest()
    assert ranker.best(0, 10) == [3, 2, 1][:full], "the newest ones came first"


def test_dead_postings_stand_at_the_head_of_the_first_block_only() -> None:
    ranker = Ranker(1)
    ranker.add([pack_block([(1, 1), (2, 1)]), pack_block([(3, 1), (4, 1)])], 1, 1.0)
    ranker.newest()
    assert ranker.best(0, 10) == [4, 3, 2]


def test_objects_without_a_required_term_do_not_answer() -> None:
    ranker = Ranker(3)
    ranker.add(listed(1, 2, 3), 0, 1.0)
    ranker.add(listed(2, 3), 0, 0.1, required=True)
    ranker.add(listed(3, 4), 0, 0.1, required=True)
    ranker.bm25({}, 1.0, 1.2, 0.75)
    assert ranker.best(0, 10) == [3]


def test_thousands_of_objects_over_many_blocks() -> None:
    size = 20_000
    order = [number * 7919 % size for number in range(size)]
    ranker = Ranker(1)
    ranker.add([pack_block([(iid, 1) for iid in order[at : at + 128]]) for at in range(0, size, 128)], 3, 1.0)
    ranker.newest()
    assert ranker.best(0, size) == order[:2:-1]
    assert ranker.best(size - 10, 20) == order[9:2:-1]
    assert sorted(ranker.length_rows()) == list(range(size // OBJECTS_PER_ROW))


@pytest.mark.parametrize(("offset", "limit"), [(0, 2**64 - 1), (1, 2**64 - 1), (2, 2**63), (3, 1), (2**64 - 1, 1)])
def test_offsets_and_limits_may_lie_beyond_the_end(offset: int, limit: int) -> None:
    ranker = Ranker(1)
    ranker.add(listed(1, 2, 3), 0, 1.0)
    ranker.newest()
    assert ranker.best(offset, limit) == [3, 2, 1][offset:]


def test_an_empty_ranker_answers_nothing_in_every_way() -> None:
    for terms in (0, 1, -1):
        ranker = Ranker(terms)
        ranker.bm25({}, 0.0, 1.2, 0.75)
        ranker.newest()
        ranker.sonic(1)
        assert ranker.best(0, 10) == ranker.length_rows() == []


# -- wrong use and damage ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [b"", b"\x02\x04", b"\x81" + b"\0" * 129, pack_block([(1, 1)]) + b"\0", b"\x01\xff"])
def test_a_damaged_block_is_refused(block: bytes) -> None:
    for blocks in ([block], [pack_block([(1, 1)]), block], [block, pack_block([(1, 1)])]):
        ranker = Ranker(2)
        with pytest.raises(ValueError, match="cannot be read"):
            ranker.add(blocks, 0, 1.0)
        ranker.sonic(1)
        assert ranker.best(0, 10) in ([], [1]), "what was read before may stand"


def test_more_terms_than_announced_are_refused() -> None:
    ranker = Ranker(1)
    ranker.add(listed(1), 0, 1.0)
    with pytest.raises(ValueError, match="1 terms takes no further one"):
        ranker.add(listed(2), 0, 1.0)
    ranker.newest()
    assert ranker.best(0, 10) == [1]


@pytest.mark.parametrize("dead", [-1, -100])
def test_dead_postings_cannot_be_fewer_than_none(dead: int) -> None:
    """Otherwise bytes from before the block would be read as postings."""
    ranker = Ranker(1)
    with pytest.raises(ValueError):  # noqa: PT011
        ranker.add(listed(1, 2), dead, 1.0)


def test_another_spelling_of_no_term_is_refused() -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        Ranker(1).add(listed(1), 0, 1.0, again=True)


# -- lengths ----------------------------------------------------------------------------------------------------------


def test_lengths_are_exact_up_to_63_and_within_three_percent_above() -> None:
    assert [pack_length(length) for length in range(64)] == list(range(64))
    for length in [*range(64, 3000), 10_000, 99_999, 240_000]:
        assert pack_length(length) == twin.pack_length(length)
        assert abs(unpack_length(pack_length(length)) - length) <= 0.03 * length
    for packed in range(256):
        assert unpack_length(packed) == twin.unpack_length(packed)
        assert pack_length(round(unpack_length(packed))) == packed
    assert pack_length(2**64 - 1) == pack_length(10**7) == 255
