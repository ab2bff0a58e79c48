"""Native rankings against a twin of dicts: which objects answer, and in which order."""

import random
import struct
import time
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonicpy._native.keys import IID_MAX
from sonicpy._native.lengths import pack_length, unpack_length
from sonicpy._native.object_table import ObjectTable
from sonicpy._native.postings import PostingList, pack_block
from sonicpy._native.ranking import Ranker
from sonicpy._native.sonic_table import SonicTable, completion_score, correction_score
from tests.reference import ranking as twin
from tests.reference.ranking import single

ALL = 2**32


class Add(NamedTuple):
    """The arguments of one call of `add` or `add_expansion`, with blocks as lists of postings."""

    blocks: list[list[tuple[int, int]]]
    dead: int
    weight: float
    required: bool
    inserts: bool
    is_expansion: bool
    completed: bool
    decoded: bool


class Visit(NamedTuple):
    """The arguments of one call of `visit`."""

    word: int
    blocks: list[list[tuple[int, int]]]
    dead: int
    score: float
    budget: int
    decoded: bool


iids = st.integers(0, 12) | st.sampled_from([3999, 4000, 4001, 12_000, 2**32, IID_MAX])
blocks = st.lists(st.tuples(iids, st.sampled_from([1, 1, 2, 7, 300])), min_size=1, max_size=8)
lists = st.lists(blocks, max_size=3)


def cut(postings: list[tuple[int, int]], size: int) -> list[list[tuple[int, int]]]:
    """Cut postings into blocks."""
    return [postings[start : start + size] for start in range(0, len(postings), size)]


# An object has one posting in the list of a word, which `add` relies on; verify reports a store that differs.
postings_of_a_word = st.builds(
    cut,
    st.lists(st.tuples(iids, st.sampled_from([1, 1, 2, 7, 300])), max_size=18, unique_by=lambda posting: posting[0]),
    st.integers(1, 8),
)
deads = st.sampled_from([0, 0, 0, 1, 2, 9])
weights = st.sampled_from([0.0, 0.1, 0.5, 1.0, 1 / 3, 4.75]) | st.floats(0, 20, width=32)
adds = st.builds(
    Add,
    blocks=postings_of_a_word,
    dead=deads,
    weight=weights,
    required=st.sampled_from([False, False, False, True]),
    inserts=st.sampled_from([True, True, True, False]),
    is_expansion=st.sampled_from([False, False, True]),
    completed=st.booleans(),
    decoded=st.booleans(),
)
visits = st.builds(
    Visit,
    word=st.integers(0, 3),
    blocks=lists,
    dead=deads,
    score=weights,
    budget=st.sampled_from([-1, -1, 0, 1, 2, 5]),
    decoded=st.booleans(),
)


def packed(blocks: list[list[tuple[int, int]]], *, decoded: bool) -> PostingList | list[bytes]:
    """Return postings as `add` and `visit` take them; only blocks can hold large numbers."""
    bytes_ = [pack_block(block) for block in blocks]
    found = PostingList.of(bytes_) if decoded else None
    is_large = any(iid >= 2**32 or tf > 255 for block in blocks for iid, tf in block)
    assert (found is None) == (is_large or not decoded)
    return bytes_ if found is None else found


def gathered(calls: list[Add]) -> tuple[Ranker, twin.Ranker]:
    """Both rankers after the same calls; the first call cannot be an expansion."""
    native, slow = Ranker(), twin.Ranker()
    for call in calls:
        postings = packed(call.blocks, decoded=call.decoded)
        if call.is_expansion and slow.terms:
            native.add_expansion(postings, call.dead, call.weight, call.completed)
            slow.add_expansion(call.blocks, call.dead, call.weight, call.completed)
        else:
            named = {"required": call.required, "inserts": call.inserts}
            native.add(postings, call.dead, call.weight, **named)
            slow.add(call.blocks, call.dead, call.weight, **named)
        assert len(native) == len(slow.objects)
    return native, slow


