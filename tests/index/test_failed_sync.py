"""After a sync has failed, no later one is believed: it would succeed although the disk lacks written bytes."""

import errno
import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sonicpy
from sonicpy.errors import StoreError
from sonicpy.store.disk.boot_mark import BOOT_FILE
from sonicpy.store.disk.environment import DATA_FILE
from sonicpy.store.disk.log import Log
from tests.support.patience import WAIT_S, until

C, B = "c", "b"
LOG, DATA = "sonicpy.store.disk.log.sync_file", "sonicpy.store.disk.checkpoint.sync_data"
REFUSED = (
    r"^changes are refused, because the disk failed to write \(cannot sync .*: {}\): reading goes on; check the disk"
)
PAGE, META_PAGES = os.sysconf("SC_PAGE_SIZE"), 2
CODES = [errno.EIO, errno.EROFS]


def opened(folder: Path, durability: str = "commit") -> sonicpy.Index:
    return sonicpy.open(folder, config={"store": {"kv": {"durability": durability}}})


def push(index: sonicpy.Index, *names: str) -> None:
    for name in names:
        index.push(C, B, name, f"amber only{name}", "none")


def found(index: sonicpy.Index) -> list[str]:
    return sorted(index.query(C, B, "amber", lang="none", limit=100))


def content(folder: Path) -> list[str]:
    """Return the objects of an index that is opened, found whole and closed."""
    with opened(folder) as index:
        assert index.verify() == []
        push(index, "taken")
        return [name for name in found(index) if name != "taken"]


def fail_once(monkeypatch: pytest.MonkeyPatch, sync: str, code: int = errno.EIO) -> None:
    """Make the next call of a function fail, as Linux reports a lost page once."""
    module, _, name = sync.rpartition(".")
    real: Callable[[int], None] = getattr(__import__(module, fromlist=[name]), name)
    calls: list[int] = []

    def once(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:
            raise OSError(code, os.strerror(code))
        real(descriptor)

    monkeypatch.setattr(sync, once)


def lose_power(folder: Path) -> None:
    """Make the boot mark of a folder one of another boot."""
    mark = json.loads((folder / BOOT_FILE).read_bytes())
    (folder / BOOT_FILE).write_text(json.dumps({**mark, "boot": "another boot"}))


def lose_record(folder: Path, text: bytes) -> None:
    """Overwrite the bytes of the log around a text with zeros."""
    (segment,) = (path for path in (folder / "log").glob("*.log") if text in path.read_bytes())
    held = segment.read_bytes()
    place = held.index(text)
    segment.write_bytes(held[: place - 20] + bytes(40) + held[place + 20 :])


def lose_pages(folder: Path, synced: bytes) -> None:
    """Overwrite the pages of a data file that differ from its synced content with zeros, but for the meta pages."""
    held = bytearray((folder / DATA_FILE).read_bytes())
    for place in range(META_PAGES * PAGE, len(held), PAGE):
        if held[place : place + PAGE] != synced[place : place + PAGE]:
            held[place : place + PAGE] = bytes(len(held[place : place + PAGE]))
    (folder / DATA_FILE).write_bytes(held)


@pytest.mark.parametrize("code", CODES)
def test_nothing_is_durable_behind_a_failed_sync_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    index = opened(tmp_path / "i")
    push(index, "o1")
    fail_once(monkeypatch, LOG, code)
    with pytest.raises(StoreError, match="the log has the change, .*: cannot sync the log in "):
        push(index, "lost")
    for _ in range(2):
        with pytest.raises(StoreError, match=REFUSED.format(os.strerror(code))):
            push(index, "o2")
        with pytest.raises(StoreError, match=REFUSED.format(os.strerror(code))):
            index.flush_bucket(C, B)
    assert found(index) == ["lost", "o1"], "reading goes on"
    index.commit()
    assert index.stats()["refusing"]
    shutil.copytree(tmp_path / "i", tmp_path / "dark")
    with pytest.raises(StoreError, match=r"cannot sync the log in .* any more: an earlier sync failed"):
        index.close()
    lose_record(tmp_path / "dark", b"onlylost")
    lose_power(tmp_path / "dark")
    assert content(tmp_path / "dark")[-1] == "o1", "what was durable"
    assert content(tmp_path / "i") == ["lost", "o1"], "and takes changes again"


@pytest.mark.full
@pytest.mark.parametrize("sync", [LOG, DATA])
def test_a_failed_sync_in_the_background_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, sync: str
) -> None:
    monkeypatch.setattr("sonicpy.store.disk.background_sync.SYNC_AFTER_S", 0.05)
    index = opened(tmp_path / "i", "interval")
    fail_once(monkeypatch, sync)
    push(index, "o1", "o2")
    until(lambda: index.stats()["refusing"], "the sync fails")
    with pytest.raises(StoreError, match=REFUSED.format("Input/output error")):
        push(index, "o3")
    index.commit()
    time.sleep(0.5)
    assert found(index) == ["o1", "o2"]
    assert len([line for line in caplog.messages if "cannot sync" in line]) == 1
    with pytest.raises(StoreError, match=r"cannot sync .* any more"):
        index.close()
    caplog.clear()
    assert content(tmp_path / "i") == ["o1", "o2"]
    assert any("goes back to commit" in line for line in caplog.messages) == (sync == DATA)


