"""Cut the power of a recorded process at many moments, and judge the states that a simulated disk leaves.

    python -m tests.power [SCENARIO ...] [--states N] [--seed S] [--keep FOLDER]

It needs Linux and a C compiler. It prints one line for each scenario, and every wrong state with its number. The same
seed makes the same changes, but the timing of threads differs between recordings.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.power.broken import WAYS
from tests.power.changes import BUCKETS, Holds, changes, pictures
from tests.power.disk import Disk, states
from tests.power.judge import Promises, judge_changes, judge_import, outcome
from tests.power.workload import BOOT, BROKEN, RESTARTS, ROWS
from tests.support.disk_recorder import Event, read_events, recording

CHANGES = 300
RECOVERIES = 6
"""The number of states of the first scenario whose recovery is recorded, too."""
FAULTS_SHOWN = 3
Judge = Callable[[Path, Promises, list[Holds], int], int]


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded run.

    Attributes:
        before: the disk before the run.
        taken: the content of the index after each change.
        first: the number of changes on the disk before the run.
    """

    before: Disk
    events: list[Event]
    taken: list[Holds]
    first: int = 0


class Laboratory:
    """Records processes and cuts their power.

    Args:
        home: the folder for all files.
        keep: the folder for wrong states; None: they are not kept.
        broken: the protection that is broken on purpose, a key of WAYS; "": none.
    """

    def __init__(self, home: Path, seed: int, keep: Path | None, broken: str) -> None:
        self._broken = broken
        self._home = home
        self.seed = seed
        self._keep = keep
        self.made = changes(seed, CHANGES)
        self.taken = pictures(self.made)

    @property
    def live(self) -> Path:
        """The folder in which recorded processes work."""
        return self._home / "live"

    def record(self, scenario: str, first: int = 0, processes: int = 1) -> Recording:
        """Run the processes of a scenario, one after the other; return the recording of their writes. Raises
        AssertionError with the errors of a process that fails.
        """
        before = Disk(self.live)
        events = self._home / "events"
        events.unlink(missing_ok=True)
        environment = {
            **os.environ, **recording(self.live, events),
            BOOT: f"boot of {scenario}", BROKEN: self._broken,
        }  # fmt: skip
        arguments = [scenario, str(self.live), str(self.seed), str(first), str(CHANGES)]
        for _ in range(processes):
            done = subprocess.run(
                [sys.executable, "-m", "tests.power.workload", *arguments],
                env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise AssertionError(done.stderr)
        return Recording(before, read_events(events), self.taken, first)

    def cut(self, recording: Recording, judge: Judge, count: int, name: str) -> list[str]:
        """Judge `count` states that a recording may leave; return the faults."""
        faults = []
        disk, seed = deepcopy(recording.before), f"{name} {self.seed}"
        for turn, (moment, dice) in enumerate(states(disk, recording.events, count, seed)):
            state = self._home / "state"
            disk.leave(dice, state)
            promises = Promises(disk.replies, recording.first)
            fault = outcome(partial(judge, state, promises, recording.taken, turn))
            if fault is not None:
                faults.append(f"{seed}, state {turn}, cut after event {moment} of {len(recording.events)}: {fault}")
                if self._keep is not None:
                    self._keep.mkdir(parents=True, exist_ok=True)
                    disk.leave(random.Random(f"{seed}-{turn}"), self._keep / f"{seed}-{turn}".replace(" ", "-"))
            shutil.rmtree(state)
        return faults

    def start(self) -> None:
        """Empty the folder of recorded processes."""
        shutil.rmtree(self.live, ignore_errors=True)
        self.live.mkdir()

    def start_with(self, disk: Disk, dice: random.Random) -> int:
        """Write a state that a loss of power may leave into the recorded folder; return the number of its changes."""
        shutil.rmtree(self.live)
        disk.leave(dice, self.live)
        copy = self._home / "state"
        shutil.copytree(self.live, copy)
        promises = Promises(disk.replies, 0)
        numbers = [number for number in range(promises.synced, promises.begun + 1) if self._holds(copy, number)]
        shutil.rmtree(copy)
        return numbers[-1]

    def _holds(self, folder: Path, number: int) -> bool:
        exact = Promises([f"reply begun {number}", f"reply synced {number}"], 0)
        return outcome(partial(judge_changes, folder, exact, self.taken, 1)) is None


def of_changes(scenario: str, laboratory: Laboratory, count: int) -> list[str]:
    """Cut the power while changes are made; return the faults."""
    laboratory.start()
    return laboratory.cut(laboratory.record(scenario), judge_changes, count, scenario)


def of_restart(scenario: str, laboratory: Laboratory, count: int) -> list[str]:
    """Cut the power while changes are made by processes that are killed, one after the other, in one boot; return the
    faults.
    """
    laboratory.start()
    return laboratory.cut(laboratory.record(scenario, processes=RESTARTS), judge_changes, count, scenario)


def of_import(scenario: str, laboratory: Laboratory, count: int) -> list[str]:
    """Cut the power while a file is imported; return the faults."""
    laboratory.start()
    rows = {
        oid: words
        for oid, held in laboratory.taken[CHANGES // 2][BUCKETS[0]].items()
        if (words := frozenset(filter(str.isalpha, held)))
    }
    lines = [{"id": oid, "bucket": BUCKETS[0], "text": " ".join(words), "lang": "none"} for oid, words in rows.items()]
    (laboratory.live / ROWS).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    recording = replace(laboratory.record(scenario), taken=[{BUCKETS[0]: rows}])
    return laboratory.cut(recording, judge_import, count, scenario)


def of_recovery(scenario: str, laboratory: Laboratory, count: int) -> list[str]:
    """Cut the power while a store recovers from a loss of power, and while it is changed afterwards; return the
    faults.
    """
    laboratory.start()
    recording = laboratory.record("interval")
    faults = []
    disk = deepcopy(recording.before)
    for turn, (_, dice) in enumerate(states(disk, recording.events, RECOVERIES, f"{scenario} {laboratory.seed}")):
        first = laboratory.start_with(disk, dice)
        again = laboratory.record(scenario, first)
        faults += laboratory.cut(again, judge_changes, -(-count // RECOVERIES), f"{scenario} {turn}")
    return faults


SCENARIOS: dict[str, Callable[[str, Laboratory, int], list[str]]] = {
    "interval": of_changes,
    "commit": of_changes,
    "restart": of_restart,
    "import": of_import,
    "recovery": of_recovery,
}


def main() -> None:
    """Run the scenarios of the arguments."""
    parser = argparse.ArgumentParser("python -m tests.power", description=__doc__.partition("\n")[0])
    parser.add_argument("scenario", nargs="*", choices=[*SCENARIOS, []], help="default: all")
    parser.add_argument(
        "--states", type=int, default=5_000, metavar="N", help="of all scenarios (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the states that are wrong here")
    parser.add_argument("--break", dest="broken", choices=[*WAYS], default="", help="break this on purpose")
    arguments = parser.parse_args()
    scenarios = arguments.scenario or [*SCENARIOS]
    memory = Path("/dev/shm")
    wrong = 0
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as home:
        laboratory = Laboratory(Path(home), arguments.seed, arguments.keep, arguments.broken)
        for scenario in scenarios:
            count = arguments.states // len(scenarios)
            faults = SCENARIOS[scenario](scenario, laboratory, count)
            wrong += len(faults)
            print(f"{scenario}: {count} states, {len(faults)} wrong", flush=True)
            for fault in faults[:FAULTS_SHOWN]:
                print(fault, file=sys.stderr)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
