"""The start of a store before LMDB opens it: going back to the checkpoint, and reports of damage as a sentence."""

import json
import os
import random
import shutil
from pathlib import Path

import lmdb
import pytest

from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.index.maintenance.verify import verify_folder
from sonicpy.store.care import check_rows, startup
from sonicpy.store.disk import data_file
from sonicpy.store.disk.boot_mark import BOOT_FILE
from sonicpy.store.disk.checkpoint import CHECKPOINT_FILE
from sonicpy.store.disk.environment import DATA_FILE
from sonicpy.store.disk.platform import boot_id
from sonicpy.store.read_only_store import ReadOnlyStore
from sonicpy.store.store import Store
from tests.store.consistency import check_consistent
from tests.store.shorthand import ANALYSER, MAP_BYTES, found, open_store, push

PAGE_BYTES = 4096


def filled(folder: Path, objects: int = 300) -> Store:
    """Return an open store with a checkpoint of some objects, and the same number of objects only in its log."""
    store = open_store(folder)
    for number in range(2 * objects):
        store.apply(push(f"o{number}", f"word{number} alpha"))
        if number % 7 == 0:
            store.commit()
        if number == objects:
            store.sync()
    store.seal()
    return store


def lose_power(folder: Path, into: Path, *, damage: bool = True) -> Path:
    """Return a copy of an open store as the next boot finds it after a loss of power: some newer pages are lost at
    random.
    """
    shutil.copytree(folder, into)
    mark = json.loads((into / BOOT_FILE).read_text())
    assert mark == {"version": 2, "boot": boot_id(), "clean": False}
    (into / BOOT_FILE).write_text(json.dumps({**mark, "boot": "an older boot"}))
    if damage:
        (into / "lock.mdb").unlink()
    return into


def flip_pages(path: Path, places: list[int]) -> None:
    content = bytearray(path.read_bytes())
    for place in places:
        content[place * PAGE_BYTES : (place + 1) * PAGE_BYTES] = random.Random(place).randbytes(PAGE_BYTES)
    path.write_bytes(content)


def test_a_store_goes_back_and_replays_its_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = filled(tmp_path / "store")
    used = store._environment.used_bytes() // PAGE_BYTES
    copy = lose_power(tmp_path / "store", tmp_path / "copy")
    store.close()
    flip_pages(copy / DATA_FILE, [0])  # the newest commit may be that of either meta page
    recovered = open_store(copy)
    assert "goes back to commit" in caplog.text and "can be read" in caplog.text
    assert len(found(recovered, "alpha")) == 600 and used > 20
    check_consistent(recovered)
    recovered.close()
    caplog.clear()
    open_store(copy).close()
    assert not caplog.text


def test_nothing_goes_back_in_the_boot_that_wrote_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = filled(tmp_path / "store")
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "store", copy)
    store.close()
    open_store(copy).close()
    assert not caplog.text


