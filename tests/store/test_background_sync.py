"""A store syncs by itself: soon after a commit, at once if many pages were replaced, and a commit waits if too many
were.
"""

import threading
import time
from pathlib import Path

import pytest

from sonicpy.store import syncing as syncing_module
from sonicpy.store.disk import background_sync
from sonicpy.store.disk.background_sync import BackgroundSync
from sonicpy.store.store import Store
from tests.store.shorthand import open_store, push
from tests.support.patience import WAIT_S, until

LONG_S = WAIT_S


def wait_for_sync(store: Store) -> None:
    """Wait until the last commit is a checkpoint."""
    last = store.last_commit()
    until(lambda: store.checkpoint >= last, "the last commit is synced")


def test_a_commit_is_synced_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_sync, "SYNC_AFTER_S", 0.05)
    store = open_store(tmp_path)
    for number in range(3):
        store.apply(push(f"o{number}", "alpha"))
        store.commit()
        wait_for_sync(store)
    store.close()


def test_a_commit_that_replaces_much_is_synced_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_sync, "SYNC_AFTER_S", LONG_S)
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.commit()
    time.sleep(0.1)
    assert store.checkpoint < store.last_commit(), "not yet"
    monkeypatch.setattr(syncing_module, "CHECKPOINT_BYTES", 1)
    store.apply(push("o2", "alpha"))
    store.commit()
    wait_for_sync(store)
    store.close()


@pytest.mark.parametrize("too_much", [True, False])
def test_a_commit_waits_for_the_sync_under_way_if_too_much_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, too_much: bool
) -> None:
    store = open_store(tmp_path)
    if too_much:
        monkeypatch.setattr(syncing_module, "REPLACED_BYTES_MAX", 1)
    begun, may_end, committed = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        assert may_end.wait(LONG_S)

    def let_it_end() -> None:
        assert begun.wait(LONG_S)
        was_early.append(committed.wait(0.3 if too_much else LONG_S))
        may_end.set()

    was_early: list[bool] = []
    store.sync_before(hold)
    syncing, watching = threading.Thread(target=store.sync), threading.Thread(target=let_it_end)
    store.apply(push("o1", "alpha"))
    store.commit()
    store.apply(push("o2", "alpha"))
    watching.start()
    syncing.start()
    assert begun.wait(LONG_S)
    store.commit()
    committed.set()
    for thread in (syncing, watching):
        thread.join()
    assert was_early == [not too_much]
    store.close()


def test_the_end_waits_for_no_rest_of_two_syncs_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_sync, "SYNC_AFTER_S", 0.0)
    monkeypatch.setattr(background_sync, "REST_AFTER_S", 0.0)
    begun = [threading.Event(), threading.Event()]
    may_end = [threading.Event(), threading.Event()]
    is_open = [True]
    resting = set()
    calls = iter(range(2))

    def sync() -> None:
        number = next(calls)
        begun[number].set()
        assert may_end[number].wait(LONG_S)

    def rest() -> bool:
        resting.add(threading.get_ident())
        return is_open[0]

    def wait_for_rests(count: int) -> None:
        until(lambda: len(resting) >= count)

    background = BackgroundSync(sync, rest)
    for event in begun:  # a change comes while the sync of the one before is under way
        background.note_change(is_urgent=True)
        assert event.wait(LONG_S)
    for number, event in enumerate(may_end):
        event.set()
        wait_for_rests(number + 1)
    closing = threading.Thread(target=background.close)
    closing.start()
    closing.join(WAIT_S)
    has_ended = not closing.is_alive()
    is_open[0] = False
    closing.join()
    assert has_ended
