"""An import that is killed repeatedly with SIGKILL, and resumed: every row is indexed once, as without a kill."""

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from sonicpy import Index
from sonicpy.cli.importing.job import SAVE_EVERY_S
from sonicpy.index.report.export import ExportedObject
from tests.processes import environment
from tests.support.patience import WAIT_S
from tests.support.shared_data import shared_data

FLAGS = ["--no-header", "--id", "1", "--collection", "messages", "--data"]


COMMAND = """
import sys
from sonicpy.cli import main
from sonicpy.cli.importing import job
job.SAVE_EVERY_S = {save_every_s}
sys.exit(main.main())
"""


def start(source: Path, folder: Path, *flags: str, save_every_s: float = SAVE_EVERY_S) -> "subprocess.Popen[str]":
    code = COMMAND.format(save_every_s=save_every_s)
    command = [sys.executable, "-c", code, "import", str(source), *FLAGS, str(folder), *flags]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment({}), cwd=folder.parent
    )


def kill_behind_a_position(process: "subprocess.Popen[str]", folder: Path, pause_s: float, random: Random) -> bool:
    """Kill an import a moment after it has written its position again; return whether it was still running."""
    began, seen = time.monotonic(), position(folder)
    while position(folder) == seen and process.poll() is None and time.monotonic() - began < WAIT_S:
        time.sleep(0.01)
    time.sleep(random.random() * pause_s)
    was_running = process.poll() is None
    process.kill()
    process.communicate()
    return was_running


def position(folder: Path) -> str:
    """Return the saved position, or an empty string if there is none."""
    try:
        return "".join(path.read_text() for path in (folder / "import").glob("*.json"))
    except FileNotFoundError:
        return ""


def finish(process: "subprocess.Popen[str]") -> tuple[str, str]:
    printed, said = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, said
    return printed, said


def check_every_row_is_there_once(folder: Path, ids: Sequence[str]) -> None:
    with Index(folder) as index:
        assert [holding.object for holding in index.holdings("messages", "default")] == list(ids)
        assert index.verify() == []


def without_counts(holding: ExportedObject) -> ExportedObject:
    """Return an object without the numbers of texts by language: a row that is pushed again counts again."""
    return replace(holding, languages=",".join(sorted(re.findall("[a-z]+", holding.languages))))


@pytest.mark.full
def test_rows_are_there_once(tmp_path: Path) -> None:
    random = Random(7)
    words = [f"word{number}" for number in range(500)]
    count = 12_000
    source = tmp_path / "rows.tsv"
    source.write_text("".join(f"{number}\t{' '.join(random.choices(words, k=5))}\n" for number in range(count)))
    folder = tmp_path / "killed"
    process = start(source, folder, "--text", "2", "--resume", save_every_s=0.05)
    assert kill_behind_a_position(process, folder, 0.05, random)
    printed, said = finish(start(source, folder, "--text", "2", "--resume"))
    assert said.startswith("sonicpy: continuing after row ")
    assert printed.endswith(f"; {count} indexed, 0 refused in all\n")
    check_every_row_is_there_once(folder, [str(number) for number in range(count)])


@pytest.mark.full
@pytest.mark.timeout(600)
def test_all_messages_killed_three_times(tmp_path: Path) -> None:
    source = shared_data("messages/messages.tsv")
    with open(source, encoding="utf-8") as file:
        ids = [line.partition("\t")[0] for line in file]
    random, folder = Random(3), tmp_path / "killed"
    resumed = []
    for _ in range(3):
        assert kill_behind_a_position(start(source, folder, "--text", "3", "--resume"), folder, 0.3, random)
        resumed.append(position(folder))
    printed, said = finish(start(source, folder, "--text", "3", "--resume"))
    print(*resumed, said, printed, sep="\n")
    check_every_row_is_there_once(folder, ids)
    whole = tmp_path / "whole"
    finish(start(source, whole, "--text", "3"))
    with Index(folder) as first, Index(whole) as second:
        pairs = zip(first.holdings(), second.holdings(), strict=True)
        assert all(without_counts(mine) == without_counts(yours) for mine, yours in pairs)
