"""Checkpoints: the saved data, reading it back, and the pages that are kept."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonicpy.errors import StoreError, StoreFull
from sonicpy.store.disk import checkpoint as checkpoints
from sonicpy.store.disk.checkpoint import CHECKPOINT_FILE, SLOT_BYTES, pack, read_checkpoint
from sonicpy.store.disk.data_file import file_faults, meta_pages, newest_meta_page, stamp, store_id, write_meta_pages
from sonicpy.store.disk.environment import DATA_FILE, Environment
from sonicpy.store.disk.table_numbers import POSTINGS


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    held = Environment(tmp_path, 1 << 26)
    yield held
    held.close()


@pytest.fixture
def data(tmp_path: Path, environment: Environment) -> Iterator[int]:
    descriptor = os.open(tmp_path / DATA_FILE, os.O_RDWR)
    yield descriptor
    os.close(descriptor)


def put(environment: Environment, number: int, size: int = 3000) -> None:
    transaction = environment.begin()
    transaction.put(POSTINGS, b"%d" % number, b"%d" % number * size)
    environment.commit(transaction)


def saved(folder: Path) -> int:
    found = read_checkpoint(folder)
    assert found is not None
    return found.meta.number


def test_a_sync_saves_the_last_commit(tmp_path: Path, environment: Environment) -> None:
    for number in range(5):
        put(environment, number)
        assert saved(tmp_path) < environment.last_commit()
        environment.sync()
        assert saved(tmp_path) == environment.checkpoint == environment.last_commit()


def test_the_slots_are_written_in_turn(tmp_path: Path, environment: Environment) -> None:
    put(environment, 1)
    environment.sync()
    before = saved(tmp_path)
    put(environment, 2)
    environment.sync()
    content = bytearray((tmp_path / CHECKPOINT_FILE).read_bytes())
    newest = max((0, 1), key=lambda slot: content[slot * SLOT_BYTES + 14 : slot * SLOT_BYTES + 22][::-1])
    content[newest * SLOT_BYTES + 100] ^= 1
    (tmp_path / CHECKPOINT_FILE).write_bytes(content)
    assert saved(tmp_path) == before, "a torn slot leaves the one before"
    content[(1 - newest) * SLOT_BYTES + 100] ^= 1
    (tmp_path / CHECKPOINT_FILE).write_bytes(content)
    assert read_checkpoint(tmp_path) is None


def test_another_format_version_is_refused(tmp_path: Path, environment: Environment) -> None:
    content = bytearray((tmp_path / CHECKPOINT_FILE).read_bytes())
    content[8] = 2
    (tmp_path / CHECKPOINT_FILE).write_bytes(content)
    with pytest.raises(StoreError, match="has format version 2, this sonicpy reads 1"):
        read_checkpoint(tmp_path)


def test_no_page_of_a_checkpoint_is_used_again(tmp_path: Path, environment: Environment, data: int) -> None:
    """After many commits, the checkpoint still shows exactly its rows, because none of its pages was reused."""
    for number in range(20):
        put(environment, number)
    environment.sync()
    held = read_checkpoint(tmp_path)
    assert held is not None
    for number in range(200):
        put(environment, number % 30, 100 + number)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / DATA_FILE).write_bytes((tmp_path / DATA_FILE).read_bytes())
    descriptor = os.open(copy / DATA_FILE, os.O_RDWR)
    write_meta_pages(descriptor, held.meta)
    assert [meta.number for meta in meta_pages(descriptor)] == [held.meta.number] * 2
    os.close(descriptor)
    reader = Environment(copy, 1 << 22, read_only=True)
    with reader.reading() as transaction:
        rows = dict(transaction.rows(POSTINGS, b""))
    reader.close()
    assert rows == {b"%d" % number: b"%d" % number * 3000 for number in range(20)}


def test_pages_are_used_again_behind_a_sync(tmp_path: Path, environment: Environment) -> None:
    sizes = []
    for _ in range(6):
        for number in range(30):
            put(environment, number)
        environment.sync()
        sizes.append(environment.used_bytes())
    assert sizes[-1] == sizes[2], "the file does not grow"


def test_replaced_pages_are_counted_until_a_checkpoint_is_taken(environment: Environment) -> None:
    environment.sync()
    assert environment.replaced_bytes == 0
    before = 0
    for number in range(40):  # long lists of replaced pages are on pages of their own
        put(environment, number % 3, 1 + 40_000 * (number % 2))
        assert environment.replaced_bytes > before
        before = environment.replaced_bytes
    assert before > 40 * 3 * 4096
    environment.sync()
    assert environment.replaced_bytes == 0


def test_a_failed_sync_saves_nothing(tmp_path: Path, environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    put(environment, 1)
    environment.sync()
    before = saved(tmp_path)
    put(environment, 2)

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(checkpoints, "sync_file", fail)
    replaced = environment.replaced_bytes
    with pytest.raises(StoreError, match="Input/output error"):
        environment.sync()
    assert (environment.checkpoint, environment.replaced_bytes) == (before, replaced)
    monkeypatch.undo()
    environment.sync()
    assert saved(tmp_path) == environment.last_commit()


def shortened(monkeypatch: pytest.MonkeyPatch, page: int = 4096) -> None:
    """Make the disk take no more than a page of each write at a place, as a full one may."""
    write = os.pwrite

    def write_some(descriptor: int, content: bytes, place: int) -> int:
        return write(descriptor, content[:page], place)

    monkeypatch.setattr(os, "pwrite", write_some)


def test_a_checkpoint_that_the_disk_took_in_part_is_not_saved(
    tmp_path: Path, environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(environment, 1)
    environment.sync()
    before = saved(tmp_path)
    put(environment, 2)
    with monkeypatch.context() as patch:
        shortened(patch)
        with pytest.raises(StoreFull, match=f"^cannot write {CHECKPOINT_FILE}: No space left on device$"):
            environment.sync()
    assert environment.checkpoint == saved(tmp_path) == before
    environment.sync()
    assert environment.checkpoint == saved(tmp_path) == environment.last_commit()


@pytest.mark.parametrize("page", [4096, 10])
def test_a_store_whose_first_checkpoint_the_disk_took_in_part_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    """With 10 bytes, the stamp of the data file is cut short, too."""
    with monkeypatch.context() as patch:
        shortened(patch, page)
        with pytest.raises(StoreError, match="No space left on device"):
            Environment(tmp_path, 1 << 26)
    opened = Environment(tmp_path, 1 << 26)
    put(opened, 1)
    opened.sync()
    assert saved(tmp_path) == opened.last_commit()
    opened.close()


def test_meta_pages_that_the_disk_took_in_part_are_an_error(
    tmp_path: Path, environment: Environment, data: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(environment, 1)
    shortened(monkeypatch, 4000)
    with pytest.raises(OSError, match="No space left on device"):
        write_meta_pages(data, newest_meta_page(data))


def test_what_a_commit_refers_to_is_synced_first(tmp_path: Path, environment: Environment) -> None:
    seen = []
    environment.sync_before(lambda: seen.append(saved(tmp_path)))
    put(environment, 1)
    environment.sync()
    assert seen == [0] and saved(tmp_path) == environment.last_commit() > 0
    environment.sync_before(lambda: (_ for _ in ()).throw(StoreError("not now")))
    put(environment, 2)
    with pytest.raises(StoreError, match="not now"):
        environment.sync()
    assert saved(tmp_path) == environment.last_commit() - 1


def test_growth_keeps_the_checkpoint_on_the_last_commit(tmp_path: Path, environment: Environment) -> None:
    put(environment, 1)
    environment.grow()
    assert saved(tmp_path) == environment.last_commit()
    put(environment, 2)
    assert saved(tmp_path) == environment.last_commit() - 1


def test_syncs_beside_commits(tmp_path: Path, environment: Environment) -> None:
    """During a sync on another thread, the meta page of any commit is whole, and its number is right."""
    done = threading.Event()

    def sync() -> None:
        while not done.is_set():
            environment.sync()
            assert read_checkpoint(tmp_path) is not None

    thread = threading.Thread(target=sync)
    thread.start()
    for number in range(300):
        put(environment, number % 20)
    done.set()
    thread.join()
    environment.sync()
    assert saved(tmp_path) == environment.last_commit()


# -- the data file -----------------------------------------------------------------------------------------------------


def test_the_stamp_stays(environment: Environment, data: int) -> None:
    identity = stamp(data)
    for number in range(4):
        put(environment, number)
    assert [store_id(meta) for meta in meta_pages(data)] == [identity] * 2
    assert stamp(data) == identity


def test_a_meta_page_says_what_lmdb_says(environment: Environment, data: int) -> None:
    for number in range(4):
        put(environment, number)
        meta = newest_meta_page(data)
        assert meta.number == environment.last_commit()
        assert meta.pages * meta.page_bytes == environment.used_bytes()


def test_faults_of_the_file(tmp_path: Path, environment: Environment, data: int) -> None:
    for number in range(20):
        put(environment, number)
    assert list(file_faults(data)) == []
    copy = tmp_path / "copy"
    content = (tmp_path / DATA_FILE).read_bytes()
    root = newest_meta_page(data).roots[1]
    for damaged, said in (
        (content[:-4096], "bytes, its commit"),
        (content[: root * 4096], f"its root page {root} is behind its end"),
        (bytes(4096) + content[4096:], "1 of its 2 meta pages cannot be read"),
        (content[:4096] + bytes(4096) + content[8192:], "1 of its 2 meta pages cannot be read"),
        (b"x" * len(content), "2 of its 2 meta pages cannot be read"),
        (content[: root * 4096] + bytes(4096) + content[(root + 1) * 4096 :], f"its page {root} is not the root"),
    ):
        copy.write_bytes(damaged)
        descriptor = os.open(copy, os.O_RDONLY)
        assert any(said in fault for fault in file_faults(descriptor)), said
        os.close(descriptor)


def test_a_slot_is_what_is_documented(tmp_path: Path, environment: Environment) -> None:
    found = read_checkpoint(tmp_path)
    assert found is not None
    slot = pack(found)
    assert slot[:10] == b"SONICCHK\x01\x00"
    assert slot[38 : 38 + found.meta.page_bytes] == found.meta.content
    assert len(slot) == 38 + found.meta.page_bytes + 32
