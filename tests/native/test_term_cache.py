"""Tests of sonicpy._native.term_cache: the order in which changed rows are written."""

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
