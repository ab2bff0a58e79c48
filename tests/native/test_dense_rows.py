"""Rows that are packed in bits: blocks of postings, records of objects, names, terms; compared with tests/reference."""

import random
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sonicpy._native.dense_changes import changed_row
from sonicpy._native.dense_records import dense_row
from sonicpy._native.name_rows import named, pack_names, stored_hash, unpack_names
from sonicpy._native.numbered_terms import TERMS_PER_ROW, is_shared, pack_terms, unpack_terms
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow, names_in, oids_in, record_at
from sonicpy._native.postings import POSTINGS_PER_BLOCK, pack_block, posting_count, unpack_block
from sonicpy._native.varint import DamagedBytes
from sonicpy.store.rows.keys import object_key
from tests.reference import dense_rows
from tests.support.examples import examples

# -- blocks -----------------------------------------------------------------------------------------------------------

tfs = st.just(1) | st.integers(1, 5) | st.integers(1, 255)
iids = st.integers(0, 300) | st.integers(0, 2**32 - 2)
blocks = st.dictionaries(iids, tfs, min_size=1, max_size=POSTINGS_PER_BLOCK).map(lambda held: sorted(held.items()))


@given(blocks)
@example([(0, 1)])
@example([(2**32 - 2, 255)])
@example([(0, 1), (2**32 - 2, 1)])
@example([(iid, 255) for iid in range(128)])
@example([(iid << 24, 1) for iid in range(128)])
@example([*((iid, 1) for iid in range(127)), (2**32 - 2, 7)])
@example([(0, 1), *((2**32 - 200 + iid, 1) for iid in range(127))])
def test_dense_blocks_are_read_as_the_page_draws_them(postings: list[tuple[int, int]]) -> None:
    block = pack_block(postings, dense=True)
    assert dense_rows.read_block(block) == unpack_block(block) == postings
    assert posting_count(block) == posting_count(pack_block(postings)) == len(postings)
    for cut in range(len(block)):
        with pytest.raises(DamagedBytes):
            unpack_block(block[:cut])
    with pytest.raises(DamagedBytes):
        unpack_block(block + b"\0")


@pytest.mark.parametrize(
    "postings",
    [[], [(5, 1), (4, 1)], [(5, 1), (5, 1)], [(5, 256)], [(2**32, 1)]],
    ids=["none", "falling", "twice", "a tf above 255", "an IID of 33 bits"],
)
def test_what_no_dense_block_can_hold_gets_another_one(postings: list[tuple[int, int]]) -> None:
    block = pack_block(postings, dense=True)
    assert block == pack_block(postings)
    assert unpack_block(block) == postings


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (b"\x81", "a head that is cut off"),
        (b"\x81\x80\0" + bytes(40), "a count above 128"),
        (b"\xa2\0\0\0", "k above 32"),
        (b"\x81\0\x80", "a first IID that is cut off"),
        (b"\x81\0\0\1\1\1", "a place behind the last posting"),
        (b"\x81\0\0\1" + b"\0" * 30, "a tf that never ends"),
        (b"\x81\0\0\0\0", "a byte too many"),
        (b"\x81\0\0", "no number of tfs"),
        (b"\x82\1\xff\xff\xff\xff\x0f\5\0", "an IID above 32 bits"),
        (b"\xa1\1\0\3\0\0\0\2\0", "a gap above 32 bits"),
    ],
)
def test_bytes_that_are_no_dense_block_are_damage(block: bytes, why: str) -> None:
    with pytest.raises(DamagedBytes):
        unpack_block(block)


@given(st.binary(max_size=60), st.integers(129, 255))
def test_any_bytes_are_a_block_or_damage(rest: bytes, first: int) -> None:
    with suppress(DamagedBytes):
        assert 0 < len(unpack_block(bytes((first,)) + rest)) <= POSTINGS_PER_BLOCK


