"""Stored rows with a damaged byte: a call returns something or raises StoreDamaged, and no other error."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy import Index
from sonicpy._native.varint import DamagedBytes, pack_varints, unpack_varints
from sonicpy.errors import SonicError, StoreDamaged
from sonicpy.index.maintenance.verify import verify_folder
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.rows.bucket_rules import MIRRORS
from sonicpy.store.rows.bucket_state import FIELD_NAMES
from sonicpy.store.rows.keys import fact_key, length_key
from sonicpy.store.rows.language_counts import LANGUAGES
from sonicpy.store.rows.lengths import OBJECTS_PER_ROW, Lengths
from tests.index.test_damage import change, rows_of
from tests.support.examples import thinned

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
        for at in thinned(range(len(row))):
            shutil.copytree(folder, damaged)
            put(damaged, table, key, row[:at] + bytes([row[at] ^ HIGH_BIT]) + row[at + 1 :])
            found |= set(damaged_by(changes, damaged))
            shutil.rmtree(damaged)
    assert found == set(changes)


@pytest.mark.parametrize("power", [33, 63])
def test_a_number_of_a_bucket_that_is_too_high_is_damage(folder: Path, power: int) -> None:
    calls = {**READS, "push": lambda index: index.push("c", "b", "o:three", "more", "none")}
    [(key, row)] = rows_of(folder, tables.SCOPES, b"")
    numbers = unpack_varints(row)
    for place, name in enumerate(FIELD_NAMES):
        put(folder, tables.SCOPES, key, pack_varints((*numbers[:place], 1 << power, *numbers[place + 1 :])))
        for call in calls.values():
            try:
                with sonicpy.open(folder, autocommit=True) as index:
                    call(index)
                    assert power < 48 and name not in ("bucket", "next_iid"), name
            except StoreDamaged:
                pass


def test_lengths_of_objects_far_behind_all_others_are_damage(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with Index(folder) as index:
        for number in range(200):  # too many for a small bucket
            index.push("c", "b", f"o{number}", "amber boat " * 9 + str(number), "none")
        index.consolidate()
    [(key, row)] = rows_of(folder, tables.LENGTHS, b"")
    put(folder, tables.LENGTHS, length_key(0, (1 << 32) // OBJECTS_PER_ROW - 1), row)
    calls = {"push": lambda index: index.push("c", "b", "o1", "more", "none"), "query": READS["query"]}
    assert set(damaged_by(calls, folder)) == set(calls)


@pytest.mark.full
def test_a_row_of_digests_of_a_wrong_length_is_damage(folder: Path) -> None:
    with Index(folder) as index:
        for number in range(2000):
            index.upsert("c", "b", f"o{number}", f"amber boat {number}", "none")
    key, row = rows_of(folder, tables.DIGESTS, b"")[0]
    put(folder, tables.DIGESTS, key, row[:-1])
    assert list(damaged_by({"stats": lambda index: index.stats("c", "b")}, folder, read_only=True)) == ["stats"]


def test_an_object_behind_a_gap_that_has_no_room_is_damage() -> None:
    lengths = Lengths(bytearray(b"abc"))
    with pytest.raises(DamagedBytes, match="too far"):
        lengths[1 << 62] = 1
    assert lengths.packed == b"abc"


LANGUAGES_KEY = fact_key(0, LANGUAGES)


def counted(folder: Path) -> bytes:
    """Return the fact that counts the languages of the texts in the bucket."""
    [row] = [row for key, row in rows_of(folder, tables.FACTS, b"") if key == LANGUAGES_KEY]
    return row


@pytest.mark.parametrize("fact", [b"eng!12 +", b"eng\xa012 +", b"eng 12 +,\xe5", b"eng"])
def test_damaged_counts_of_languages_stop_no_change(
    tmp_path: Path, fact: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """They are read at the commit, behind the answer to the change."""
    folder = tmp_path / "store"
    with Index(folder) as index, index.batch():
        for number in range(12):
            index.push("c", "b", f"o:{number}", "an amber boat", "eng")
    assert counted(folder) == b"eng 12 +"
    put(folder, tables.FACTS, LANGUAGES_KEY, fact)
    [fault] = verify_folder(folder)
    assert fault == f"c/b: the counts of the languages of a bucket cannot be read: {fact!r}"
    with sonicpy.open(folder, read_only=True) as index, pytest.raises(StoreDamaged, match="counts of the languages"):
        list(index.holdings("c", "b"))
    with Index(folder) as index:
        index.push("c", "b", "o:new", "an amber hive", "deu")
        index.engine.commit()
        index.push("c", "b", "o:newer", "an amber hive", "deu")
    assert "languages are counted anew" in caplog.text
    assert verify_folder(folder) == [] and counted(folder) == b"deu 2"
    with Index(folder) as index:
        assert index.query("c", "b", "hive", lang="none").objects == ["o:newer", "o:new"]


def test_a_damaged_note_of_a_mirror_is_named(folder: Path) -> None:
    with Index(folder) as index:
        index.claim("c", "b", "a source")
    put(folder, tables.FACTS, fact_key(0, MIRRORS), b"{")
    [fault] = verify_folder(folder)
    assert fault.startswith("c/b: the mirrors of a bucket cannot be read")


@pytest.mark.parametrize("table", [tables.OIDS, tables.OBJECTS])
def test_an_upsert_beside_other_changes_names_the_damage(tmp_path: Path, table: int) -> None:
    folder = tmp_path / "store"
    with Index(folder) as index, index.batch():
        for number in range(2_000):  # too many for a small bucket
            index.upsert("c", "b", f"o{number}", f"amber boat {number}", "none")
    for key, row in rows_of(folder, table):
        put(folder, table, key, row[: len(row) // 2])
    with Index(folder) as index, pytest.raises(StoreDamaged, match="the store .* is damaged"), index.batch():
        index.push("c", "other", "o", "amber", "none")
        index.upsert("c", "b", "o7", "amber hive", "none")
    with Index(folder) as index, pytest.raises(StoreDamaged, match="the store .* is damaged"), index.batch():
        index.push("c", "other", "o", "amber", "none")
        index.push_many([("c", "b", "o7", "amber hive")], upsert=True)
