"""Run clients for a long time beside all faults of a server that can be provoked, and check every answer.

    python -m benchmarks.soak [--minutes 60] [--folder DIR] [--seed N]

In the first third, the storm, the server is killed repeatedly; after that it is not, so that its memory can be judged.
In both parts, workers are killed, the clock jumps, and backups, restores and consolidations run. Rounds with a full
disk use another server on a small disk in memory. The exit status is 1 if an answer was wrong, a change was lost or
undone, or memory, descriptors, disk space or latencies grew. samples.jsonl, plots and faults.txt are written to the
folder.
"""

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.soak.clock import Clock
from benchmarks.soak.rounds import Rounds
from benchmarks.soak.samples import Sample, Sampler, draw, judge
from benchmarks.soak.world import World

STORM = 1 / 3
SETTLE = 0.1
"""The share of the time after the last kill that does not count, because caches fill and worker processes start."""
ROUND_S = (2.0, 6.0)
NAMES = ("quiet", "consolidate", "backup", "restore", "workers", "clock")
DISK_EVERY = 12
"""One in this many rounds has a full disk."""
DISK_BYTES = 48 << 20
FAULTS_SHOWN = 20


def main() -> int:
    """Run the soak; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument("--folder", type=Path, help="gets the results; must not exist (default: a temporary folder)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**9), help="of the order of rounds")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="sonicpy-soak-"))
    if arguments.folder is not None and folder.exists():
        parser.error(f"--folder {folder} exists; the results go into a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {arguments.seed}, results in {folder}", flush=True)
    return 1 if soak(folder, arguments.minutes * 60, arguments.seed) else 0


def soak(folder: Path, seconds: float, seed: int) -> list[str]:
    """Run for some seconds, write the results into the folder, and return a sentence for each fault.

    Args:
        seed: decides all random choices.
    """
    clock = Clock(folder)
    if clock.missing:
        print(f"no jumps of the clock: {clock.missing}")
    rounds = Rounds(World(folder / "server"), clock, folder, random.Random(seed))
    rounds.start()
    try:
        with (
            Sampler(rounds.world, folder / "server" / "store", folder / "samples.jsonl") as sampler,
            small_disk(folder) as disk,
        ):
            small = None if disk is None else Rounds(World(disk, may_be_refused=True), clock, disk, rounds.chance)
            run_rounds(rounds, small, sampler, seconds)
        if rounds.world.pid is not None:
            rounds.world.stop()
    finally:
        if rounds.world.pid is not None:
            rounds.world.kill()
    worlds = [one.world for one in (rounds, small) if one is not None]
    print(", ".join(f"{number:,} {name}" for name, number in sorted(rounds.done.items())))
    changes, reads = sum(world.changes for world in worlds), sum(world.reads for world in worlds)
    print(
        f"{changes:,} changes and {reads:,} reads compared, {sum(world.refused for world in worlds):,} changes refused"
    )
    faults = [*(fault for world in worlds for fault in world.faults), *grown(sampler.samples, SETTLE * seconds)]
    for path in draw(sampler.samples, folder):
        print(path)
    (folder / "faults.txt").write_text("".join(f"{fault}\n" for fault in faults), encoding="utf-8")
    print(f"{len(faults)} wrong")
    for fault in faults[:FAULTS_SHOWN]:
        print(fault)
    return faults


def run_rounds(rounds: Rounds, small: Rounds | None, sampler: Sampler, seconds: float) -> None:
    """Run rounds of all kinds in turn until the time is over or a fault is found."""
    names = [name for name in NAMES if name != "clock" or not rounds.clock.missing]
    began = time.monotonic()
    for count in itertools.count():
        passed = time.monotonic() - began
        if passed >= seconds or rounds.world.faults or (small is not None and small.world.faults):
            return
        rounds.done["rounds"] += 1
        if small is not None and count % DISK_EVERY == DISK_EVERY - 1:
            run_with_full_disk(small)
            rounds.done["full disk"] += small.done.pop("full disk", 0)
            continue
        is_storm = passed < STORM * seconds
        sampler.calm = not is_storm
        rounds.run(names[count % len(names)], rounds.chance.uniform(*ROUND_S), kill=is_storm)


def grown(samples: list[Sample], settle_s: float) -> list[str]:
    """Print each figure at the beginning and at the end; return a sentence for each that grew."""
    faults = []
    for field, first, last, most in judge(samples, settle_s):
        print(f"{field:14} {first:9.1f} at the begin, {last:9.1f} at the end, at most {most:9.1f}")
        if last > most:
            faults.append(f"{field} grew from {first:.1f} to {last:.1f}")
    return faults


def run_with_full_disk(small: Rounds) -> None:
    """Run clients on a disk that is sometimes full; kill the server, and compare."""
    small.start()
    small.run("disk", 6.0, kill=True)
    small.world.stop()


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """Mount a small disk in memory inside a `with` block; None: this machine does not allow the mount."""
    place = folder / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "sonicpy-soak", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        refused = done.stderr.strip() if done.returncode else ""
    except FileNotFoundError as error:
        refused = str(error)
    if refused:
        print(f"no full disk: {refused}")
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


if __name__ == "__main__":
    sys.exit(main())
