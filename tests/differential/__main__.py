"""Search for differences between Sonic and compat mode.

    SONIC_BIN=/path/to/sonic python -m tests.differential [--count 5000] [--seed 1] [--write FOLDER]

Prints each difference as its smallest exchange, and at the end how many scenarios differ and why. Exit status 1 if a
difference is not on the list of deliberate ones. With --write, each such exchange is written as a transcript.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.differential.deliberate import reason
from tests.differential.judge import Difference, Judge
from tests.differential.scenario import Scenario, make
from tests.differential.shrink import shrink
from tests.support.server_process import find_sonic

EVERY_S = 60.0


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
    with tempfile.TemporaryDirectory(prefix="differential-") as folder, Judge(Path(folder), sonic) as judge:
        counts = search(judge, range(arguments.seed, arguments.seed + arguments.count), arguments.write)
    for what, count in counts.most_common():
        print(f"{count:6} {what}")
    return 1 if counts["unexplained"] else 0


def search(judge: Judge, seeds: range, folder: Path | None) -> Counter[str]:
    """Play the scenarios of seeds; return how many differ, by the reason."""
    counts: Counter[str] = Counter()
    began = said = time.monotonic()
    seen: set[bytes] = set()
    for seed in seeds:
        scenario = make(seed)
        difference = judge.difference(scenario)
        counts["the same" if difference is None else "unexplained"] += 1
        if difference is not None:
            why = explained(judge, scenario, seen, folder)
            if why is not None:
                counts["unexplained"] -= 1
                counts[why] += 1
        if time.monotonic() - said > EVERY_S:
            said = time.monotonic()
            print(f"# seed {seed}, {said - began:.0f} s: {dict(counts)}", flush=True)
    return counts


def explained(judge: Judge, scenario: Scenario, seen: set[bytes], folder: Path | None) -> str | None:
    """Shrink a difference and return why it is meant; print one that is not, unless the same was printed before."""
    smallest = shrink(scenario, lambda smaller: judge.difference(smaller) is not None)
    difference = judge.difference(smallest)
    if difference is None:
        return "seen once"
    why = reason(smallest, difference)
    if why is None:
        text = as_text(smallest, difference)
        kind = difference.step.line.split(b" ")[0] + difference.sonic + difference.ours
        if kind not in seen:
            seen.add(kind)
            print(text, flush=True)
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"seed-{scenario.seed}.txt").write_text(text + "\n")
    return why


def as_text(scenario: Scenario, difference: Difference) -> str:
    """Return a scenario and its difference for people."""
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
