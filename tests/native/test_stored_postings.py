"""Tests of sonicpy._native.stored_postings: the parts of a list that queries read; impossible rows and blocks are
damage.
"""

import random
from contextlib import suppress
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native import find
from sonicpy._native.impact_rows import ImpactRow
from sonicpy._native.keys import block_key
from sonicpy._native.postings import POSTINGS_PER_BLOCK, pack_block, unpack_block
from sonicpy._native.query_state import QueryState
from sonicpy._native.stored_postings import StoredPostings
from sonicpy._native.varint import DamagedBytes
from sonicpy.store.rows.keys import block_position
from tests.support.examples import examples

Postings = list[tuple[int, int]]
LENGTHS = bytes(range(1, 201)) * 20
IID_MAX = 2**32 - 2


def impacts_of(*lowers: int) -> bytes:
    """Return a row of impacts that bounds every posting."""
    row = ImpactRow()
    for lower in lowers:
        row.put(lower, [(255, 0)])
    return row.pack()


def stored(rows: list[bytes], tail: Postings, tail_lower: int) -> StoredPostings:
    packed = pack_block(tail) if tail else b""
    room = POSTINGS_PER_BLOCK * sum(len(ImpactRow(row).lowers()) for row in rows)
    return StoredPostings(1, 2, room + len(tail), rows, packed, tail_lower, LENGTHS)


def walked(postings: StoredPostings, blocks: dict[int, bytes]) -> Postings:
    """Return the postings as a walk and `parts` return them, by rising IID."""
    found = QueryState(LENGTHS, 100.0, 1.2, 0.75, 1.0)
    find.add_term(found, 1.0)
    find.add_words(found, [postings], 1.0)
    find.begin(found, 2**40)
    while keys := find.run(found):
        find.give(found, [(key, blocks[block_position(key)]) for key in keys if block_position(key) in blocks])
    iids = [iid for iid, _, _ in find.best(found, 0)]
    assert find.count(found) == len(iids)
    return sorted((iid, listed[0][1]) for iid, (listed, _, _) in zip(iids, find.parts(found, iids, 3), strict=True))


lists = st.lists(st.tuples(st.integers(0, 4200), st.integers(1, 300)), max_size=500, unique_by=lambda one: one[0])


