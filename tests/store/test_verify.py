"""Verify finds what is wrong with a store: judged by the checks of consistency.py, which were written without it."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy.errors import StoreError
from sonicpy.store import environment as tables
from sonicpy.store import names
from sonicpy.store.environment import TABLE_NAMES, Transaction
from sonicpy.store.log import HEADER, RECORD, Log, log_faults
from sonicpy.store.mutations import FlushBucket, FlushObject, PopTerms
from sonicpy.store.store import Store
from sonicpy.store.verify import table_faults
from sonicpy.store.view import View
from tests.store import consistency
from tests.store.shorthand import open_store, push, terms

WORDS = [f"word{number}" for number in range(12)] + ["x" * 60, "y" * 600]
PLACES = 40
"""Bytes of a row that are damaged, one after the other; rows of names have a thousand."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with every kind of row: windows passed, words popped, objects and buckets flushed."""
    monkeypatch.setattr(names, "WAITING_MIN", 100)
    store = open_store(tmp_path)
    chance = random.Random(7)
    for number in range(300):
        oid = f"o{chance.randrange(40)}"
        words = chance.sample(WORDS, chance.randrange(1, 6))
        text = " ".join(word + chance.choice(["", "*3", "!", "?"]) for word in words)
        match chance.randrange(8):
            case 0:
                store.apply(PopTerms("c", "b", oid, terms(chance.choice(WORDS))))
            case 1:
                store.apply(FlushObject("c", "b", oid))
            case _:
                store.apply(push(oid, text, window=5, bucket=chance.choice("bd")))
        if number == 100:
            store.apply(FlushBucket("c", "d"))
    for number in range(300):  # more than a word's row holds
        store.apply(push(f"many{number}", "many", bucket="b"))
        if number % 20 == 0:
            store.commit()  # so that names are stored
    store.commit()
    yield store
    store.close()


def test_nothing_is_wrong_with_a_store_that_was_used(store: Store) -> None:
    with store.snapshot() as view:
        assert list(table_faults(view.transaction)) == []
        assert list(consistency.faults(view)) == []


def twin_finds_a_fault(transaction: Transaction) -> bool:
    try:
        return any(True for _ in consistency.faults(View(transaction)))
    except (StoreError, ValueError, LookupError, OverflowError):
        return True  # a row that cannot be read


@pytest.mark.parametrize("table", range(len(TABLE_NAMES)), ids=[name.decode() for name in TABLE_NAMES])
def test_every_damaged_row_that_the_twin_notices_is_named(store: Store, table: int) -> None:
    chance = random.Random(table)
    with store.snapshot() as view:
        rows = list(view.transaction.rows(table, b""))
    if table == tables.DROPPED:
        rows = [(b"\0\0\0\0", b"")]  # the bucket that is in use
    noticed = 0
    for key, row in chance.sample(rows, min(len(rows), 6)):
        damaged: list[bytes | None] = [None, row[:-1], row + b"\1", row + b"\x80"] if row else [None, b""]
        places = chance.sample(range(len(row)), min(len(row), PLACES))
        damaged += [bytes((*row[:at], row[at] ^ flip, *row[at + 1 :])) for at in places for flip in (1, 0x40)]
        for value in damaged:
            transaction = store._environment.begin(write=True)
            try:
                if value is None:
                    transaction.delete(table, key)
                else:
                    transaction.put(table, key, value)
                found = list(table_faults(transaction))
                if twin_finds_a_fault(transaction):
                    noticed += 1
                    assert found, f"{TABLE_NAMES[table].decode()}: {key!r} is {value!r} instead of {row!r}"
                    assert all("\n" not in fault for fault in found)
            finally:
                store._environment.abort(transaction)
    assert noticed or table == tables.META, "some of it has to matter"


@pytest.mark.parametrize("table", tables.BUCKET_TABLES)
def test_rows_of_nobody_are_named(store: Store, table: int) -> None:
    transaction = store._environment.begin(write=True)
    try:
        transaction.put(table, b"\0\0\x09\x09strange", b"\1")
        faults = list(table_faults(transaction))
    finally:
        store._environment.abort(transaction)
    assert faults == [f"table {TABLE_NAMES[table].decode()} has rows of bucket {0x0909}, which does not exist"]


# -- the log ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A closed log of two segments with three records each."""
    log = Log(tmp_path / "log")
    log.start(0)
    log.append([b"one", b"two", b"three"])
    log.rotate()
    log.append([b"four", b"five", b"six"])
    log.close()
    return tmp_path / "log"


def test_a_whole_log_has_no_faults_however_much_the_tables_cover(log: Path) -> None:
    for position in (0, 5, 20, 1000):
        assert list(log_faults(log, position)) == []


def test_half_a_record_at_the_end_is_no_fault(log: Path) -> None:
    last = sorted(log.iterdir())[-1]
    whole = last.read_bytes()
    for length in range(HEADER.size + 3 * RECORD.size + 9, len(whole)):
        last.write_bytes(whole[:length])
        assert list(log_faults(log, 0)) == []


def test_a_damaged_record_is_a_fault_where_the_tables_need_it(log: Path) -> None:
    first, last = sorted(log.iterdir())
    for path in (first, last):
        whole = path.read_bytes()
        path.write_bytes(whole[: HEADER.size + RECORD.size] + b"X" + whole[HEADER.size + RECORD.size + 1 :])
        (fault,) = log_faults(log, 0)
        assert "is damaged at position" in fault
        assert path.name in fault
        path.write_bytes(whole)
    first.write_bytes(first.read_bytes()[:-1])
    assert list(log_faults(log, 10_000)) == []
    first.unlink()
    assert "begins at" in next(log_faults(log, 0))
