"""Processes as /proc shows them; results are empty for processes that end between a listing and a reading."""

import contextlib
import os
from pathlib import Path


def read(process: int, name: str) -> bytes:
    """Return the content of a file in the folder of a process; empty if it is gone."""
    try:
        return Path(f"/proc/{process}/{name}").read_bytes()
    except OSError:
        return b""


def listed(process: int, name: str) -> list[str]:
    """Return the names in a folder of a process; an empty list if the process is gone."""
    try:
        return os.listdir(f"/proc/{process}/{name}")
    except OSError:
        return []


def processes() -> list[int]:
    """Return the ids of all processes; an empty list on systems without /proc."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc") else []


def children(process: int) -> list[int]:
    """Return the ids of the processes that any thread of a process started."""
    threads = listed(process, "task")
    return [int(child) for thread in threads for child in read(process, f"task/{thread}/children").split()]


def descriptors(process: int) -> dict[int, str]:
    """Return the open descriptors of a process, each with the name of its target."""
    found = {}
    for name in listed(process, "fd"):
        with contextlib.suppress(OSError):  # closed meanwhile
            found[int(name)] = os.readlink(f"/proc/{process}/fd/{name}")
    return found


def sockets(process: int) -> int:
    """Return how many sockets a process has open."""
    return sum(name.startswith("socket:") for name in descriptors(process).values())


def is_running(process: int) -> bool:
    """Return whether a process exists and is not a zombie, which has no command line."""
    return bool(read(process, "cmdline"))