def assert_same_pages(native: ObjectTable, slow: twin.Ranker | twin.SonicTable) -> None:
    expected = slow.best(0, ALL)
    assert native.best(0, ALL) == expected
    assert len(native) == len(expected)
    scored = native.best_scored(0, ALL)
    assert [iid for iid, _, _ in scored] == expected
    for (iid, kind, score), (slow_kind, slow_score) in zip(scored, slow.scored(), strict=True):
        assert (kind, score) == (slow_kind, pytest.approx(slow_score, rel=1e-6)), iid
    assert native.best_scored(1, 2) == scored[1:3]
    for offset, limit in ((0, 0), (0, 1), (1, 2), (2, 100), (len(expected), 5), (len(expected) + 7, 1), (ALL, ALL)):
        assert native.best(offset, limit) == expected[offset : offset + limit]


# -- the three orders ----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=500)
@given(st.lists(visits, max_size=7), st.integers(4, 6), st.sampled_from([0, 1, 3, 6]), st.booleans())
def test_sonic_keeps_a_table_of_scores_in_32_bits(calls: list[Visit], words: int, full: int, all_words: bool) -> None:
    native, slow = SonicTable(words, full), twin.SonicTable(words, full)
    for call in calls:
        postings = packed(call.blocks, decoded=call.decoded)
        expected = slow.visit(call.word, call.blocks, call.dead, call.score, call.budget)
        assert native.visit(call.word, postings, call.dead, call.score, call.budget) == expected
        assert native.is_full == (full > 0 and len(slow.held) >= full)
    native.finish(all_words)
    slow.finish(all_words)
    assert_same_pages(native, slow)
    scored = native.best_scored(0, ALL)
    for (iid, _, score), (parts, more, more_score) in zip(
        scored, native.parts([iid for iid, _, _ in scored], 2), strict=True
    ):
        assert len(parts) + more == len(slow.held[iid])
        assert sum(part for _, _, part in parts) + more_score == pytest.approx(score, rel=1e-5, abs=1e-6)
        for number, _, part in parts:
            assert part == pytest.approx(single(calls[number].score) / words, rel=1e-5)
            assert iid in {held for block in calls[number].blocks for held, _ in block}


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
    held = bytes(lengths.get(place, 0) for place in range(max(lengths, default=-1) + 1))
    native.bm25(held, average, *constants)
    slow.bm25(held, average, *constants)
    ranked = native.best(0, ALL)
    assert sorted(ranked) == sorted(slow.objects)
    places = {iid: place for place, iid in enumerate(slow.objects)}
    for one, other in pairwise(ranked):
        assert slow.kinds[one] <= slow.kinds[other], "exact before completed before corrected"
        if slow.kinds[one] < slow.kinds[other]:
            continue
        better, worse = slow.scores[one], slow.scores[other]
        assert better >= worse - 1e-9 * max(1.0, worse)
        if better == worse and abs(better) < 1e-12:
            assert places[one] < places[other], "equals keep their order"
    assert native.best(1, 2) == ranked[1:3]
    scored = native.best_scored(0, ALL)
    assert [(iid, kind) for iid, kind, _ in scored] == [(iid, slow.kinds[iid]) for iid in ranked]
    assert [score for _, _, score in scored] == pytest.approx([slow.scores[iid] for iid in ranked], rel=1e-6)
    if not any(call.is_expansion for call in calls):
        assert all(score <= native.ceiling * (1 + 1e-9) for _, _, score in scored)
    for most in (0, 1, 3, 100):
        for iid, found in zip(ranked, native.parts(ranked, most, held, average, *constants), strict=True):
            check_parts(found, most, slow.parts[iid], slow.scores[iid])
    assert native.parts([IID_MAX - 1], 3, held, average, *constants) == [([], 0, 0.0)]


