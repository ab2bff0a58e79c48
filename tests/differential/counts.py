"""Count how many real texts give another number of words in compat mode than in Sonic, without LANG.

    SONIC_BIN=/path/to/sonic python -m tests.differential.counts [--count 2500]

Pushes messages and sentences in many languages, evenly spread over their files, and asks both servers for COUNTO of
each. Prints how many differ, and of the sentences the languages that differ most.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from sonicpy.lexer.sonic_language import has_whatlang
from tests.differential.scenario import INGEST, Scenario, Step
from tests.differential.servers import Player
from tests.support.paths import SHARED
from tests.support.server_process import find_sonic
from tests.support.texts import quoted

FILES = {"messages": SHARED / "messages" / "messages.tsv", "sentences": SHARED / "multilingual" / "sentences.tsv"}
LANGUAGES_MAX = 12
"""How many languages are printed."""


class Row(NamedTuple):
    """A text, and the first column of its file: of a sentence, its language."""

    label: str
    text: str


def main() -> int:
    """Print the table and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.counts", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2500, help="texts of each file")
    arguments = parser.parse_args()
    sonic = find_sonic()
    if sonic is None:
        parser.error("Sonic is not installed: set SONIC_BIN to the path of its executable")
    missing = [str(path) for path in FILES.values() if not path.exists()]
    if missing:
        parser.error(f"there is no {missing[0]}")
    print(f"the extra [compat] is {'' if has_whatlang() else 'not '}installed")
    for name, path in FILES.items():
        rows = spread(path, arguments.count)
        wrong = [row for row, differs in zip(rows, differing(rows, sonic), strict=True) if differs]
        print(f"{name}: {len(wrong)} of {len(rows)} differ")
    most = Counter(row.label for row in wrong).most_common(LANGUAGES_MAX)
    print("sentences that differ, by language:", ", ".join(f"{label} {count}" for label, count in most))
    return 0


def spread(path: Path, count: int) -> list[Row]:
    """Return `count` rows of a file, evenly spread over it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [lines[number * len(lines) // count].split("\t") for number in range(min(count, len(lines)))]
    return [Row(row[0], row[-1]) for row in rows]


def differing(rows: list[Row], sonic: str) -> list[bool]:
    """Return for each text whether the servers count its words differently."""
    with tempfile.TemporaryDirectory(prefix="counts-") as folder:
        theirs, ours = (counted(rows, Path(folder, name), binary) for name, binary in (("s", sonic), ("o", None)))
    return [one != other for one, other in zip(theirs, ours, strict=True)]


def counted(rows: list[Row], folder: Path, binary: str | None) -> list[bytes]:
    """Return what a server answers to PUSH and COUNTO of each text."""
    steps = []
    for number, row in enumerate(rows):
        steps.append(Step(f"{INGEST} 1", f"PUSH {{c}} b {number} {quoted(row.text)}".encode()))
        steps.append(Step(f"{INGEST} 1", f"COUNTO {{c}} b {number}".encode()))
    with Player("Sonic" if binary else "ours", folder, "default", binary) as player:
        answers = player.play(Scenario(0, "default", tuple(steps)))
    return [push + count for push, count in zip(answers[::2], answers[1::2], strict=True)]


if __name__ == "__main__":
    sys.exit(main())
