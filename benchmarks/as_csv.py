"""Tables as CSV, for docs/benchmarks/data: numbers have no thousands separators and no "x" in front."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

NUMBER = re.compile(r"(?:x )?(-?[\d,]*\d(?:\.\d+)?)")
RULE = re.compile(r"[\s|:-]+")


def rows_as_csv(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells as CSV, the head first."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([plain(cell) for cell in row] for row in rows)
    return written.getvalue()


def markdown_as_csv(table: str) -> str:
    """Return a Markdown table as CSV; an empty first cell repeats the cell above it."""
    rows: list[list[str]] = []
    for line in table.splitlines():
        if not RULE.fullmatch(line):
            first, *others = (cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|"))
            rows.append([first or (rows[-1][0] if rows else ""), *others])
    return rows_as_csv(rows)


def plain(cell: str) -> str:
    """Return a cell; if it is a number, without thousands separators and a leading "x"."""
    number = NUMBER.fullmatch(cell)
    return number[1].replace(",", "") if number else cell
