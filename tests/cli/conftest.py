"""Fixtures for tests of verbs: an empty folder, no settings from outside, and a standard input."""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sonicpy.cli.main import main
from sonicpy.cli.settings import SOURCES


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory; neither the environment nor /etc selects an index."""
    assert "/etc/sonic.cfg" in SOURCES, "the help is imported before the files that it names are replaced"
    monkeypatch.setattr("sonicpy.config.searched_files.SEARCHED_FILES", ())
    for name in [name for name in os.environ if name.upper().startswith(("SONIC_", "SONICPY_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Make SIGINT interrupt the tests, also where a shell started them in the background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


Run = Callable[..., str]


@pytest.fixture
def run(here: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a verb, checks its status and stderr, and returns its output."""

    def run_verb(*arguments: str, status: int = 0, said: str = "") -> str:
        capsys.readouterr()
        assert main(list(arguments)) == status
        printed = capsys.readouterr()
        assert said in printed.err if said else printed.err == ""
        return printed.out

    return run_verb


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Return a function that sets the bytes of the standard input."""

    def give(typed: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed), encoding="utf-8"))

    return give