@settings(deadline=None, max_examples=600)
@given(
    st.lists(adds, max_size=6),
    st.dictionaries(st.integers(0, 14), st.integers(0, 255)),
    st.sampled_from([0.0, 1.0, 9.5]),
    st.booleans(),
)
@example([Add([[(0, 1)]], 0, 1.0, False, False, False, False, True)], {}, 0.0, True)
def test_lists_that_are_walked_give_what_a_table_gives(
    calls: list[Add], lengths: dict[int, int], average: float, is_sorted: bool
) -> None:
    """Asking for its length makes a ranker fill its table; else it walks sorted lists. Scores are equal, bit by bit."""
    held = bytes(lengths.get(place, 0) for place in range(max(lengths, default=-1) + 1))
    rankers = [Ranker() for _ in range(8)]
    for number, call in enumerate(calls):
        postings = [posting for block in call.blocks for posting in block]
        blocks = cut(sorted(postings) if is_sorted else postings, 5)
        for place, ranker in enumerate(rankers):
            taken = packed(blocks, decoded=call.decoded and place > 0)
            if call.is_expansion and number:
                ranker.add_expansion(taken, call.dead, call.weight, call.completed)
            else:
                ranker.add(taken, call.dead, call.weight, required=call.required, inserts=call.inserts)
    len(rankers[0])  # makes its table
    for ranker in rankers:
        ranker.bm25(held, average, 1.2, 0.75)
    expected = rankers[0].best_scored(0, ALL)
    pages = [(0, 1), (0, 2), (1, 3), (2, 40), (0, 0), (3, 900), (900, 3)]
    for ranker, (offset, limit) in zip(rankers[1:], pages, strict=True):
        assert ranker.best_scored(offset, limit) == expected[offset : offset + limit]
        assert ranker.best(offset, limit) == [iid for iid, _, _ in expected[offset : offset + limit]]
        assert ranker.best_shown(offset, limit, 3, 0.75) == shown(expected[offset : offset + limit], ranker.ceiling)
        ranked = [iid for iid, _, _ in expected]
        assert ranker.parts(ranked, 3, held, average, 1.2, 0.75) == rankers[0].parts(
            ranked, 3, held, average, 1.2, 0.75
        )
        assert len(ranker) == len(expected)
        assert ranker.best_shown(offset, limit, 3, 0.75) == shown(expected[offset : offset + limit], ranker.ceiling)


def shown(scored: list[tuple[int, int, float]], ceiling: float) -> tuple[list[int], list[float]]:
    """What `best_shown` gives for a whole part of 3 and a fraction of at most 0.75."""
    shares = [min(score / ceiling, 0.75) if ceiling > 0 else 0.0 for _, _, score in scored]
    return [iid for iid, _, _ in scored], [3 - kind + share for (_, kind, _), share in zip(scored, shares, strict=True)]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(0, 9))
def test_long_lists_that_are_walked(seed: int, count: int, required: int) -> None:
    """Lists as long as a window, with many objects in common, or few, or far apart."""
    rng = random.Random(seed)
    objects = rng.choice((1_200, 20_000, 300_000))
    lengths = bytes(rng.choices(range(1, 60), k=objects - 300))
    walked, tabled = Ranker(), Ranker()
    for number in range(count):
        held = sorted(rng.sample(range(objects), rng.choice((0, 1, 10, 127, 128, 900))))
        postings = [(iid, rng.choice((1, 1, 1, 1, 2, 3, 0))) for iid in held]
        blocks = [pack_block(block) for block in cut(postings, 128)]
        weight = rng.choice((0.0, 1.0, 2.5, 7.0))
        for ranker in (walked, tabled):
            if number and number % 4 == 3:
                ranker.add_expansion(blocks, 0, weight / 2, number % 8 == 3)
            else:
                ranker.add(blocks, 3, weight, required=number + 1 == required, inserts=number % 5 != 4)
    len(tabled)  # makes its table
    for ranker in (walked, tabled):
        ranker.bm25(lengths, 20.0, 1.2, 0.75)
    assert walked.best_scored(2, 30) == tabled.best_scored(2, 30)
    assert walked.best_scored(0, 1_000) == tabled.best_scored(0, 1_000)


@pytest.mark.parametrize("lengths", [None, "12", 12, memoryview(b"12")])
def test_lengths_are_bytes(lengths: Any) -> None:
    ranker = Ranker()
    ranker.add(listed(1), 0, 1.0)
    with pytest.raises(TypeError):
        ranker.bm25(lengths, 1.0, 1.2, 0.75)
    ranker.bm25(b"12", 1.0, 1.2, 0.75)
    with pytest.raises(TypeError):
        ranker.parts([1], 3, lengths, 1.0, 1.2, 0.75)


Parts = list[tuple[int, int, float]]


