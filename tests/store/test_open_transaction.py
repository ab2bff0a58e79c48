"""Uncommitted changes: their number, their visibility, their state after a fault, and the room for them."""

import gc
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import pytest

from sonicpy._native.varint import DamagedBytes
from sonicpy.errors import InvalidArgument, StoreDamaged, StoreError, StoreFull
from sonicpy.store import store as store_module
from sonicpy.store.changing import mutations
from sonicpy.store.changing.bucket_writer import BucketWriter
from sonicpy.store.changing.mutations import FlushBucket, FlushCollection, PushTerms, pack_mutation
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.table_rows import MapFull
from sonicpy.store.rows.changes import Touched
from sonicpy.store.views.write_view import WriteView
from tests.store.shorthand import found, open_store, push

Answer = TypeVar("Answer")


def in_a_thread(work: Callable[[], Answer]) -> Answer:
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(work()))
    thread.start()
    thread.join()
    return answers[0]


def damaged_by(oid: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return `work` wrapped so that it raises StoreDamaged after it has changed an object with this name."""

    def call(view: object, given: Any, **named: Any) -> Any:
        result = work(view, given, **named)
        for change in given:
            if isinstance(change, PushTerms) and change.oid == oid:
                raise StoreDamaged("a row of the test")
        return result

    return call


def test_changes_are_counted_until_a_commit_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "apply_all", damaged_by("bad", store_module.apply_all))
    store = open_store(tmp_path)
    assert store.uncommitted == 0
    store.apply(push("o1", "alpha"))
    assert store.uncommitted == 1
    assert store.apply_pushes([push("o1", "beta"), push("o2", "alpha"), push("o3", "alpha")], new=True) == [0]
    assert store.uncommitted == 3
    for change in (lambda: store.apply(push("bad", "x")), lambda: store.apply_pushes([push("bad", "x")])):
        recoveries = store.recoveries
        with pytest.raises(StoreDamaged, match="a row of the test"):
            change()
        assert store.recoveries == recoveries + 1
        assert store.uncommitted == 3
        assert (found(store, "alpha"), found(store, "x")) == (["o3", "o2", "o1"], [])
    store.seal()
    assert store.sync_log() == store.log_position > 0
    store.apply(push("o4", "alpha"))
    with monkeypatch.context() as patch:
        patch.setattr("os.write", lambda descriptor, data: 3)
        with pytest.raises(StoreFull):
            store.seal()
    assert store.uncommitted == 3
    store.commit()
    assert store.uncommitted == 0
    assert found(store, "alpha") == ["o3", "o2", "o1"]
    store.close()


def test_a_map_that_cannot_grow_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.seal()
    with monkeypatch.context() as patch, pytest.raises(StoreError, match="no room"):
        patch.setattr(store_module, "apply_all", mock.Mock(side_effect=MapFull("the map is full")))
        patch.setattr(Environment, "grow", mock.Mock(side_effect=StoreError("no room for a larger map")))
        store.apply(push("o2", "alpha"))
    assert found(store, "alpha") == ["o1"]
    store.close()


def test_a_replay_knows_who_was_left_out(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store")
    store.apply(push("o1", "alpha"))
    assert store.apply_pushes([push("o2", "beta"), push("o1", "beta"), push("o3", "beta")], new=True) == [1]
    assert store.apply_pushes([push("o1", "gamma")]) == [], "nobody is left out unless it is asked for"
    store.seal()
    copy = shutil.copytree(tmp_path / "store", tmp_path / "as a killed process leaves it")
    store.close()
    again = open_store(copy)
    assert found(again, "beta") == ["o3", "o2"]
    assert found(again, "gamma") == ["o1"]
    again.close()


def test_a_change_may_be_as_long_as_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change = push("o1", "alpha beta")
    size = len(pack_mutation(change))
    store = open_store(tmp_path)
    store.apply(push("o0", "beta"))
    monkeypatch.setattr(mutations, "RECORD_BYTES_MAX", size - 1)
    for too_long in (lambda: store.apply(change), lambda: store.apply_pushes([push("o2", "beta"), change])):
        with pytest.raises(
            InvalidArgument, match=f"a change of {size} bytes of terms is refused: at most {size - 1} are"
        ):
            too_long()
    monkeypatch.setattr(mutations, "RECORD_BYTES_MAX", size)
    store.apply(change)
    store.seal()
    assert found(store, "beta") == ["o1", "o0"]
    store.close()


def test_changes_are_refused_for_a_reason_and_accepted_again(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.refuse("a reader of the test is too old")
    assert store.refusing
    for change in (lambda: store.apply(push("o2", "alpha")), lambda: store.apply_pushes([push("o2", "alpha")])):
        with pytest.raises(StoreFull, match="a reader of the test is too old"):
            change()
    store.commit()
    assert store.refusing, "a commit does not change the reason"
    store.refuse(None)
    assert not store.refusing
    store.apply(push("o3", "alpha"))
    assert found(store, "alpha") == ["o3", "o1"]
    store.close()


def test_the_map_grows_before_it_is_full(tmp_path: Path) -> None:
    store = open_store(tmp_path, map_bytes=1 << 20)
    recoveries, number = store.recoveries, 0
    while store.map_bytes() == 1 << 20:
        store.apply(push(f"o{number}", f"alpha word{number}"))
        store.commit()
        number += 1
        assert number < 10_000
    assert number > 10, "there was room at first"
    assert store.recoveries == recoveries, "nothing had to be done twice"
    store.close()


def test_a_log_with_what_waits_goes_on_in_its_segment(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.seal()
    store.shorten_log()
    assert len(list((tmp_path / "log").iterdir())) == 1
    store.commit()
    store.shorten_log()
    assert len(list((tmp_path / "log").iterdir())) == 2
    store.close()


def test_who_may_keep_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    before = store.readable_stamp()
    assert before is not None and in_a_thread(store.readable_stamp) == before
    store.flush_term_rows()
    assert store.readable_stamp() == before, "there is nothing to write"
    store.apply(push("o1", "alpha"))
    changed = store.readable_stamp()
    assert changed is not None and changed > before
    assert in_a_thread(store.readable_stamp) is None, "it reads the commit before"
    with monkeypatch.context() as patch, pytest.raises(StoreFull):
        patch.setattr("os.write", lambda descriptor, data: 3)
        store.seal()
    undone = store.readable_stamp()
    assert undone is not None and undone > changed
    store.commit()
    committed = store.readable_stamp()
    assert committed is not None and committed > undone
    assert in_a_thread(store.readable_stamp) == committed
    store.close()


def test_the_thread_that_changes_reads_what_waits(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    assert store.shown_now() is None
    store.apply(push("o1", "alpha"))
    view = store.shown_now()
    assert view is not None and view.bucket("c", "b") is not None
    assert in_a_thread(store.shown_now) is None
    with store.reading() as seen:
        assert seen is view
    store.commit()
    assert store.shown_now() is None
    store.close()


def test_the_board_says_what_no_commit_holds(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    board = store.share_changes()
    assert store.share_changes() is board
    assert board.newest("any", "bucket") == board.committed + 1, "what waited before may be in any bucket"
    store.commit()
    assert board.newest("any", "bucket") == board.committed
    for change, changed in (
        (lambda: store.apply(push("o2", "alpha", bucket="b2")), [("c", "b2")]),
        (lambda: store.apply_pushes([push("o3", "x"), push("o4", "x", bucket="b3")]), [("c", "b"), ("c", "b3")]),
        (lambda: store.apply(FlushBucket("c", "b3")), [("c", "b3")]),
        (lambda: store.apply(FlushCollection("d")), [("c", "b"), ("c", "b2"), ("c", "b3")]),
    ):  # fmt: skip
        change()
        waiting = {scope for scope in (("c", "b"), ("c", "b2"), ("c", "b3")) if board.newest(*scope) > board.committed}
        assert waiting == set(changed)
        store.commit()
        assert all(board.newest("c", bucket) <= board.committed for bucket in ("b", "b2", "b3"))
    store.close()
    with pytest.raises(ValueError, match="released"):
        board.newest("c", "b")


def test_a_board_without_changes_says_that_all_are_committed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.commit()
    board = store.share_changes()
    assert board.newest("c", "b") <= board.committed
    store.close()


def test_what_a_flush_leaves_is_told_once_it_is_committed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.apply(push("o1", "alpha", bucket="b2"))
    (first, second) = sorted(store.pending_buckets())
    store.apply(FlushBucket("c", "b"))
    assert store.take_flushed() == {}, "the flush could still be undone"
    store.commit()
    assert store.take_flushed() == {first: 0}
    assert store.take_flushed() == {}
    store.forget_bucket(second)
    assert second not in store.pending_buckets()
    store.close()


def test_every_sync_begins_with_what_it_was_given(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    begun: list[int] = []
    store.sync_before(lambda: begun.append(store.checkpoint))
    store.apply(push("o1", "alpha"))
    store.commit()
    store.sync()
    assert begun and store.checkpoint > begun[0]
    store.close()


def test_the_memory_of_a_transaction_with_many_buckets_is_free_after_its_commit(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    gc.collect()
    gc.disable()
    try:
        before = number_of(Touched), number_of(BucketWriter)
        for commit in range(3):
            for bucket in range(50):
                store.apply(push(f"o{commit}", "fox", bucket=f"b{bucket}"))
            store.commit()
        store._write_cache.recent_changes.clear()
        assert (number_of(Touched), number_of(BucketWriter)) == before
    finally:
        gc.enable()
        store.close()


def number_of(kind: type) -> int:
    return sum(type(one) is kind for one in gc.get_objects())


def test_a_row_that_only_the_commit_reads_refuses_changes(tmp_path: Path) -> None:
    undecoded = mock.patch.object(WriteView, "flush", side_effect=DamagedBytes("a row is cut off"))
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    with undecoded:
        with pytest.raises(StoreFull, match=r"until the store can be written again: .* is damaged: a row is cut off"):
            store.commit()
        with pytest.raises(StoreFull, match="a row is cut off"):
            store.apply(push("o2", "alpha"))
        assert found(store, "alpha") == ["o1"], "acknowledged"
    store.commit()
    store.apply(push("o2", "alpha"))
    store.close()
    with undecoded, pytest.raises(StoreDamaged, match="is damaged: a row is cut off"):
        open_store(tmp_path)
    store = open_store(tmp_path)
    assert found(store, "alpha") == ["o2", "o1"]
    store.close()


def test_a_row_that_cannot_be_decoded_in_work_without_a_record_is_damage(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    with pytest.raises(StoreDamaged, match="is damaged: a row is cut off"):
        store.maintain(mock.Mock(side_effect=DamagedBytes("a row is cut off")))
    assert found(store, "alpha") == ["o1"]
    store.close()
