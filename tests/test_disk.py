"""Tests of sonicpy.disk: waiting for the disk, on Linux and on a simulated macOS."""

import errno
import fcntl
import os

import pytest

from sonicpy import disk

FULL_SYNC = 51
"""The value of F_FULLFSYNC on macOS."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the calls that wait for the disk; return the list of their names, in the order of the calls."""
    made: list[str] = []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda descriptor, name=name: made.append(name), raising=False)
    monkeypatch.delattr(fcntl, "F_FULLFSYNC", raising=False)
    return made


def on_macos(monkeypatch: pytest.MonkeyPatch, calls: list[str], error: int = 0) -> None:
    """Give the platform F_FULLFSYNC, as on macOS; it fails with an error unless `error` is 0."""

    def full_sync(descriptor: int, command: int) -> int:
        assert command == FULL_SYNC
        calls.append("full sync")
        if error:
            raise OSError(error, os.strerror(error))
        return 0

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", FULL_SYNC, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", full_sync)
    monkeypatch.delattr(os, "fdatasync")


def test_linux_waits_for_the_data(calls: list[str]) -> None:
    disk.sync_file(0)
    assert calls == ["fdatasync"]


def test_macos_waits_for_the_disk_and_not_for_its_cache(monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> None:
    on_macos(monkeypatch, calls)
    disk.sync_file(0)
    assert calls == ["full sync"]


def test_a_file_system_without_a_full_sync_gets_a_plain_one(monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> None:
    on_macos(monkeypatch, calls, errno.ENOTSUP)
    disk.sync_file(0)
    assert calls == ["full sync", "fsync"]


def test_a_full_sync_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> None:
    on_macos(monkeypatch, calls, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        disk.sync_file(0)
    assert calls == ["full sync"]


def test_a_system_without_fdatasync_waits_for_all_of_the_file(
    monkeypatch: pytest.MonkeyPatch, calls: list[str]
) -> None:
    monkeypatch.delattr(os, "fdatasync")
    disk.sync_file(0)
    assert calls == ["fsync"]
