"""Count the real texts whose number of words in compat mode differs from that in Sonic, without LANG.

    SONIC_BIN=/path/to/sonic python -m tests.differential.counts [--count 2500] [--without-extra]

It pushes messages and sentences in many languages, evenly spread over their files, and asks both servers for the COUNTO
of each. It prints how many differ and, for the sentences, the languages that differ most.
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
PROFILE = "default"
LANGUAGES_MAX = 12
"""The most languages that are printed."""


WITHOUT_EXTRA = "import runpy, sys; sys.modules['whatlang'] = None; runpy.run_module('sonicpy', run_name='__main__')"
"""A program that starts sonicpy as if the extra [compat] were not installed."""


class WithoutExtra(Player):
    """A sonicpy server without the extra [compat]."""

    def command(self) -> list[str]:
        python, _, _, *arguments = super().command()
        return [python, "-c", WITHOUT_EXTRA, *arguments]


class Row(NamedTuple):
    """A text, and the first column of its file; for a sentence, this is its language."""

    label: str
    text: str


def main() -> int:
    """Print the table and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.counts", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2500, help="texts of each file")
    parser.add_argument("--without-extra", action="store_true", help="guess as if [compat] were not installed")
    arguments = parser.parse_args()
    sonic = find_sonic()
    if sonic is None:
        parser.error("Sonic is not installed: set SONIC_BIN to the path of its executable")
    missing = [str(path) for path in FILES.values() if not path.exists()]
    if missing:
        parser.error(f"there is no {missing[0]}")
    has_extra = has_whatlang() and not arguments.without_extra
    print(f"with{'' if has_extra else 'out'} the extra [compat]")
    ours = Player if has_extra else WithoutExtra
    for name, path in FILES.items():
        rows = spread(path, arguments.count)
        wrong = [row for row, differs in zip(rows, differing(rows, sonic, ours), strict=True) if differs]
        print(f"{name}: {len(wrong)} of {len(rows)} differ")
    most = Counter(row.label for row in wrong).most_common(LANGUAGES_MAX)
    print("sentences that differ, by language:", ", ".join(f"{label} {count}" for label, count in most))
    return 0


def spread(path: Path, count: int) -> list[Row]:
    """Return `count` rows of a file, evenly spread over the file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [lines[number * len(lines) // count].split("\t") for number in range(min(count, len(lines)))]
    return [Row(row[0], row[-1]) for row in rows]


def differing(rows: list[Row], sonic: str, ours: type[Player]) -> list[bool]:
    """Return, for each text, whether the servers count its words differently."""
    with tempfile.TemporaryDirectory(prefix="counts-") as folder:
        theirs = counted(rows, Player("Sonic", Path(folder, "sonic"), PROFILE, sonic))
        found = counted(rows, ours("ours", Path(folder, "ours"), PROFILE, None))
    return [one != other for one, other in zip(theirs, found, strict=True)]


def counted(rows: list[Row], server: Player) -> list[bytes]:
    """Return the answers of a server to PUSH and COUNTO for each text."""
    steps = []
    for number, row in enumerate(rows):
        steps.append(Step(f"{INGEST} 1", f"PUSH {{c}} b {number} {quoted(row.text)}".encode()))
        steps.append(Step(f"{INGEST} 1", f"COUNTO {{c}} b {number}".encode()))
    with server as player:
        answers = player.play(Scenario(0, PROFILE, tuple(steps)))
    return [push + count for push, count in zip(answers[::2], answers[1::2], strict=True)]


if __name__ == "__main__":
    sys.exit(main())
