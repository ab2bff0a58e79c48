"""sonicpy.store.platform: waiting for the disk and telling boots apart, on Linux and on systems that are not here."""

import errno
import fcntl
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sonicpy.store import platform

FULL_SYNC = 51
"""F_FULLFSYNC of macOS."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the calls that wait for the disk, in their order; none of them does."""
    made: list[str] = []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda descriptor, name=name: made.append(name), raising=False)
    monkeypatch.delattr(fcntl, "F_FULLFSYNC", raising=False)
    return made


def on_macos(monkeypatch: pytest.MonkeyPatch, calls: list[str], error: int = 0) -> None:
    """Give the platform F_FULLFSYNC, which fails with an error."""

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
    platform.sync_file(0)
    assert calls == ["fdatasync"]


def test_macos_waits_for_the_disk_and_not_for_its_cache(monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> None:
    on_macos(monkeypatch, calls)
    platform.sync_file(0)
    assert calls == ["full sync"]


def test_a_file_system_without_a_full_sync_gets_a_plain_one(monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> None:
    on_macos(monkeypatch, calls, errno.ENOTSUP)
    platform.sync_file(0)
    assert calls == ["full sync", "fsync"]


def test_a_full_sync_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> None:
    on_macos(monkeypatch, calls, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        platform.sync_file(0)
    assert calls == ["full sync"]


def test_a_system_without_fdatasync_waits_for_all_of_the_file(
    monkeypatch: pytest.MonkeyPatch, calls: list[str]
) -> None:
    monkeypatch.delattr(os, "fdatasync")
    platform.sync_file(0)
    assert calls == ["fsync"]


def test_linux_names_its_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boot = tmp_path / "boot_id"
    boot.write_text("5b1f\n")
    monkeypatch.setattr(platform, "BOOT_ID", boot)
    assert platform.boot_id() == "5b1f"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"kern.bootsessionuuid": "A0-B1\n", "kern.boottime": "{ sec = 1 }\n"}, "A0-B1"),
        ({"kern.boottime": "{ sec = 1 }\n"}, "{ sec = 1 }"),
        ({}, ""),
    ],
)
def test_other_systems_ask_the_kernel(
    answers: dict[str, str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: tuple[str, ...], **named: Any) -> subprocess.CompletedProcess[str]:
        if command[2] not in answers:
            raise subprocess.CalledProcessError(1, command)
        return subprocess.CompletedProcess(command, 0, answers[command[2]], "")

    monkeypatch.setattr(platform, "BOOT_ID", tmp_path / "missing")
    monkeypatch.setattr(subprocess, "run", run)
    assert platform.boot_id() == expected


def test_a_system_that_says_nothing_has_no_boot_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "BOOT_ID", tmp_path / "missing")
    monkeypatch.setattr(platform, "SYSCTL", str(tmp_path / "no sysctl"))
    assert platform.boot_id() == ""
