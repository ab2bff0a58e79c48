"""Write the figures of results.json into the pages of docs/benchmarks, and draw their plots.

    python -m benchmarks.published.pages [RESULTS.json] [FOLDER]

A page says where they go: between `<!-- S1 -->` and `<!-- end -->`.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.published.__main__ import IN_DOCS
from benchmarks.published.plots import draw
from benchmarks.published.table import about, rounded, tables
from tests.support.paths import ROOT

PAGES = ROOT / "docs" / "benchmarks"
SLOT = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
SHOWN: tuple[tuple[str, str, str, str, str, str], ...] = (
    ("PUSH over one connection", "S1", "PUSH, 1 connection", "", "sonicpy", "Sonic"),
    ("QUERY of one to three words", "S1", "QUERY of one to three words, 1 connections", "", "sonicpy", "Sonic"),
    ("QUERY with a typo", "S1", "QUERY with a typo, 1 connections", "", "sonicpy", "Sonic"),
    ("one word, in process", "R3", "one word", "in process", "sonicpy", "tantivy"),
    ("both words, in process", "R3", "both words", "in process", "sonicpy", "SQLite FTS5"),
    ("a prefix, in process", "R4", "prefix", "in process", "sonicpy", "Reindexer, embedded"),
    ("a typo, in process", "R5", "typo", "in process", "sonicpy", "tantivy"),
    ("an update and a query that finds it", "R6", "update, then a query that finds it", "in process", "sonicpy",
     "Reindexer, embedded"),
    ("add, checked, 1,000 a commit", "Y1", "add, checked, 1000 a commit", "over", "sonicpy serve",
     "PostgreSQL, Unix socket"),
    ("get a key", "K1", "get", "in process", "sonicpy.keyvalue", "sqlite3"),
)  # fmt: skip
"""The first page: what, its row, case and place, our figure, and the peer beside it."""


def main() -> None:
    """Write the pages."""
    given = [Path(argument) for argument in sys.argv[1:3]]
    results = given[0] if given else IN_DOCS
    for path in write(results, given[1] if len(given) > 1 else PAGES):
        print(path)


def write(results: Path, folder: Path) -> list[Path]:
    """Fill the pages in a folder with results, and draw the plots beside them; return the files."""
    held = json.loads(results.read_text())
    written = []
    for page in sorted(folder.glob("*.md")):
        text = page.read_text()
        filled = SLOT.sub(lambda found: found[1] + content(held, found[2]) + found[3], text)
        if filled != text or SLOT.search(text):
            page.write_text(filled)
            written.append(page)
    return [*written, *draw(results, folder)]


def content(held: Mapping[str, Any], slot: str) -> str:
    """Return the lines that belong into a slot of a page, each with its line end."""
    if slot == "about":
        lines = [about(held)]
    elif slot == "summary":
        lines = ["| what | ours | | beside | | times |", "|---|---|---:|---|---:|---:|", *summary(held)]
    else:
        lines = [line.replace("### ", "## ") for line in tables(held, slot)]
    return "".join(f"{line}\n" for line in lines)


def summary(held: Mapping[str, Any]) -> list[str]:
    """Return the rows of the first page, without those that were not measured."""
    lines = []
    for what, row, case, place, ours, theirs in SHOWN:
        rates = {
            figure["peer"]: median(figure["rounds"])
            for figure in held["figures"]
            if figure["row"] == row
            and figure["case"] == case
            and figure["place"].startswith(place)
            and figure["rounds"]
        }
        if ours in rates and theirs in rates:
            share = rates[ours] / rates[theirs]
            lines.append(f"| {what} | {ours} | {rounded(rates[ours])}/s | {theirs} | {rounded(rates[theirs])}/s "
                         f"| x {share:,.{1 if share >= 10 else 2}f} |")  # fmt: skip
    return lines


if __name__ == "__main__":
    main()
