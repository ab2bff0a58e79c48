"""An index whose disk is full, or can only be read: reads go on, and errors name the changes that the log has."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import sonicpy
from sonicpy.errors import StoreError, StoreFull
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.transaction import Transaction
from tests.support.patience import WAIT_S, until

C, B = "c", "b"
KEPT = "the log has the change, which is visible at the latest after the next commit"


def full_commit(environment: Environment, transaction: Transaction) -> None:
    environment.abort(transaction)
    raise StoreFull("no room on purpose")


def read_only(*_: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def is_taken(index: sonicpy.Index, name: str) -> bool:
    """Push an object, and return whether that was not refused."""
    try:
        index.push(C, B, name, "amber", "none")
    except StoreFull:
        return False
    return True


def found(index: sonicpy.Index) -> list[str]:
    return sorted(index.query(C, B, "amber", lang="none", limit=100))


@pytest.mark.parametrize("takes", [True, False])
def test_reads_go_on_where_the_disk_can_only_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes: bool
) -> None:
    """The log cannot even be cut: a change that it refused stays in its file, and is not found all the same."""
    write = os.write

    def fail(descriptor: int, data: bytes) -> int:
        if takes:
            write(descriptor, data)
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "committed", "amber", "none")
        index.commit()
        index.push(C, B, "logged", "amber", "none")
        with monkeypatch.context() as patch:
            patch.setattr("os.write", fail)
            patch.setattr("os.ftruncate", read_only)
            patch.setattr(Environment, "commit", full_commit)
            for _ in range(2):
                with pytest.raises(StoreFull):
                    index.push(C, B, "refused", "amber", "none")
                assert found(index) == ["committed", "logged"]
                assert index.suggest(C, B, "amb") == ["amber"]
        until(lambda: is_taken(index, "later"), "changes are taken again")
    with sonicpy.open(tmp_path) as index:
        assert found(index) == ["committed", "later", "logged"]
        assert index.verify() == []


def test_stats_answers_while_changes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "o1", "amber")
        index.commit()
        index.push(C, B, "o2", "amber")
        with monkeypatch.context() as patch:
            patch.setattr(Environment, "commit", full_commit)
            figures = index.stats()
            assert (figures["objects"], figures["uncommitted"], figures["refusing"]) == (1, 1, True)
            assert index.stats(C)["objects"] == index.stats(C, B)["objects"] == 1
        figures = index.stats()
        assert (figures["objects"], figures["uncommitted"], figures["refusing"]) == (2, 0, False)


def test_a_change_that_the_log_has_is_done_although_the_commit_after_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sonicpy.open(tmp_path) as index:
        monkeypatch.setattr("sonicpy.store.shared_store.COMMIT_CHANGES", 3)
        with monkeypatch.context() as patch:
            patch.setattr(Environment, "commit", full_commit)
            for name in ("o1", "o2", "o3"):
                index.push(C, B, name, "amber", "none")
            with pytest.raises(StoreFull, match="changes are refused until the store can be written again"):
                index.push(C, B, "o4", "amber", "none")
            assert found(index) == ["o1", "o2", "o3"]
    with sonicpy.open(tmp_path) as index:
        assert found(index) == ["o1", "o2", "o3"]


CHANGES: list[Callable[[sonicpy.Index], object]] = [
    lambda index: index.push(C, B, "o2", "amber", "none"),
    lambda index: index.push(C, B, "o2", "amber", "none", values={"price": 1}),
    lambda index: index.upsert(C, B, "o2", "amber", "none"),
    lambda index: index.pop(C, B, "o1", "beech"),
    lambda index: index.flush_object(C, B, "o1"),
    lambda index: index.flush_bucket(C, B),
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_error_of_a_failed_sync_says_that_the_log_has_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[sonicpy.Index], object]
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    index = sonicpy.open(tmp_path / "i", config={"store": {"kv": {"durability": "commit"}}})
    index.push(C, B, "o1", "amber beech", "none")
    before = index.engine.store.log_position
    with monkeypatch.context() as patch:
        patch.setattr("sonicpy.store.disk.log.sync_file", fail)
        with pytest.raises(StoreError, match=f"^{KEPT}: cannot sync the log in .*: Input/output error$"):
            change(index)
        assert index.engine.store.log_position > before
    shutil.copytree(tmp_path / "i", tmp_path / "killed")
    with pytest.raises(StoreError, match="cannot sync the log in .* any more"):
        index.close()
    with sonicpy.open(tmp_path / "i") as index, sonicpy.open(tmp_path / "killed") as killed:
        assert index.verify() == [] and found(index) == found(killed)


@pytest.mark.parametrize("autocommit", [False, True])
def test_the_error_of_a_batch_says_that_the_log_has_its_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autocommit: bool
) -> None:
    with sonicpy.open(tmp_path, autocommit=autocommit) as index:
        with monkeypatch.context() as patch:
            patch.setattr(Environment, "commit", full_commit)
            with pytest.raises(StoreFull, match=KEPT), index.batch():
                index.push(C, B, "o1", "amber", "none")
                index.push(C, B, "o2", "amber", "none")
        index.commit()
        assert found(index) == ["o1", "o2"]


@pytest.mark.parametrize("autocommit", [False, True])
def test_the_error_in_the_middle_of_a_batch_says_that_the_log_has_its_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autocommit: bool
) -> None:
    monkeypatch.setattr("sonicpy.index.engine.BATCH_COMMIT", 2)
    said = ""
    with sonicpy.open(tmp_path, autocommit=autocommit) as index:
        with monkeypatch.context() as patch:
            patch.setattr(Environment, "commit", full_commit)
            with pytest.raises(StoreFull, match="changes are refused"), index.batch():
                index.push(C, B, "o1", "amber", "none")
                try:
                    index.push(C, B, "o2", "amber", "none")
                except StoreFull as error:
                    said = str(error)
        assert said.startswith(KEPT)
        index.commit()
        assert found(index) == ["o1", "o2"]


def test_changes_that_a_full_disk_refuses_do_not_keep_readers_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each commit that fails is followed by a replay of the log. Only some of the refused changes try one, and the
    first one after the disk has more room.
    """
    tried: list[int] = []
    free = os.statvfs(tmp_path)

    def count_and_fail(environment: Environment, transaction: Transaction) -> None:
        tried.append(1)
        full_commit(environment, transaction)

    monkeypatch.setattr("os.statvfs", lambda path: free)
    monkeypatch.setattr("sonicpy.store.refused_changes.RETRY_S", WAIT_S)
    with sonicpy.open(tmp_path) as index:
        index.push(C, B, "logged", "amber", "none")
        with monkeypatch.context() as patch:
            patch.setattr(Environment, "commit", count_and_fail)
            with pytest.raises(StoreFull):
                index.commit()
            before = len(tried)
            assert not any(is_taken(index, "refused") for _ in range(500))
            assert len(tried) - before <= 5, "of the thread that commits"
            assert not is_taken(index, "refused")
        free = os.statvfs_result((*free[:4], free.f_bavail + 1, *free[5:]))
        assert is_taken(index, "later"), "at once"
        assert found(index) == ["later", "logged"]


def test_an_exception_of_a_signal_handler_is_no_failure_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(descriptor: int) -> None:
        raise TimeoutError("raised by a signal handler")

    with sonicpy.open(tmp_path, autocommit=True) as index:
        with monkeypatch.context() as patch:
            patch.setattr("sonicpy.store.disk.checkpoint.newest_meta_page", interrupted)
            with pytest.raises(TimeoutError, match="by a signal handler"):
                index.push(C, B, "interrupted", "amber", "none")
        assert is_taken(index, "next")
        assert found(index) == ["interrupted", "next"]
        assert index.verify() == []