def test_the_file_of_another_store_does_not_go_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An older copy of data.mdb in the folder must not lead to a mixture of both."""
    open_store(tmp_path / "other").close()
    store = filled(tmp_path / "store")
    copy = lose_power(tmp_path / "store", tmp_path / "copy")
    store.close()
    shutil.copy(tmp_path / "other" / DATA_FILE, copy / DATA_FILE)
    shutil.rmtree(copy / "log")
    recovered = open_store(copy)
    assert "is not the file of the checkpoint beside it" in caplog.text and "goes back" not in caplog.text
    assert found(recovered, "alpha") == []
    recovered.close()


def test_without_a_checkpoint_the_tables_are_compared(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = filled(tmp_path / "store")
    copy = lose_power(tmp_path / "store", tmp_path / "copy")
    store.close()
    (copy / CHECKPOINT_FILE).unlink()
    recovered = open_store(copy)
    assert "goes back" not in caplog.text and "can be read" in caplog.text
    assert len(found(recovered, "alpha")) == 600
    recovered.close()


@pytest.mark.parametrize("seed", range(6))
def test_damage_is_a_sentence_and_no_signal(tmp_path: Path, seed: int) -> None:
    """Pages that the checkpoint needs have other content than was written, as on a disk that does not keep its
    promise.
    """
    store = filled(tmp_path / "store")
    copy = lose_power(tmp_path / "store", tmp_path / "copy")
    store.close()
    pages = (copy / DATA_FILE).stat().st_size // PAGE_BYTES
    flip_pages(copy / DATA_FILE, random.Random(seed).sample(range(2, pages), pages // 2))
    with pytest.raises(StoreDamaged, match=r"was damaged when the machine stopped \(.*\): restore a backup into it"):
        open_store(copy)
    assert json.loads((copy / BOOT_FILE).read_text())["boot"] == "an older boot", "the next start checks again"


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
def test_a_truncated_file_is_a_sentence_and_no_signal(tmp_path: Path, share: float) -> None:
    filled(tmp_path / "store").close()
    data = tmp_path / "store" / DATA_FILE
    os.truncate(data, int(data.stat().st_size * share) // PAGE_BYTES * PAGE_BYTES)
    for use in (
        lambda: open_store(tmp_path / "store"),
        lambda: ReadOnlyStore(tmp_path / "store", ANALYSER, map_bytes=MAP_BYTES),
    ):
        with pytest.raises(StoreDamaged, match=r"is damaged \(.*\): restore a backup into it"):
            use()


def test_a_file_that_lacks_only_free_pages_is_opened(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    store.close()
    data = tmp_path / DATA_FILE
    content = data.read_bytes()
    for short in range(len(content) - PAGE_BYTES, len(content) - 4 * PAGE_BYTES, -PAGE_BYTES):
        os.truncate(data, short)
        fault = check_rows.first_fault(tmp_path, compare=True)
        if fault is not None:
            break
        open_store(tmp_path).close()
        data.write_bytes(content)
        return
    pytest.skip("its last page is in use")


def test_readers_wait_for_a_recovery(tmp_path: Path) -> None:
    store = filled(tmp_path / "store", 20)
    copy = lose_power(tmp_path / "store", tmp_path / "copy")
    store.close()
    for use in (
        lambda: ReadOnlyStore(copy, ANALYSER, map_bytes=MAP_BYTES),
        lambda: verify_folder(copy),
    ):
        with pytest.raises(StoreError, match="the machine stopped while the store .* open it for writing once"):
            use()
    open_store(copy).close()
    ReadOnlyStore(copy, ANALYSER, map_bytes=MAP_BYTES).close()
    assert verify_folder(copy) == []


@pytest.mark.parametrize("content", [b"", b"x" * 100, bytes(2 * PAGE_BYTES)])
def test_a_store_that_was_being_made_is_made_again(tmp_path: Path, content: bytes) -> None:
    (tmp_path / BOOT_FILE).write_text('{"version": 2, "boot": "an older boot", "clean": false}')
    (tmp_path / DATA_FILE).write_bytes(content)
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))
    assert found(store, "alpha") == ["o1"]
    store.close()


def test_a_short_data_file_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    for place, content in enumerate((b"my notes, not of LMDB\n", b"\0" * PAGE_BYTES + b"notes", b"\0" * 16 + b"notes")):
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / DATA_FILE).write_bytes(content)
        with pytest.raises(StoreError):
            open_store(folder)
        assert (folder / DATA_FILE).read_bytes() == content


@pytest.mark.parametrize("machine_page_bytes", [16_384, 65_536])
def test_a_short_data_file_of_a_machine_with_smaller_pages_is_not_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine_page_bytes: int
) -> None:
    for module in (data_file, startup):
        monkeypatch.setattr(module, "USUAL_PAGE_BYTES", machine_page_bytes)
    with lmdb.open(os.fspath(tmp_path)) as environment, environment.begin(write=True) as transaction:
        transaction.put(b"key", b"of another program")
    content = (tmp_path / DATA_FILE).read_bytes()
    assert 2 * PAGE_BYTES < len(content) <= 2 * machine_page_bytes
    with pytest.raises(StoreError, match="holds no index, but other data in data.mdb: choose another folder"):
        open_store(tmp_path)
    assert (tmp_path / DATA_FILE).read_bytes() == content


def test_a_small_index_of_a_machine_with_smaller_pages_is_not_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data file was copied alone, without the boot mark and the checkpoint."""
    store = open_store(tmp_path / "store")
    store.apply(push("o", "alpha"))
    store.close()
    (tmp_path / "copy").mkdir()
    with lmdb.open(os.fspath(tmp_path / "store"), max_dbs=64) as environment:
        environment.copy(os.fspath(tmp_path / "copy"), compact=True)
    assert (tmp_path / "copy" / DATA_FILE).stat().st_size <= 2 * 65_536
    for module in (data_file, startup):
        monkeypatch.setattr(module, "USUAL_PAGE_BYTES", 65_536)
    store = open_store(tmp_path / "copy")
    assert found(store, "alpha") == ["o"]
    store.close()


def test_a_data_file_whose_creation_was_interrupted_is_made_again(tmp_path: Path) -> None:
    lmdb.open(os.fspath(tmp_path / "made")).close()
    whole = (tmp_path / "made" / DATA_FILE).read_bytes()
    assert len(whole) == 2 * PAGE_BYTES
    lost = b"\0" * PAGE_BYTES
    begun = (
        b"",
        whole[:5],
        whole[:21],
        whole[: PAGE_BYTES + 30],
        whole,
        lost + whole[PAGE_BYTES:],
        whole[:1000] + lost,
    )
    for place, content in enumerate(begun):
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / DATA_FILE).write_bytes(content)
        store = open_store(folder)
        store.apply(push("o", "alpha"))
        assert found(store, "alpha") == ["o"]
        store.close()
