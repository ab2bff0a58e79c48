"""Verify beside a writer holds no snapshot for long, reports no row that only changed, and misses no fault."""

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from sonicpy.store.care import verify_tables as verify_module
from sonicpy.store.care.verify_tables import faults_beside_a_writer, table_faults
from sonicpy.store.changing.mutations import FlushObject
from sonicpy.store.disk import slices as slices_module
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.slices import SlicedTransaction, slices
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.store import Store
from tests.store.shorthand import open_store, push


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(slices_module, "SLICE_S", 0.0)
    monkeypatch.setattr(slices_module, "PAGE_ROWS", 5)
    store = open_store(tmp_path)
    for number in range(80):
        store.apply(push(f"o{number}", f"alpha w{number % 30} v{number % 7}", bucket=f"b{number % 3}"))
    store.commit()
    yield store
    store.close()


def test_every_page_is_of_the_last_commit(store: Store) -> None:
    with slices(store._environment) as sliced:
        seen, commits = [], []
        for number, (key, _) in enumerate(sliced.rows(tables.WORDS, b"")):
            seen.append(key)
            commits.append(sliced.number)
            if number % 10 == 0:
                store.apply(push("o1", f"zz{number}", bucket="b2"))
                store.commit()
                oldest = min(reader.commit for reader in store.readers())
                assert oldest >= store.last_commit() - 1
        assert seen == sorted(set(seen))
        assert len(set(commits)) > 5
        with store.snapshot() as view:
            for prefix in (b"", b"\0\0\0\1", b"\0\0\0\1w1", b"\0\0\0\2zz", b"\xff"):
                assert list(sliced.rows(tables.WORDS, prefix)) == list(view.transaction.rows(tables.WORDS, prefix))


def test_what_changes_meanwhile_is_no_fault(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(3)
    looked_again: list[str] = []
    now = SlicedTransaction._now

    def change_now(sliced: SlicedTransaction) -> Transaction:
        if chance.random() < 0.05:
            store.apply(push(f"o{chance.randrange(90)}", f"alpha w{chance.randrange(40)} neu{chance.randrange(9)}"))
            store.apply(FlushObject("c", f"b{chance.randrange(3)}", f"o{chance.randrange(90)}"))
            store.commit()
        return now(sliced)

    def look(
        environment: Environment, sliced: SlicedTransaction, check: Callable[[Transaction], Iterable[str]]
    ) -> list[str]:
        looked_again.extend(check(sliced))
        return slices_module.lasting_faults(environment, sliced, check)

    monkeypatch.setattr(SlicedTransaction, "_now", change_now)
    monkeypatch.setattr(verify_module, "lasting_faults", look)
    for _ in range(20):  # how many slices a check takes depends on the clock
        assert list(faults_beside_a_writer(store._environment)) == []
        if looked_again:
            break
    assert looked_again, "nothing changed under the check: the test judged nothing"


@pytest.mark.parametrize(
    ("table", "key"), [(tables.TERMS, b"\0\0\0\1"), (tables.OBJECTS, b"\0\0\0\0"), (tables.BUCKETS, b"\0\0\0\2")]
)
def test_a_fault_is_found_in_slices_as_in_one_snapshot(store: Store, table: int, key: bytes) -> None:
    row = store.maintain(lambda view: view.transaction.first(table, key))
    assert row is not None
    store.maintain(lambda view: view.transaction.delete(table, row[0]))
    store.commit()
    with store.snapshot() as view:
        expected = list(table_faults(view.transaction))
    assert expected
    assert list(faults_beside_a_writer(store._environment)) == expected
