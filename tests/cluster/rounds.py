"""Cause every fault of a cluster many times under load, and print in how many rounds no acknowledged change was lost.

    python -m tests.cluster.rounds [ROUNDS] [--workers N] [--only EXPRESSION]

Each round of a fault begins with a new cluster of three brokers and three nodes. Afterwards the judge compares the
acknowledgements with every replica, and every replica with a replay of the log that shares no code with the nodes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from tests.cluster.conftest import FAULTS

FOLDER = Path(__file__).parent


def main() -> int:
    """Run the rounds, print a row for each fault; return 1 if a round failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.rounds", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rounds", metavar="ROUNDS", type=int, nargs="?", default=20)
    parser.add_argument("--workers", type=int, default=1, help="clusters at a time (default: 1)")
    parser.add_argument("--only", default="", help="the faults whose tests this names, as -k of pytest reads it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        files = [str(FOLDER / f"{name}.py") for name in FAULTS]
        chosen = ["-n", str(given.workers), "-k", given.only]
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", "full", *chosen, f"--junit-xml={report}", *files],
            env={**os.environ, "SONICPY_FAULT_ROUNDS": str(given.rounds)},
            check=False,
        )
        results = ElementTree.parse(report).getroot().iter("testcase")
        return print_table(results)


def print_table(results: Iterable[ElementTree.Element]) -> int:
    """Print a row for each fault; return 1 if a round failed."""
    passed: dict[str, list[float]] = defaultdict(list)
    failed: dict[str, int] = defaultdict(int)
    for result in results:
        name = fault_of(result.get("name", ""))
        kinds = {kind.tag for kind in result}
        if kinds & {"failure", "error"}:
            failed[name] += 1
        elif "skipped" not in kinds:
            passed[name].append(float(result.get("time", 0)))
    print("\n| fault | rounds | nothing lost | seconds a round |\n| --- | ---: | ---: | ---: |")
    for name in dict.fromkeys([*passed, *failed]):
        good, bad = passed[name], failed[name]
        seconds = sum(good) / len(good) if good else 0.0
        print(f"| {name} | {len(good) + bad} | {len(good)} | {seconds:.1f} |")
    return 1 if any(failed.values()) else 0


def fault_of(test: str) -> str:
    """Return the fault that a test causes, from its name without the number of the round."""
    name, _, parameters = test.removeprefix("test_").partition("[")
    shown = "-".join(part for part in parameters.rstrip("]").split("-") if not part.startswith("round"))
    return name.replace("_", " ") + (f" ({shown})" if shown else "")


if __name__ == "__main__":
    sys.exit(main())
