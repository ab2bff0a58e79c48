"""Tests of sonicpy._native.bucket_cache: readers on several threads share a cache, with any interleaving."""

from functools import partial
from types import SimpleNamespace

import pytest

from sonicpy._native import find
from sonicpy._native.bucket_cache import BucketCache, CachingReader
from sonicpy._native.lengths import OBJECTS_PER_ROW
from sonicpy._native.postings import POSTINGS_PER_BLOCK, pack_block
from sonicpy._native.query_state import QueryState
from sonicpy._native.stored_postings import StoredPostings
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.varint import pack_varints
from sonicpy._native.word_range import WordRange
from tests.support.collecting import Collecting
from tests.support.examples import thinned

TERM = 7
OBJECTS = 8_000
"""The number of objects, in two windows: the score limit from the newer one decides which objects of the older one are
examined.
"""
LONG, SHORT, SHORTEST = 40, 5, 3


class Source:
    """The content of a commit: a word that all objects hold once, and their lengths."""

    def __init__(self, shortest: range) -> None:
        self._lengths = bytearray([LONG]) * OBJECTS
        for iid in range(5_000, 5_010):
            self._lengths[iid] = SHORT
        for iid in shortest:
            self._lengths[iid] = SHORTEST
        self._first_row = [(0, bytes(self._lengths[:OBJECTS_PER_ROW]))]
        self._word = TermInfo(pack_varints([TERM, OBJECTS, 0, 0]), 4)

    def words(self, terms: list[bytes]) -> list[TermInfo | None]:
        return [self._word for _ in terms]

    def word_range(self, prefix: bytes, most: int) -> WordRange:
        return WordRange([], prefix, most)

    def read_postings(self, word: TermInfo, lengths: bytes | bytearray) -> StoredPostings:
        held = [(iid, 1) for iid in range(OBJECTS)]
        blocks = [pack_block(held[at : at + POSTINGS_PER_BLOCK]) for at in range(0, OBJECTS, POSTINGS_PER_BLOCK)]
        return StoredPostings.of_blocks(1, TERM, OBJECTS, blocks, lengths)

    def note_read(self, size_bytes: int) -> None: ...

    def oids(self, iids: list[int]) -> list[str]:
        return [str(iid) for iid in iids]

    def record_rows(self, iids: list[int]) -> dict[bytes, bytes]:
        return {}

    def new_impacts(self, postings: StoredPostings, word: TermInfo) -> list[bytes]:
        return []

    def read_lengths(self) -> bytearray:
        return self._lengths[:]

    def lengths_now(self) -> None:
        return None

    def length_rows(self, numbers: list[int]) -> list[tuple[int, bytes]]:
        return self._first_row

    def best(self, reader: CachingReader) -> list[int]:
        """Return the ten best objects, which are the shortest ones."""
        found = QueryState(reader.length_masks(), 100.0, 1.2, 0.75, 1.0)
        find.add_term(found, 1.0)
        find.add_words(found, [reader.postings(self._word)], 1.0)
        find.begin(found, 10)
        assert find.run(found) == []
        return [iid for iid, _, _ in find.best(found, 0)]


@pytest.mark.parametrize("behind", thinned(range(16), 3))
def test_another_reader_brings_the_lengths_up_to_date_while_one_does(behind: int) -> None:
    before, after = Source(range(20, 30)), Source(range(10))
    older, newer = BucketCache(10, 10, {}), BucketCache(10, 10, {})
    assert before.best(CachingReader(older, before)) == list(range(29, 19, -1))
    newer.take_over(older, {TERM}, {0})
    one, other = CachingReader(newer, after), CachingReader(newer, after)
    with Collecting(behind, partial(after.best, other)):
        one.lengths()
    assert after.best(one) == list(range(9, -1, -1))


class ReaderInOrder(CachingReader):
    """A reader of a bucket whose lists are by IID."""

    state = SimpleNamespace(bucket=1)


def test_the_rows_of_rare_words_are_all_of_their_lists() -> None:
    source = Source(range(10))
    source.read_postings = None  # type: ignore[assignment,method-assign]  it is not called
    word = TermInfo(pack_varints([TERM, 2, 0, 0]) + pack_block([(3, 1), (9, 2)]), 4)
    reader = ReaderInOrder(BucketCache(10, 10, {}), source, in_order=True)
    found = QueryState(reader.length_masks(), 9.0, 1.2, 0.75, 1.0)
    find.add_term(found, 1.0)
    find.add_words(found, [reader.postings(word)], 1.0)
    find.begin(found, 10)
    assert find.run(found) == []
    assert sorted(iid for iid, _, _ in find.best(found, 0)) == [3, 9]
