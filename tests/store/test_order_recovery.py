"""Orders of words after the death of a process, in replicas of the log, and in backups."""

import os
import shutil
from pathlib import Path

import sonicpy
from sonicpy.index.maintenance.verify import verify_folder

ORDERED = {"store.order": True}


def change(index: sonicpy.Index) -> None:
    index.push("c", "b", "one", "aa bb cc")
    index.push("c", "b", "one", "cc aa")
    index.push("c", "b", "two", "bb aa")
    index.upsert("c", "b", "two", "aa bb")
    index.pop("c", "b", "one", "bb")
    index.push("c", "b", "three", "aa bb")
    index.flush("c", "b", "three")
    index.push("c", "b", "big", " ".join(f"w{number}" for number in range(400)))


def answers(index: sonicpy.Index) -> list[list[str]]:
    phrases = ["aa bb", "bb aa", "cc aa", "aa cc", "w7 w8", "w8 w7"]
    return [sorted(index.query("c", "b", "", phrase=phrase)) for phrase in phrases]


WANTED = [["two"], [], ["one"], [], ["big"], []]


def test_the_log_brings_orders_back(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    if (child := os.fork()) == 0:
        with sonicpy.open(folder, config=ORDERED) as index:
            change(index)
            index._engine.store.seal()
            os._exit(0)  # as a kill: nothing is committed or closed
    assert os.waitpid(child, 0)[1] == 0
    with sonicpy.open(folder) as index:
        assert answers(index) == WANTED
    assert verify_folder(folder) == []


def test_a_backup_has_orders(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store", config=ORDERED) as index:
        change(index)
        index.backup(tmp_path / "backup")
    with sonicpy.open(tmp_path / "restored") as restored:
        restored.restore(tmp_path / "backup")
        assert answers(restored) == WANTED
        restored.flush("c", "b")
        assert restored.verify() == []
    shutil.rmtree(tmp_path / "backup")


def test_a_large_object_goes_in_steps(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store", config=ORDERED) as index:
        change(index)
        index.flush("c", "b", "big")
        index.push("c", "b", "big", "w8 w7")
        assert answers(index)[4:] == [[], ["big"]]
        assert index.verify() == []
