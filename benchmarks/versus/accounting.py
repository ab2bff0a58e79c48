"""What a server costs the machine: CPU time, memory and disk, over all of its processes. Linux only."""

import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

TICKS_S = os.sysconf("SC_CLK_TCK")
BLOCK_BYTES = 512
"""The unit of st_blocks, whatever the file system's own."""
SAMPLE_S = 0.1


def processes(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    found = [pid]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, read(children).split())
    return found


def stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat from the third (its state) on; none if the process is gone."""
    return read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process, of those that descend from it and of their children that ended."""
    return sum(own_cpu_s(process) + ended_cpu_s(process) for process in processes(pid))


def own_cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process with all its threads; the system's clock of it is finer than its files."""
    try:
        return time.clock_gettime(((~pid) << 3) | 2)  # what clock_getcpuclockid(3) returns
    except OSError:
        fields = stat_fields(pid)
        return (int(fields[11]) + int(fields[12])) / TICKS_S if fields else 0.0


def ended_cpu_s(pid: int) -> float:
    """Return the CPU seconds of the children of a process that it has waited for."""
    fields = stat_fields(pid)
    return (int(fields[13]) + int(fields[14])) / TICKS_S if fields else 0.0


def anonymous_bytes(pid: int) -> int:
    """Return the memory of a process and those that descend from it that no file stands behind."""
    return sum(rollup_bytes(process) for process in processes(pid))


def rollup_bytes(pid: int) -> int:
    """Return the anonymous memory of one process; none if it is gone."""
    lines = read(Path(f"/proc/{pid}/smaps_rollup")).splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Anonymous:"))


def read(path: Path) -> str:
    """Return what a file of /proc tells; nothing if its process is gone."""
    try:
        return path.read_text()
    except OSError:
        return ""


def allocated_bytes(folder: Path) -> int:
    """Return how much of the disk the files in a folder take, holes left out."""
    size = 0
    for path in folder.rglob("*"):
        try:
            size += path.stat().st_blocks * BLOCK_BYTES
        except FileNotFoundError:  # deleted meanwhile
            continue
    return size


class MemoryWatch:
    """The most anonymous memory that was seen during a `with` block, looked at ten times a second."""

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            self._look()

    def _look(self) -> None:
        self.peak_bytes = max(self.peak_bytes, anonymous_bytes(self._pid))

    def __enter__(self) -> Self:
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._look()
