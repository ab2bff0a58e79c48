"""The differences between Sonic and compat mode that are meant, as docs/protocol.md lists them."""

import re
from collections.abc import Callable

from tests.differential.judge import Difference
from tests.differential.scenario import Scenario

Meant = Callable[[Scenario, Difference], bool]


def guessed_language(scenario: Scenario, difference: Difference) -> bool:
    """Sonic guesses the language of a text without LANG by another method, which decides on stop words and stems."""
    return any(re.match(rb"PUSH |QUERY ", step.line) and b"LANG(" not in step.line for step in scenario.steps)


def not_utf8(scenario: Scenario, difference: Difference) -> bool:
    """Sonic says nothing to a line that is not UTF-8, so that its client waits for ever; ours answers ERR."""
    return difference.sonic == b"" and difference.ours.startswith(b"ERR invalid_format(line is not UTF-8)")


DELIBERATE: dict[str, Meant] = {
    "a line that is not UTF-8 gets an answer": not_utf8,
    "the language of a text without LANG is guessed otherwise": guessed_language,
}


def reason(scenario: Scenario, difference: Difference) -> str | None:
    """Return why a difference is meant, or None."""
    return next((name for name, is_meant in DELIBERATE.items() if is_meant(scenario, difference)), None)
