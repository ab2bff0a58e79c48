"""The CPU time, memory and disk space of a server, over all of its processes; only on Linux."""

import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

TICKS_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
BLOCK_BYTES = 512
"""The unit of st_blocks in bytes, the same on every file system."""
SAMPLE_S = 0.1


def processes(pid: int) -> list[int]:
    """Return the ids of a process and of all its descendants."""
    found = [pid]
    for parent in found:
        found += children(parent)
    return found


def children(pid: int) -> list[int]:
    """Return the ids of the processes that a process started; none if it is gone."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []
    return [int(child) for thread in threads for child in read(thread / "children").split()]


def stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/<pid>/stat from the third (the state) on; an empty list if the process is gone."""
    return read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process, its descendants, and the children of these that have ended."""
    return sum(own_cpu_s(process) + ended_cpu_s(process) for process in processes(pid))


def own_cpu_s(pid: int) -> float:
    """Return the CPU seconds of all threads of a process; the clock of a process is finer than its /proc files."""
    try:
        return time.clock_gettime(((~pid) << 3) | 2)  # the clock id that clock_getcpuclockid(3) returns
    except OSError:
        fields = stat_fields(pid)
        return (int(fields[11]) + int(fields[12])) / TICKS_S if fields else 0.0


def ended_cpu_s(pid: int) -> float:
    """Return the CPU seconds of the ended children that a process has waited for."""
    fields = stat_fields(pid)
    return (int(fields[13]) + int(fields[14])) / TICKS_S if fields else 0.0


def resident_bytes(pid: int) -> int:
    """Return the resident memory of one process; 0 if it is gone."""
    fields = read(Path(f"/proc/{pid}/statm")).split()
    return int(fields[1]) * PAGE_BYTES if fields else 0


def anonymous_bytes(pid: int) -> int:
    """Return the anonymous memory (without a file behind it) of a process and its descendants in bytes."""
    return sum(rollup_bytes(process) for process in processes(pid))


def rollup_bytes(pid: int) -> int:
    """Return the anonymous memory of one process in bytes; 0 if it is gone."""
    lines = read(Path(f"/proc/{pid}/smaps_rollup")).splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Anonymous:"))


def read(path: Path) -> str:
    """Return the content of a file in /proc; empty if the process is gone."""
    try:
        return path.read_text()
    except OSError:
        return ""


def allocated_bytes(folder: Path) -> int:
    """Return the disk space in bytes that the files in a folder take, without holes."""
    size = 0
    for path in folder.rglob("*"):
        try:
            size += path.stat().st_blocks * BLOCK_BYTES
        except FileNotFoundError:  # deleted meanwhile
            continue
    return size


class MemoryWatch:
    """Records the peak of anonymous memory during a `with` block, sampled ten times per second."""

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self._pid = pid
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            self._sample()

    def _sample(self) -> None:
        self.peak_bytes = max(self.peak_bytes, anonymous_bytes(self._pid))

    def __enter__(self) -> Self:
        self._sample()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._sample()
