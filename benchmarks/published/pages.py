"""Write the figures of results.json into the pages of docs/benchmarks, draw their plots, and write all figures as CSV.

    python -m benchmarks.published.pages [RESULTS.json] [FOLDER]

In a page, rows go between comments such as `<!-- S -->` and `<!-- end -->`. SHOWN lists the rows of each; the files in
`data` hold every figure.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.as_csv import rows_as_csv
from benchmarks.published.__main__ import IN_DOCS
from benchmarks.published.plots import draw
from benchmarks.published.table import CLIENT, IN_PROCESS, NETWORK, about, note_of, rounded
from tests.support.paths import ROOT

PAGES = ROOT / "docs" / "benchmarks"
SLOT = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
DATA = {"S": "sonic", "R": "reindexer", "Y": "synapse", "K": "sniper", "L": "letarette"}
"""Letter of rows -> the name of the file with all their figures."""
COLUMNS = (
    "row", "place", "case", "peer", "median", "unit", "lowest", "highest",
    "CPU us", "in flight", "after a crash", "note",
)  # fmt: skip

ONE = "QUERY of one to three words, 1 connections"
TYPO, UPDATE = "QUERY with a typo, 1 connections", "update, then a query that finds it"
ADD, NEW = "add, checked, 1000 a commit", "add, known to be new, 1000 a commit"
OURS, SERVED, TYPED, KEYS, CLUSTER = (
    "sonicpy", "sonicpy serve", "sonicpy serve, words as typed", "sonicpy.keyvalue", "3 nodes of a cluster",
)  # fmt: skip
SEARCHING = "sonicpy serve, a search process"
SONIC, TANTIVY, FTS5, REINDEXER = "Sonic", "tantivy", "SQLite FTS5", "Reindexer, embedded"
POSTGRES = "PostgreSQL, Unix socket"
SHOWN: Mapping[str, tuple[tuple[str, str, str, str, str, str], ...]] = {
    "summary": (
        ("PUSH over one connection", "S1", "PUSH, 1 connection", NETWORK, OURS, SONIC),
        ("QUERY of one to three words", "S1", ONE, NETWORK, OURS, SONIC),
        ("QUERY with a typo", "S1", TYPO, NETWORK, OURS, SONIC),
        ("one word, in process", "R3", "one word", IN_PROCESS, OURS, TANTIVY),
        ("both words, in process", "R3", "both words", IN_PROCESS, OURS, FTS5),
        ("a prefix, in process", "R4", "prefix", IN_PROCESS, OURS, REINDEXER),
        ("a typo, in process", "R5", "typo", IN_PROCESS, OURS, TANTIVY),
        ("an update and a query that finds it", "R6", UPDATE, IN_PROCESS, OURS, REINDEXER),
        ("add, checked, 1,000 a commit", "Y1", ADD, CLIENT, SERVED, POSTGRES),
        ("get a key", "K1", "get", IN_PROCESS, KEYS, "sqlite3"),
    ),
    "S": (
        ("S1, PUSH, one connection", "S1", "PUSH, 1 connection", NETWORK, OURS, SONIC),
        ("S1, QUERY of one to three words, one connection", "S1", ONE, NETWORK, OURS, SONIC),
        ("S1, QUERY with a typo", "S1", TYPO, NETWORK, OURS, SONIC),
        ("S1, consolidate at 1,000,000 texts", "S1", "consolidate at 1000000 texts", NETWORK, OURS, SONIC),
        ("S2, push articles and consolidate", "S2", "push and consolidate", NETWORK, OURS, SONIC),
        ("S3, questions", "S3", "questions found again", IN_PROCESS, OURS, TANTIVY),
    ),
    "R": (
        ("R1, by number, in process", "R1", "by number", IN_PROCESS, OURS, TANTIVY),
        ("R2, one condition, in process", "R2", "one condition", IN_PROCESS, OURS, FTS5),
        ("R2, two conditions, in process", "R2", "two conditions", IN_PROCESS, OURS, FTS5),
        ("R2, one condition, 50 connections", "R2", "one condition", NETWORK, SEARCHING, POSTGRES),
        ("R3, one word, in process", "R3", "one word", IN_PROCESS, OURS, TANTIVY),
        ("R3, both words, in process", "R3", "both words", IN_PROCESS, OURS, TANTIVY),
        ("R3, either word, 50 connections", "R3", "either word", NETWORK, SERVED, SONIC),
        ("R4, in process", "R4", "prefix", IN_PROCESS, OURS, TANTIVY),
        ("R5, in process", "R5", "typo", IN_PROCESS, OURS, TANTIVY),
        ("R6, in process", "R6", UPDATE, IN_PROCESS, OURS, REINDEXER),
    ),
    "Y": (
        ("Y1, add, checked, in process", "Y1", ADD, IN_PROCESS, OURS, "lmdb"),
        ("Y1, through a client", "Y1", ADD, CLIENT, SERVED, POSTGRES),
        ("Y3, look up, in process", "Y3", "look up", IN_PROCESS, OURS, "lmdb"),
        ("Y4, add over three servers", "Y4", "add over 3 servers", NETWORK, CLUSTER, SERVED),
    ),
    "K": (
        *((f"K1, {case}", "K1", case, IN_PROCESS, KEYS, "lmdb") for case in ("set", "get", "delete")),
        ("K2, set beside a reader", "K2", "set beside a reader", IN_PROCESS, KEYS, "lmdb"),
        *((f"K4, {case}", "K4", case, NETWORK, SERVED, SONIC) for case in ("PING", "PUSH", "QUERY")),
    ),
    "L": (
        ("L1, load articles", "L1", "load articles", NETWORK, "3 sonicpy serve", "3 Sonic"),
        *((f"L2, {case}, 10 agents", "L2", f"{case}, 10 agents", NETWORK, ours, "3 Sonic")
          for case in ("mixed", "suggest") for ours in ("3 sonicpy serve", CLUSTER)),
        ("L3, the first 100 queries after a start", "L3", "the first 100 queries after a start", NETWORK,
         "3 sonicpy serve", CLUSTER),
    ),
}  # fmt: skip
"""Slot of a page -> (text, row, case, place, figure of sonicpy, peer to compare with) of each line."""


def main() -> None:
    """Write the pages."""
    given = [Path(argument) for argument in sys.argv[1:3]]
    results = given[0] if given else IN_DOCS
    for path in write(results, given[1] if len(given) > 1 else PAGES):
        print(path)


def write(results: Path, folder: Path) -> list[Path]:
    """Fill the pages in a folder with results, write plots beside them and all figures below; return the files."""
    held = json.loads(results.read_text())
    written = []
    for page in sorted(folder.glob("*.md")):
        text = page.read_text()
        filled = SLOT.sub(lambda found: found[1] + content(held, found[2]) + found[3], text)
        if filled != text or SLOT.search(text):
            page.write_text(filled)
            written.append(page)
    return [*written, *write_data(held, folder / "data"), *draw(results, folder)]


def write_data(held: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the figures of each benchmark that was measured as CSV; return the files."""
    folder.mkdir(exist_ok=True)
    written = []
    for letter, name in DATA.items():
        own = [cells(figure) for figure in held["figures"] if figure["row"].startswith(letter)]
        if own:
            path = folder / f"{name}.csv"
            path.write_text(rows_as_csv([COLUMNS, *own]))
            written.append(path)
    return written


