"""Recovery: whichever write of a run fails, with a full map or a failed commit, the result is as if it had not
failed.
"""

import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest

from sonicpy.errors import InvalidArgument, StoreError, StoreFull
from sonicpy.store import store as store_module
from sonicpy.store.changing import mutations
from sonicpy.store.changing.mutations import FlushBucket, FlushCollection, FlushObject, Mutation, PopTerms, PushTerms
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.background_sync import BackgroundSync
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.table_rows import MapFull
from sonicpy.store.disk.transaction import Transaction
from sonicpy.store.rows.meta import ANALYZER, CHANGES, FORMAT, POSITION
from sonicpy.store.store import Store
from sonicpy.store.views.write_view import WriteView
from tests.reference.store import Model
from tests.store.consistency import check_consistent
from tests.store.shorthand import found, open_store, picture, push, terms
from tests.store.trouble import failing_writes
from tests.support.examples import some, thinned
from tests.support.patience import WAIT_S

RUN: list[Mutation | str] = [
    push("o1", "alpha beta*2 the!", 2),
    push("o2", "alpha gamma", 2),
    "seal",
    push("o3", "alpha delta", 2),
    PopTerms("c", "b", "o2", terms("gamma")),
    "commit",
    push("o1", "beta*3 epsilon", 2),
    push("o9", "zeta", bucket="b2"),
    "seal",
    FlushObject("c", "b", "o3"),
    push("o4", "alpha", 2),
    FlushBucket("c", "b2"),
    "commit",
    push("o9", "eta theta", bucket="b2"),
    "seal",
    PopTerms("c", "b", "o4", terms("alpha nothing")),
    FlushCollection("d"),
    push("o1", "iota", collection="d"),
    "commit",
    FlushCollection("d"),
    push("o5", "alpha beta", 2),
    "seal",
]


def all_rows(store: Store) -> list[list[tuple[bytes, bytes]]]:
    """Return all rows, except the row that notes the commits in which buckets were changed."""
    with store.reading() as view:
        return [
            [row for row in view.transaction.rows(table, b"") if (table, row[0]) != (tables.META, CHANGES.name)]
            for table in range(len(tables.TABLE_NAMES))
        ]


def change(store: Store, mutation: Mutation) -> int:
    """Carry out a mutation in the way that an index takes; return its result."""
    if isinstance(mutation, PushTerms):
        store.push(mutation.collection, mutation.bucket, mutation.oid, mutation.terms)
        return 0
    return store.apply(mutation)


def carry_out(store: Store, step: Mutation | str) -> None:
    if step == "seal":
        store.seal()
    elif step == "commit":
        store.commit()
    else:
        assert not isinstance(step, str)
        change(store, step)


def undisturbed(folder: Path) -> tuple[list[list[tuple[bytes, bytes]]], int]:
    """Return the rows at the end of an undisturbed run, and the number of its writes."""
    store = open_store(folder)
    with failing_writes((), AssertionError) as calls:
        for step in RUN:
            carry_out(store, step)
        store.commit()
    rows = all_rows(store)
    store.close()
    return rows, calls.made


