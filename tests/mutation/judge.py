"""Judge: runs tests against mutants in a copy of the checkout, so that the checkout never holds a mutant."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.mutation.targets import Target
from tests.support.patience import WAIT_S

COPIED = ("sonicpy", "ext", "tests", "benchmarks", "configs", "docs", "pyproject.toml", "setup.py", "README.md", ".ci")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "site", ".mypy_cache")
SECONDS_MAX = 15.0
"""The most CPU seconds of the tests that judge one mutant; the quickest tests come first."""
TIMES_SLOWER = 6.0
"""The factor by which the CPU time of a run may exceed the usual one, plus START_S, before the run counts as
hanging.
"""
START_S = WAIT_S
NO_TEST = 5


class Verdict(StrEnum):
    """The verdict on a mutant."""

    KILLED = "killed"
    HANGS = "hangs"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Lines:
    """The tests that run each line of the targets, and their CPU seconds."""

    seconds: dict[str, float]
    tests: dict[str, dict[int, list[str]]]

    def judges(self, path: str, line: int) -> list[str]:
        """Return the tests that run a line, the quickest first; for a line that runs at import, all tests that use the
        file.

        Code between two lines that a test runs, such as the rest of a long statement, belongs to the first line.
        """
        by_line = self.tests.get(path, {})
        begun = [number for number in by_line if number <= line]
        found = by_line[max(begun)] if begun else []
        tests = set(found) if found else {test for some in by_line.values() for test in some}
        chosen, total = [], 0.0
        for test in sorted(tests, key=lambda test: self.seconds[test]):
            total += self.seconds[test]
            if chosen and total > SECONDS_MAX:
                break
            chosen.append(test)
        return chosen


class Judge:
    """A copy of the checkout to put mutants into.

    Args:
        root: the root of the checkout.
        folder: the folder for the copy.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self.folder = folder
        self._stamp_s = 0.0
        for name in COPIED:
            source, target = root / name, folder / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=LEFT_OUT)
            elif source.exists():
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        if (root / "build").is_dir():  # what compiled modules are made from
            shutil.copytree(root / "build", folder / "build", symlinks=True)
        shared = root.parent / "shared"
        if shared.exists() and not (folder.parent / "shared").exists():
            (folder.parent / "shared").symlink_to(shared.resolve())

    def measure(self, path: str, target: Target) -> Lines:
        """Run the tests of a target; return the lines that they run. Raises RuntimeError if a test fails."""
        result = self.folder / "lines.json"
        extra = {"MUTATION_LINES": str(result), "MUTATION_TARGETS": path}
        done = self._pytest(["-p", "tests.mutation.measure", *target.tests], None, extra)
        if done.returncode:
            raise RuntimeError(f"the tests fail without a mutant:\n{done.stdout[-3000:]}{done.stderr[-2000:]}")
        told = json.loads(result.read_text())
        tests = {path: {int(line): found for line, found in lines.items()} for path, lines in told["lines"].items()}
        return Lines(told["seconds"], tests)

    def put(self, path: str, source: str) -> None:
        """Write a source file with a later time than all earlier versions, so that no cached version is used."""
        self._stamp_s = max(self._stamp_s + 2, time.time())  # bytecode knows whole seconds
        target = self.folder / path
        target.write_text(source)
        os.utime(target, (self._stamp_s, self._stamp_s))

    def restore(self, path: str) -> None:
        """Restore the file from the checkout."""
        self.put(path, (self._root / path).read_text())

    def verdict(self, tests: list[str], seconds: float) -> Verdict:
        """Run tests against the current source files; return the verdict.

        Args:
            seconds: the CPU seconds that the tests take without a mutant.
        """
        try:
            done = self._pytest(["-x", *tests], START_S + TIMES_SLOWER * seconds, {})
        except subprocess.TimeoutExpired:
            return Verdict.HANGS
        return Verdict.SURVIVED if done.returncode in (0, NO_TEST) else Verdict.KILLED

    def build(self) -> bool:
        """Compile the native modules that changed; return whether that worked."""
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        return self._run(command, None, {}).returncode == 0

    def _pytest(
        self, arguments: list[str], timeout_s: float | None, extra: dict[str, str]
    ) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--no-header", "--tb=short", *arguments]
        return self._run(command, timeout_s, extra)

    def _run(
        self, command: list[str], timeout_s: float | None, extra: dict[str, str]
    ) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PYTHONPATH": str(self.folder), **extra}
        with subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                out, said = process.communicate(timeout=timeout_s)
            except BaseException:
                os.killpg(process.pid, 9)  # servers that a test started too
                raise
        return subprocess.CompletedProcess(command, process.returncode, out, said)
