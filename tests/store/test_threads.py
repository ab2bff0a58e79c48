"""Many threads read snapshots while one thread writes, commits, sweeps and lets the map grow."""

import threading
from pathlib import Path

import pytest

from sonicpy.errors import StoreError
from sonicpy.store.changing.mutations import FlushObject
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader
from tests.store.consistency import check_consistent
from tests.store.shorthand import count_objects, open_store, push
from tests.support.patience import WAIT_S

READERS = 6
ROUNDS = 12
PUSHES = 60


def read_once(store: Store) -> int:
    """Check that every snapshot shows one moment: counters, names, records and postings have the same objects. Return
    the number of objects.
    """
    with store.reading() as view:
        state = view.bucket("c", "b")
        if state is None:
            return 0
        reader = BucketReader(view, state)
        (word,) = reader.words([b"common"])
        assert word is not None
        assert word.df == state.objects
        assert count_objects(view.transaction) == state.objects
        return state.objects


@pytest.mark.parametrize("map_bytes", [1 << 20, pytest.param(1 << 30, marks=pytest.mark.full)])
def test_readers_see_whole_snapshots_while_one_thread_writes(tmp_path: Path, map_bytes: int) -> None:
    store = open_store(tmp_path, map_bytes=map_bytes)
    stop = threading.Event()
    failures: list[BaseException] = []
    seen: list[int] = []

    def keep_reading() -> None:
        last = 0
        try:
            while not stop.is_set():
                last = read_once(store)
            seen.append(last)
        except (StoreError, AssertionError) as fault:
            failures.append(fault)

    threads = [threading.Thread(target=keep_reading) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    try:
        for number in range(ROUNDS):
            for place in range(PUSHES):
                oid = f"o{number}-{place}"
                store.apply(push(oid, f"common {'x' * 450}{oid} word{place}"))
            store.apply(FlushObject("c", "b", f"o{number}-0"))
            store.commit()
            store.sync()
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=WAIT_S)
    assert not failures
    assert len(seen) == READERS
    assert read_once(store) == ROUNDS * (PUSHES - 1)
    if map_bytes == 1 << 20:
        assert store.size_bytes() > map_bytes, "the map has grown meanwhile"
    check_consistent(store)
    store.close()


def test_a_thread_syncs_while_another_one_seals_and_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonicpy.store.store.SEGMENT_BYTES", 500)
    store = open_store(tmp_path)
    stop = threading.Event()
    failures: list[BaseException] = []

    def keep_syncing() -> None:
        try:
            while not stop.is_set():
                assert store.sync_log() <= store.log_position
                store.sync()
        except (StoreError, AssertionError, OSError) as fault:
            failures.append(fault)

    thread = threading.Thread(target=keep_syncing)
    thread.start()
    for number in range(600):
        store.apply(push(f"o{number}", "common"))
        store.seal()
        if number % 7 == 0:
            store.commit()
    stop.set()
    thread.join(timeout=WAIT_S)
    assert not failures
    store.close()
    store = open_store(tmp_path)
    assert read_once(store) == 600
    store.close()


@pytest.mark.timeout(60)
def test_a_write_waits_for_no_reader_of_another_thread(tmp_path: Path) -> None:
    """An open snapshot only delays growth, never a push or a commit."""
    store = open_store(tmp_path, map_bytes=1 << 30)
    store.apply(push("o1", "common"))
    store.commit()
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with store.reading():
            held.set()
            release.wait(WAIT_S)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(WAIT_S)
    for number in range(200):
        store.apply(push(f"p{number}", "common"))
        store.commit()
    assert read_once(store) == 201
    release.set()
    thread.join()
    store.close()