FAULTS = {
    "a full map": lambda: MapFull("on purpose"),
    "another fault": lambda: StoreError("on purpose"),
    "a full disk": lambda: StoreFull("on purpose"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_write_of_a_run_changes_nothing_at_its_end(tmp_path: Path, fault: str) -> None:
    expected, writes = undisturbed(tmp_path / "undisturbed")
    assert writes > 60
    for at in thinned(range(writes), list(FAULTS).index(fault)):
        folder = tmp_path / str(at)
        store = open_store(folder)
        with failing_writes({at}, FAULTS[fault]) as calls:
            for step in [*RUN, "commit"]:
                try:
                    carry_out(store, step)
                except StoreFull:
                    assert step == "commit", f"a single fault at write {at} reached the caller of {step}"
                    assert fault != "a full map", f"write {at}: the map has grown, the commit is to be tried again"
                    store.commit()
        assert calls.made > at
        assert all_rows(store) == expected, f"write {at}"
        check_consistent(store)
        store.close()
        shutil.rmtree(folder)


GAPS = [1, 2, 5]


@pytest.mark.parametrize("gap", some(GAPS, 3))
def test_two_faults_in_a_row_leave_nothing_half_done(tmp_path: Path, gap: int) -> None:
    """The second fault comes in the recovery from the first one; a refused change can simply be tried again."""
    expected, writes = undisturbed(tmp_path / "undisturbed")
    for at in thinned(range(writes), GAPS.index(gap)):
        folder = tmp_path / str(at)
        store = open_store(folder)
        with failing_writes({at, at + gap}, FAULTS["another fault"]):
            for step in [*RUN, "commit"]:
                for _ in range(4):
                    try:
                        carry_out(store, step)
                        break
                    except StoreError:
                        if step != "commit" and store.refusing:
                            store.commit()
                else:
                    raise AssertionError(f"two faults from write {at} on stopped {step} for good")
        assert all_rows(store) == expected, f"writes {at} and {at + gap}"
        check_consistent(store)
        store.close()
        shutil.rmtree(folder)


def test_a_lasting_fault_refuses_one_mutation_and_keeps_the_others(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    change(store, push("o1", "alpha"))
    store.seal()
    change(store, push("o2", "alpha"))
    with failing_writes(range(1000), FAULTS["another fault"]), pytest.raises(StoreError):
        change(store, push("o3", "alpha beta", bucket="new"))  # a row of the bucket is written at once
    assert found(store, "alpha") == ["o2", "o1"]
    change(store, push("o4", "alpha"))
    store.seal()
    assert found(store, "alpha") == ["o4", "o2", "o1"]
    store.close()
    store = open_store(tmp_path)
    assert found(store, "alpha") == ["o4", "o2", "o1"]
    check_consistent(store)
    store.close()


def test_an_interrupt_leaves_nothing_half_done(tmp_path: Path) -> None:
    """A signal may arrive at any write of a PUSH: the caller gets its exception, and the push has no effect."""
    store = open_store(tmp_path)
    change(store, push("o1", "alpha"))
    change(store, push("o2", "alpha"))
    before, position, number = all_rows(store), store.log_position, 0
    while number < 100:
        with failing_writes({number}, KeyboardInterrupt):
            try:
                change(store, push("o3", "alpha beta gamma", bucket="new"))
            except KeyboardInterrupt:
                assert all_rows(store) == before
                assert store.uncommitted == 2
            else:
                break
        number += 1
    assert number > 0
    assert found(store, "alpha") == ["o2", "o1"]
    assert found(store, "alpha", bucket="new") == ["o3"]
    store.seal()
    assert store.log_position > position
    store.close()


def test_a_push_of_more_than_a_record_holds_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    change(store, push("o1", "alpha"))
    stamp, most = store.stamp, 1000
    with pytest.MonkeyPatch.context() as patch, pytest.raises(InvalidArgument, match="at most 1000 are accepted"):
        patch.setattr(store_module, "RECORD_MAX_BYTES", most)
        patch.setattr(mutations, "RECORD_BYTES_MAX", most)
        change(store, push("o2", "alpha " + " ".join(f"word{number}" for number in range(200))))
    assert store.stamp == stamp
    assert found(store, "alpha") == ["o1"]
    store.close()


def test_what_fails_twice_is_refused(tmp_path: Path) -> None:
    """Both recoveries succeed; only the change itself fails, twice."""
    store = open_store(tmp_path)
    change(store, push("o1", "alpha"))
    tries = 0

    def fail(view: WriteView) -> None:
        nonlocal tries
        tries += 1
        raise StoreError("this row cannot be written")

    with pytest.raises(StoreError, match="this row cannot be written"):
        store.maintain(fail)
    assert tries == 2
    assert found(store, "alpha") == ["o1"]
    store.close()


def test_an_unsealed_mutation_that_fails_is_not_in_the_log(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with failing_writes(range(1000), FAULTS["another fault"]), pytest.raises(StoreError):
        change(store, push("o1", "alpha"))
    before = store.log_position
    store.seal()
    assert store.log_position == before
    store.close()


# -- faults while a store is opened ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", some(FAULTS, 3))
@pytest.mark.parametrize("log_only", [False, True])
def test_a_fault_at_any_write_of_an_opening_can_be_tried_again(tmp_path: Path, fault: str, log_only: bool) -> None:
    """A folder that a kill has left, or only its log, is opened: whichever write fails, the next opening finds
    everything.
    """
    store = open_store(tmp_path / "store")
    change(store, push("o1", "alpha"))
    store.commit()
    for step in (push("o2", "alpha"), FlushObject("c", "b", "o1"), push("o3", "alpha beta")):
        change(store, step)
    store.seal()
    held = "store/log" if log_only else "store"
    shutil.copytree(tmp_path / held, tmp_path / "left" / held)
    store.close()
    writes = 0
    at = 0
    while at <= writes:
        shutil.copytree(tmp_path / "left", tmp_path / str(at))
        folder = tmp_path / str(at) / "store"
        with failing_writes({at}, FAULTS[fault]) as calls:
            try:
                opened = open_store(folder)
            except StoreError:
                assert fault != "a full map", f"write {at}: the map has grown"
            else:
                opened.close()
        writes = max(writes, calls.made)
        opened = open_store(folder)
        assert found(opened, "alpha") == ["o3", "o2"], at
        with opened.reading() as view:
            rows = dict(view.transaction.rows(tables.META, b""))
        assert {FORMAT.name, ANALYZER.name, POSITION.name} <= set(rows), at
        check_consistent(opened)
        opened.close()
        shutil.rmtree(tmp_path / str(at))
        at += 1
    assert at > 3


# -- a map that is too small ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("commit_every", [50, *(pytest.param(count, marks=pytest.mark.full) for count in (700, 3000))])
def test_a_tiny_map_grows_under_load_without_a_word(tmp_path: Path, commit_every: int) -> None:
    """The map grows from the reserved megabyte to several without any error, neither at a push nor at a commit."""
    store, model = open_store(tmp_path, map_bytes=1 << 20), Model()
    for number in range(2000):
        mutation = push(f"o{number}", f"word{number} common{number % 7} {'x' * 400}{number}", 1000)
        assert change(store, mutation) == model.apply(mutation)
        if number % commit_every == commit_every - 1:
            store.commit()
        elif number % 16 == 0:
            store.seal()
    store.commit()
    assert store.size_bytes() > 2 << 20
    assert not store.refusing
    with store.reading() as view:
        assert picture(view, "c", "b") == model.buckets["c", "b"].picture()
    store.close()
    store = open_store(tmp_path, map_bytes=1 << 20)
    check_consistent(store)
    assert found(store, "common0")[:2] == ["o1995", "o1988"]
    store.close()


def test_a_map_that_is_too_small_for_the_log_grows_at_the_start(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store")
    for number in range(1500):
        change(store, push(f"o{number}", f"word{number} {'x' * 300}{number}"))
    store.seal()
    shutil.copytree(tmp_path / "store" / "log", tmp_path / "small" / "log")
    store.close()
    survivor = open_store(tmp_path / "small", map_bytes=1 << 20)
    assert found(survivor, "word1499") == ["o1499"]
    check_consistent(survivor)
    survivor.close()


# -- commits that fail -----------------------------------------------------------------------------------------------


def refuse_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    def commit(self: Environment, transaction: Transaction) -> None:
        self.abort(transaction)
        raise StoreFull("no room left on purpose")

    monkeypatch.setattr(Environment, "commit", commit)


def test_after_a_failed_commit_reads_go_on_and_changes_wait(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    change(store, push("o1", "alpha"))
    store.commit()
    change(store, push("o2", "alpha"))
    store.seal()
    with pytest.MonkeyPatch.context() as patch:
        refuse_commits(patch)
        for _ in range(2):
            with pytest.raises(StoreFull, match="refused until the store can be written again"):
                store.commit()
            assert store.refusing
            assert found(store, "alpha") == ["o2", "o1"], "acknowledged"
            for mutation in (push("o3", "alpha"), PopTerms("c", "b", "o1", terms("alpha")), FlushCollection("c")):
                with pytest.raises(StoreFull, match="refused"):
                    change(store, mutation)
            store.seal()
    assert store.refusing, "until a commit has passed"
    store.commit()
    assert not store.refusing
    change(store, push("o3", "alpha"))
    store.seal()
    assert found(store, "alpha") == ["o3", "o2", "o1"]
    store.close()
    store = open_store(tmp_path)
    assert found(store, "alpha") == ["o3", "o2", "o1"]
    check_consistent(store)
    store.close()


def test_a_failed_commit_seals_what_was_applied_before_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    change(store, push("o1", "alpha"))
    with pytest.MonkeyPatch.context() as patch:
        refuse_commits(patch)
        with pytest.raises(StoreFull):
            store.commit()
    assert found(store, "alpha") == ["o1"]
    store.close()
    store = open_store(tmp_path)
    assert found(store, "alpha") == ["o1"]
    store.close()


def test_a_store_that_cannot_commit_can_still_be_closed(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    change(store, push("o1", "alpha"))
    store.seal()
    with pytest.MonkeyPatch.context() as patch:
        refuse_commits(patch)
        with pytest.raises(StoreFull):
            store.close()
    store = open_store(tmp_path)
    assert found(store, "alpha") == ["o1"]
    store.close()


@pytest.mark.parametrize(
    "error", [StoreFull("no room left on purpose"), KeyboardInterrupt()], ids=["full", "interrupt"]
)
def test_a_close_that_fails_does_not_close_lmdb_under_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    store = open_store(tmp_path)
    for number in range(2_000):  # more than a pipe takes
        change(store, push(f"o{number}", f"alpha w{number}"))
    store.commit()
    taken, given = os.pipe()
    copied: list[int] = []
    copies: list[int] = []
    close_it = Environment._close

    def copy() -> None:
        store._environment.copy(given)
        os.close(given)

    def take() -> None:
        time.sleep(0.2)
        copied.extend(map(len, iter(lambda: os.read(taken, 1 << 16), b"")))

    def fail(self: Store) -> None:
        raise error

    def close(environment: Environment) -> None:
        copies.append(environment._copies)
        close_it(environment)

    threads = [threading.Thread(target=copy), threading.Thread(target=take)]
    threads[0].start()
    while not store._environment._copies:
        time.sleep(0.001)
    time.sleep(0.05)  # it writes to the pipe now
    threads[1].start()
    with monkeypatch.context() as patch:
        patch.setattr(Store, "commit", fail)
        patch.setattr(Environment, "_close", close)
        with pytest.raises(type(error)):
            store.close()
    for thread in threads:
        thread.join(WAIT_S)
    os.close(taken)
    assert sum(copied) > 1 << 16
    store.close()
    assert store.is_closed
    assert not any(copies)


# -- a log that cannot be written --------------------------------------------------------------------------------------


def test_what_the_log_does_not_take_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(tmp_path)
    change(store, push("o1", "alpha"))
    store.seal()
    change(store, push("o2", "alpha"))
    change(store, FlushObject("c", "b", "o1"))
    with monkeypatch.context() as patch:
        patch.setattr("os.write", lambda descriptor, data: 3)
        with pytest.raises(StoreFull, match="cannot write the log"):
            store.seal()
    assert found(store, "alpha") == ["o1"]
    change(store, push("o3", "alpha"))
    store.commit()
    assert found(store, "alpha") == ["o3", "o1"]
    store.close()
    store = open_store(tmp_path)
    assert found(store, "alpha") == ["o3", "o1"]
    check_consistent(store)
    store.close()


# -- what a kill leaves, after every step -----------------------------------------------------------------------------


def steps_with_models() -> Iterator[tuple[Mutation | str, Model]]:
    """Yield every step of the run, with an occasional sync and sweep, and the model of all sealed changes."""
    model, sealed = Model(), Model()
    for number, step in enumerate([*RUN, *RUN, "commit"]):
        if isinstance(step, str):
            sealed = model.copy()
        else:
            model.apply(step)
        yield step, sealed
        if number % 5 == 4:
            yield "sync", sealed
        if number % 7 == 6:
            yield "sweep", sealed


def test_every_step_can_be_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are so short that they rotate and retire all the time, but never while a step is copied."""
    monkeypatch.setattr(store_module, "SEGMENT_BYTES", 60)
    monkeypatch.setattr(BackgroundSync, "note_change", lambda *_, **__: None)
    store = open_store(tmp_path / "store")
    for number, (step, sealed) in enumerate(steps_with_models()):
        if step == "sync":
            store.sync()
        elif step == "sweep":
            store.sweep(2)
        else:
            carry_out(store, step)
        copy = tmp_path / str(number)
        shutil.copytree(tmp_path / "store", copy)
        survivor = open_store(copy)
        check_consistent(survivor)
        with survivor.reading() as view:
            for scope in (("c", "b"), ("c", "b2"), ("d", "b")):
                if scope in sealed.buckets:
                    assert picture(view, *scope) == sealed.buckets[scope].picture(), step
                else:
                    assert view.bucket(*scope) is None, step
        survivor.close()
        shutil.rmtree(copy)
    store.close()


def test_a_change_ends_the_refusal_once_the_disk_has_room_again(tmp_path: Path) -> None:
    """A change does not have to wait for the next periodic commit."""

    def full(environment: Environment, transaction: Transaction) -> None:
        environment.abort(transaction)
        raise StoreFull("no room")

    store = open_store(tmp_path)
    store.apply(push("o1", "word"))
    with mock.patch.object(Environment, "commit", full):
        for change in (store.commit, lambda: store.apply(push("o2", "word")), store.commit):
            with pytest.raises(StoreFull, match="changes are refused until the store can be written again: no room"):
                change()
    assert store.refusing
    deadline = time.monotonic() + WAIT_S
    while store.refusing:
        assert time.monotonic() < deadline
        with suppress(StoreFull):
            store.apply(push("o3", "word"))
    store.seal()
    assert found(store, "word") == ["o3", "o1"]
    store.close()
