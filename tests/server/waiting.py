"""The times for which threads were ready to run and had no core, which a busy machine adds to every measured time."""

import contextlib
from pathlib import Path

HERE = Path("/proc/thread-self")


def waited_s(pid: int) -> dict[Path, float]:
    """Return the seconds that this thread, and each thread of a process, has waited for a core since it began.

    Ended threads are left out; on systems without such times, the result is empty.
    """
    found = {}
    for thread in (HERE, *Path(f"/proc/{pid}/task").glob("*")):
        with contextlib.suppress(OSError):
            found[thread] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return found


def without_waits(took_s: float, before: dict[Path, float], after: dict[Path, float]) -> float:
    """Return a time without the waits for a core: those of this thread, and the longest one of a thread of the process.

    The longest wait counts, not the sum, because that thread may hold a lock that the others need.
    """
    waited = {thread: seconds - before.get(thread, 0.0) for thread, seconds in after.items()}
    return max(0.0, took_s - waited.pop(HERE, 0.0) - max(waited.values(), default=0.0))