def test_dense_blocks_are_small() -> None:
    """With a word in a tenth of a hundred thousand objects, the gaps have an entropy of 4.7 bits."""
    held = sorted(random.Random(7).sample(range(100_000), 10_000))
    sizes = [
        len(pack_block([(iid, 1) for iid in held[at : at + POSTINGS_PER_BLOCK]], dense=True))
        for at in range(0, len(held), POSTINGS_PER_BLOCK)
    ]
    assert 8 * sum(sizes) / len(held) < 5.3


# -- records ----------------------------------------------------------------------------------------------------------

term_ids = st.integers(0, 300) | st.integers(0, 2**40 - 1)
held_terms = st.dictionaries(term_ids, st.tuples(tfs, st.booleans()) | st.just((0, True)), max_size=30)
numbered = st.integers(0, 10**4).map(lambda number: b"object:%d" % number)
oids = st.one_of(
    numbered,
    st.integers(0, 10**4).map(lambda number: b"%05d" % number),
    st.text("0129a", min_size=1, max_size=6).map(str.encode),
    st.sampled_from([b"9", b"10", b"x" * 255, b"9" * 255, "é9".encode()]),
)
rows = st.dictionaries(st.integers(0, 15), st.tuples(oids, held_terms), min_size=1)


def packed(held: dict[int, tuple[bytes, dict[int, tuple[int, bool]]]]) -> bytes:
    row, made = RecordRow(b""), b""
    for place, (oid, terms) in held.items():
        record = ObjectRecord.of(oid, [(term_id, tf, hidden, 0) for term_id, (tf, hidden) in terms.items()])
        made = row.put(place, record.pack())
    return made


def shown(row: bytes) -> list[tuple[int, bytes, list[tuple[int, int, bool]]]]:
    return [
        (place, record.oid, [(term_id, tf, hidden) for term_id, tf, hidden, _ in record.terms()])
        for place, record in ((place, ObjectRecord.unpack(one)) for place, one in RecordRow(row).records())
    ]


@settings(max_examples=examples(300))
@given(rows, st.integers(0, 15))
@example({0: (b"o9", {}), 1: (b"10", {}), 2: (b"11", {0: (1, True)}), 15: (b"99", {2**40 - 1: (255, True)})}, 3)
@example({place: (b"%d" % (95 + place), {7: (1, False)}) for place in range(16)}, 9)
@example({3: (b"camel", {0: (0, True), 1: (1, True), 2: (2, False), 3: (1, False), 9: (0, True)})}, 3)
def test_dense_rows_are_read_as_the_page_draws_them(
    held: dict[int, tuple[bytes, dict[int, tuple[int, bool]]]], place: int
) -> None:
    plain = packed(held)
    row = dense_row(plain)
    assert dense_row(row) == row
    assert dense_rows.read_records(row) == shown(row) == shown(plain)
    assert RecordRow(row).oids() == RecordRow(plain).oids()
    assert record_at(row, place) == record_at(plain, place)
    iids = [32 + at for at in range(16)]
    key = object_key(7, 2)
    assert oids_in({key: row}, 7, iids) == oids_in({key: plain}, 7, iids)
    for prefix, limit, start in ((b"", 9, 0), (b"o", 2, 34), (b"9", 99, 40)):
        found = names_in([(key, row)], 7, start, prefix, limit, ends=False)
        assert found == names_in([(key, plain)], 7, start, prefix, limit, ends=False)
    changed, other = RecordRow(row), RecordRow(plain)
    assert changed.put(place, b"\1xrest") == other.put(place, b"\1xrest")
    assert changed.drop(place) == other.drop(place)


