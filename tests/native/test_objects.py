"""Tests of sonicpy._native.objects: rows of several records, compared with a dictionary; and bytes that are not a
row.
"""

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.objects import OBJECTS_PER_RECORD_ROW, RecordRow, oids_in, record_at, row_keys
from sonicpy._native.varint import DamagedBytes
from sonicpy.store.rows.keys import object_key
from tests.support.examples import examples

oids = st.one_of(
    st.integers(0, 10**6).map(lambda number: b"object:%d" % number),
    st.binary(min_size=1, max_size=255),
    st.sampled_from([b"a", b"ab", b"abc", b"x" * 255, b"x" * 254 + b"y"]),
)
records = st.tuples(oids, st.binary(max_size=200)).map(lambda record: bytes((len(record[0]),)) + b"".join(record))
changes = st.lists(st.tuples(st.integers(0, OBJECTS_PER_RECORD_ROW - 1), records | st.none()), max_size=40)


def oid_of(record: bytes) -> bytes:
    return record[1 : 1 + record[0]]


@given(changes)
def test_a_row_holds_what_was_put_and_not_dropped(changes: list[tuple[int, bytes | None]]) -> None:
    row, packed, held = RecordRow(b""), b"", {}
    for place, record in changes:
        if record is None:
            packed = row.drop(place)
            held.pop(place, None)
        else:
            packed = row.put(place, record)
            held[place] = record
        for read in (row, RecordRow(packed)):
            assert read.records() == sorted(held.items())
            assert read.oids() == [(place, oid_of(record)) for place, record in sorted(held.items())]
            assert len(read) == len(held)
    for place in (*range(OBJECTS_PER_RECORD_ROW), -1, OBJECTS_PER_RECORD_ROW, 1 << 20):
        record = held.get(place)
        assert record_at(packed, place) == record
    names = {3: packed, 4: b""}
    rows = {object_key(7, number): row for number, row in names.items()}
    if all(oid_of(record).isascii() for record in held.values()):
        iids = [48 + place for place in reversed(range(16))] + [64, 4096]
        expected = [oid_of(held[place]).decode() if place in held else None for place in reversed(range(16))]
        assert oids_in(rows, 7, iids) == [*expected, None, None]
        assert sorted(row_keys(7, iids)) == [object_key(7, number) for number in (3, 4, 256)]
    assert bool(packed) == bool(held)


def test_names_that_begin_alike_are_kept_short() -> None:
    row = RecordRow(b"")
    for place in range(OBJECTS_PER_RECORD_ROW):
        packed = row.put(place, b"\x17conversation:%010d" % place + b"rest")
    assert len(packed) < 23 + OBJECTS_PER_RECORD_ROW * (3 + 2 + 1 + 4)


def test_a_place_or_record_that_cannot_be_is_refused() -> None:
    row = RecordRow(b"")
    for place in (-1, OBJECTS_PER_RECORD_ROW, 1 << 20):
        with pytest.raises(ValueError, match="places 0 to 15"):
            row.put(place, b"\1o")
    for record in (b"", b"\0", b"\1", b"\0o", b"\3ab"):
        with pytest.raises(DamagedBytes):
            row.put(0, record)
    assert row.records() == []


@settings(max_examples=examples(300))
@given(st.lists(st.tuples(st.integers(0, 15), records), min_size=1, max_size=16), st.randoms(use_true_random=False))
def test_damaged_rows_are_read_or_damage(held: list[tuple[int, bytes]], dice: random.Random) -> None:
    row = RecordRow(b"")
    for place, record in held:
        whole = row.put(place, record)
    changed = bytearray(whole)
    changed[dice.randrange(len(whole))] = dice.randrange(256)
    for packed in (whole[: dice.randrange(len(whole))], bytes(changed), whole + b"\0", whole + whole):
        for place in (0, 7, 15):
            with suppress(DamagedBytes):
                record = record_at(packed, place)
                assert record is None or 0 < record[0] < len(record) + 1
        try:
            read = RecordRow(packed)
        except DamagedBytes:
            continue
        assert len(read.records()) == len(read)


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (b"\0", "a head that is cut off"),
        (b"\0\0\0\0", "no name"),
        (b"\0\1\1a\0", "shares with nothing"),
        (b"\0\0\1a\0\1\2\1b\0", "shares more than there is"),
        (b"\1\0\1a\0\1\0\1b\0", "one place twice"),
        (b"\1\0\1a\0\0\0\1b\0", "places that fall"),
        (b"\x10\0\1a\0", "a place too far"),
        (b"\0\0\1a\5rest", "a rest that is cut off"),
        (b"\0\0\1a\x80", "a size that is cut off"),
        (b"\0\0\xffa", "a name that is cut off"),
        (b"\0\0\xff" + b"a" * 255 + b"\0" + b"\1\xff\1b\0", "a name of 256 bytes"),
    ],
)
def test_bytes_that_are_no_row_are_damage(packed: bytes, why: str) -> None:
    with pytest.raises(DamagedBytes):
        RecordRow(packed)
