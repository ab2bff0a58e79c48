"""Tests of RecentRow (sonicpy._native.waiting_rows): a row that changes in memory, compared with a dictionary."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.dense_records import dense_row
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import RecordRow, oid_at
from sonicpy._native.varint import DamagedBytes
from sonicpy._native.waiting_rows import RecentRow
from tests.support.examples import examples

places = st.integers(0, 15)
records = st.tuples(st.sampled_from([b"o1", b"o2", b"other"]), st.sets(st.integers(0, 60), max_size=4))
STEPS = ["remove", "remove", "remove", "drop", "put", "record", "names", "packed", "records"]
steps = st.lists(st.tuples(st.sampled_from(STEPS), places, records))


def record_of(oid: bytes, term_ids: set[int]) -> bytes:
    return ObjectRecord.of(oid, [(term_id, 1, False, 0) for term_id in sorted(term_ids)]).pack()


@settings(max_examples=examples(300))
@given(st.dictionaries(places, records, min_size=1), steps, st.booleans())
def test_a_row_changes_as_a_dictionary_does(
    given: dict[int, tuple[bytes, set[int]]], steps: list[tuple[str, int, tuple[bytes, set[int]]]], is_dense: bool
) -> None:
    held = {place: record_of(*record) for place, record in given.items()}
    plain = RecordRow(b"")
    packed = [plain.put(place, record) for place, record in held.items()][-1]
    row = RecentRow(3, dense_row(packed) if is_dense else packed, dense=is_dense)
    assert (row.number, row.is_changed) == (3, False)
    for what, place, record in steps:
        match what:
            case "remove":
                row.remove(place)
                held.pop(place, None)
            case "drop":
                held.pop(place, None)
                assert RecordRow(row.drop(place)).records() == sorted(held.items())
            case "put":
                row.put(place, record_of(*record))
                held[place] = record_of(*record)
            case "record":
                assert row.record(place) == held.get(place)
            case "names":
                assert oid_at(row.names, place) == (held[place][1 : 1 + held[place][0]] if place in held else None)
            case "records":
                assert row.records() == sorted(held.items())
            case _:
                assert RecordRow(row.packed).records() == sorted(held.items())
    assert [row.record(place) for place in range(16)] == [held.get(place) for place in range(16)]
    assert RecordRow(row.packed).records() == sorted(held.items())
    assert row.is_changed is any(what in {"remove", "drop", "put"} for what, _, _ in steps)


@pytest.mark.parametrize("read", [RecentRow.records, lambda row: RecordRow(row.names).records()])
def test_records_that_wait_to_be_removed_are_gone(read: Callable[[RecentRow], list[tuple[int, bytes]]]) -> None:
    held = {place: record_of(b"o%d" % place, {place}) for place in range(16)}
    plain = RecordRow(b"")
    row = RecentRow(0, dense_row([plain.put(place, record) for place, record in held.items()][-1]), dense=True)
    for place in (2, 5, 9):
        row.remove(place)
        held.pop(place)
    assert row.record(9) is None
    assert read(row) == list(held.items())
    assert len(row) == 13


def test_a_damaged_row_loses_no_record() -> None:
    plain = RecordRow(b"")
    packed = [plain.put(place, record_of(b"o%d" % place, {place, 100 + place})) for place in range(16)][-1]
    damaged = dense_row(packed)[:-1]
    row = RecentRow(0, damaged, dense=True)
    for _ in range(2):
        with pytest.raises(DamagedBytes):
            row.remove(2)


@pytest.mark.parametrize("place", [-1, 16])
def test_a_place_that_no_row_has(place: int) -> None:
    row = RecentRow(0, None, dense=True)
    with pytest.raises(ValueError, match=f"a row of objects has the places 0 to 15, not {place}"):
        row.remove(place)
    with pytest.raises(ValueError, match=f"not {place}"):
        row.put(place, record_of(b"o", set()))
    assert row.packed == b""