def cells(figure: Mapping[str, Any]) -> list[str]:
    """Return a figure as a row of a CSV file."""
    rates = figure["rounds"]
    spread = [rounded(min(rates)), rounded(max(rates))] if len(rates) > 1 else ["", ""]
    middle = ["", ""] if figure["median"] is None else [rounded(figure["median"]), figure["unit"].strip()]
    cpu = "" if figure["cpu_us"] is None else f"{figure['cpu_us']:.1f}"
    named = [figure[what] for what in ("row", "place", "case", "peer")]
    return [*named, *middle, *spread, cpu, figure["in_flight"], figure["durability"], note_of(figure)]


def content(held: Mapping[str, Any], slot: str) -> str:
    """Return the lines for a slot of a page, each with its line end."""
    lines = [about(held)] if slot == "about" else [
        "| | ours | beside | times as fast |", "|---|---:|---:|---:|", *shown(held, slot)
    ]  # fmt: skip
    return "".join(f"{line}\n" for line in lines)


def shown(held: Mapping[str, Any], slot: str) -> list[str]:
    """Return the rows of a slot, without those that were not measured."""
    lines = []
    for what, row, case, place, ours, theirs in SHOWN[slot]:
        found = {
            figure["peer"]: figure
            for figure in reversed(held["figures"])  # of several depths of a pipe, the first is taken
            if (figure["row"], figure["case"], figure["place"]) == (row, case, place) and figure["rounds"]
        }
        if ours in found and theirs in found:
            first, second = found[ours], found[theirs]
            share = median(first["rounds"]) / median(second["rounds"])
            times = share if first["unit"].endswith("/s") else 1 / share
            lines.append(
                f"| {what} | {ours}: {with_share(first)} | {theirs}: {with_share(second)} "
                f"| x {times:,.{1 if times >= 10 else 2}f} |"
            )
    return lines


def with_share(figure: Mapping[str, Any]) -> str:
    """Return the median of a figure, and the share of right answers if it was measured."""
    share = re.search(r"(?:right|meant) in ([\d.]+%)$", figure["note"])
    right = f" ({share[1]} right)" if share else ""
    return f"{rounded(median(figure['rounds']))}{figure['unit']}{right}"


if __name__ == "__main__":
    main()
