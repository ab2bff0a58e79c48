"""Tests of sonicpy.store.changing.any_store: stores that refuse every method that an index may call."""

from pathlib import Path
from typing import Any

import pytest

from sonicpy.errors import IndexClosed, ReadOnly
from sonicpy.store.changing.any_store import AnyStore, ClosedStore, Maintainable, Readable, members
from sonicpy.store.read_only_store import ReadOnlyStore
from tests.store.shorthand import ANALYSER, MAP_BYTES, found, open_store, push

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "push": push("o1", "alpha")[:4],
    "apply": (push("o1", "alpha"),), "apply_pushes": ([],), "maintain": (lambda view: None,), "sweep": (1,),
    "forget_bucket": (1,), "backup": (Path(),), "note_server": ("",), "refuse": (None,),
}  # fmt: skip

MEMBERS = sorted(members(AnyStore) - {"is_closed"})
SHOWN = {"durability", "uncommitted", "refusing", "has_dropped", "has_removals"}
"""Attributes that a store which is only read has, too."""
CHANGES = sorted(members(Maintainable) - members(Readable) - SHOWN)


def use(store: object, name: str) -> None:
    """Read an attribute of a store, or call a method of it."""
    member = getattr(store, name)
    if callable(member):
        member(*ARGUMENTS.get(name, ()))


def test_the_protocols_below_are_among_the_members() -> None:
    assert {"reading", "push", "sweep", "close"} < set(MEMBERS)
    assert {"push", "seal", "commit", "sweep", "maintain"} < set(CHANGES)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_closed_store_refuses_everything(name: str) -> None:
    with pytest.raises(IndexClosed, match="it was closed"):
        use(ClosedStore("it was closed"), name)
    assert ClosedStore("it was closed").is_closed


def test_a_store_that_is_read_refuses_changes(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.close()
    reader = ReadOnlyStore(tmp_path, ANALYSER, map_bytes=MAP_BYTES)
    for name in CHANGES:
        with pytest.raises(ReadOnly, match="is open for reading only"):
            use(reader, name)
    assert [getattr(reader, name) for name in sorted(SHOWN)] == ["interval", False, False, False, 0]
    assert reader.pending_buckets() == set()
    assert found(reader, "alpha") == ["o1"]
    reader.close()


def test_an_open_store_gives_a_copy_of_its_pending_buckets(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    pending = store.pending_buckets()
    assert pending == {0}
    pending.clear()
    assert store.pending_buckets() == {0}
    store.forget_bucket(0)
    assert store.pending_buckets() == set()
    store.close()
