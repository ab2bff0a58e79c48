"""`sonicpy cluster dev` restarts processes that have ended, as a service manager does."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

PAUSE_S = 5.0
"""The pause in seconds before a restart, as in the units for systemd."""


class Processes(Protocol):
    """The processes that are started again."""

    folder: Path

    def ended(self) -> Iterator[str]:
        """Yield the names of the processes that have ended."""
        ...

    def start_again(self, name: str) -> None:
        """Start a process that has ended."""
        ...


class Restarts:
    """The processes that wait for their restart.

    Args:
        say: called with each line for the terminal.
        clock: returns the time in seconds.
    """

    def __init__(
        self, processes: Processes, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._processes = processes
        self._say = say
        self._clock = clock
        self._due_s: dict[str, float] = {}

    def look(self) -> None:
        """Note ended processes, and start those that have waited long enough. Raises SonicError."""
        now_s = self._clock()
        for name in list(self._processes.ended()):
            if name not in self._due_s:
                self._due_s[name] = now_s + PAUSE_S
                log = self._processes.folder / name / "log.txt"
                self._say(f"{name} has ended, and is started again in {PAUSE_S:.0f} s; its log is {log}")
        for name in [name for name, due_s in self._due_s.items() if now_s >= due_s]:
            del self._due_s[name]
            self._processes.start_again(name)
