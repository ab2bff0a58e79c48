"""Records the changes of a process and its C code to the files below a folder, event by event; see disk_recorder.c."""

import os
import shutil
import struct
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import gettempdir

SOURCE = Path(__file__).with_suffix(".c")
HEAD = struct.Struct("=cQQI")


@dataclass(frozen=True, slots=True)
class Event:
    """A call of the recorded process; disk_recorder.c lists the kinds."""

    kind: str
    number: int
    other: int
    content: bytes

    @property
    def path(self) -> str:
        return os.fsdecode(self.content)


def compiler() -> str | None:
    """Return the C compiler that builds the recorder; None: there is no compiler, or the system is not Linux."""
    if sys.platform != "linux":
        return None
    return next(filter(None, map(shutil.which, (*os.environ.get("CC", "").split()[-1:], "gcc", "cc"))), None)


def recording(root: Path, events: Path) -> dict[str, str]:
    """Return the environment variables of a process that is to be recorded.

    Args:
        root: the folder; files elsewhere are not recorded.
        events: the file that gets the events.
    """
    return {"LD_PRELOAD": str(_library()), "DISK_ROOT": str(root), "DISK_EVENTS": str(events)}


def read_events(path: Path) -> list[Event]:
    """Return the events of a recording."""
    content = path.read_bytes()
    events, place = [], 0
    while place < len(content):
        kind, number, other, size = HEAD.unpack_from(content, place)
        place += HEAD.size
        events.append(Event(kind.decode(), number, other, content[place : place + size]))
        place += size
    return events


@cache
def _library() -> Path:
    """Return the path of the compiled recorder; compile it if no test of this user has done so yet."""
    command = compiler()
    assert command is not None, "needs Linux and a C compiler to record what a process writes"
    stamp = f"{SOURCE.stat().st_mtime_ns:x}-{sysconfig.get_platform()}-{os.getuid()}"
    library = Path(gettempdir()) / f"sonicpy-disk-recorder-{stamp}.so"
    if not library.exists():
        fresh = library.with_suffix(f".{os.getpid()}")
        subprocess.run([command, "-shared", "-fPIC", "-O1", "-o", fresh, SOURCE, "-ldl"], check=True)
        os.replace(fresh, library)
    return library
