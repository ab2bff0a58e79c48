"""The rounds of a soak. In each round, clients work while an operator does one thing; then states are compared.

An operator runs until its time is over or the server ends.
"""

import os
import random
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.accounting import children
from benchmarks.soak.clock import Clock
from benchmarks.soak.history import Objects
from benchmarks.soak.world import Backup, World
from tests.disk import fill
from tests.server.peer import Peer

DAY_S = 86_400.0
JUMPS_S = (3600.0, -3600.0, 365 * DAY_S, -10 * 365 * DAY_S, 0.0)
STEP_S = 0.2
TRIGGER_S = 120.0


@dataclass(slots=True)
class Rounds:
    """The tools and the counters of all rounds.

    Attributes:
        kept: the folder of the last backup that was compared, and the content of each collection in it.
        backups: the number of backups started.
        fresh: the backup of this round, not compared yet.
        done: the number of each kind of event.
    """

    world: World
    clock: Clock
    folder: Path
    chance: random.Random
    done: Counter[str] = field(default_factory=Counter)
    kept: tuple[Path, dict[str, Objects]] | None = None
    backups: int = 0
    fresh: Backup | None = None

    def run(self, name: str, seconds: float, *, kill: bool) -> None:
        """Run clients for some seconds beside an operator.

        Args:
            kill: kill the server at the end, and start it again.
        """
        world = self.world
        restores = name == "restore"
        if restores and self.kept is None:
            name, restores = "backup", False
        with world.clients(partial(self._operate, OPERATORS[name]), writers=not restores):
            time.sleep(seconds)
            if kill:
                self.done["kill of the server"] += 1
                world.kill()
        if kill:
            self.start()
        if self.fresh is not None:
            self._compare(self.fresh)
            self.fresh = None
        world.settle()
        world.verify()

    def start(self) -> None:
        """Start the server with the clock that jumps."""
        with self.clock:
            self.world.start()

    def _compare(self, backup: Backup) -> None:
        """Restore a backup into another folder, compare it with the histories, and remove older backups."""
        scratch = self.folder / "scratch"
        self.kept = backup.folder, self.world.check_backup(backup, scratch)
        shutil.rmtree(scratch)
        for old in self.folder.glob("backup-*"):
            if old != backup.folder:
                shutil.rmtree(old)

    def _operate(self, work: "Operator", stopped: threading.Event) -> None:
        with Peer(self.world.server, "control") as control:
            control.socket.settimeout(TRIGGER_S)
            work(self, control, stopped)

    def trigger(self, control: Peer, action: str) -> None:
        """Send TRIGGER with an action. Raises ConnectionError if the server does not answer OK."""
        answer = control.ask(f"TRIGGER {action}")
        if answer != "OK":
            raise ConnectionError(f"TRIGGER {action} was answered {answer!r}")
        self.done[action.split()[0]] += 1

    def ping(self, control: Peer) -> None:
        """Send PING. Raises ConnectionError if the server does not answer."""
        answer = control.ask("PING")
        if answer != "PONG":
            raise ConnectionError(f"PING was answered {answer!r}")


Operator = Callable[[Rounds, Peer, threading.Event], None]


def quiet(rounds: Rounds, control: Peer, stopped: threading.Event) -> None:
    """Do nothing: leave the server to its clients."""
    while not stopped.wait(STEP_S):
        rounds.ping(control)


def consolidate(rounds: Rounds, control: Peer, stopped: threading.Event) -> None:
    """Consolidate every STEP_S seconds, until `stopped` is set."""
    while not stopped.wait(STEP_S):
        rounds.trigger(control, "consolidate")


def back_up(rounds: Rounds, control: Peer, stopped: threading.Event) -> None:
    """Back the index up once."""
    rounds.backups += 1
    rounds.fresh = rounds.world.back_up(control, rounds.folder / f"backup-{rounds.backups}")
    rounds.done["backup"] += 1


def restore(rounds: Rounds, control: Peer, stopped: threading.Event) -> None:
    """Restore the last backup while others read."""
    assert rounds.kept is not None, "rounds make a backup first"
    folder, states = rounds.kept
    stopped.wait(rounds.chance.uniform(0, 0.5))
    rounds.world.begin_restore(states, time.monotonic_ns())
    rounds.trigger(control, f"restore {folder}")
    rounds.world.end_restore(states, time.monotonic_ns())


def kill_workers(rounds: Rounds, control: Peer, stopped: threading.Event) -> None:
    """Kill worker processes while they build graphs; each job has to be finished nevertheless."""
    done = threading.Event()
    pid = rounds.world.server.pid

    def kill() -> None:
        killed: set[int] = set()
        while not done.wait(rounds.chance.uniform(0.3, 1.5)):
            for child in children(pid):
                if child not in killed and b"spawn_main" in command_of(child):
                    killed.add(child)
                    os.kill(child, signal.SIGKILL)
                    rounds.done["kill of a worker"] += 1

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        while not stopped.wait(STEP_S):
            rounds.trigger(control, "consolidate")
    finally:
        done.set()
        killer.join()


def jump(rounds: Rounds, control: Peer, stopped: threading.Event) -> None:
    """Set the server's clock forward and back."""
    while not stopped.wait(STEP_S):
        rounds.clock.shift(rounds.chance.choice(JUMPS_S))
        rounds.done["jump of the clock"] += 1
        rounds.ping(control)
    rounds.clock.shift(0.0)


def fill_disk(rounds: Rounds, control: Peer, stopped: threading.Event) -> None:
    """Fill the disk, and free it again."""
    while not stopped.wait(1.0):
        filler = fill(rounds.folder)
        rounds.done["full disk"] += 1
        stopped.wait(1.0)
        filler.unlink()
        stopped.wait(1.0)


OPERATORS: dict[str, Operator] = {
    "quiet": quiet,
    "consolidate": consolidate,
    "backup": back_up,
    "restore": restore,
    "workers": kill_workers,
    "clock": jump,
    "disk": fill_disk,
}


def command_of(pid: int) -> bytes:
    """Return the command line of a process, b"" if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
