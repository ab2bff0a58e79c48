"""The numbers of examples of property tests, and of steps in tests that interrupt at each of many steps."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import settings

FULL_SET = 100
"""The number of examples of a test that gives no number. The gate uses a quarter of them (`tests/conftest.py`)."""

Step = TypeVar("Step")


def examples(count: int) -> int:
    """Return `count`, reduced in the gate as for tests that give no number."""
    return max(1, count * settings().max_examples // FULL_SET)


def thinned(steps: Sequence[Step], first: int = 0) -> Sequence[Step]:
    """Return all steps, or in the gate a quarter of them: every fourth one, beginning at place `first` modulo four.

    A test with several parameters gives each of them another `first`, so that together they cover more steps.
    """
    apart = FULL_SET // settings().max_examples
    return steps[first % apart :: apart]


def some(values: Iterable[Any], apart: int) -> list[Any]:
    """Return the values of a parameter: the gate tests every `apart`-th one from the first on, the full set all."""
    return [
        value if place % apart == 0 else pytest.param(value, marks=pytest.mark.full)
        for place, value in enumerate(values)
    ]
