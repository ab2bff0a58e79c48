"""Run attacks and print one line for each: the number of attempts, and how many of them had a wrong result.

    python -m tests.attacks [NAME ...] [--scale .1] [--seed N]

All attacks stay on the loopback interface and in temporary folders, and end by themselves. The exit status is 1 if a
result was wrong.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.attacks.catalogue import attacks

WRONG_SHOWN = 10


def main() -> int:
    """Run the attacks that the command line names, or all of them; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.attacks", description="Attack sonicpy and count what breaks."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="the attacks to run (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the attempts, above 0 up to 1 (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="of the random choices (default: 1)")
    arguments = parser.parse_args()
    catalogue = attacks()
    unknown = sorted(set(arguments.names) - {attack.name for attack in catalogue})
    if unknown or not 0 < arguments.scale <= 1:
        known = ", ".join(attack.name for attack in catalogue)
        parser.error(f"unknown attacks {unknown}: {known}" if unknown else "--scale is above 0 and at most 1")
    failed = 0
    print(f"{'attack':<14} {'tried':>7} {'wrong':>6} {'seconds':>8}  what")
    for attack in catalogue:
        if arguments.names and attack.name not in arguments.names:
            continue
        with tempfile.TemporaryDirectory(prefix="sonicpy-attack-") as folder:
            began = time.monotonic()
            tried, wrong, note = attack.run(arguments.scale, arguments.seed, Path(folder))
            took = time.monotonic() - began
        said = f"{attack.title}; {note}" if note else attack.title
        print(f"{attack.name:<14} {tried:>7} {len(wrong):>6} {took:>8.1f}  {said}", flush=True)
        for sentence in wrong[:WRONG_SHOWN]:
            print(f"    {sentence}", flush=True)
        failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
