"""Compacting keeps the rows in fewer pages; after any failure, the store is as it was."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sonicpy
from sonicpy.errors import StoreError, StoreFull, StoreLocked
from sonicpy.index.compacting import compact_folder
from sonicpy.index.maintenance.maintainer import Maintainer
from sonicpy.store.care import compact as compacting
from sonicpy.store.care import packing
from sonicpy.store.care.compact import COPY_FILE, compact
from sonicpy.store.disk.boot_mark import BOOT_FILE
from sonicpy.store.disk.environment import DATA_FILE, LOCK_FILE, Environment
from tests.support.patience import WAIT_S, until

WORDS = [f"word{number}" for number in range(400)]
OBJECTS = 1_500
READER = """
import sys, sonicpy
index = sonicpy.open(sys.argv[1], read_only=True)
print(index.count("c", "b"), flush=True)
sys.stdin.read()
"""
LATE_READER = """
import sys, sonicpy
index = sonicpy.open(sys.argv[1], read_only=True)
print("open", flush=True)
sys.stdin.read()
print(index.query("c", "b", "something").objects)
"""


def rows(folder: Path) -> Any:
    with sonicpy.open(folder) as index, index.engine.snapshot_of_now() as view:
        return view.transaction.number, [list(view.transaction.rows(table, b"")) for table in range(1, 15)]


def test_half_empty_pages_are_filled_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "WORTH_PAGES", 8)
    chance = random.Random(5)
    words = [f"{chance.getrandbits(60):015x}" for _ in range(9_000)]
    with sonicpy.open(tmp_path) as index:
        for start in range(0, len(words), 100):
            index.push("c", "b", f"o{start}", " ".join(words[start : start + 100]), "none")
            index.commit()
        index.consolidate()
    sparse = compact(tmp_path).after
    packed = compact_folder(tmp_path).after
    assert packed < 0.9 * sparse
    with sonicpy.open(tmp_path) as index:
        assert index.verify() == []
        assert list(index.query("c", "b", words[4321], complete=False)) == ["o4300"]


def test_pages_are_left_as_they_are_where_the_disk_has_no_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "WORTH_PAGES", 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1))
    monkeypatch.setattr(Maintainer, "rewrite", lambda self, sparse: pytest.fail("it took the room of the copy"))
    before = rows(folder)[1]
    sizes = compact_folder(folder)
    assert sizes.after < sizes.before / 2
    assert rows(folder)[1] == before


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    chance = random.Random(8)
    with sonicpy.open(tmp_path / "store") as index:
        index.push_many([("c", "b", f"o{number}", " ".join(chance.choices(WORDS, k=9))) for number in range(OBJECTS)])
        index.consolidate()
        with index.batch():
            for number in range(200, OBJECTS):
                index.flush("c", "b", f"o{number}")
    yield tmp_path / "store"
    assert not (tmp_path / "store" / COPY_FILE).exists()


def test_the_same_rows_in_a_smaller_file(folder: Path) -> None:
    before, size = rows(folder), (folder / DATA_FILE).stat().st_size
    sizes = compact_folder(folder)
    assert sizes == (size, (folder / DATA_FILE).stat().st_size)
    assert sizes.after < sizes.before / 2
    number, content = rows(folder)
    assert content == before[1]
    assert number >= before[0], "commits count on"
    with sonicpy.open(folder) as index:
        assert index.verify() == []
        index.push("c", "b", "new", "something")
        index.consolidate()
    with sonicpy.open(folder, read_only=True) as index:
        assert index.query("c", "b", "something") == ["new"]
        assert index.count("c", "b", of="objects") == 201
    assert compact_folder(folder).after <= sizes.after + (1 << 16), "again"


def test_a_loss_of_power_afterwards(folder: Path) -> None:
    """The checkpoint beside the compacted file belongs to the file before: a start must not go back to that file."""
    content = rows(folder)[1]
    compact_folder(folder)
    (folder / BOOT_FILE).write_text('{"version": 2, "boot": "another", "clean": false}')
    assert rows(folder)[1] == content


def test_an_open_store_is_refused(folder: Path) -> None:
    with sonicpy.open(folder), pytest.raises(StoreLocked):
        compact(folder)
    reader = [sys.executable, "-c", READER, str(folder)]
    with subprocess.Popen(reader, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        assert int(process.stdout.readline()) > 0
        with pytest.raises(StoreLocked, match="a process reads the store"):
            compact(folder)
        process.stdin.close()
        assert process.wait(WAIT_S) == 0
    assert compact(folder).after > 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at the open files of the reader")
def test_a_reader_that_is_opened_meanwhile_reads_the_new_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LMDB opens the data file of a reader first, then waits for the lock that the compacting holds."""
    reader = [sys.executable, "-c", LATE_READER, str(folder)]
    check = compacting.page_faults
    with subprocess.Popen(reader, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None

        def check_beside_the_reader(fresh: Path) -> Iterator[str]:
            until(lambda: {DATA_FILE, LOCK_FILE} <= open_files(process.pid), "the reader opens the store")
            return check(fresh)

        monkeypatch.setattr(compacting, "page_faults", check_beside_the_reader)
        compact(folder)
        assert process.stdout.readline() == "open\n"
        with sonicpy.open(folder) as index:
            index.push("c", "b", "new", "something")
        process.stdin.close()
        assert process.stdout.read() == "['new']\n"


def open_files(process: int) -> set[str]:
    """Return the names, without their folders, of the files that a process has open."""
    names = set()
    for link in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            names.add(link.readlink().name)
    return names


def test_a_store_that_was_not_closed_is_refused(folder: Path) -> None:
    (folder / BOOT_FILE).write_text('{"version": 2, "boot": "another", "clean": false}')
    with pytest.raises(StoreError, match="was not closed in order"):
        compact(folder)


@pytest.mark.parametrize("step", ["copy", "sync", "check", "rename"])
def test_a_failure_leaves_the_store_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    before = (folder / DATA_FILE).read_bytes()

    def fail(*_: object, **__: object) -> Any:
        raise StoreFull("no room") if step == "copy" else OSError(28, "No space left on device")

    def one_fault(*_: object) -> Iterator[str]:
        yield "page 3 is torn"

    with monkeypatch.context() as patch:
        match step:
            case "copy":
                patch.setattr(Environment, "copy", fail)
            case "sync":
                patch.setattr(compacting, "sync_file", fail)
            case "check":
                patch.setattr(compacting, "page_faults", one_fault)
            case "rename":
                patch.setattr(os, "replace", fail)
        with pytest.raises(StoreError, match="no room|No space left|page 3 is torn"):
            compact(folder)
    assert (folder / DATA_FILE).read_bytes() == before
    assert not (folder / COPY_FILE).exists()


@pytest.mark.parametrize("step", ["sync_file", "replace", "sync_folder"])
def test_a_kill_at_any_step(folder: Path, step: str) -> None:
    content = rows(folder)[1]
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom sonicpy.store.care import compact\n"
        f"target = os if {step!r} == 'replace' else compact\n"
        f"setattr(target, {step!r}, lambda *_: os._exit(9))\ncompact.compact(Path(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(folder)], timeout=WAIT_S, check=False)
    assert done.returncode == 9
    assert (folder / COPY_FILE).exists() == (step != "sync_folder")
    assert rows(folder)[1] == content
    sizes = compact_folder(folder)
    assert sizes.after == os.stat(folder / DATA_FILE).st_size
    assert rows(folder)[1] == content
