"""Tests of sonicpy._native.sonic_table: scores in 32 bits, compared with a table of dicts; and blocks that cannot be
read.
"""

import struct
import time
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.postings import PostingList, pack_block
from sonicpy._native.sonic_table import SonicTable, completion_score, correction_score
from tests.reference import ranking as twin
from tests.reference.ranking import single
from tests.support.examples import examples

ALL = 2**32


class Visit(NamedTuple):
    """The arguments of one call of `visit`; `iids` are blocks in which the oldest association comes first."""

    word: int
    blocks: list[list[int]]
    skipped: int
    score: float
    budget: int


visits = st.builds(
    Visit,
    st.integers(0, 3),
    st.lists(st.integers(0, 12), unique=True, max_size=9).map(lambda iids: [iids[:4], iids[4:]]),
    st.sampled_from([0, 0, 0, 1, 2, 20]),
    st.sampled_from([0.5, 1.0, 1.7, 1e-9]) | st.floats(0, 10, width=32),
    st.sampled_from([-1, -1, 0, 1, 2, 100]),
)


def listed(*iids: int) -> PostingList:
    return PostingList.of([pack_block([(iid, 1) for iid in iids])])


@settings(deadline=None, max_examples=examples(500))
@given(st.lists(visits, max_size=7), st.integers(4, 6), st.sampled_from([0, 1, 3, 6]), st.booleans())
def test_a_table_of_scores_in_32_bits(calls: list[Visit], words: int, full: int, all_words: bool) -> None:
    native, slow = SonicTable(words, full), twin.SonicTable(words, full)
    for call in calls:
        postings = PostingList.of([pack_block([(iid, 1) for iid in block]) for block in call.blocks])
        iids = [iid for block in call.blocks for iid in block]
        assert len(postings) == len(iids)
        expected = slow.visit(call.word, iids[call.skipped :], call.score, call.budget)
        assert native.visit(call.word, postings, call.skipped, call.score, call.budget) == expected
        assert native.is_full == (full > 0 and len(slow.held) >= full)
    native.finish(all_words)
    slow.finish(all_words)
    ranked = slow.best_scored()
    scored = native.best_scored(0, ALL)
    assert scored == [(iid, kind, pytest.approx(score, rel=1e-6)) for iid, kind, score in ranked]
    assert len(native) == len(ranked)
    for offset, limit in ((0, 0), (0, 1), (1, 2), (2, 100), (len(ranked), 5), (len(ranked) + 7, 1), (ALL, ALL)):
        assert native.best_scored(offset, limit) == scored[offset : offset + limit]
    for (iid, _, score), (parts, more, more_score) in zip(
        scored, native.parts([iid for iid, _, _ in scored], 2), strict=True
    ):
        assert len(parts) + more == len(slow.held[iid])
        assert sum(part for _, _, part in parts) + more_score == pytest.approx(score, rel=1e-5, abs=1e-6)
        for number, _, part in parts:
            assert part == pytest.approx(single(calls[number].score) / words, rel=1e-5)
            assert iid in {held for block in calls[number].blocks for held in block}


def best(table: SonicTable) -> list[int]:
    return [iid for iid, _, _ in table.best_scored(0, ALL)]


def test_sums_of_32_bits_decide_ties() -> None:
    """In 64 bits the two sums differ; in the 32 bits of Sonic they are equal, and the order of the table decides."""
    for small, expected in ((2.0**-26, [1, 2]), (2.0**-22, [2, 1])):
        table = SonicTable(2, 0)
        table.visit(0, listed(2, 1), 0, 1.0, -1)
        table.visit(1, listed(2), 0, small, -1)
        table.finish(False)
        assert best(table) == expected
    assert struct.unpack("<f", struct.pack("<f", 1.0 + 2.0**-26))[0] == 1.0


@pytest.mark.parametrize(("word_bytes", "typed"), [(5, 4), (4, 4), (40, 1), (3, 6)])
def test_scores_of_expansions_are_of_32_bits(word_bytes: int, typed: int) -> None:
    weight = single(1.7)
    longer = single(abs(word_bytes - typed) / typed)
    assert completion_score(weight, word_bytes, typed) == single(single(20 / single(20 + longer)) * weight)
    for distance in (1, 2, 3):
        share = min(1.0, single(distance / typed))
        assert correction_score(weight, distance, typed) == single(single(1 - share) * weight)


def test_hundreds_of_words() -> None:
    table = SonicTable(400, 0)
    for number in range(400):
        table.visit(number, listed(*range(number % 7, 50)), 0, 1.0, -1)
    table.finish(True)
    assert best(table) == list(range(49, 5, -1))


def test_an_empty_table_answers_nothing() -> None:
    table = SonicTable(1, 10)
    table.finish(True)
    assert best(table) == [] and len(table) == 0


@pytest.mark.parametrize("block", [b"", b"\x02\x04", b"\x81" + b"\0" * 129, pack_block([(1, 1)]) + b"\0", b"\x01\xff"])
def test_a_damaged_block_is_refused(block: bytes) -> None:
    for blocks in ([block], [pack_block([(1, 1)]), block], [block, pack_block([(1, 1)])]):
        with pytest.raises(ValueError, match="cannot be read"):
            PostingList.of(blocks)


@pytest.mark.parametrize("postings", [None, (), b"", {}, []])
def test_other_things_are_no_postings(postings: Any) -> None:
    with pytest.raises(TypeError):
        SonicTable(1, 0).visit(0, postings, 0, 1.0, -1)


@pytest.mark.parametrize("skipped", [-100, -1, 2, 3, 2**40])
def test_more_or_fewer_postings_skipped_than_there_are(skipped: int) -> None:
    table = SonicTable(1, 0)
    assert table.visit(0, listed(1, 2), skipped, 1.0, -1) == (2 if skipped < 0 else 0, False)


TRIES = 3
"""The number of measurements, because a busy machine may slow down one of them, but not all."""


def sonic_time(words: int) -> float:
    """Return the best of several processor times for giving the objects of a full block a score for each word, in
    order.
    """
    block = listed(*range(128))
    times = []
    for _ in range(3):
        table = SonicTable(words, 0)
        start = time.thread_time()
        for word in range(words):
            table.visit(word, block, 0, 1.0, -1)
        table.finish(True)
        times.append(time.thread_time() - start)
    return min(times)


@pytest.mark.full
def test_a_query_of_thousands_of_words_takes_linear_time() -> None:
    """A line of 20,000 bytes holds 5,000 words. Eight times the words may take 8 times as long, not 64 times as with a
    walk over scores.

    In both measurements, the scores do not fit the nearest cache of the processor.
    """
    times = []
    for _ in range(TRIES):
        few, many = sonic_time(2_400), sonic_time(19_200)
        if many < 32 * few:
            return
        times.append(f"{few * 1000:.1f} ms became {many * 1000:.1f} ms")
    pytest.fail(f"always: {times}")
