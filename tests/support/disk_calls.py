"""The calls of a process that change files or wait for the disk, in order, including those of LMDB's C code.

    calls = record_calls(CODE, folder)       run Python code in a process of its own
    for call, disk in replayed(calls): ...   each call, with the disk as it was just before

The recorder is disk_recorder.c, a library that the linker puts before libc (LD_PRELOAD), so that neither tests nor the
code under test have to name the functions that write.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.disk_recorder import Event, compiler, read_events, recording
from tests.support.paths import ROOT
from tests.support.patience import WAIT_S

PRELUDE = """
import os, sys
from pathlib import Path
folder = Path(sys.argv[1])
def mark(name):
    os.write(1, f"reply {name}\\n".encode())
"""
"""Definitions for the recorded code: the folder that it may use, and `mark`, which records its progress."""


class Call(NamedTuple):
    """One call: create, write, hole, sync, rename, unlink; or a mark of a test, whose path is its name."""

    what: str
    path: str
    other: str

    @property
    def name(self) -> str:
        """The name of the file that the call changes, without its folder."""
        return os.path.basename(self.other or self.path)


@dataclass
class Disk:
    """The data that the disk may lack after some calls. Holes do not count: no commit on the disk uses these pages,
    which the tests of losses of power judge.
    """

    unsynced: set[str] = field(default_factory=set)
    """The paths of files with content that only memory holds, and of folders with such lists of files."""

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

    The test is skipped if the recorder cannot be built or loaded.
    """
    if compiler() is None:
        pytest.skip("needs Linux and a C compiler to record what a process writes")
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    record = folder.with_name(f"{folder.name}.events")
    names = {path.stat().st_ino: str(path) for path in folder.rglob("*")}
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, str(folder)],
        cwd=ROOT, env={**os.environ, **recording(folder, record)}, capture_output=True, text=True, timeout=WAIT_S,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    events = read_events(record)
    record.unlink()
    return list(_calls(events, names))


def _calls(events: list[Event], names: dict[int, str]) -> Iterator[Call]:
    """Yield the calls in events; `names` are the paths of the files that existed before, by inode."""
    synced: dict[int, str] = {}  # paths by number of the sync
    for event in events:
        match event.kind:
            case "a":
                yield Call("mark", event.path.removeprefix("reply ").rstrip(), "")
            case "c":
                names[event.number] = event.path
                yield Call("create", event.path, "")
            case "w" | "t":
                yield Call("write", names[event.number], "")
            case "h":
                yield Call("hole", names[event.number], "")
            case "s":
                synced[event.other] = event.path or names[event.number]
            case "e":
                yield Call("sync", synced.pop(event.other), "")
            case "r":
                before, after = event.path.split("\0")
                names.update({inode: after for inode, name in names.items() if name == before})
                yield Call("rename", before, after)
            case "u":
                yield Call("unlink", event.path, "")


def replayed(calls: list[Call]) -> Iterator[tuple[Call, Disk]]:
    """Yield each call with the disk as it was just before it."""
    disk = Disk()
    for call in calls:
        yield call, disk
        disk.take(call)