@settings(max_examples=examples(300))
@given(rows, st.integers(0, 15), held_terms)
@example({place: (b"%d" % (95 + place), {7: (1, False)}) for place in range(16)}, 9, {})
@example({3: (b"camel", {0: (0, True), 1: (1, True), 9: (0, True)})}, 3, {2**40 - 1: (255, True)})
def test_a_record_of_a_dense_row_changes_as_in_the_plain_one(
    held: dict[int, tuple[bytes, dict[int, tuple[int, bool]]]], place: int, terms: dict[int, tuple[int, bool]]
) -> None:
    plain = packed(held)
    row = dense_row(plain)
    oid = held[place][0] if place in held else b"other"
    record = ObjectRecord.of(oid, [(term_id, tf, hidden, 0) for term_id, (tf, hidden) in terms.items()]).pack()
    if place in held:
        assert changed_row(row, place, record) == dense_row(RecordRow(plain).put(place, record))
        assert changed_row(row, place, None) == dense_row(RecordRow(plain).drop(place))
        assert changed_row(row, place, b"\3new" + record[1 + len(oid) :]) is None
    else:
        assert changed_row(row, place, record) is None
        assert changed_row(row, place, None) is None
    assert changed_row(plain, place, record) is None


def golomb(number: int, k: int) -> str:
    """Return the Golomb code of a number as a string of bits, in their order in a row."""
    high = (number >> k) + 1
    low = f"{number & ~(-1 << k):0{k}b}"[::-1] if k else ""
    return "0" * (high.bit_length() - 1) + "1" + f"{high:b}"[:0:-1] + low


def one_record(bits: str) -> bytes:
    """Return a row with one object `a` and the given bits of its terms."""
    bits += "0" * (-len(bits) % 8)
    return b"\xff\1\0\0\1a\0" + bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))


def test_the_bits_of_a_record_are_those_that_were_meant() -> None:
    """The valid records, from which the cases of damage below differ, have 2 terms, none of them marked, and 1 term
    with a tf of 2.
    """
    assert shown(one_record(golomb(2, 3) + "0" + golomb(7, 4) + golomb(0, 4))) == [
        (0, b"a", [(7, 1, False), (8, 1, False)])
    ]
    assert shown(one_record(golomb(1, 3) + "1" + "1" + "0" + golomb(0, 0) + golomb(5, 4))) == [
        (0, b"a", [(5, 2, False)])
    ]


def test_objects_that_are_numbered_take_no_room_for_their_names() -> None:
    row = packed({place: (b"conversation:%010d" % (1_999_995 + place), {7: (1, False)}) for place in range(16)})
    assert len(dense_row(row)) < 30 + OBJECTS_PER_RECORD_ROW * 2


def test_rows_that_cannot_be_dense_stay() -> None:
    large = packed({0: (b"large", {2 * number: (1, False) for number in range(5_000)}), 1: (b"small", {})})
    blocks = RecordRow(b"").put(0, ObjectRecord.of(b"o", [(3, 1, False, 0), (4, 1, False, 70)], True).pack())
    for row in (large, blocks, b""):
        assert dense_row(row) == row
    record = RecordRow(large).records()[0][1]
    assert changed_row(dense_row(packed({0: (b"large", {})})), 0, record) is None


@pytest.mark.full
@settings(max_examples=examples(300))
@given(rows, st.randoms(use_true_random=False))
def test_damaged_rows_are_read_or_damage(
    held: dict[int, tuple[bytes, dict[int, tuple[int, bool]]]], dice: random.Random
) -> None:
    whole = dense_row(packed(held))
    changed = bytearray(whole)
    changed[1 + dice.randrange(len(whole) - 1)] = dice.randrange(256)
    for row in (whole[: 1 + dice.randrange(len(whole) - 1)], bytes(changed), whole + b"\0", whole[:1] + whole):
        with suppress(DamagedBytes):
            for _, record in RecordRow(row).records():
                ObjectRecord.unpack(record)
        with suppress(DamagedBytes, UnicodeDecodeError):
            oids_in({object_key(7, 0): row}, 7, list(range(16)))
        with suppress(DamagedBytes):
            changed_row(row, dice.randrange(16), None)
    for cut in range(1, len(whole)):
        with pytest.raises(DamagedBytes):
            RecordRow(whole[:cut])
        with pytest.raises(DamagedBytes):
            changed_row(whole[:cut], min(held), None)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (b"\xff\1", "a head that is cut off"),
        (b"\xff\1\0\0\1", "a name that is cut off"),
        (b"\xff\1\0\0\0\0\x08", "no name"),
        (b"\xff\1\0\1\1a\0\x08", "shares with nothing"),
        (b"\xff\1\0\0\1a\1\x08", "more names than places"),
        (b"\xff\3\0\0\1a\1\x08\x08", "nothing to count up"),
        (b"\xff\3\0\0\1" + b"9\1\x08\x08", "a digit more"),
        (b"\xff\1\0\0\1a\0", "no terms"),
        (b"\xff\1\0\0\1a\0\x08\0", "a byte too many"),
        (b"\xff\1\0\0\1a\0\0\0\0\0\0\0\0\0\0\0\0\0", "a number without end"),
        (b"\xff\1\0\0\1a\0" + b"\xe0\xff\xff\xff", "more terms than bits"),
        (one_record(golomb(2, 3) + "0" + golomb(2**40 - 1, 4) + golomb(0, 39)), "a term id above 40 bits"),
        (one_record(golomb(1, 3) + "1" + "1" + "0" + golomb(2**32 - 2, 0) + golomb(0, 4)), "a tf above 32 bits"),
    ],
)
def test_bytes_that_are_no_dense_row_are_damage(row: bytes, why: str) -> None:
    with pytest.raises(DamagedBytes):
        RecordRow(row)


