"""Stored rows with a damaged byte: a call returns something or raises StoreDamaged, and no other error."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy import Index
from sonicpy.errors import SonicError, StoreDamaged
from sonicpy.store.disk import table_numbers as tables
from tests.index.test_damage import change, rows_of

HIGH_BIT = 0x80  # with it, the letters of a text are no UTF-8


def put(folder: Path, table: int, key: bytes, row: bytes) -> None:
    change(folder, lambda transaction: transaction.put(table, key, row))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    with Index(folder) as index:
        index.push("c", "b", "o:one", "amber boat", "none", tags=["red"], vector=[1] * 16)
        index.push("c", "b", "o:two", "amber hive", "none", values={"price": 3})
    return folder


READS: dict[str, Callable[[Index], Any]] = {
    "query": lambda index: list(index.query("c", "b", "amber", lang="none")),
    "objects": lambda index: list(index.objects("c", "b")),
    "holdings": lambda index: list(index.holdings("c", "b")),
    "explain": lambda index: index.explain("c", "b", "amber", lang="none"),
    "words": lambda index: index.words("c", "b"),
}


def damaged_by(calls: dict[str, Callable[[Index], Any]], folder: Path, *, read_only: bool = False) -> Iterator[str]:
    """Make calls; yield the names of those that raise StoreDamaged."""
    try:
        with sonicpy.open(folder, read_only=read_only, autocommit=not read_only) as index:
            for name, call in calls.items():
                try:
                    call(index)
                except StoreDamaged:
                    yield name
                except SonicError:
                    pass
    except SonicError:
        pass


def test_a_damaged_letter_of_a_stored_text_is_damage(folder: Path) -> None:
    [(key, row)] = rows_of(folder, tables.SMALL, b"")
    found = set()
    for at in range(len(row)):
        put(folder, tables.SMALL, key, row[:at] + bytes([row[at] ^ HIGH_BIT]) + row[at + 1 :])
        found |= set(damaged_by(READS, folder, read_only=True))
    assert found == set(READS)


def test_a_damaged_row_refuses_a_change(folder: Path, tmp_path: Path) -> None:
    changes: dict[str, Callable[[Index], Any]] = {
        "push": lambda index: index.push("c", "b", "o:one", "more", "none"),
        "upsert": lambda index: index.upsert("c", "b", "o:two", "jazz", "none"),
        "flush": lambda index: index.flush_object("c", "b", "o:one"),
    }
    damaged = tmp_path / "damaged"
    found = set()
    rows = [(table, *row) for table in (tables.META, tables.FACTS) for row in rows_of(folder, table, b"")]
    for table, key, row in rows:
        for at in range(len(row)):
            shutil.copytree(folder, damaged)
            put(damaged, table, key, row[:at] + bytes([row[at] ^ HIGH_BIT]) + row[at + 1 :])
            found |= set(damaged_by(changes, damaged))
            shutil.rmtree(damaged)
    assert found == set(changes)
