"""Count the instructions of each stage: unlike times, they are the same on a busy machine.

    python -m benchmarks.instructions [STAGE ...] [--write]

Each stage runs twice, in processes of their own, under `perf stat` where it can count, else under valgrind; the
difference of the counts over the difference of the lengths is what an operation takes, so that start and preparation
cancel out. The counts are held against those of instructions.tsv; --write puts them there.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.data import messages
from benchmarks.stages import STAGES, do

TABLE = Path(__file__).with_suffix(".tsv")
TEXTS = 1_600
SHORT, LONG = 600, 1_600
"""Operations of the two runs."""
PERF = ["perf", "stat", "-x,", "-e", "instructions:u"]
VALGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]


def main() -> None:
    """Print the table, or do the operations of one stage when called by itself."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {', '.join(STAGES)}; none: all")
    parser.add_argument("--write", action="store_true", help="put the counts into instructions.tsv")
    parser.add_argument("--operations", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = [stage for stage in arguments.stages if stage not in STAGES]
    if unknown:
        parser.error(f"there is no stage {unknown[0]}")
    if arguments.operations is not None:
        run_stage(arguments.stages[0], arguments.operations)
        return
    counter = find_counter()
    if counter is None:
        sys.exit("neither perf can count instructions here nor is valgrind installed")
    known = read_table()
    print(f"counted by {counter[0]}\n\n{'stage':20}{'instructions':>14}{'committed':>14}{'change':>10}")
    for stage in arguments.stages or STAGES:
        now = instructions(counter, stage)
        before = known.get(stage)
        change = f"{now / before - 1:+.1%}" if before else ""
        print(f"{stage:20}{now:14,}{before or 0:14,}{change:>10}", flush=True)
        known[stage] = now
    if arguments.write:
        write_table(known)


def run_stage(stage: str, operations: int) -> None:
    """Prepare a stage and do so many operations."""
    with tempfile.TemporaryDirectory() as folder:
        work = STAGES[stage](messages(TEXTS), Path(folder))
        do(work, range(operations))


def instructions(counter: list[str], stage: str) -> int:
    """Return how many instructions one operation of a stage takes."""
    return round((count(counter, stage, LONG) - count(counter, stage, SHORT)) / (LONG - SHORT))


def count(counter: list[str], stage: str, operations: int) -> int:
    """Return the instructions of a process that does so many operations.

    Raises:
        RuntimeError: it failed; the message holds what it said.
    """
    command = [*counter, sys.executable, "-m", "benchmarks.instructions", stage, "--operations", str(operations)]
    # One seed for hashes, so that dicts and sets are filled the same way every time.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = counted(run.stderr)
    if run.returncode or found is None:
        raise RuntimeError(f"{' '.join(command)} ended with status {run.returncode}:\n{run.stderr}")
    return found


def counted(said: str) -> int | None:
    """Return the count that perf or callgrind wrote, or None."""
    found = re.search(r"^(\d+),[^,]*,instructions", said, re.MULTILINE) or re.search(r"Collected : (\d+)", said)
    return int(found[1]) if found else None


def find_counter() -> list[str] | None:
    """Return the command that counts instructions on this machine, or None."""
    for command in (PERF, VALGRIND):
        if shutil.which(command[0]):
            run = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
            if counted(run.stderr) is not None:
                return command
    return None


def read_table() -> dict[str, int]:
    """Return the committed counts by stage."""
    if not TABLE.exists():
        return {}
    rows = (line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:])
    return {stage: int(number) for stage, number in rows}


def write_table(known: dict[str, int]) -> None:
    """Write the counts, in the order of the stages."""
    rows = [f"{stage}\t{known[stage]}" for stage in STAGES if stage in known]
    TABLE.write_text("\n".join(["stage\tinstructions an operation", *rows]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
