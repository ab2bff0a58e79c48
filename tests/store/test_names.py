"""sonicpy.store.names: who has a name, judged by a dictionary; slices judged by strings of bits."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native.names import by_slice, merge_names, named, pack_names, slice_start, slice_to_split, unpack_names
from sonicpy._native.postings import DamagedBytes
from sonicpy.store import names
from sonicpy.store.bucket import BucketReader
from sonicpy.store.environment import OIDS, Environment, Transaction
from sonicpy.store.mutations import FlushObject
from sonicpy.store.names import NewNames, drop_stored_name, stored_names
from sonicpy.store.scopes import BucketState
from sonicpy.store.verify import table_faults
from tests.store.consistency import check_consistent
from tests.store.shorthand import open_store, push

hashes = st.integers(0, 2**40 - 1) | st.integers(0, 3) | st.integers(2**40 - 4, 2**40 - 1)
iids = st.integers(0, 2**40 - 1) | st.integers(0, 300)


@contextmanager
def transaction_of_its_own() -> Iterator[Transaction]:
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder), 1 << 24, sync=False)
        transaction = environment.begin(write=True)
        yield transaction
        environment.abort(transaction)
        environment.close()


# -- rows -------------------------------------------------------------------------------------------------------------


@given(st.sets(st.tuples(hashes, iids), max_size=40).map(sorted))
def test_rows_come_back(entries: list[tuple[int, int]]) -> None:
    row = pack_names(entries)
    assert unpack_names(row) == entries
    for hash, _ in [*entries, (7, 0)]:
        assert named(row, hash) == [iid for other, iid in entries if other == hash]
    last = row[-1:]
    for cut in range(len(row)):
        try:
            assert unpack_names(row[:cut]) == entries[: len(unpack_names(row[:cut]))]
        except DamagedBytes:
            continue
    if last:
        with pytest.raises(DamagedBytes):
            unpack_names(row + b"\x80")


entry_sets = st.sets(st.tuples(st.integers(0, 20), st.integers(0, 3)) | st.tuples(hashes, iids), max_size=30)


@given(entry_sets, entry_sets)
def test_rows_are_merged_as_sets(held: set[tuple[int, int]], added: set[tuple[int, int]]) -> None:
    row = pack_names(sorted(held))
    assert unpack_names(merge_names(row, sorted(added))) == sorted(held | added)
    for cut in range(len(row)):
        try:
            unpack_names(row[:cut])
        except DamagedBytes:
            with pytest.raises(DamagedBytes):
                merge_names(row[:cut], sorted(added))


def starts(slices: int) -> list[int]:
    """Return where each of so many slices begins: one after the other is split in two."""
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
    entries = sorted((whole[number % len(whole)] + number, number) for number in range(50))
    grouped = by_slice(entries, slices)
    assert [entry for _, some in grouped for entry in some] == entries
    assert [start for start, _ in grouped] == sorted({slice_start(hash, slices) for hash, _ in entries})
    assert all(slice_start(hash, slices) == start for start, some in grouped for hash, _ in some)
    low, middle = slice_to_split(slices)
    assert low in whole
    assert sorted([*whole, middle]) == starts(slices + 1)


# -- names that wait --------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("adf"), st.integers(0, 5), st.integers(0, 8)), max_size=60), st.data())
def test_names_are_found_wherever_they_are(changes: list[tuple[str, int, int]], data: st.DataObject) -> None:
    """Few hashes, so that they clash; names are added, dropped and folded in any order."""
    with pytest.MonkeyPatch.context() as patch, transaction_of_its_own() as transaction:
        patch.setattr(names, "WAITING_MIN", 3)
        patch.setattr(names, "NAMES_PER_SLICE", 2)
        patch.setattr(names, "FOLDED_MIN", 1)
        state, new, held = BucketState(5), NewNames(), set[tuple[int, int]]()
        for kind, number, iid in changes:
            hash = number << 37
            if kind == "a" and all(iid != other for _, other in held):
                new.add(hash, iid)
                held.add((hash, iid))
                state.objects += 1
                state.next_iid = max(state.next_iid, iid + 1)
            elif kind == "d" and (hash, iid) in held:
                new.drop(hash, iid)
                drop_stored_name(transaction, state, hash, iid)
                held.discard((hash, iid))
                state.objects -= 1
            elif kind == "f":
                new.fold(transaction, state)
            for number in range(6):
                found = {*new.find(number << 37), *stored_names(transaction, state, number << 37)}
                assert found == {iid for hash, iid in held if hash == number << 37}


# -- in a store -------------------------------------------------------------------------------------------------------


def test_a_store_finds_every_object_before_and_after_its_name_is_stored(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number in range(5_000):
        store.apply(push(f"object:{number}", f"word{number % 7}"))
        if number % 100 == 99:
            store.commit()
    store.apply(FlushObject("c", "b", "object:17"))  # one that is stored
    store.apply(FlushObject("c", "b", "object:4999"))  # and one that is not
    for is_reopened in (False, True):
        if is_reopened:
            store.close()
            store = open_store(tmp_path)
        check_consistent(store)
        store.commit()
        with store.snapshot() as view:
            state = view.bucket("c", "b")
            assert state is not None
            assert 0 < state.named < 5_000
            assert state.slices > 20
            assert list(table_faults(view.transaction)) == []
            reader = BucketReader(view, state)
            found = [number for number in range(0, 5_000, 9) if reader.object(f"object:{number}") is not None]
            assert found == [number for number in range(0, 5_000, 9) if number not in (17, 4999)]
            assert reader.object("object:5000") is None
    store.apply(push("object:17", "again"))
    for number in range(0, 5_000, 50):  # nobody is made a second time
        store.apply(push(f"object:{number}", "again"))
    assert store.apply(FlushObject("c", "b", "object:50")) == 2
    check_consistent(store)
    store.close()


def test_names_take_few_bytes(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number in range(20_000):
        store.apply(push(f"object:{number}", "word"))
        if number % 500 == 499:
            store.commit()
    with store.snapshot() as view:
        state = view.bucket("c", "b")
        assert state is not None
        rows = [len(row) + len(key) for key, row in view.transaction.rows(OIDS, b"")]
        assert sum(rows) < 11 * state.named
        assert max(rows) < 4_000
    store.close()
