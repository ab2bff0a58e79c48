"""A commit that fails: the error says whether the change is in the log, and it is visible later just if it is."""

from collections.abc import Callable
from pathlib import Path

import pytest

import sonicpy
from sonicpy.errors import StoreError, StoreFull
from sonicpy.store.disk.environment import Environment
from sonicpy.store.disk.log import Log
from sonicpy.store.disk.transaction import Transaction

KEPT = "the log has the change, which is visible at the latest after the next commit"

CHANGES: dict[str, Callable[[sonicpy.Index], object]] = {
    "push": lambda index: index.push("c", "b", "new", "amber", "none"),
    "push with tags": lambda index: index.push("c", "b", "new", "amber", "none", tags=["red"]),
    "upsert": lambda index: index.upsert("c", "b", "new", "amber", "none"),
    "push_many": lambda index: index.push_many([("new", "amber")], collection="c", bucket="b", lang="none"),
}


def full_commit(environment: Environment, transaction: Transaction) -> None:
    environment.abort(transaction)
    raise StoreFull("no room on purpose")


def full_log(log: Log, records: object) -> None:
    raise StoreFull("no room on purpose")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_error_of_a_failed_commit_says_that_the_log_has_the_change(
    tmp_path: Path, change: Callable[[sonicpy.Index], object]
) -> None:
    with sonicpy.open(tmp_path, autocommit=True) as index:
        index.push("c", "b", "old", "amber", "none")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Environment, "commit", full_commit)
            with pytest.raises(StoreFull, match=KEPT):
                change(index)
            with pytest.raises(StoreFull, match=f"^(?!{KEPT})"):
                index.push("c", "b", "refused", "amber", "none")
        index.commit()
        assert list(index.query("c", "b", "amber", lang="none")) == ["new", "old"]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_that_the_log_refuses_is_not_kept(tmp_path: Path, change: Callable[[sonicpy.Index], object]) -> None:
    with sonicpy.open(tmp_path, autocommit=True) as index:
        index.push("c", "b", "old", "amber", "none")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Log, "append", full_log)
            with pytest.raises(StoreError, match=f"^(?!{KEPT})"):
                change(index)
        index.commit()
        assert list(index.query("c", "b", "amber", lang="none")) == ["old"]
