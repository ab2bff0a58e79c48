"""How many examples a property test looks at."""

from hypothesis import settings

FULL_SET = 100
"""Examples of a test that names no number. The gate looks at a third of them (`tests/conftest.py`)."""


def examples(count: int) -> int:
    """Return `count`, or the same share of it as tests that name no number look at."""
    return max(1, count * settings().max_examples // FULL_SET)