@settings(deadline=None)
@given(lists, st.integers(0, 600), st.booleans(), st.randoms(use_true_random=False))
def test_blocks_in_the_order_of_association_are_sorted_and_the_oldest_skipped(
    postings: Postings, skipped: int, full: bool, dice: random.Random
) -> None:
    size = POSTINGS_PER_BLOCK if full else dice.randrange(1, POSTINGS_PER_BLOCK)
    blocks = [pack_block(postings[at : at + size]) for at in range(0, len(postings), size)]
    found = StoredPostings.of_blocks(1, 2, max(len(postings) - skipped, 0), blocks, LENGTHS, skipped)
    expected = sorted((iid, min(tf, 255)) for iid, tf in postings[skipped:])
    assert len(found) == -(-len(expected) // POSTINGS_PER_BLOCK)
    assert walked(found, {}) == expected, "nothing is left to read"


@pytest.mark.parametrize("skipped", [-(2**40), -1, 0])
def test_fewer_than_none_are_not_skipped(skipped: int) -> None:
    postings = [(number, 1) for number in range(5)]
    assert walked(StoredPostings.of_blocks(1, 2, 5, [pack_block(postings)], LENGTHS, skipped), {}) == postings


@pytest.mark.parametrize("skipped", [5, 6, 2**62])
def test_all_may_be_skipped(skipped: int) -> None:
    found = StoredPostings.of_blocks(1, 2, 0, [pack_block([(number, 1) for number in range(5)])], LENGTHS, skipped)
    assert len(found) == 0 and walked(found, {}) == []


@settings(deadline=None)
@given(lists.map(sorted), st.integers(1, POSTINGS_PER_BLOCK), st.integers(1, 3))
def test_rows_of_impacts_lead_to_blocks(postings: Postings, size: int, per_row: int) -> None:
    parts = [postings[at : at + size] for at in range(0, len(postings), size)] or [[]]
    *full, tail = parts
    lowers = [0 if not number else part[0][0] for number, part in enumerate(parts) if part]
    rows = [impacts_of(*lowers[: len(full)][at : at + per_row]) for at in range(0, len(full), per_row)]
    found = stored(rows, tail, lowers[-1] if lowers else 0)
    assert len(found) == len(full) + bool(tail)
    blocks = dict(zip(lowers, map(pack_block, full), strict=False))
    size_before = found.size_bytes
    assert walked(found, blocks) == [(iid, min(tf, 255)) for iid, tf in postings]
    assert found.size_bytes >= size_before + 5 * sum(map(len, full))
    assert walked(found, {}) == [(iid, min(tf, 255)) for iid, tf in postings], "it keeps what it has read"


def test_two_queries_read_the_same_list_side_by_side() -> None:
    """Threads share cached lists; a block that one query has requested may come to another."""
    blocks = {0: pack_block([(1, 1), (5, 2)]), 10: pack_block([(10, 1)])}
    found = stored([impacts_of(0, 10)], [(20, 1)], 20)

    def query() -> QueryState:
        one = QueryState(LENGTHS, 100.0, 1.2, 0.75, 1.0)
        find.add_term(one, 1.0)
        find.add_words(one, [found], 1.0)
        return one

    first, second, third = query(), query(), query()
    find.begin(first, 10)
    keys = find.run(first)
    assert keys == [block_key(1, 2, lower) for lower in blocks]
    with pytest.raises(DamagedBytes, match="1 blocks of postings are missing"):
        find.give(first, [(keys[0], blocks[0])])
    find.begin(second, 10)
    assert find.run(second) == keys, "the first one has nothing read yet"
    assert find.blocks_to_count(third) == keys
    find.give(third, list(zip(keys, blocks.values(), strict=True)))
    find.give(second, list(zip(keys, blocks.values(), strict=True)))
    assert find.run(second) == []
    assert sorted(iid for iid, _, _ in find.best(second, 0)) == [1, 5, 10, 20] and find.count(third) == 4


def test_a_list_that_stands_in_no_rows_keeps_its_blocks_in_a_bucket_of_a_million() -> None:
    """The blocks of stored words are dropped after their windows were made, because they can be read again; the blocks
    of a list that is in no row cannot be."""
    lengths = bytes((7, 5, 9, 11)) * ((256 << 12) // 4)
    postings = [(iid, 1) for iid in range(0, len(lengths), 30)]
    blocks = [pack_block(postings[at : at + POSTINGS_PER_BLOCK]) for at in range(0, len(postings), POSTINGS_PER_BLOCK)]
    found = StoredPostings.of_blocks(1, 2, len(postings), blocks, lengths)
    for terms in (1, 16):  # a walk, and a question that reads all postings
        query = QueryState(lengths, 100.0, 1.2, 0.75, 1.0)
        for _ in range(terms):
            find.add_term(query, 1.0)
            find.add_words(query, [found], 1.0)
        find.begin(query, 10_000)
        assert find.run(query) == []
        assert (
            len(find.best(query, 0)) == 10_000
            and find.blocks_to_count(query) == []
            and find.count(query) == len(postings)
        )


# -- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [b"\0", b"\1", impacts_of(0)[:-1], impacts_of(0) + b"\0", b"\x81" * 600])
def test_damaged_rows_of_impacts(row: bytes) -> None:
    for rows in ([row], [impacts_of(0), row], [row, impacts_of(100)]):
        with pytest.raises(DamagedBytes):
            stored(rows, [], 0)


@pytest.mark.parametrize(
    ("lowers", "tail_lower", "why"),
    [
        (([0, 10], [10]), 20, "two rows tell of one block"),
        (([0, 10], [5]), 20, "rows that overlap"),
        (([0, 10],), 10, "the tail begins with a full block"),
        (([0, 10],), 3, "the tail begins before it"),
        (([0, 10],), 2**32, "the tail begins behind all IIDs"),
    ],
)
def test_blocks_that_overlap_are_damage(lowers: tuple[list[int], ...], tail_lower: int, why: str) -> None:
    with pytest.raises(DamagedBytes):
        stored([impacts_of(*row) for row in lowers], [(20, 1)], tail_lower)


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\0",
        b"\2\x04",
        b"\x81" + b"\0" * 129,
        pack_block([(10, 1)]) + b"\0",
        pack_block([(9, 1)]),
        pack_block([(20, 1)]),
        pack_block([(10, 1), (2**32, 1)]),
        pack_block([(11, 1), (10, 1)]),
        pack_block([(10, 1), (10, 1)]),
    ],
    ids=[
        "nothing", "no posting", "cut off", "129 postings", "too long", "the block before it", "the block behind it",
        "an IID of 33 bits", "falling", "an object twice",
    ],
)  # fmt: skip
def test_damaged_blocks(block: bytes) -> None:
    with pytest.raises(DamagedBytes):
        walked(stored([impacts_of(10)], [(20, 1)], 20), {10: block})
    if block:
        with pytest.raises(DamagedBytes):
            StoredPostings(1, 2, 1, [], block, 21, LENGTHS)  # all IIDs of the tail are above this


@pytest.mark.parametrize("block", [b"", b"\2\x04", b"\x81" + b"\0" * 129, pack_block([(1, 1), (1, 2)]), b"\1\xff"])
def test_damaged_blocks_in_the_order_of_association(block: bytes) -> None:
    for blocks in ([block], [pack_block([(7, 1)]), block], [block, pack_block([(7, 1)])]):
        with pytest.raises(DamagedBytes):
            StoredPostings.of_blocks(1, 2, 2, blocks, LENGTHS)
    with pytest.raises(DamagedBytes):
        StoredPostings.of_blocks(1, 2, 2, [pack_block([(IID_MAX, 1), (2**32, 1)])], LENGTHS)


