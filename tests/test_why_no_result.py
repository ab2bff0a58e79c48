"""Tests of docs/why-no-result.md: its examples print the output that the page shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import WAIT_S

PAGE = Path(__file__).resolve().parents[1] / "docs" / "why-no-result.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=WAIT_S, check=False,
        env={**os.environ, "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), command
    return done.stdout


def shown(tmp_path: Path) -> list[tuple[str, str]]:
    """Return the blocks of the page with their current output."""
    printed, now = "", []
    for language, block in BLOCKS:
        if language == "python":
            printed = run([sys.executable, "-c", block], tmp_path)
            now.append((language, block))
        elif language == "console":
            command = block.splitlines()[0]
            assert command.startswith("$ sonicpy ")
            printed = run([sys.executable, "-m", "sonicpy", *shlex.split(command)[2:]], tmp_path)
            now.append((language, f"{command}\n{printed}"))
        else:
            assert language == "text", "what the block before it prints"
            now.append((language, printed))
    return now


@pytest.mark.full
def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    for block, (language, now) in zip(BLOCKS, shown(tmp_path), strict=True):
        assert block == (language, now)
