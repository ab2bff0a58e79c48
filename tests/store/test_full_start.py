"""A store is made, written and closed on a disk with little room: wherever the room ends, the error is one sentence.

Each test uses a process of its own, because access to a mapped page without room on the disk would kill the process.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from sonicpy import Index
from tests.disk import disk, fill

PAGE_BYTES = 4096
ENOUGH_PAGES = 64
GATE_PAGES = (0, 1, 12, 14, 16, 44)
USE = """
import sys
from sonicpy import Index
from sonicpy.errors import SonicError
try:
    with Index(sys.argv[1]) as index:
        index.push("c", "b", "o", "some words")
        print("acknowledged", flush=True)
except SonicError as fault:
    print(fault, file=sys.stderr)
    sys.exit(1)
"""


def use(folder: Path) -> tuple[int, bool, str]:
    """Return the exit status, whether a push was acknowledged, and the output."""
    done = subprocess.run([sys.executable, "-c", USE, str(folder)], capture_output=True, text=True, check=False)
    return done.returncode, "acknowledged" in done.stdout, done.stderr


def check(folder: Path, pages: int) -> None:
    with disk(folder, 1 << 20) as root:
        filler = fill(root, pages * PAGE_BYTES)
        status, acknowledged, said = use(root / "store")
        assert status == 1, (status, said)
        assert said.count("\n") == 1 and "Traceback" not in said, said
        filler.unlink()
        with Index(root / "store") as index:
            held = index.count_objects("c", "b")
            assert held == 1 or not acknowledged, "what was refused at the commit may stand in the log"


@pytest.mark.parametrize("pages", GATE_PAGES)
def test_with_some_pages(tmp_path: Path, pages: int) -> None:
    check(tmp_path / "disk", pages)


@pytest.mark.full
@pytest.mark.parametrize("pages", range(46))
def test_with_every_number_of_pages(tmp_path: Path, pages: int) -> None:
    check(tmp_path / "disk", pages)


def test_with_enough_pages(tmp_path: Path) -> None:
    with disk(tmp_path / "disk", 1 << 20) as root:
        fill(root, ENOUGH_PAGES * PAGE_BYTES)
        assert use(root / "store") == (0, True, "")
