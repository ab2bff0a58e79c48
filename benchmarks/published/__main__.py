"""Measure the rows of five published benchmarks with sonicpy and its peers on this machine.

    python -m benchmarks.published [--profile small|full|tiny] [--rows S1,R3,...] [--folder DIR]

`small` takes at most 8 minutes on two cores, `full` about an hour. The results are written to results.json and
results.md in the folder, which is benchmarks/published/results/PROFILE by default; results of other rows in the folder
are kept. The indexes go to a temporary folder.
"""

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.published import letarette_rows, reindexer_rows, sniper_rows, sonic_rows, synapse_rows
from benchmarks.published.profiles import PROFILES
from benchmarks.published.table import Table
from benchmarks.published.versions import versions

ROWS = {"S": sonic_rows, "R": reindexer_rows, "Y": synapse_rows, "K": sniper_rows, "L": letarette_rows}
NUMBERS = {"S": 4, "R": 6, "Y": 4, "K": 4, "L": 4}
RESULTS = Path(__file__).parent / "results"
IN_DOCS = RESULTS / "full" / "results.json"
"""The results that docs/benchmarks shows."""


def main() -> None:
    """Run the selected rows and write the results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.published", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = [f"{letter}{number}" for letter, count in NUMBERS.items() for number in range(1, count + 1)]
    parser.add_argument("--profile", choices=list(PROFILES), default="small")
    parser.add_argument("--rows", default=",".join(every), help="such as S1,R3 (default: all)")
    parser.add_argument("--folder", type=Path, help="where results.json and results.md go (default: see above)")
    arguments = parser.parse_args()
    rows = [row.strip().upper() for row in arguments.rows.split(",")]
    if unknown := [row for row in rows if row not in every]:
        parser.error(f"there is no row {unknown[0]}; allowed are {', '.join(every)}")
    folder = arguments.folder or RESULTS / arguments.profile
    table = Table(arguments.profile, lambda line: print(line, flush=True), versions=versions())
    table.keep(folder, except_rows=rows)
    profile = PROFILES[arguments.profile]
    with tempfile.TemporaryDirectory(prefix="sonicpy-published-") as work:
        for letter, module in ROWS.items():
            if any(row.startswith(letter) for row in rows):
                began = time.perf_counter()
                module.run(table, profile, Path(work, letter), rows.__contains__)
                print(f"{letter}: {time.perf_counter() - began:.0f} s", flush=True)
                table.write(folder)  # each time: `full` is long


if __name__ == "__main__":
    main()
