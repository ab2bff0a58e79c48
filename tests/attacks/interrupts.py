"""Exceptions that interrupt every public method of an index and of a table, at chosen and at random moments.

A signal handler or another thread raises them once or twice. The call raises or returns; the change is whole or absent;
the next call works; and a copy of the folder, as a kill would leave it, has the same content.
"""

import subprocess
import sys
from pathlib import Path

from tests.attacks.outcome import Outcome
from tests.processes import environment
from tests.support.paths import ROOT
from tests.support.patience import SLOWNESS

INTERRUPTS = 10_000
AT_LEAST = 60
ATTEMPT_S = 0.5
"""The time in seconds after which an attempt counts as hanging; usual attempts take some milliseconds."""


def attack(scale: float, seed: int, folder: Path) -> Outcome:
    """Interrupt calls in a process of its own; return the outcome."""
    count = max(AT_LEAST, round(INTERRUPTS * scale))
    command = [sys.executable, "-m", "tests.interrupts", str(folder), str(count), str(seed)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment({}), capture_output=True, text=True, check=False,
            timeout=(60 + count * ATTEMPT_S) * SLOWNESS,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        return Outcome(count, [f"a call hangs: {str(error.stdout)[-300:]}"])
    lines = done.stdout.splitlines()
    wrong = [line.removeprefix("wrong: ") for line in lines if line.startswith("wrong: ")]
    if done.returncode or not lines or not lines[-1].startswith("raised: "):
        wrong.append(f"the program ended with {done.returncode}: {done.stderr[-500:]}")
    return Outcome(count, wrong, f"{lines[-1].removeprefix('raised: ')} came" if lines else "")
