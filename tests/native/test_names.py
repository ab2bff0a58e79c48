"""Tests of sonicpy._native.name_map and name_rows: pending names and rows of names, compared with sets and
dictionaries.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.dense_records import dense_row
from sonicpy._native.name_map import NameMap, name_hash
from sonicpy._native.name_rows import (
    NameMerge,
    name_key,
    named,
    pack_names,
    slice_start,
    slice_to_split,
    stored_hash,
    unpack_names,
)
from sonicpy._native.object_record import ObjectRecord
from sonicpy._native.objects import RecordRow
from sonicpy._native.varint import DamagedBytes, pack_varints
from sonicpy.store.rows.keys import object_key
from tests.support.examples import examples

hashes = st.integers(0, 2**40 - 1) | st.integers(0, 3) | st.integers(2**40 - 4, 2**40 - 1)
iids = st.integers(0, 2**40 - 1) | st.integers(0, 300)


@given(st.binary(max_size=400))
def test_a_hash_is_the_first_bytes_of_blake2b(oid: bytes) -> None:
    assert name_hash(oid) == int.from_bytes(hashlib.blake2b(oid, digest_size=5).digest(), "big")


# -- rows -------------------------------------------------------------------------------------------------------------


@given(st.sets(st.tuples(hashes, iids), max_size=40).map(sorted))
def test_rows_come_back(entries: list[tuple[int, int]]) -> None:
    stored = stored_entries(set(entries))
    for row in (pack_names(entries), packed_as_before(entries)):
        assert unpack_names(row) == stored
        for hash, _ in [*entries, (7, 0)]:
            assert named(row, hash) == tuple(iid for other, iid in stored if other == stored_hash(hash))
        if row:
            with pytest.raises(DamagedBytes):
                unpack_names(row + b"\x80")


def stored_entries(entries: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted((stored_hash(hash), iid) for hash, iid in entries)


def packed_as_before(entries: list[tuple[int, int]]) -> bytes:
    """Return the row as versions until 1.0 wrote it, which is also the form of pending names."""
    befores = [0, *(hash for hash, _ in entries)]
    return b"".join(pack_varints([hash - before, iid]) for (hash, iid), before in zip(entries, befores, strict=False))


def starts(slices: int) -> list[int]:
    """Return the beginnings of `slices` slices, made by splitting one after the other in two."""
    found, bits = [0], 0
    while len(found) < slices:
        if len(found) == 1 << bits:
            bits += 1
        place = len(found) - (1 << (bits - 1))
        found.append((2 * place + 1) << (40 - bits))
    return sorted(found)


@pytest.mark.parametrize("slices", [*range(1, 40), 1000, 1023, 1024, 1025])
def test_every_hash_is_in_one_slice(slices: int) -> None:
    whole = starts(slices)
    for start, end in zip(whole, [*whole[1:], 2**40], strict=True):
        assert {slice_start(hash, slices) for hash in (start, start + 1, (start + end) // 2, end - 1)} == {start}
    for hash in (0, whole[-1], whole[-1] + 5, 2**40 - 1):
        assert name_key(7, hash, slices) == object_key(7, slice_start(hash, slices))
    low, middle = slice_to_split(slices)
    assert low in whole
    assert sorted([*whole, middle]) == starts(slices + 1)


near = st.integers(0, 20).map(lambda number: number << 8 | number)
entry_sets = st.sets(st.tuples(near, st.integers(0, 3)) | st.tuples(hashes, iids), max_size=30).filter(
    lambda entries: len({(stored_hash(hash), iid) for hash, iid in entries}) == len(entries)
)


def rows_of(
    entries: Iterable[tuple[int, int]], slices: int, pack: Callable[[list[tuple[int, int]]], bytes] = pack_names
) -> dict[bytes, bytes]:
    """Return the rows of names, by their keys."""
    whole = starts(slices)
    divided: dict[bytes, list[tuple[int, int]]] = {}
    for entry in sorted(entries):
        divided.setdefault(object_key(7, whole[bisect_right(whole, entry[0]) - 1]), []).append(entry)
    return {key: pack(some) for key, some in divided.items()}


def merge_into(rows: dict[bytes, bytes], names: bytes, before: int, after: int) -> None:
    merge = NameMerge(7, names, before, after)
    while keys := merge.next_keys():
        assert keys == sorted(set(keys))
        rows.update(merge.rows([(key, rows[key]) for key in keys if key in rows]))
    for key in merge.emptied:
        del rows[key]


@given(entry_sets, entry_sets, st.integers(1, 20), st.integers(0, 40), st.sampled_from([pack_names, packed_as_before]))
def test_rows_are_merged_as_sets(
    held: set[tuple[int, int]],
    added: set[tuple[int, int]],
    slices: int,
    more: int,
    pack: Callable[[list[tuple[int, int]]], bytes],
) -> None:
    before = rows_of(held, slices, pack)
    after = before.copy()
    names = packed_as_before(sorted(added))
    merge_into(after, names, slices, slices + more)
    united = rows_of({*stored_entries(held), *stored_entries(added)}, slices + more)
    assert {key: unpack_names(row) for key, row in after.items()} == {
        key: unpack_names(row) for key, row in united.items()
    }
    merge = NameMerge(7, names, slices, slices + more)
    changed = set(merge.next_keys())
    assert {after[key] for key in changed if key in after} <= set(united.values())
    for key in changed & set(before):
        for cut in range(1, len(before[key])):
            try:
                unpack_names(before[key][:cut])
            except DamagedBytes:
                with pytest.raises(DamagedBytes):
                    merge_into({**before, key: before[key][:cut]}, names, slices, slices + more)


def test_many_rows_are_merged_some_at_a_time() -> None:
    held = {(number << 28, number) for number in range(4096)}
    added = {((number << 28) + 5, number) for number in range(0, 4096, 2)}
    rows = rows_of(held, 2000)
    names = packed_as_before(sorted(added))
    merge = NameMerge(7, names, 2000, 2001)
    keys = merge.next_keys()
    assert 0 < len(keys) < 1000
    assert merge.rows([(key, rows[key]) for key in keys])
    assert merge.rows([(key, rows[key]) for key in keys]) == []  # they were merged
    merge_into(rows, names, 2000, 2001)
    assert rows == rows_of({*stored_entries(held), *stored_entries(added)}, 2001)


@given(st.binary(max_size=60), st.binary(max_size=60), st.integers(1, 4), st.integers(0, 4))
def test_bytes_that_are_no_rows_do_no_harm(row: bytes, names: bytes, slices: int, more: int) -> None:
    for work in (
        lambda: merge_into({object_key(7, start): row for start in starts(slices)}, names, slices, slices + more),
        lambda: named(row, 5),
        lambda: unpack_names(row),
    ):
        try:
            work()
        except DamagedBytes:
            continue


@pytest.mark.parametrize(("before", "after"), [(0, 1), (2, 1), (1, 2**64 - 1), (2**64 - 1, 2**64 - 1)])
def test_numbers_of_slices_that_cannot_be(before: int, after: int) -> None:
    with pytest.raises(DamagedBytes):
        NameMerge(7, b"", before, after)
    assert len(name_key(7, 2**40 - 1, 2**64 - 1)) == 9


# -- names that wait --------------------------------------------------------------------------------------------------


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.tuples(st.sampled_from("adt"), hashes | st.integers(5 << 30, (5 << 30) + 9), st.integers(0, 9)),
        max_size=200,
    ),
    st.integers(1, 9),
)
def test_names_wait_in_order(changes: list[tuple[str, int, int]], until: int) -> None:
    """Pending names are in order, compared with a set; some are at the end of all hashes, some have equal hashes, some
    are close together.
    """
    waiting, held, taken = NameMap(), set[tuple[int, int]](), 0
    for kind, hash, number in changes:
        if kind == "a":
            waiting.add(hash, number)
            held.add((hash, number))
        elif kind == "d":
            waiting.drop(hash, number)
            held.discard((hash, number))
        else:
            due = sorted((other, iid) for other, iid in held if iid < until and other >= taken)
            row, are_left = waiting.take(number, until)
            assert row == packed_as_before(due[:number])
            assert are_left == (len(due) > number)
            held -= set(due[:number])
            if due[:number]:
                taken = due[:number][-1][0]
            if not are_left:
                taken = 0
        assert len(waiting) == len(held)
        assert waiting.find(hash) == tuple(sorted(iid for other, iid in held if other == hash))
    assert {hash for hash, _ in held} == {hash for _, hash, _ in changes if waiting.find(hash)}


def test_many_names_wait_in_few_bytes() -> None:
    waiting = NameMap()
    for number in range(20_000):
        waiting.add(name_hash(b"%d" % number), number)
    row, are_left = waiting.take(19_990, 20_000)
    assert are_left
    entries = sorted((name_hash(b"%d" % number), number) for number in range(20_000))[:19_990]
    assert row == packed_as_before(entries)
    assert all(waiting.find(hash) == () for hash, _ in entries)
    assert len(waiting) == 10
    row, are_left = waiting.take(50, 20_000)
    assert (len(unpack_names(row)), are_left, len(waiting)) == (10, False, 0)


def test_no_hash_is_larger() -> None:
    waiting = NameMap()
    with pytest.raises(ValueError, match="40 bits"):
        waiting.add(2**40, 1)
    waiting.add(2**40 - 1, 1)
    assert waiting.find(2**40) == waiting.find(2**64 - 1) == ()
    waiting.drop(2**64 - 1, 1)
    assert waiting.find(2**40 - 1) == (1,)


@pytest.mark.parametrize("first", [0, 160, 163, 176])
@pytest.mark.parametrize("dense", [False, True])
def test_names_of_a_row_of_records(first: int, dense: bool) -> None:
    oids, row = {0: b"first", 3: b"third", 4: "\u00fcber".encode(), 15: b"x" * 128}, RecordRow(b"")
    packed = b""
    for place, oid in oids.items():
        packed = row.put(place, ObjectRecord.empty(oid).pack())
    waiting = NameMap()
    waiting.add_row(dense_row(packed) if dense else packed, 160, first)
    for place, oid in oids.items():
        assert waiting.find(name_hash(oid)) == ((160 + place,) if 160 + place >= first else ())
    with pytest.raises(DamagedBytes):
        NameMap().add_row(packed[:-1], 160, 0)
