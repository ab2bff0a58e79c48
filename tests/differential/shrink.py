"""Make a scenario that differs as small as it gets: fewer steps, then shorter texts."""

import re
from collections.abc import Callable, Iterator

from tests.differential.scenario import PLACE, Scenario, Step

TRIALS_MAX = 400
TEXT = re.compile(rb'"(.*)"')

Differs = Callable[[Scenario], bool]


def shrink(scenario: Scenario, differs: Differs) -> Scenario:
    """Return the smallest scenario found that still differs, after at most TRIALS_MAX trials."""
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
    """Yield scenarios with less in them, the smallest first."""
    steps = scenario.steps
    size = len(steps) // 2
    while size:
        for start in range(0, len(steps), size):
            yield replaced(scenario, steps[:start] + steps[start + size :])
        size //= 2
    for at, step in enumerate(steps):
        for line in smaller_lines(step.line):
            yield replaced(scenario, (*steps[:at], Step(step.connection, line), *steps[at + 1 :]))
        if step.connection.endswith("2"):
            yield replaced(scenario, (*steps[:at], Step(step.connection[:-1] + "1", step.line), *steps[at + 1 :]))


def replaced(scenario: Scenario, steps: tuple[Step, ...]) -> Scenario:
    """Return a scenario with other steps."""
    return Scenario(scenario.seed, scenario.profile, steps)


def smaller_lines(line: bytes) -> Iterator[bytes]:
    """Yield a line without one of its words behind the names, and then without one character of its text."""
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
