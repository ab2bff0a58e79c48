"""Colours and units, where people read: on a terminal, unless NO_COLOR is set (https://no-color.org)."""

import os
import sys

CODES = {"dim": "2", "bold": "1", "good": "32", "near": "33"}
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
STEP = 1024


def are_shown() -> bool:
    """Return whether stdout is a terminal that shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str, name: str) -> str:
    """Return a text in one of CODES, if colours are shown."""
    return f"\x1b[{CODES[name]}m{text}\x1b[0m" if are_shown() else text


def sized(number: float) -> str:
    """Return a number of bytes with a unit, such as `64 GiB`."""
    place = 0
    while number >= STEP and place < len(UNITS) - 1:
        number, place = number / STEP, place + 1
    return f"{number:.0f} {UNITS[place]}" if place == 0 or number >= 100 else f"{number:.1f} {UNITS[place]}"
