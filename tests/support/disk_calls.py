"""The calls of a process that change files or wait for the disk, in order, those of LMDB's C code among them.

    calls = record_calls(CODE, folder)       run Python code in a process of its own
    for call, disk in replayed(calls): ...   each call, with the disk as it was just before

The recorder is disk_calls.c, a library that the linker puts before libc (LD_PRELOAD), so that neither tests nor the
code under test have to name the functions that write.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

import pytest

from tests.support.paths import ROOT

SOURCE = Path(__file__).with_suffix(".c")
TIMEOUT_S = 60.0

PRELUDE = """
import os, sys
from pathlib import Path
folder = Path(sys.argv[1])
def mark(name):
    with open(os.environ["DISK_CALLS"], "ab", buffering=0) as record:
        os.writev(record.fileno(), [f"mark\\t{name}\\t\\n".encode()])
"""
"""What the code finds defined: the folder that it may use, and `mark`, which notes how far it has come."""


class Call(NamedTuple):
    """One call: create, write, synced write, sync, rename, unlink, or the mark of a test, whose path is its name."""

    what: str
    path: str
    other: str

    @property
    def name(self) -> str:
        """The name of the file that the call leaves changed, without its folder."""
        return os.path.basename(self.other or self.path)


@dataclass
class Disk:
    """What the disk may lack after some calls."""

    unsynced: set[str] = field(default_factory=set)
    """Paths of files with content that only memory holds, and of folders with such lists of files."""

    def take(self, call: Call) -> None:
        """Note the effect of a call."""
        match call.what:
            case "create":
                self.unsynced.add(os.path.dirname(call.path))
            case "write":
                self.unsynced.add(call.path)
            case "sync":
                self.unsynced.discard(call.path)
            case "rename":
                if call.path in self.unsynced:
                    self.unsynced.remove(call.path)
                    self.unsynced.add(call.other)
                self.unsynced.add(os.path.dirname(call.other))
            case "unlink":
                self.unsynced.discard(call.path)

    def lacks(self, *endings: str) -> set[str]:
        """Return the paths with one of these endings that are not on the disk."""
        return {path for path in self.unsynced if path.endswith(endings)}


def record_calls(code: str, folder: Path) -> list[Call]:
    """Run Python code in a process of its own, and return its calls below `folder` and its marks, in order.

    Skips the test where the recorder cannot be built or loaded.
    """
    if sys.platform != "linux":
        pytest.skip("needs LD_PRELOAD and /proc to record what a process writes")
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    record = folder.with_name(f"{folder.name}.calls")
    environment = {**os.environ, "LD_PRELOAD": str(_library()), "DISK_CALLS": str(record)}
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, str(folder)],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    calls = [Call(*line.split("\t")) for line in record.read_text().splitlines()]
    record.unlink()
    return [call for call in calls if call.what == "mark" or f"{call.path}/".startswith(f"{folder}/")]


def replayed(calls: list[Call]) -> Iterator[tuple[Call, Disk]]:
    """Yield each call with the disk as it was just before it."""
    disk = Disk()
    for call in calls:
        yield call, disk
        disk.take(call)


@cache
def _library() -> Path:
    """Return the compiled recorder; compile it if no test of this user has done so yet."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler to record what a process writes")
    stamp = f"{SOURCE.stat().st_mtime_ns:x}-{sysconfig.get_platform()}-{os.getuid()}"
    library = Path(gettempdir()) / f"sonicpy-disk-calls-{stamp}.so"
    if not library.exists():
        fresh = library.with_suffix(f".{os.getpid()}")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-w", "-o", fresh, SOURCE, "-ldl"], check=True)
        os.replace(fresh, library)
    return library