def check_parts(found: tuple[Parts, int, float], most: int, expected: Parts, score: float) -> None:
    """The largest parts are listed, in the order of the calls, and the sum of all parts is the score."""
    parts, others, others_score = found
    assert (len(parts), len(parts) + others) == (min(most, len(expected)), len(expected))
    assert sum(part for _, _, part in parts) + others_score == pytest.approx(score, rel=1e-6)
    largest = sorted((part for _, _, part in expected), reverse=True)[:most]
    assert sorted((part for _, _, part in parts), reverse=True) == pytest.approx(largest, rel=1e-6)
    for number, tf, part in parts:
        assert (number, tf, pytest.approx(part, rel=1e-6)) in expected
    assert [number for number, _, _ in parts] == sorted(number for number, _, _ in parts)


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
    table = SonicTable(len(words), 1000)
    for number, word in enumerate(words):
        table.visit(number, listed(*SP10[word]), 0, 0.6 if word == "k9" else 0.9, -1)
    table.finish("k9" in words)
    assert table.best(0, 100) == expected


def test_sums_of_32_bits_decide_ties() -> None:
    """In 64 bits the two sums differ; in the 32 of Sonic they are equal, and the table's order decides."""
    for small, expected in ((2.0**-26, [1, 2]), (2.0**-22, [2, 1])):
        table = SonicTable(2, 0)
        table.visit(0, listed(2, 1), 0, 1.0, -1)
        table.visit(1, listed(2), 0, small, -1)
        table.finish(False)
        assert table.best(0, 10) == expected
    assert struct.unpack("<f", struct.pack("<f", 1.0 + 2.0**-26))[0] == 1.0


@pytest.mark.parametrize(("word_bytes", "typed"), [(5, 4), (4, 4), (40, 1), (3, 6)])
def test_scores_of_expansions_are_of_32_bits(word_bytes: int, typed: int) -> None:
    weight = twin.single(1.7)
    longer = twin.single(abs(word_bytes - typed) / typed)
    expected = twin.single(twin.single(20 / twin.single(20 + longer)) * weight)
    assert completion_score(weight, word_bytes, typed) == expected
    for distance in (1, 2, 3):
        share = min(1.0, twin.single(distance / typed))
        assert correction_score(weight, distance, typed) == twin.single(twin.single(1 - share) * weight)


def test_an_expansion_counts_no_object_twice() -> None:
    ranker = Ranker()
    ranker.add(listed(1, 2), 0, 1.0)
    ranker.add_expansion(listed(2, 3), 0, 1.0, True)
    ranker.add(listed(3), 0, 0.5)
    ranker.newest()
    assert ranker.best(0, 10) == [3], "a term and its expansion are one"


def test_exact_before_completed_before_corrected() -> None:
    ranker = Ranker()
    ranker.add(listed(1), 0, 0.1)
    ranker.add_expansion(listed(3), 0, 9.0, False)
    ranker.add_expansion(listed(2), 0, 5.0, True)
    ranker.bm25(b"", 1.0, 1.2, 0.75)
    assert ranker.best(0, 10) == [1, 2, 3]


def test_a_term_that_does_not_insert_adds_to_those_already_there() -> None:
    ranker = Ranker()
    ranker.add(listed(1, 2), 0, 1.0)
    ranker.add(listed(3, 1), 0, 1.0, inserts=False)
    assert len(ranker) == 2
    ranker.bm25(b"", 1.0, 1.2, 0.75)
    assert ranker.best(0, 10) == [1, 2]


def test_only_the_head_of_the_first_block_has_dead_postings() -> None:
    ranker = Ranker()
    ranker.add([pack_block([(1, 1), (2, 1)]), pack_block([(3, 1), (4, 1)])], 1, 1.0)
    ranker.newest()
    assert ranker.best(0, 10) == [4, 3, 2]


def test_objects_without_a_required_term_do_not_answer() -> None:
    ranker = Ranker()
    ranker.add(listed(1, 2, 3), 0, 1.0)
    ranker.add(listed(2, 3), 0, 0.1, required=True)
    ranker.add(listed(3, 4), 0, 0.1, required=True)
    ranker.bm25(b"", 1.0, 1.2, 0.75)
    assert ranker.best(0, 10) == [3]


def test_thousands_of_objects_over_many_blocks() -> None:
    size = 20_000
    order = [number * 7919 % size for number in range(size)]
    ranker = Ranker()
    ranker.add([pack_block([(iid, 1) for iid in order[at : at + 128]]) for at in range(0, size, 128)], 3, 1.0)
    ranker.newest()
    assert ranker.best(0, size) == order[:2:-1]
    assert ranker.best(size - 10, 20) == order[9:2:-1]