@pytest.mark.parametrize("durability", ["commit", "interval"])
@pytest.mark.parametrize("is_closed", [False, True])
def test_a_failed_sync_of_the_data_file_keeps_the_checkpoint_and_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: str, is_closed: bool
) -> None:
    index = opened(tmp_path / "i", durability)
    store = index.engine.store
    push(index, "o1")
    index.commit()
    store.sync()
    synced, checkpoint = (tmp_path / "i" / DATA_FILE).read_bytes(), store.checkpoint
    push(index, "o2", "o3")
    index.commit()
    fail_once(monkeypatch, DATA)
    for _ in range(2):
        with pytest.raises(StoreError, match="cannot sync the data file "):
            store.sync()
        index.commit()
    assert store.checkpoint == checkpoint
    with pytest.raises(StoreError, match=REFUSED.format("Input/output error")):
        push(index, "o4")
    assert found(index) == ["o1", "o2", "o3"]
    if not is_closed:
        shutil.copytree(tmp_path / "i", tmp_path / "killed")
    with pytest.raises(StoreError, match=r"cannot sync the data file .* any more"):
        index.close()
    folder = tmp_path / ("i" if is_closed else "killed")
    lose_pages(folder, synced)
    with pytest.raises(StoreError, match="open it for writing once"):
        sonicpy.open(folder, read_only=True)
    assert content(folder) == ["o1", "o2", "o3"]


def test_a_failed_sync_at_the_opening_is_remembered_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = opened(tmp_path / "i")
    push(index, "o1")
    index.commit()
    index.engine.store.sync()
    synced = (tmp_path / "i" / DATA_FILE).read_bytes()
    push(index, "o2")
    index.commit()
    shutil.copytree(tmp_path / "i", tmp_path / "killed")
    index.close()
    fail_once(monkeypatch, DATA)
    with pytest.raises(StoreError, match="cannot sync the data file .*: Input/output error$"):
        opened(tmp_path / "killed")
    lose_pages(tmp_path / "killed", synced)
    assert content(tmp_path / "killed") == ["o1", "o2"]


@pytest.mark.parametrize("sync", [LOG, DATA])
def test_syncs_go_on_after_one_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: str) -> None:
    with opened(tmp_path / "i", "interval") as index:
        push(index, "o1")
        index.commit()
        fail_once(monkeypatch, sync, errno.ENOSPC)
        with pytest.raises(StoreError, match="No space left on device"):
            index.engine.store.sync()
        push(index, "o2")
        index.commit()
        index.engine.store.sync()
        assert index.engine.store.checkpoint == index.engine.store.last_commit()
    assert content(tmp_path / "i") == ["o1", "o2"]


def test_an_exception_of_a_signal_handler_in_a_sync_is_no_failure_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(descriptor: int) -> None:
        raise TimeoutError("raised by a signal handler")

    with opened(tmp_path / "i") as index:
        with monkeypatch.context() as patch:
            patch.setattr(LOG, interrupted)
            with pytest.raises(StoreError):
                push(index, "o1")
        push(index, "o2")
        assert found(index) == ["o1", "o2"]


def test_a_sync_that_waits_for_a_failing_one_fails_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk reports the lost page to the first of them, and the second one would succeed."""
    log = Log(tmp_path)
    log.start(0)
    log.append([b"one"])
    failed: list[BaseException] = []
    is_under_way, may_end = threading.Event(), threading.Event()

    def fail(descriptor: int) -> None:
        monkeypatch.undo()
        is_under_way.set()
        assert may_end.wait(WAIT_S)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def sync() -> None:
        try:
            log.sync()
        except StoreError as error:
            failed.append(error)

    monkeypatch.setattr(LOG, fail)
    threads = [threading.Thread(target=sync) for _ in range(2)]
    threads[0].start()
    assert is_under_way.wait(WAIT_S)
    log.append([b"two"])
    threads[1].start()
    time.sleep(0.1)
    assert failed == []
    may_end.set()
    for thread in threads:
        thread.join()
    assert len(failed) == 2
    log.close()