@pytest.mark.full
@pytest.mark.parametrize("bits", range(25))
def test_a_dense_block_ends_before_the_next_one(bits: int) -> None:
    dice = random.Random(bits)
    for count in (1, 2, 3, 127, POSTINGS_PER_BLOCK):
        iids = list(accumulate(dice.randint(1, 2 << bits) for _ in range(count)))
        held = [(iid, dice.choice((1, 1, 1, 2, 9))) for iid in iids]
        blocks = {0: pack_block(held, dense=True), iids[-1]: pack_block([(iids[-1], 1)])}
        with pytest.raises(DamagedBytes):
            walked(stored([impacts_of(0, iids[-1])], [], 0), blocks)
        following = (iids[-1] + 1, 1)
        blocks[iids[-1] + 1] = pack_block([following])
        assert walked(stored([impacts_of(0, iids[-1] + 1)], [], 0), blocks) == [*held, following]


def test_fewer_postings_than_the_word_counts_are_damage() -> None:
    tail, two = pack_block([(500, 1), (501, 1)]), impacts_of(0, 10)
    for df, rows, last in ((2, [], tail), (POSTINGS_PER_BLOCK, [impacts_of(0)], b""), (258, [two], tail)):
        StoredPostings(1, 2, df, rows, last, 500, LENGTHS)
        with pytest.raises(DamagedBytes, match=f"counts {df + 1} postings, and its blocks have room for {df}"):
            StoredPostings(1, 2, df + 1, rows, last, 500, LENGTHS)
    with pytest.raises(DamagedBytes, match="counts 3 postings"):
        StoredPostings.of_blocks(1, 2, 3, [tail], LENGTHS)
    with pytest.raises(DamagedBytes):
        StoredPostings.of_blocks(1, 2, 2, [tail], LENGTHS, 1)


def test_a_missing_block_is_damage() -> None:
    with pytest.raises(DamagedBytes, match="1 blocks of postings are missing"):
        walked(stored([impacts_of(0, 10)], [(20, 1)], 20), {0: pack_block([(1, 1)])})


@settings(deadline=None, max_examples=examples(300))
@given(st.binary(max_size=60), st.binary(max_size=60), st.integers(0, 2**64 - 1), st.randoms(use_true_random=False))
def test_random_bytes_are_read_or_damage(row: bytes, block: bytes, lower: int, dice: random.Random) -> None:
    whole = bytearray(impacts_of(0, 10, 400))
    whole[dice.randrange(len(whole))] = dice.randrange(256)
    full = {0: [(1, 1), (9, 3)], 10: [(10, 1), (300, 1)], 400: [(400, 7)]}
    blocks = {at: bytearray(pack_block(postings)) for at, postings in full.items()}
    hit = blocks[dice.choice(list(blocks))]
    hit[dice.randrange(len(hit))] = dice.randrange(256)
    held = {at: bytes(packed) for at, packed in blocks.items()}
    for rows, tail, tail_lower in (
        ([row], block, lower),
        ([bytes(whole)], block, 500),
        ([bytes(whole)], pack_block([(500, 1)]), 500),
        ([impacts_of(0, 10, 400)], pack_block([(500, 1)]), 500),
    ):
        with suppress(DamagedBytes):
            found = StoredPostings(1, 2, 10, rows, tail, tail_lower, LENGTHS)
            with suppress(KeyError):
                iids = [iid for iid, _ in walked(found, held)]
                assert all(one < other for one, other in pairwise(iids))
    every = [*held.values(), block]
    with suppress(DamagedBytes):
        walked(StoredPostings.of_blocks(1, 2, sum(each[0] for each in every if each), every, LENGTHS), {})


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 70_000), min_size=1, max_size=128, unique=True),
    st.lists(st.integers(1, 200), min_size=128, max_size=128),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=2),
)
def test_a_dense_block_is_taken_if_it_can_be_unpacked(
    iids: list[int], tfs: list[int], changes: list[tuple[int, int]]
) -> None:
    block = bytearray(pack_block(zip(sorted(iids), tfs, strict=False), dense=True))
    for at, byte in changes:
        block[at % len(block)] = byte
    if block[0] < 129:
        return  # it is not dense any more
    is_sound = is_taken = False
    with suppress(DamagedBytes):
        is_sound = bool(unpack_block(bytes(block)))
    with suppress(DamagedBytes):
        is_taken = bool(len(StoredPostings(1, 2, 0, [], bytes(block), 0, LENGTHS)))
    assert is_taken == is_sound