def test_tables_that_grew_give_their_memory_to_the_next_ones() -> None:
    """Also several at once, and after one that was far larger."""
    for size in (10, 5_000, 100_000, 3, 2_000, 40):
        several = [Ranker() for _ in range(6)]
        for number, ranker in enumerate(several):
            iids = [number + 7 * step for step in range(size)]
            ranker.add([pack_block([(iid, 1) for iid in iids[at : at + 128]]) for at in range(0, size, 128)], 0, 1.0)
            ranker.bm25(b"\1" * 100, 1.0, 1.2, 0.75)
        assert [len(ranker) for ranker in several] == [size] * 6
        for number, ranker in enumerate(several):
            assert set(ranker.best(0, size)) == {number + 7 * step for step in range(size)}
        del several, ranker


def test_hundreds_of_words() -> None:
    ranker, table = Ranker(), SonicTable(400, 0)
    for number in range(400):
        ranker.add(listed(*range(number % 7, 50)), 0, 1.0)
        table.visit(number, listed(*range(number % 7, 50)), 0, 1.0, -1)
    ranker.newest()
    table.finish(True)
    assert ranker.best(0, 100) == table.best(0, 100) == list(range(49, 5, -1))


@pytest.mark.parametrize(("offset", "limit"), [(0, 2**64 - 1), (1, 2**64 - 1), (2, 2**63), (3, 1), (2**64 - 1, 1)])
def test_offsets_and_limits_may_lie_beyond_the_end(offset: int, limit: int) -> None:
    ranker = Ranker()
    ranker.add(listed(1, 2, 3), 0, 1.0)
    ranker.newest()
    assert ranker.best(offset, limit) == [3, 2, 1][offset:]


def test_an_empty_table_answers_nothing_in_every_way() -> None:
    ranker, table = Ranker(), SonicTable(1, 10)
    ranker.bm25(b"", 0.0, 1.2, 0.75)
    assert ranker.best(0, 10) == []
    ranker.newest()
    table.finish(True)
    assert ranker.best(0, 10) == table.best(0, 10) == []


# -- wrong use and damage ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [b"", b"\x02\x04", b"\x81" + b"\0" * 129, pack_block([(1, 1)]) + b"\0", b"\x01\xff"])
def test_a_damaged_block_is_refused(block: bytes) -> None:
    for blocks in ([block], [pack_block([(1, 1)]), block], [block, pack_block([(1, 1)])]):
        with pytest.raises(ValueError, match="cannot be read"):
            Ranker().add(blocks, 0, 1.0)
        with pytest.raises(ValueError, match="cannot be read"):
            SonicTable(1, 0).visit(0, blocks, 0, 1.0, -1)


@pytest.mark.parametrize("postings", [None, (), b"", {}])
def test_other_things_are_no_postings(postings: Any) -> None:
    with pytest.raises(TypeError):
        Ranker().add(postings, 0, 1.0)
    with pytest.raises(TypeError):
        SonicTable(1, 0).visit(0, postings, 0, 1.0, -1)


@pytest.mark.parametrize("dead", [-1, -100])
def test_dead_postings_cannot_be_fewer_than_none(dead: int) -> None:
    """Otherwise bytes from before the block would be read as postings."""
    with pytest.raises(ValueError, match="cannot be dead"):
        Ranker().add(listed(1, 2), dead, 1.0)
    with pytest.raises(ValueError, match="cannot be dead"):
        SonicTable(1, 0).visit(0, listed(1, 2), dead, 1.0, -1)


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


# -- hostile queries -------------------------------------------------------------------------------------------------


def sonic_time(words: int) -> float:
    """The best of ten processor times to give the objects of a full block a score for each word, in order."""
    block = listed(*range(128))
    times = []
    for _ in range(10):
        table = SonicTable(words, 0)
        start = time.thread_time()
        for word in range(words):
            table.visit(word, block, 0, 1.0, -1)
        table.finish(True)
        times.append(time.thread_time() - start)
    return min(times)


def test_a_query_of_thousands_of_words_takes_linear_time() -> None:
    """A line of 20,000 bytes holds 5,000 words. Eight times the words: 8 times as long, 64 if scores are walked."""
    few, many = sonic_time(600), sonic_time(4800)
    assert many < 32 * few, f"{few * 1000:.1f} ms became {many * 1000:.1f} ms"
