"""Runs the code on a page: commands in a shell, whose output is compared with the page."""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.support.patience import WAIT_S

SAME = doctest.OutputChecker()


def put_commands_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the `sonicpy` and the `python` under test first on the path of shells."""
    folder.mkdir()
    for name, module in {"sonicpy": "-m sonicpy", "python": ""}.items():
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in [name for name in os.environ if name.startswith(("SONIC_", "SONICPY_"))]:
        monkeypatch.delenv(name)


def commands(code: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with its output."""
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        count = next(place for place, line in enumerate(lines, 1) if not line.endswith("\\\n"))
        yield "".join(lines[:count]), "".join(lines[count:])


def run_in_shell(command: str, place: str, variables: dict[str, str]) -> str:
    """Return the output of a command; exported variables are kept for the next commands."""
    script = f'{command}\nenv -0 >&"$KEPT"'
    reading, writing = os.pipe()
    with open(reading) as kept:
        given = variables | {"KEPT": str(writing)}
        command_line = ["bash", "-c", script]
        done = subprocess.run(
            command_line, env=given, pass_fds=(writing,), capture_output=True, text=True, timeout=WAIT_S, check=False
        )
        os.close(writing)
        variables.clear()
        variables.update(line.split("=", 1) for line in kept.read().split("\0") if line)
    assert "Traceback" not in done.stderr, f"{place}: {command}{done.stderr}"
    return done.stdout + done.stderr


def check(got: str, expected: str, place: str) -> None:
    if not SAME.check_output(expected, got, doctest.ELLIPSIS):
        pytest.fail(f"{place} prints\n{got}\ninstead of\n{expected}", pytrace=False)
