"""Tests of sonicpy.store.disk.platform: the ids of boots, on Linux and on simulated systems."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from sonicpy.store.disk import platform


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