# -- names ------------------------------------------------------------------------------------------------------------

hashes = st.integers(0, 2**40 - 1) | st.integers(0, 3000) | st.integers(2**40 - 300, 2**40 - 1)
entries = st.sets(st.tuples(hashes, st.integers(0, 300) | st.integers(0, 2**40 - 1)), min_size=1, max_size=40)


@given(entries)
def test_names_are_read_as_the_page_draws_them(held: set[tuple[int, int]]) -> None:
    row = pack_names(sorted(held))
    expected = sorted((stored_hash(hash), iid) for hash, iid in held)
    assert dense_rows.read_names(row) == unpack_names(row) == expected
    for hash, _ in [*held, (7, 0)]:
        assert list(named(row, hash)) == [iid for other, iid in expected if other == stored_hash(hash)]
    for cut in range(1, len(row)):
        with pytest.raises(DamagedBytes):
            unpack_names(row[:cut])


def test_hashes_that_do_not_rise_are_damage() -> None:
    row = b"\x80\0\2\0\1" + b"\xff" * 4 + b"\x83"
    for read in (unpack_names, lambda row: named(row, 2**40 - 1)):
        with pytest.raises(DamagedBytes):
            read(row)


@given(st.binary(max_size=60))
def test_any_bytes_are_names_or_damage(rest: bytes) -> None:
    with suppress(DamagedBytes):
        unpack_names(b"\x80\0" + rest)
    with suppress(DamagedBytes):
        named(b"\x80\0" + rest, 5 << 8)


# -- terms ------------------------------------------------------------------------------------------------------------


@given(
    st.dictionaries(st.integers(0, TERMS_PER_ROW - 1), st.binary(max_size=20) | st.binary(max_size=2000), min_size=1)
)
def test_terms_are_read_as_the_page_draws_them(terms: dict[int, bytes]) -> None:
    row = pack_terms(terms)
    assert is_shared(row)
    assert dense_rows.read_terms(row) == unpack_terms(row) == terms
    for cut in range(1, len(row)):
        with suppress(DamagedBytes):
            assert unpack_terms(row[:cut]).items() <= terms.items()
    with suppress(DamagedBytes):
        unpack_terms(b"\xff" + row)


@pytest.mark.parametrize(
    "row",
    [b"\xff\x01", b"\xff\x11a\x11b", b"\xff\x11a\x01b", b"\xff\x0f\x80", b"\xff\x0f" + b"\xff" * 9 + b"\1", b"a", b""],
)
def test_bytes_that_are_no_row_of_terms_are_damage(row: bytes) -> None:
    with pytest.raises(DamagedBytes):
        unpack_terms(row)


def test_a_place_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="0 to 15"):
        pack_terms({16: b"a"})
