"""Calls that read or change many rows at once, compared with the same change row by row."""

from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.impact_rows import ImpactRow, block_pairs, rows_with_blocks, widened_rows
from sonicpy._native.name_rows import pack_names, stored_hash, unpack_names, without_name
from sonicpy._native.numbered_terms import TERMS_PER_ROW, pack_terms, row_keys, terms_in
from sonicpy._native.postings import pack_block
from sonicpy.store.rows.keys import TERM_KEY_BYTES, block_key, block_position, term_key

BUCKET = 7
PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 255))


@given(st.dictionaries(st.integers(0, 60), st.binary(min_size=1, max_size=20).filter(lambda term: term[0] < 0xF8)),
       st.sets(st.integers(0, 70)))  # fmt: skip
def test_terms_of_term_ids(terms: dict[int, bytes], wanted: set[int]) -> None:
    by_row: dict[int, dict[int, bytes]] = {}
    for term_id, term in terms.items():
        by_row.setdefault(term_id // TERMS_PER_ROW, {})[term_id % TERMS_PER_ROW] = term
    rows = {term_key(BUCKET, row * TERMS_PER_ROW): pack_terms(held) for row, held in by_row.items()}
    ids = sorted(wanted)
    found = [(key, rows[key]) for key in row_keys(BUCKET, ids) if key in rows]
    assert terms_in(BUCKET, ids, found) == {term_id: terms[term_id] for term_id in ids if term_id in terms}


@given(st.sets(st.tuples(st.integers(0, 5).map(lambda n: n << 36), st.integers(0, 90)), max_size=30), st.data())
def test_a_row_of_names_without_one(names: set[tuple[int, int]], data: st.DataObject) -> None:
    row = pack_names(sorted(names)) if names else b""
    entries = unpack_names(row) if names else []
    hash, iid = data.draw(st.sampled_from(sorted(names)) if names else st.just((1 << 36, 3)))
    left = [entry for entry in entries if entry != (stored_hash(hash), iid)]
    if names:
        assert without_name(row, hash, iid) == (pack_names(left) if left else b"")
        assert without_name(row, hash, 99) is None


def put_one(rows: dict[bytes, bytes], key: bytes, block: bytes, lengths: bytes) -> None:
    """Put the impacts of one block into the rows of its word."""
    before = [other for other in rows if other <= key and other[:TERM_KEY_BYTES] == key[:TERM_KEY_BYTES]]
    row_key = max(before, default=key)
    row = ImpactRow(rows[row_key]) if before else ImpactRow()
    lower = block_position(key)
    if row.is_full and lower > row.lowers()[-1]:
        row_key, row = key, ImpactRow()
    row.put(lower, block_pairs(block, lengths))
    if len(row) > row.ENTRIES_MAX:
        second = row.take_second_half()
        rows[key[:TERM_KEY_BYTES] + second.lower.to_bytes(4, "big")] = second.pack()
    rows[row_key] = row.pack()


def floor(rows: dict[bytes, bytes], key: bytes) -> tuple[bytes, bytes] | None:
    before = [other for other in rows if other <= key and other[:TERM_KEY_BYTES] == key[:TERM_KEY_BYTES]]
    return (max(before), rows[max(before)]) if before else None


@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 200)), min_size=1, max_size=4), max_size=120),
       st.binary(min_size=256, max_size=256), st.integers(0, 3))  # fmt: skip
def test_impacts_of_several_blocks(changes: list[list[tuple[int, int]]], lengths: bytes, shift: int) -> None:
    slow: dict[bytes, bytes] = {}
    fast: dict[bytes, bytes] = {}
    for iid in range(0, 130 * shift, shift or 1):  # a row that is nearly full, or more than full
        key, block = block_key(BUCKET, 1, 300 + iid), pack_block([(300 + iid, 1)])
        put_one(slow, key, block, lengths + bytes(600))
    fast.update(slow)
    packed = lengths + bytes(600)
    for change in changes:
        blocks = [(block_key(BUCKET, term, iid), pack_block([(iid, 1 + iid % 3)])) for term, iid in change]
        for key, block in blocks:
            put_one(slow, key, block, packed)
        fast.update(rows_with_blocks(blocks, [floor(fast, key) for key, _ in blocks], packed))
        assert fast == slow


@given(st.lists(st.tuples(st.booleans(), PAIRS), max_size=5), st.integers(0, 50), st.integers(0, 255))
def test_widened_rows(given_rows: list[tuple[bool, tuple[int, int]]], iid: int, length: int) -> None:
    found, terms, expected = [], [], []
    for number, (is_there, pair) in enumerate(given_rows):
        row = ImpactRow()
        row.put(10, [pair])
        key = block_key(BUCKET, number, 10)
        found.append((key, row.pack()) if is_there else None)
        terms.append((number, 2))
        if is_there and row.widen(iid, 2, length):
            expected.append((key, row.pack()))
    assert widened_rows(found, terms, iid, length) == expected
