"""Tests of sonicpy._native.term_cache: the order in which changed rows are written, and the rows that stay cached."""

import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.add_terms import AddTerms
from sonicpy._native.keys import term_key, word_key
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.postings import POSTINGS_PER_BLOCK
from sonicpy._native.term_cache import TermCache
from sonicpy._native.terms import Terms

words = st.text("ab", max_size=3).map(lambda end: (b"", b"begins alike")[len(end) % 2] + end.encode() or b"x")


@given(
    st.lists(st.tuples(st.integers(0, 2), words, st.booleans()), max_size=8, unique_by=lambda word: word[:2]),
    st.sampled_from([0, 250, 2**32]),
)
def test_changed_rows_come_in_the_order_of_their_keys(given: list[tuple[int, bytes, bool]], first: int) -> None:
    cache = TermCache()
    for term_id, (bucket, word, is_common) in enumerate(given, first):
        for iid in range(POSTINGS_PER_BLOCK + 1 if is_common else 1):
            record = ObjectRecord.empty(b"o%d" % iid)
            link = AddTerms(bucket, iid, Terms([word], b"\1", b"\0"), record, term_id, cache)
            link.take_rows([])
            link.take_blocks([])
            link.finish()
    numbers = {(bucket, word): term_id for term_id, (bucket, word, _) in enumerate(given, first)}
    rare = sorted(word_key(bucket, word) for bucket, word, is_common in given if not is_common)
    common = sorted((bucket, numbers[bucket, word], word) for bucket, word, is_common in given if is_common)
    rows = cache.rows()
    assert [key for key, _ in rows[0]] == rare + [word_key(bucket, word) for bucket, _, word in common]
    assert [key for key, _ in rows[1]] == [term_key(bucket, term_id) for bucket, term_id, _ in common]
    assert cache.changed == 0


def test_many_changed_rows_come_in_the_order_of_their_keys() -> None:
    chance, cache, given = random.Random(1), TermCache(), set[tuple[int, bytes]]()
    beginnings = ["", "ab", "abcdefghij", "abcdefghijklmnop", "\xff" * 20]
    while len(given) < 1_000:
        word = chance.choice(beginnings) + "".join(chance.choices("ab\0\x7f\xff", k=chance.randrange(1, 9)))
        given.add((chance.choice([0, 1, 256, 2**31]), word.encode("latin-1")))
    for term_id, (bucket, word) in enumerate(given):
        change(cache, 1, [word], bucket, term_id)
    assert [key for key, _ in cache.rows()[0]] == sorted(word_key(bucket, word) for bucket, word in given)


def test_rows_in_use_stay_in_a_cache_that_shrinks() -> None:
    cache, key = TermCache(), partial(word_key, 0)
    used, others = [b"used%d" % number for number in range(3)], [b"other%d" % number for number in range(3)]
    for words in (others, used):
        change(cache, 1, words)
    cache.rows()
    for iid in range(2, 7):
        change(cache, iid, used)
        cache.rows()
        cache.shrink(5, 100)
    assert len(cache) == 6, "too few uses have shown which rows are in use"
    for iid in range(7, 16):
        change(cache, iid, used)
    cache.rows()
    before = cache.lost_notes
    cache.shrink(6, 100)
    assert len(cache) == 6, "there are few rows"
    cache.shrink(5, 100)
    assert len(cache) == 6, "no row was unused since the last time"
    assert cache.lost_notes > before
    for iid in range(16, 24):
        change(cache, iid, used)
    cache.rows()
    cache.shrink(5, 100)
    assert (cache.held(list(map(key, others))), len(cache)) == (({}, list(map(key, others))), 3)
    assert set(cache.held(list(map(key, used)))[0]) == set(map(key, used))
    change(cache, 24, [*used, b"new"])
    assert {found[4:] for found, _ in cache.rows()[0]} == {*used, b"new"}
    cache.shrink(1, 3)
    assert len(cache) == 0


def test_a_cache_with_waiting_rows_does_not_shrink() -> None:
    cache = TermCache()
    change(cache, 1, [b"word"])
    with pytest.raises(ValueError, match="1 rows of words have to be written first"):
        cache.shrink(0, 0)
    assert len(cache) == 1


def change(cache: TermCache, iid: int, words: list[bytes], bucket: int = 0, first: int | None = None) -> None:
    """Add words to a new object; new ones get the term ids from `first` on."""
    terms = Terms(words, b"\1" * len(words), bytes(len(words)))
    link = AddTerms(bucket, iid, terms, ObjectRecord.empty(b"o"), 100 * iid if first is None else first, cache)
    link.take_rows([])
    link.take_blocks([])
    link.finish()
