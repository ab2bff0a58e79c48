"""Each benchmark runs once, with little data and untimed; and the counts of instructions are parsed correctly."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.instructions import parse_counter, read_table
from benchmarks.stages import STAGES, do
from tests.support.patience import WAIT_S
from tests.support.texts import messages

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.full
def test_every_benchmark_once() -> None:
    command = [sys.executable, "-m", "pytest", "benchmarks", "-n", "0", "--benchmark-disable", "-q"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "skipped" not in run.stdout


@pytest.mark.full
def test_costs_of_every_stage_are_printed() -> None:
    command = [sys.executable, "-m", "benchmarks.costs", "300"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("all of it") == 4, "PUSH, and QUERY of one, two and three words"


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_works(stage: str, tmp_path: Path) -> None:
    assert len(do(STAGES[stage](messages(100), tmp_path), range(3))) == 3


def test_every_stage_has_a_committed_count() -> None:
    assert list(read_table()) == list(STAGES)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("==7== \n==7== Collected : 258351\n", 258351),
        ("18446,,instructions:u,201334,100.00,,\n", 18446),
        ("<not supported>,,instructions:u,0,100.00,,\n", None),
        ("valgrind: no such tool\n", None),
    ],
)
def test_parse_counter(output: str, expected: int | None) -> None:
    assert parse_counter(output) == expected
