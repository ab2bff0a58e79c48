"""Colours, and units of numbers, for people: on a terminal, unless NO_COLOR is set (https://no-color.org)."""

import os
import re
import sys

CODES = {"dim": "2", "bold": "1", "good": "32", "near": "33"}
EXPLAINED = {
    r"  \d+\. .*  found (with every word|exactly|by the filter)": "good",
    r"  \d+\. ": "near",
    r" {5}": "dim",
    r"words:$|\d+ .* answer": "bold",
}
"""Pattern of the beginning of a line of an explanation -> its colour: objects by how they were found, and the parts."""
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
STEP = 1024


def are_shown() -> bool:
    """Return whether stdout is a terminal that shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str, name: str) -> str:
    """Return a text in one of CODES, if colours are shown."""
    return f"\x1b[{CODES[name]}m{text}\x1b[0m" if are_shown() else text


def painted(explanation: str) -> str:
    """Return an explanation with the colours of EXPLAINED, if colours are shown."""
    return "\n".join(map(_painted, explanation.split("\n"))) if are_shown() else explanation


def _painted(line: str) -> str:
    name = next((name for beginning, name in EXPLAINED.items() if re.match(beginning, line)), None)
    return line if name is None else coloured(line, name)


def sized(number: float) -> str:
    """Return a number of bytes with a unit, such as `64 GiB`."""
    place = 0
    while number >= STEP and place < len(UNITS) - 1:
        number, place = number / STEP, place + 1
    return f"{number:.0f} {UNITS[place]}" if place == 0 or number >= 100 else f"{number:.1f} {UNITS[place]}"
