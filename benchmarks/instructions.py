"""Count the instructions of each stage. Unlike times, counts do not change on a busy machine.

    python -m benchmarks.instructions [STAGE ...] [--write]

Each stage runs twice, each time in a new process, under `perf stat` if perf can count on this machine, else under
valgrind. The difference of the counts, divided by the difference of the numbers of operations, is the cost of an
operation: start and preparation cancel out. The table shows the change against instructions.tsv; --write updates that
file.
"""

import argparse
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.stages import STAGES, do
from tests.support.texts import messages

TABLE = Path(__file__).with_suffix(".tsv")
TEXTS = 1_600
SHORT, LONG = 600, 1_600
"""The numbers of operations of the two runs."""
PERF = ["perf", "stat", "-x,", "-e", "instructions:u"]
VALGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]


def main() -> None:
    """Print the table; in a process that this program started, run one stage."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"any of {', '.join(STAGES)} (default: all)")
    parser.add_argument("--write", action="store_true", help="write the counts to instructions.tsv")
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
        sys.exit("needs perf with the right to count instructions, or valgrind")
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
    """Prepare a stage and do `operations` operations."""
    with tempfile.TemporaryDirectory() as folder:
        work = STAGES[stage](messages(TEXTS), Path(folder))
        # A full collection costs by what is loaded, and falls into one of the two runs by chance.
        gc.collect()
        gc.freeze()
        do(work, range(operations))


def instructions(counter: list[str], stage: str) -> int:
    """Return the number of instructions of one operation of a stage."""
    return round((count(counter, stage, LONG) - count(counter, stage, SHORT)) / (LONG - SHORT))


def count(counter: list[str], stage: str, operations: int) -> int:
    """Return the number of instructions of a process that does `operations` operations of a stage.

    Raises:
        RuntimeError: the process failed; the message holds its output.
    """
    command = [*counter, sys.executable, "-m", "benchmarks.instructions", stage, "--operations", str(operations)]
    # With a fixed hash seed, dicts and sets do the same work in each run.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = parse_counter(run.stderr)
    if run.returncode or found is None:
        raise RuntimeError(f"{' '.join(command)} ended with status {run.returncode}:\n{run.stderr}")
    return found


def parse_counter(output: str) -> int | None:
    """Return the count in the output of perf or callgrind, or None."""
    found = re.search(r"^(\d+),[^,]*,instructions", output, re.MULTILINE) or re.search(r"Collected : (\d+)", output)
    return int(found[1]) if found else None


def find_counter() -> list[str] | None:
    """Return the command that counts instructions on this machine, or None if there is none."""
    for command in (PERF, VALGRIND):
        if shutil.which(command[0]):
            run = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
            if parse_counter(run.stderr) is not None:
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
    TABLE.write_text("\n".join(["stage\tinstructions per operation", *rows]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
