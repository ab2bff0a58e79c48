"""Tests of sonicpy.store.rows.names: objects are found by OID wherever their names are, in memory or in rows."""

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.changing.bucket_writer import writer_of
from sonicpy.store.changing.mutations import FlushObject
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.table_numbers import OIDS
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows import names
from sonicpy.store.rows.bucket_state import BucketState
from sonicpy.store.rows.names import NewNames, drop_stored_name, oids_from, stored_names
from sonicpy.store.store import Store
from sonicpy.store.views import read_cache
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.view import View
from tests.store.consistency import check_consistent
from tests.store.shorthand import open_store, picture, push, terms
from tests.support.examples import examples


@contextmanager
def transaction_of_its_own() -> Iterator[Transaction]:
    with tempfile.TemporaryDirectory() as folder:
        environment = Environment(Path(folder), 1 << 24)
        transaction = environment.begin()
        yield transaction
        environment.abort(transaction)
        environment.close()


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.sampled_from("adf"), st.integers(0, 5), st.integers(0, 8)), max_size=60), st.data())
def test_names_are_found_wherever_they_are(changes: list[tuple[str, int, int]], data: st.DataObject) -> None:
    """There are few hashes, so that they collide; names are added, removed and moved to rows in any order."""
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
    for number in range(0, 5_000, 50):  # no object is made a second time
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


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(st.tuples(st.sampled_from("pppfc"), st.integers(0, 30)), max_size=80))
def test_snapshots_know_new_names(changes: list[tuple[str, int]]) -> None:
    """A snapshot reads names once, and later snapshots add those of later commits; removed objects are never found
    again.
    """
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(names, "WAITING_MIN", 12)
        patch.setattr(names, "FOLDED_MIN", 3)
        store = open_store(Path(folder))
        for kind, number in changes:
            if kind == "p":
                store.apply(push(f"o{number}", "word"))
            elif kind == "f":
                store.apply(FlushObject("c", "b", f"o{number}"))
            else:
                store.commit()
                check_names(store)
        store.close()


def check_names(store: Store) -> None:
    with store.snapshot() as snapshot:
        state = snapshot.bucket("c", "b")
        if state is None:
            return
        plain = View(snapshot.transaction)
        for number in range(31):
            name = f"o{number}"
            cached = BucketReader(snapshot, state).object(name)
            assert (cached is None) == (BucketReader(plain, state).object(name) is None), name
            assert cached is None or cached.oid == name.encode()


def test_new_names_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(transaction: Transaction, bucket: int, first: int) -> Iterator[tuple[int, bytes]]:
        read.append(first)
        return oids_from(transaction, bucket, first)

    monkeypatch.setattr(read_cache, "oids_from", counted)
    store = open_store(tmp_path)
    for commit in range(3):
        for number in range(50):
            store.apply(push(f"o{commit}-{number}", "word"))
        store.commit()
        with store.snapshot() as snapshot:
            state = snapshot.bucket("c", "b")
            assert state is not None
            for number in range(50):
                assert BucketReader(snapshot, state).object(f"o{commit}-{number}") is not None
                assert BucketReader(snapshot, state).object(f"unknown{number}") is None
    assert read == [0, 50, 100]
    store.close()


def test_a_writer_forgets_a_looked_up_name_when_names_change(tmp_path: Path) -> None:
    """A digest is asked for first, which looks the name up; then other changes come before the next text."""
    dice = random.Random(7)
    store = open_store(tmp_path)
    store.apply(push("o0", "aa"))
    view = store.view
    assert view is not None
    writer = writer_of(view, "c", "b")
    assert writer._pushes.ids == []
    held = {"o0": {"aa"}}
    for number in range(300):
        asked, oid = (f"o{dice.randrange(4)}" for _ in range(2))
        word = f"w{dice.randrange(3)}"
        assert not writer.has_digest(asked, b"12345678")
        match dice.randrange(5):
            case 0:
                writer.push(oid, terms(word))
                held.setdefault(oid, set()).add(word)
            case 1:
                writer.replace(oid, terms(word))
                held[oid] = {word}
            case 2:
                assert writer.flush_object(oid) == len(held.pop(oid, ()))
            case 3:
                assert writer.pop(oid, [word.encode()]) == (word in held.get(oid, ()))
                if held.get(oid) == {word}:
                    del held[oid]
                elif oid in held:
                    held[oid].discard(word)
            case _:
                writer.push(asked, terms(f"{word} more"))
                held.setdefault(asked, set()).update((word, "more"))
                assert writer.begin_removal(asked, 1) == len(held.pop(asked))
                while (iid := view.removals.objects.get((writer.state.bucket, asked))) is not None:
                    assert not writer.has_digest(asked, b"12345678")
                    writer.remove_part(iid)
                writer.push(asked, terms(f"n{number}"))
                held[asked] = {f"n{number}"}
        for each in ("o0", "o1", "o2", "o3"):
            assert (writer.iid_of(each) is not None) is (each in held)
    assert picture(view, "c", "b")["objects"].keys() == held.keys()  # type: ignore[attr-defined]
    check_consistent(store)
    store.close()
