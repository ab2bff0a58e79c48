"""Flushed buckets: readers do not see them from then on; their rows are deleted in small steps, even after a
restart.
"""

import time
from pathlib import Path

import pytest

from sonicpy.store.changing.mutations import FlushBucket, FlushCollection
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.table_numbers import BUCKET_TABLES
from sonicpy.store.store import Store
from tests.store.consistency import check_consistent
from tests.store.shorthand import found, open_store, push
from tests.support.patience import is_below

BUCKETS = 2000


def rows_of_buckets(store: Store) -> int:
    with store.reading() as view:
        return sum(view.transaction.count(table) for table in BUCKET_TABLES)


def filled(folder: Path) -> Store:
    store = open_store(folder)
    for number in range(60):
        store.apply(push(f"o{number}", f"alpha word{number}", bucket=f"b{number % 3}"))
    return store


def test_every_step_deletes_some_rows_and_not_many_more(tmp_path: Path) -> None:
    store = filled(tmp_path)
    assert store.apply(FlushBucket("c", "b1")) == 1
    keeps = found(store, "alpha", bucket="b0")
    before = rows_of_buckets(store)
    while store.sweep(10):
        after = rows_of_buckets(store)
        assert before - 11 <= after < before
        before = after
        check_consistent(store)
    assert rows_of_buckets(store) <= before
    assert not store.has_dropped
    with store.reading() as view:
        assert view.transaction.count(tables.DROPPED) == 0
    assert found(store, "alpha", bucket="b0") == keeps
    assert not store.sweep(10), "nothing left"
    store.close()


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_a_sweep_goes_on_after_a_restart(tmp_path: Path, how: str) -> None:
    store = filled(tmp_path / "store")
    store.commit()
    assert store.apply(FlushCollection("c")) == 1
    assert store.apply(push("new", "alpha", bucket="b1")) == 0
    assert store.sweep(25)
    if how == "closed":
        store.close()
        store = open_store(tmp_path / "store")
    else:
        store.seal()
        for path in (tmp_path / "store").rglob("*"):
            copy = tmp_path / "copy" / path.relative_to(tmp_path / "store")
            copy.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                copy.write_bytes(path.read_bytes())
        store.close()
        store = open_store(tmp_path / "copy")
    assert store.has_dropped, "until a sweep says otherwise"
    while store.sweep(7):
        check_consistent(store)
    assert found(store, "alpha", bucket="b1") == ["new"]
    # One object with one pending word, not a common one, whose row holds the posting; its name waits in memory.
    assert rows_of_buckets(store) == len(
        set(BUCKET_TABLES)
        - {tables.COMMON, tables.POSTINGS, tables.IMPACTS, tables.OIDS, tables.REMOVED, tables.FACTS, tables.VECTORS}
        - {tables.TAGS, tables.COLUMNS, tables.DIGESTS, tables.ORDERS}
    )
    store.close()


def test_a_sweep_of_a_bucket_that_the_open_transaction_filled(tmp_path: Path) -> None:
    """Rows that were held back for the flushed bucket must not be written after the sweep has passed."""
    store = filled(tmp_path)
    store.apply(FlushCollection("c"))
    while store.sweep(1):
        pass
    store.commit()
    assert rows_of_buckets(store) == 0
    store.apply(push("o1", "alpha"))
    store.commit()
    check_consistent(store)
    store.close()


def test_thousands_of_buckets_are_flushed_at_once_and_swept(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number in range(BUCKETS):
        store.apply(push("o", "alpha beta", bucket=f"user:{number}"))
    store.commit()
    started = time.thread_time()
    assert store.apply(FlushCollection("c")) == 1
    flushed = time.thread_time() - started
    assert is_below(flushed, 1.0), f"{BUCKETS} buckets took {flushed:.2f} s"
    assert store.apply(FlushCollection("c")) == 0
    assert found(store, "alpha", bucket="user:7") == []
    store.apply(push("again", "alpha", bucket="user:7"))
    steps = 0
    while store.sweep(500):
        steps += 1
    assert BUCKETS * 8 // 500 - 5 < steps < BUCKETS * 8 // 500 + 500
    assert found(store, "alpha", bucket="user:7") == ["again"]
    check_consistent(store)
    store.close()


def test_collections_that_begin_alike_keep_to_themselves(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for collection in ("c", "cc", "c\0", "\1c"):
        store.apply(push("o", "alpha", collection=collection))
    assert store.apply(FlushCollection("c")) == 1
    for collection in ("cc", "c\0", "\1c"):
        assert found(store, "alpha", collection=collection) == ["o"]
    store.close()


def test_a_flushed_bucket_waits_for_no_consolidation_after_a_restart(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.apply(push("o1", "alpha", bucket="other"))
    store.apply(FlushBucket("c", "b"))
    store.close()
    store = open_store(tmp_path)
    with store.snapshot() as view:
        other = view.bucket("c", "other")
    assert other is not None
    assert store.has_dropped, "its rows wait to be swept"
    assert store.pending_buckets() == {other.bucket}
    store.close()
