"""Folders of stores: detection, even without permission to read; the exclusive writer, and left-over locks."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from sonicpy.errors import StoreError, StoreFull, StoreLocked
from sonicpy.store.disk.folder import LOCK_FILE, ReaderLock, WriterLock, holds_store, is_there
from tests.store.shorthand import open_store


def test_a_store_is_there_or_not(tmp_path: Path) -> None:
    open_store(tmp_path / "store").close()
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    assert holds_store(tmp_path / "store")
    for name in ("empty", "none", "file", "no\0name"):
        assert not holds_store(tmp_path / name), name
    assert is_there(tmp_path / "file")


def test_what_may_not_be_looked_into_is_one_sentence(hidden: Path) -> None:
    with pytest.raises(StoreError, match="^cannot look into hidden: Permission denied$"):
        holds_store(hidden)


def test_a_lock_makes_the_folders_that_are_missing(tmp_path: Path) -> None:
    with WriterLock(tmp_path / "some" / "where"):
        assert (tmp_path / "some" / "where" / LOCK_FILE).read_text() == f"{os.getpid()}\n"
    WriterLock(tmp_path / "some" / "where").release()


def test_locks_that_are_refused_or_released_leave_no_descriptor(tmp_path: Path) -> None:
    with WriterLock(tmp_path) as held:
        before = descriptors()
        for kind in (WriterLock, ReaderLock):
            with pytest.raises(StoreLocked, match=str(os.getpid())):
                kind(tmp_path)
        assert descriptors() <= before  # what earlier tests left may go meanwhile
        held.release()
        held.release()
        assert len(descriptors()) == len(before) - 2  # of the lock file and of the data file
    reader = ReaderLock(tmp_path)
    with pytest.raises(StoreLocked, match="is read by a process that may not write"):
        WriterLock(tmp_path)
    reader.release()
    reader.release()
    WriterLock(tmp_path).release()
    assert len(descriptors()) == len(before) - 2


def test_readers_need_a_lock_file_that_can_be_read_or_none(tmp_path: Path) -> None:
    ReaderLock(tmp_path).release()  # a copy that no process has opened for writing
    (tmp_path / LOCK_FILE).symlink_to(LOCK_FILE)
    with pytest.raises(StoreError, match=f"^cannot read .*/{LOCK_FILE}: Too many levels of symbolic links$"):
        ReaderLock(tmp_path)


def test_a_lock_may_have_any_descriptor(tmp_path: Path) -> None:
    """In a program that has closed its standard input, a lock may get that descriptor."""
    standard_input = os.dup(0)
    try:
        for kind in (WriterLock, ReaderLock):
            os.close(0)
            kind(tmp_path).release()
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(0)
            os.dup2(standard_input, 0)
    finally:
        os.dup2(standard_input, 0)
        os.close(standard_input)


def test_a_short_process_id_replaces_a_long_one(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text("123456789012345\n")
    with WriterLock(tmp_path):
        assert (tmp_path / LOCK_FILE).read_text() == f"{os.getpid()}\n"


def test_a_lock_that_cannot_be_written_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = descriptors()
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        with pytest.raises(StoreFull, match="No space left"):
            WriterLock(tmp_path)
    assert descriptors() <= before  # what earlier tests left may go meanwhile
    WriterLock(tmp_path).release()


@pytest.mark.parametrize("kind", [WriterLock, ReaderLock])
@pytest.mark.parametrize("last", [1, 2])
def test_a_lock_that_is_interrupted_is_given_back_while_its_traceback_lives(
    kind: type[WriterLock | ReaderLock], last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WriterLock(tmp_path).release()
    left = [last]

    def interrupt(descriptor: int, how: int) -> None:
        flock(descriptor, how)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    flock = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        kind(tmp_path)
    monkeypatch.undo()
    WriterLock(tmp_path).release()
    assert caught.tb is not None


def descriptors() -> set[str]:
    """Return the open descriptors of this process; skip the test if the system does not show them."""
    try:
        found = set(os.listdir("/proc/self/fd"))
    except OSError:
        pytest.skip("needs /proc to count the descriptors of a process")
    return {name for name in found if os.path.exists(f"/proc/self/fd/{name}")}
