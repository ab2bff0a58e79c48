"""Shrink a scenario with a difference: fewer steps, then shorter texts."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.differential.scenario import INFO, PLACE, Scenario

TRIALS_MAX = 150
TEXT = re.compile(rb'"(.*)"')

Differs = Callable[[Scenario], bool]


def shrink(scenario: Scenario, differs: Differs) -> Scenario:
    """Return the smallest scenario found that still has a difference, after at most TRIALS_MAX trials."""
    left = TRIALS_MAX
    found = True
    while found:
        found = False
        for smaller in smaller_ones(scenario):
            left -= 1
            if left < 0:
                return scenario
            if differs(smaller):
                scenario, found = smaller, True
                break
    return scenario


def smaller_ones(scenario: Scenario) -> Iterator[Scenario]:
    """Yield smaller scenarios, the smallest first."""
    steps = scenario.steps
    if scenario.is_fresh and INFO not in steps:
        yield replace(scenario, is_fresh=False)  # it needs no servers of its own
    size = len(steps) // 2
    while size:
        for start in range(0, len(steps), size):
            yield scenario.with_steps(steps[:start] + steps[start + size :])
        size //= 2
    for at, step in enumerate(steps):
        for line in smaller_lines(step.line):
            yield scenario.with_steps((*steps[:at], replace(step, line=line), *steps[at + 1 :]))
        if step.connection.endswith("2"):
            first = replace(step, connection=step.connection[:-1] + "1")
            yield scenario.with_steps((*steps[:at], first, *steps[at + 1 :]))


def smaller_lines(line: bytes) -> Iterator[bytes]:
    """Yield a line without one of its words behind the names, and then without one character of its text.

    For the lines that several connections send together, yield fewer lines.
    """
    lines = line.split(b"\n")
    if len(lines) > 1:
        yield from (b"\n".join(lines[:at] + lines[at + 1 :]) for at in range(len(lines)))
        return
    parts = line.split(b" ")
    for at in range(len(parts) - 1, 0, -1):
        if PLACE not in parts[at]:
            yield b" ".join(parts[:at] + parts[at + 1 :])
    text = TEXT.search(line)
    if text:
        characters = text[1].decode("utf-8", "surrogateescape")
        for at in range(len(characters)):
            shorter = (characters[:at] + characters[at + 1 :]).encode("utf-8", "surrogateescape")
            yield line[: text.start(1)] + shorter + line[text.end(1) :]
