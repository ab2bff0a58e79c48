"""The table of programs in benchmarks/README.md is complete, and the programs that no other test runs still work."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.patience import WAIT_S

FOLDER = ROOT / "benchmarks"
ROW = re.compile(r"^\| `([\w.]+)` \| (\S.*) \| (\S.*) \|$", re.MULTILINE)
QUICK = {
    "complete_lists": ["1000"],
    "corrections": ["1", "--words", "5000"],
    "cores": ["--messages", "500", "--rounds", "1", "--seconds", ".1"],
    "disk": ["300", "--rest", "0"],
    "filters": ["3000"],
    "in_asyncio": ["1000"],
    "library": ["500"],
    "readers": ["--objects", "500", "--seconds", ".1", "--rounds", "1"],
    "scale": [],
    "suggestions": ["30000"],
    "tables": ["300"],
    "ten_million": ["--objects", "500", "--marks", "1", "--seconds", ".05"],
    "tls": ["500"],
    "turns": ["1"],
}
"""Program -> arguments with which it takes only seconds."""


def programs() -> list[str]:
    """Return the names of all modules that run as programs."""
    found = []
    for path in FOLDER.rglob("*.py"):
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
            found.append(name.removesuffix(".__main__"))
    return sorted(found)


def test_every_program_is_in_the_table() -> None:
    """Each row of the table has the purpose of a program and its time, and the text of each program names its
    command.
    """
    rows = ROW.findall((FOLDER / "README.md").read_text(encoding="utf-8"))
    assert sorted(name for name, _, _ in rows) == programs()
    for name in programs():
        path = FOLDER.joinpath(*name.split("."))
        module = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
        assert f"python -m benchmarks.{name}" in module.read_text(encoding="utf-8"), name


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", QUICK)
def test_programs_run(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", f"benchmarks.{name}", *QUICK[name]]
    if name == "ten_million":
        command += ["--folder", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert run.returncode == 0, run.stderr
    assert re.search(r"\d", run.stdout), "it prints figures"
