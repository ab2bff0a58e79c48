"""Search for differences between Sonic and compat mode.

    SONIC_BIN=/path/to/sonic python -m tests.differential [--count 5000] [--seed 1] [--write FOLDER]

It prints each difference as its smallest exchange, and at the end how many scenarios differ and why. Exit status 1 if a
difference is not on the list of deliberate ones. With --write, each such exchange is written as a transcript.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.differential.deliberate import explained
from tests.differential.judge import Difference, Judge
from tests.differential.scenario import Scenario, make
from tests.differential.shrink import shrink
from tests.support.server_process import find_sonic

EVERY_S = 60.0
TURNS_MAX = 30
"""The most differences that are examined in one scenario."""
SAME, UNEXPLAINED, ONCE = "the same", "unexplained", "differed, but not when it was played again"


def main() -> int:
    """Play the scenarios and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1, help="of the first scenario")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    sonic = find_sonic()
    if sonic is None:
        parser.error("Sonic is not installed: set SONIC_BIN to the path of its executable")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the servers end with the search
    with tempfile.TemporaryDirectory(prefix="differential-") as folder, Judge(Path(folder), sonic) as judge:
        counts = search(judge, range(arguments.seed, arguments.seed + arguments.count), arguments.write)
    for what, count in counts.most_common():
        print(f"{count:6} {what}")
    return 1 if counts[UNEXPLAINED] else 0


def search(judge: Judge, seeds: range, folder: Path | None) -> Counter[str]:
    """Play the scenarios of seeds; return the number of those that differ, by reason."""
    counts: Counter[str] = Counter()
    began = said = time.monotonic()
    seen: set[bytes] = set()
    for seed in seeds:
        for what in reasons(judge, make(seed), seen, folder):
            counts[what] += 1
        if time.monotonic() - said > EVERY_S:
            said = time.monotonic()
            print(f"# seed {seed}, {said - began:.0f} s: {dict(counts)}", flush=True)
    return counts


def reasons(judge: Judge, scenario: Scenario, seen: set[bytes], folder: Path | None) -> set[str]:
    """Return the reasons for the differences in a scenario: rows of deliberate differences, and UNEXPLAINED for others.

    The cause of a deliberate difference is removed from the scenario, and the rest is played again.
    """
    why: set[str] = set()
    for _ in range(TURNS_MAX):
        difference = judge.difference(scenario)
        if difference is None:
            return why or {SAME}
        meant = explained(judge, scenario, difference)
        if meant is None:
            break
        row, scenario = meant
        why.add(row)
    if difference is None or not judge.is_steady(scenario, difference):
        print(f"# seed {scenario.seed} differed once: {difference}", flush=True)
        return why | {ONCE}
    report(judge, scenario, difference, seen, folder)
    return why | {UNEXPLAINED}


def report(judge: Judge, scenario: Scenario, difference: Difference, seen: set[bytes], folder: Path | None) -> None:
    """Shrink and print a difference, unless an equal one was printed before."""
    found = {scenario: difference}

    def differs(smaller: Scenario) -> bool:
        difference = judge.difference(smaller)
        if difference is None or explained(judge, smaller, difference) is not None:
            return False
        found[smaller] = difference
        return True

    smallest = shrink(scenario, differs)
    difference = found[smallest]
    text = as_text(smallest, difference)
    kind = difference.step.line.split(b" ")[0] + difference.sonic + difference.ours
    if kind in seen:
        return
    seen.add(kind)
    print(text, flush=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed-{scenario.seed}.txt").write_text(text + "\n")


def as_text(scenario: Scenario, difference: Difference) -> str:
    """Return a scenario and its difference as text for people."""
    lines = [f"## seed {scenario.seed}, {scenario.profile}"]
    for step in scenario.steps:
        lines.append(f"{step.connection or 'restart'}> {step.line.decode('utf-8', 'backslashreplace')}")
    lines += [f"Sonic: {difference.sonic!r}", f"ours:  {difference.ours!r}"]
    lines += [
        f"  Sonic: {difference.sonic.decode(errors='replace').strip()}",
        f"  ours:  {difference.ours.decode(errors='replace').strip()}",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
