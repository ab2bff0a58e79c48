"""Tests of sonicpy._native.tails: postings put into the tail of a word in any order, and taken out again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.add_terms import AddTerms
from sonicpy._native.cut_terms import cut_terms
from sonicpy._native.keys import word_key
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.postings import POSTINGS_PER_BLOCK, pack_block
from sonicpy._native.term_cache import TermCache
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import Terms
from sonicpy._native.varint import DamagedBytes

BUCKET, WORD = 7, b"word"
KEY = word_key(BUCKET, WORD)
iids = st.integers(0, 90) | st.sampled_from([127, 128, 2**13, 2**14, 2**20, 2**27, 2**32 - 2])
frequencies = st.integers(0, 3) | st.sampled_from([127, 128, 255])
"""The frequency 0 takes the object out of the list."""


def change(cache: TermCache, iid: int, before: int, tf: int) -> None:
    """Give an object that holds the word `before` times, 0: not at all, another frequency."""
    record = ObjectRecord.of(b"o", [(0, before, False, 0)] if before else [])
    if tf:
        link = AddTerms(BUCKET, iid, Terms([WORD], bytes([tf]), b"\0"), record, 0, cache)
    else:
        link = cut_terms(BUCKET, iid, [WORD], record, cache, True, False)
    assert link.take_rows([]) == []
    link.take_blocks([])
    link.finish()


def tail(cache: TermCache) -> bytes:
    (row,) = cache.held([KEY])[0].values()
    return TermInfo(row, len(WORD)).tail


@given(st.lists(st.tuples(iids, frequencies), max_size=POSTINGS_PER_BLOCK))
def test_a_tail_is_the_block_of_its_postings(changes: list[tuple[int, int]]) -> None:
    cache, held = TermCache(), dict[int, int]()
    for iid, tf in changes:
        before = held.get(iid, 0)
        if tf or before:
            change(cache, iid, before, tf)
            held[iid] = max(tf, before) if tf else 0
            held = {iid: tf for iid, tf in held.items() if tf}
        if held:
            assert tail(cache) == pack_block(sorted(held.items()))


def test_an_object_that_the_tail_does_not_hold() -> None:
    cache = TermCache()
    change(cache, 5, 0, 1)
    for iid in (4, 6):
        with pytest.raises(DamagedBytes, match=f"object {iid} is not in the block"):
            change(cache, iid, 1, 2)
        with pytest.raises(DamagedBytes, match=f"object {iid} is not in the block"):
            change(cache, iid, 1, 0)
    assert tail(cache) == pack_block([(5, 1)])
